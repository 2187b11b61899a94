"""One experiment in other samples and units of a machine: its estimate within its deviation.

Positions and torques of an arm follow its dynamics, with the noise of sensors, and become rows of a
fit as `robotid identify` makes them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from foreign_forms import DEGREE, Form, arm, text, write
from measured import Measured, measured

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.reading import read_logs
from robotid_sim.measurement.log import Log
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive

pytestmark = pytest.mark.slow

PLAN = FitPlan(preprocessor=Adaptive(), estimators={"wls": WeightedLeastSquares()}, chosen="wls")


@dataclass(frozen=True)
class Machine:
    """An arm on its excitation, and what its log gives."""

    cell: Measured
    log: Log
    beta: np.ndarray
    std: np.ndarray

    def distance(self, path, mapping=None) -> float:
        """Return how far the estimate of a file is from that of the log, worst parameter."""
        nominal = self.cell.nominal
        logs = list(read_logs([path], nominal, mapping))
        beta = fit_logs(logs, nominal, self.cell.basis, PLAN, np.random.default_rng(0)).chosen.beta
        return float((np.abs(beta - self.beta) / self.std).max())


@pytest.fixture(scope="module")
def machine() -> Machine:
    cell = measured(arm())
    log = replace(cell.log, truth=None, period=None, dq=cell.state[1], origin="machine", seed=None)
    fit = fit_logs(log, cell.nominal, cell.basis, PLAN, np.random.default_rng(0)).chosen
    return Machine(cell, log, fit.beta, fit.std)


def motor_side(log, folder):
    ratios = np.array([100.0, -50.0])
    form = Form(log.t, log.q * ratios / DEGREE, log.dq, log.tau_meas / ratios, log.joint_names)
    form.names = ("t", "q.{joint}", "", "tau.{joint}")
    joints = {
        name: JointMap(gear_ratio=ratio, position_unit="deg")
        for name, ratio in zip(log.joint_names, ratios.tolist(), strict=True)
    }
    return write(folder / "a.csv", text(form.columns())), ImportMap(joints=joints)


def coupled(log, folder):
    turns = np.array([[80.0, 0.0], [60.0, 60.0]])
    form = Form(
        log.t, log.q @ turns.T, log.dq, log.tau_meas @ np.linalg.inv(turns), log.joint_names
    )
    form.names = ("t", "q.{joint}", "", "tau.{joint}")
    mapping = ImportMap.model_validate({"coupling": {"position": turns.tolist()}})
    return write(folder / "a.csv", text(form.columns())), mapping


def some(log, keep: np.ndarray, folder):
    form = Form(log.t[keep], log.q[keep], log.dq[keep], log.tau_meas[keep], log.joint_names)
    return write(folder / "a.csv", text(form.columns())), None


def lost_samples(log, folder):
    return some(log, np.random.default_rng(0).random(log.t.size) > 0.02, folder)


def gap(log, folder):
    return some(log, np.abs(log.t - log.t.mean()) > 1.0, folder)


def missing_numbers(log, folder):
    form = Form.of(log)
    form.tau = np.where(np.random.default_rng(0).random(log.q.shape) < 0.01, np.nan, log.tau_meas)
    return write(folder / "a.csv", text(form.columns())), None


CHANGED: dict[str, Callable] = {
    "motor-side": motor_side,
    "coupled-motors": coupled,
    "lost-samples": lost_samples,
    "gap": gap,
    "missing-numbers": missing_numbers,
}


@pytest.mark.parametrize("form", CHANGED)
def test_other_samples_give_the_estimate_within_its_deviation(machine, tmp_path, form):
    assert machine.distance(*CHANGED[form](machine.log, tmp_path)) < 1.0


def at_times(machine, t, samples, folder):
    """Write what the machine shows at other times, with the noise of some of its samples."""
    log, cell = machine.log, machine.cell
    at = cell.path(t)
    noise = log.q - cell.state[0], log.tau_meas - joint_torque(cell.plant, *cell.state)
    q = at.q + noise[0][samples]
    tau = joint_torque(cell.plant, at.q, at.dq, at.ddq) + noise[1][samples]
    form = Form(t, q, at.dq, tau, log.joint_names, ("t", "q.{joint}", "", "tau.{joint}"))
    return write(folder / "a.csv", text(form.columns()))


@pytest.mark.parametrize("jitter", [0.2, 0.45])
def test_uneven_steps_give_the_estimate_within_its_deviation(machine, tmp_path, jitter):
    """Steps of 8 to 12 ms, or of 30 to 34 ms, are less uneven than that."""
    log = machine.log
    t = log.t + jitter * np.random.default_rng(0).uniform(-1.0, 1.0, log.t.size) * log.dt
    assert machine.distance(at_times(machine, t, slice(None), tmp_path)) < 1.0


@pytest.mark.parametrize(("least", "most"), [(0.008, 0.012), (0.03, 0.034)])
def test_few_uneven_samples_give_the_truth_within_their_deviation(machine, tmp_path, least, most):
    t = np.cumsum(np.random.default_rng(0).uniform(least, most, 3000))
    t = t[t < machine.log.t[-1]]
    path = at_times(machine, t, slice(t.size), tmp_path)
    nominal, basis = machine.cell.nominal, machine.cell.basis
    log = read_logs([path], nominal)[0]
    assert (log.torque_times is None) == (most < 0.03)
    fit = fit_logs(log, nominal, basis, PLAN, np.random.default_rng(0)).chosen
    truth = basis.project(machine.cell.plant.parameters())
    assert (np.abs(fit.beta - truth) < 3.0 * fit.std).all()
    assert np.abs((fit.beta - truth) / fit.std).mean() < 1.3
