"""Logs of motor currents without torque constants, and payloads and code that come from them."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

import robotid_sim as rid
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque
from robotid_sim.errors import FileFormatError, LogError, OptionError
from robotid_sim.excitation.design import random_design
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import PayloadConfig
from robotid_sim.pipeline.export import export, read_base_model
from robotid_sim.pipeline.simulate import clean_run, measure_clean_log

CONSTANTS = np.array([12.0, 11.0, 9.0, 8.0, 10.0, 7.5])
LOAD = (3.0, (0.02, 0.0, 0.1))


class Lab:
    """An arm in the engine whose torque constants nobody knows."""

    def __init__(self):
        self.robot = rid.Robot.from_urdf(urdf_path("irb140"))
        self.nominal = rid.perturb(self.robot, np.random.default_rng(4))
        self.basis = base_parameters(self.nominal)

    def run(self, seed, plant=None):
        """Return a log of a motion with torques."""
        plant = self.robot if plant is None else plant
        options, rng = rid.FourierOptions(periods=1), np.random.default_rng(seed)
        motion = random_design(self.nominal, self.basis, rng, options=options, candidates=10)
        cell = build_cell(plant, self.nominal, StudyConfig())
        return measure_clean_log(cell, clean_run(cell, motion), np.random.default_rng(seed))

    def amperes(self, log):
        """Replace the torques of a log by currents, without torque constants."""
        current = log.tau_meas / CONSTANTS
        changes = {"tau_meas": current, "current": current, "torque_constant": None}
        return replace(log, truth=None, origin="machine", **changes)


@pytest.fixture(scope="module")
def lab():
    return Lab()


@pytest.fixture(scope="module")
def log(lab):
    return lab.amperes(lab.run(1))


@pytest.fixture(scope="module")
def fit(lab, log):
    return rid.identify(log, lab.nominal)


@pytest.fixture(scope="module")
def unseen(lab):
    return lab.run(2)


@pytest.fixture(scope="module")
def estimate(fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("estimate")
    fit.write(folder)
    return folder / "estimate.json"


def test_feed_forward_in_amperes_needs_no_torque_constants(lab, fit, unseen) -> None:
    truth = unseen.truth
    state = (truth.q, truth.dq, truth.ddq)
    predicted = joint_torque(fit.model, *state) / fit.torque_constants
    actual = truth.tau / CONSTANTS
    error = np.sqrt(((predicted - actual) ** 2).mean(axis=0) / (actual**2).mean(axis=0))
    assert error.max() < 5e-3
    holding = gravity_torque(fit.model, truth.q) / fit.torque_constants
    weight = gravity_torque(lab.robot, truth.q) / CONSTANTS
    size = np.sqrt((actual**2).mean(axis=0))
    assert (np.sqrt(((holding - weight) ** 2).mean(axis=0)) / size).max() < 5e-3


def test_the_scale_is_that_of_the_nominal_model_and_told(lab, fit) -> None:
    ratios = fit.torque_constants / CONSTANTS
    assert np.ptp(ratios[:3]) < 0.005 * ratios[0]
    assert np.ptp(ratios[:5]) < 0.05 * ratios[0]  # joint 6 hardly shares a parameter
    (note,) = fit.notes["log"]
    assert note.startswith("WARNING: torque constants are unknown")


def test_a_prediction_is_in_the_currents_of_the_estimate(lab, estimate, unseen) -> None:
    done = rid.predict(estimate, lab.amperes(unseen), lab.nominal)
    measured = done.prediction.measured
    assert np.isfinite(done.prediction.predicted).all()
    error = np.sqrt(((done.prediction.predicted - measured) ** 2).mean(axis=0))
    assert (error / np.sqrt((measured**2).mean(axis=0))).max() < 0.05


def test_a_known_load_gives_the_drive_gains(lab, log) -> None:
    loaded = lab.amperes(lab.run(3, lab.robot.with_payload(*LOAD)))
    done = rid.payload(log, loaded, lab.nominal, load=LOAD[0])
    estimate = done.estimate
    z = (done.torque_constants / CONSTANTS - 1.0) / estimate.std
    assert estimate.determined[:5].all()
    assert np.abs(z[estimate.determined]).max() < 4.0
    assert np.abs(done.torque_constants / CONSTANTS - 1.0)[:5].max() < 0.01
    with pytest.raises(LogError, match="constants are unknown and scale the payload"):
        rid.payload(log, loaded, lab.nominal)


def test_a_payload_from_one_log_and_the_estimate_of_the_arm(lab, unseen, tmp_path) -> None:
    rid.identify(replace(lab.run(5), origin="machine"), lab.nominal).write(tmp_path)
    path = tmp_path / "estimate.json"
    loaded = replace(lab.run(6, lab.robot.with_payload(*LOAD)), origin="machine")
    done = rid.payload(path, loaded, lab.nominal)
    single = done.estimate
    assert abs(single.mass - LOAD[0]) < 4.0 * single.mass_std
    assert (np.abs(single.com - LOAD[1]) < 4.0 * single.com_std).all()
    wide = rid.payload(path, loaded, lab.nominal, drive_gain_std=0.03).estimate
    assert wide.mass == pytest.approx(single.mass)
    two = rid.payload(lab.run(5), loaded, lab.nominal, drive_gain_std=0.03).estimate
    assert wide.mass_std == pytest.approx(two.mass_std, rel=0.2)
    assert done.format_for("ur").startswith("set_target_payload(")
    with pytest.raises(OptionError, match="needs two logs"):
        rid.payload(path, loaded, lab.nominal, load=3.0)
    absent = rid.payload(path, replace(unseen, origin="machine"), lab.nominal)
    assert absent.estimate.is_absent


def test_logs_of_currents_keep_their_kind_in_files(log, tmp_path) -> None:
    for name in ("log.h5", "log.csv"):
        rid.save_log(log, tmp_path / name)
        assert rid.load_log(tmp_path / name).is_in_amperes
    with pytest.raises(LogError, match="motor currents need torque constants"):
        replace(log, current=None, torque_constant=CONSTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "c", "c++"])
def test_code_of_base_parameters_is_the_estimate(
    lab, fit, estimate, unseen, tmp_path, language
) -> None:
    """Base parameters alone, no bodies: torques over the constants, to 1e-12."""
    model, constants, _ = read_base_model(estimate, lab.nominal)
    assert np.count_nonzero(model.parameters()) <= fit.basis.rank
    q, dq, ddq = (part[::50] for part in (unseen.truth.q, unseen.truth.dq, unseen.truth.ddq))
    expected = joint_torque(fit.model, q, dq, ddq) / constants
    if language == "python":
        export(lab.nominal, tmp_path / "arm.py", estimate=estimate, amperes=True)
        space = {}
        exec((tmp_path / "arm.py").read_text(), space)
        computed = space["inverse_dynamics"](q, dq, ddq)
    else:
        export(lab.nominal, tmp_path / "arm.h", estimate=estimate, amperes=True)
        suffix = language.replace("+", "p")
        source, library = tmp_path / f"a.{suffix}", tmp_path / "a.so"
        linkage = 'extern "C" ' if language == "c++" else ""
        source.write_text(
            f'#include "arm.h"\n{linkage}void run(const double *q, const double *dq, '
            "const double *ddq, double *tau) { irb140_inverse_dynamics(q, dq, ddq, tau); }\n"
        )
        compiler = shutil.which({"c": "cc", "c++": "c++"}[language])
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
        command = [compiler, *flags, f"-I{tmp_path}", "-o", library, source, "-lm"]
        subprocess.run(command, check=True, timeout=60)
        run, computed = ctypes.CDLL(str(library)).run, np.empty_like(q)
        vector = np.ctypeslib.ndpointer(float, flags="C_CONTIGUOUS")
        run.argtypes, run.restype = [vector] * 4, None
        for k in range(len(q)):
            row = np.empty(q.shape[1])
            run(*(np.ascontiguousarray(part[k]) for part in (q, dq, ddq)), row)
            computed[k] = row
    assert np.abs(computed - expected).max() <= 1e-12 * np.abs(expected).max()


def test_currents_need_an_estimate_with_constants(lab, estimate, tmp_path) -> None:
    with pytest.raises(OptionError, match="give --estimate"):
        export(lab.nominal, tmp_path / "a.h", amperes=True)
    with pytest.raises(OptionError, match="are for source code"):
        export(lab.nominal, tmp_path / "a.urdf", estimate=estimate)
    with pytest.raises(OptionError, match="are for source code"):
        export(lab.nominal, tmp_path / "a.script", format="ur-payload", amperes=True)
    load = PayloadConfig(mass=1.0)
    with pytest.raises(OptionError, match="a payload has no effect"):
        export(lab.nominal, tmp_path / "a.h", estimate=estimate, load=load)
    with pytest.raises(OptionError, match="ur-payload needs the load"):
        export(lab.nominal, tmp_path / "a.script", format="ur-payload")
    text = estimate.read_text().replace('"torque_constants": [', '"torque_constants": [-1.0, ')
    (tmp_path / "wrong.json").write_text(text)
    with pytest.raises(FileFormatError, match="torque_constants"):
        export(lab.nominal, tmp_path / "a.h", estimate=tmp_path / "wrong.json")
