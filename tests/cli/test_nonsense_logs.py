"""Logs that were recorded wrongly: refused with number and remedy, or fitted by force, in doubt."""

import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def log(short):
    """Return the log of a short experiment, as if of a machine."""
    return replace(load_log(short.log), origin="machine", seed=None, truth=None)


@pytest.fixture
def identify(robotid, tmp_path):
    """Return a function that identifies from a log, or from a CSV with a line before it."""

    def run(log, line="", words=()):
        file = tmp_path / "log.csv"
        save_log(log, file)
        if line:
            key, lines = line.split(":")[0], file.read_text().splitlines()
            kept = [text for text in lines if key not in text]
            file.write_text("\n".join([line, *kept]))
        return robotid("identify", ARM, file, "-o", tmp_path / "e.json", *words)

    return run


def test_torques_that_were_not_recorded_are_refused_by_joint(identify, log, tmp_path) -> None:
    done = identify(replace(log, tau_meas=log.tau_meas * [1.0, 0.0] + [0.0, 3.0]))
    assert done.code == 2
    assert "the measured torque of elbow is constant, although it moves" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "e.json").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("# period: -3", "'period' is -3 s in a log of"),
        ("# period: 1000", "'period' is 1000 s in a log of"),
        ("# period: 0.001", "'period' is 0.001 s"),
        ("# period: nan", "'period' is nan s"),
        ("# torque_time_offset: 5", "'torque_time_offset' is 5 s"),
    ],
)
def test_times_that_cannot_be_name_key_and_file(identify, log, line, words) -> None:
    done = identify(log, line)
    assert done.code == 2
    assert words in done.err
    assert "log.csv: " in done.err
    assert done.err.count("\n") == 1


def scaled(factor):
    return lambda log: {"tau_meas": log.tau_meas * factor}


def clipped(log):
    top = 0.7 * np.abs(log.tau_meas).max(axis=0)
    return {"tau_meas": np.clip(log.tau_meas, -top, top)}


CHANGES = {
    "signs": (scaled(-1.0), "all measured torques have the wrong sign; multiply their columns by"),
    "sign": (scaled([1.0, -1.0]), "elbow: the measured torque has the wrong sign"),
    "N mm": (scaled(1e3), "all measured torques are in N mm; multiply their columns by 0.001"),
    "kN m": (scaled(1e-3), "all measured torques are in kN m; multiply their columns by 1000"),
    "A": (scaled([0.06, 0.2]), "current [A], or a different unit"),
    "degrees": (lambda log: {"q": np.degrees(log.q)}, "are in degrees; multiply them by 0.0174533"),
    "of motors": (
        lambda log: {"q": 1e4 * log.q},
        "times its limit; give it in rad of the joint, not of",
    ),
    "turns": (lambda log: {"q": log.q / (2 * np.pi)}, "are in turns; multiply them by 6.28319"),
    "radians of radians": (
        lambda log: {"q": np.radians(log.q)},
        "the positions are radians that were converted as degrees; multiply them by 57.2958",
    ),
    "swapped": (lambda log: {"q": log.q[:, ::-1]}, "of the two joints are swapped; swap their"),
    "clipped": (clipped, "elbow: the measured torque is clipped at its extreme value in"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_log_that_cannot_be_is_refused_with_number_and_remedy(
    identify, log, tmp_path, name
) -> None:
    change, words = CHANGES[name]
    done = identify(replace(log, **change(log)))
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "use it unchanged with --force" in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


def test_a_log_too_short_for_a_comparison_keeps_its_limits(identify, log) -> None:
    done = identify(replace(log.cut(slice(0, 200)), q=100.0 * log.q[:200], period=None))
    assert done.code == 2
    assert "times its limit; give it in rad of the joint, not of the motor, or correct" in done.err


@pytest.mark.parametrize("name", ["signs", "degrees", "N mm"])
def test_a_fit_by_force_is_in_doubt(identify, log, tmp_path, name) -> None:
    change, words = CHANGES[name]
    done = identify(replace(log, **change(log)), words=["--force"])
    assert done.code == 1
    for text in ("WARNING", words, "but does not explain the log"):
        assert text in done.text
    assert words in json.loads((tmp_path / "e.json").read_text())["warning"]


@pytest.mark.slow
def test_the_other_readers_of_logs_refuse_them_too(
    robotid, refused, identify, log, tmp_path
) -> None:
    assert identify(log).code == 0
    bad, estimate = tmp_path / "bad.h5", tmp_path / "e.json"
    save_log(replace(log, tau_meas=1e3 * log.tau_meas), bad)
    words = CHANGES["N mm"][1]
    for command in (("predict", ARM, estimate, bad), ("payload", ARM, tmp_path / "log.csv", bad)):
        assert words in refused(*command)
    forced = robotid("predict", ARM, estimate, bad, "--force")
    assert forced.code == 1
    assert f"WARNING: the log is untrusted: bad.h5: {words}" in forced.text


@pytest.mark.parametrize("seed", range(3))
def test_a_nominal_model_that_is_wrong_by_a_third_is_no_reason(log, seed) -> None:
    nominal = perturb(Robot.from_urdf(ARM), np.random.default_rng(seed), scale=0.33)
    assert not any(contradictions(log, nominal, base_parameters(nominal)))


def test_a_sound_log_gives_no_warning(identify, log, tmp_path) -> None:
    done = identify(log)
    assert done.code == 0
    assert "WARNING" not in done.out
    assert json.loads((tmp_path / "e.json").read_text())["warning"] == ""


def test_no_file_is_written_if_there_is_no_robot_to_write(refused, log, tmp_path) -> None:
    file = tmp_path / "stuck.h5"
    save_log(replace(log, q=np.zeros_like(log.q)), file)
    words = ("-o", tmp_path / "e.json", "--urdf", tmp_path / "e.urdf")
    assert "no consistent robot to write to" in refused("identify", ARM, file, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["stuck.h5"]
