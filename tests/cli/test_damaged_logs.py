"""Logs that are damaged: one line with the remedy, exit 2, and no other file is opened."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from damages import damages
from measured import measured
from robots import DATA

from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log

DAMAGES = {damage.name: damage for damage in damages(6, 2, (1, 2))}


@pytest.fixture(scope="module")
def log(irb140):
    """The log of an industrial arm, as if of a machine."""
    return replace(measured(irb140).log, origin="machine", truth=None)


@pytest.fixture
def identify(robotid, tmp_path):
    """Return a function that identifies from a log."""

    def run(log):
        save_log(log, tmp_path / "log.h5")
        words = ("-o", tmp_path / "e.json", "--estimator", "consistent")
        return robotid("identify", "irb140", tmp_path / "log.h5", *words)

    return run


def test_the_fit_of_a_sound_log_is_not_in_doubt(identify, log):
    done = identify(log)
    assert (done.code, "WARNING" in done.out) == (0, False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all torque signs", "all measured torques have the wrong sign"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("all motor side", "multiply their columns by gear ratio or torque constant"),
                ("zero", "joint_3: the zero position is wrong by 90 deg; add -1.570796 rad"),
                ("late", "correct the time stamps"),
            )
        ),
    ],
)
def test_a_damaged_log_is_refused_with_its_remedy(identify, log, name, words):
    done = identify(DAMAGES[name].change(log))
    assert done.code == 2
    assert words in done.err


@pytest.mark.slow
def test_coupled_motors_may_be_the_robot_s_and_leave_the_fit_in_doubt(identify, log):
    done = identify(DAMAGES["coupled"].change(log))
    assert done.code == 1
    text = done.text
    assert "their motors are coupled; map motors to joints" in text


ARM = DATA / "2r.urdf"
SAMPLES = 400


@pytest.fixture
def sound(tmp_path) -> Path:
    """Return a log file of the planar arm."""
    t = np.arange(SAMPLES) / 250.0
    wave = np.column_stack([np.sin(3.0 * t), np.cos(2.0 * t)])
    names, units = ("shoulder", "elbow"), ("rad", "rad")
    save_log(Log(t=t, q=wave, tau_meas=wave, joint_names=names, joint_units=units), tmp_path / "l")
    return tmp_path / "l"


def replaced(name: str, make):
    """Return a change that makes something else of an item."""

    def change(file: h5py.File, other: Path) -> None:
        del file[name]
        make(file, name, other)

    return change


def external_link(file, name, other):
    file[name] = h5py.ExternalLink(str(other), "/q")


def external_storage(file, name, other):
    file.create_dataset(name, (SAMPLES, 2), "f8", external=[(str(other), 0, SAMPLES * 16)])


def virtual(file, name, other):
    layout = h5py.VirtualLayout((SAMPLES, 2), "f8")
    layout[:] = h5py.VirtualSource(str(other), "q", shape=(SAMPLES, 2))
    file.create_virtual_dataset(name, layout)


def circle(file, name, other):
    file[f"{name}/again"] = file.create_group(name)


def huge(file, name, other):
    file.create_dataset(name, (10**9, 2), "f8", chunks=(1000, 2))


def attribute(key: str, value: object):
    def change(file, other):
        file.attrs[key] = value

    return change


HDF5_DAMAGES = {
    "external link": (replaced("q", external_link), "is in another file"),
    "external storage": (replaced("q", external_storage), "are in other files"),
    "virtual": (replaced("q", virtual), "are in other files"),
    "circle": (replaced("q", circle), ""),
    "huge": (replaced("q", huge), "'q' claims 16 GB in a file of"),
    "scalar": (replaced("q", lambda f, n, o: f.create_dataset(n, data=1.0)), ""),
    "empty": (replaced("q", lambda f, n, o: f.create_dataset(n, data=h5py.Empty("f8"))), ""),
    "complex": (replaced("q", lambda f, n, o: f.create_dataset(n, data=np.ones((9, 2)) * 1j)), ""),
    "truth": (lambda f, o: f.create_dataset("truth", data=1.0), ""),
    "deep": (attribute("provenance", "[" * 20000), ""),
    "names": (attribute("joint_names", 3), ""),
    "period": (attribute("period", "soon"), ""),
    "schema": (attribute("schema", [1, 2]), ""),
}


@pytest.mark.parametrize("name", HDF5_DAMAGES)
def test_damage_is_told_in_a_line(robotid, refused, sound, tmp_path, name) -> None:
    other, path = tmp_path / "other.h5", tmp_path / "log.h5"
    other.write_bytes(sound.read_bytes())
    path.write_bytes(sound.read_bytes())
    change, words = HDF5_DAMAGES[name]
    with h5py.File(path, "a") as file:
        change(file, other)
    said = refused("identify", ARM, path, "-o", tmp_path / "e.json")
    assert words in said
    assert "log.h5" in said
    with h5py.File(path, "a") as file:  # a foreign file of the same content
        file.attrs.pop("schema")
    done = robotid("import", path, "--robot", ARM, "-o", tmp_path / "new.h5")
    assert done.code in (0, 2)
    assert done.code == 0 or done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1e3, "a sample every 4 s; if it is in ms, multiply it by 0.001; if it counts samples"),
        (1e6, "if it is in us, multiply it by 1e-06"),
        (1e9, "if it is in ns, multiply it by 1e-09"),
        (250.0, "if it counts samples, divide it by the rate [Hz]"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".h5"])
def test_times_in_other_units_are_told(refused, sound, tmp_path, factor, words, suffix) -> None:
    log = load_log(sound)
    fields = ("q", "tau_meas", "joint_names", "joint_units")
    path = tmp_path / f"log{suffix}"
    save_log(Log(t=factor * log.t, **{key: getattr(log, key) for key in fields}), path)
    assert words in refused("identify", ARM, path, "-o", tmp_path / "e.json")
