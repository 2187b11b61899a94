"""Logs of motion that is known exactly: a Fourier series and the torque of the model."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot
from robotid_sim.validation.prediction import exact_problem

NOISE = 0.01
"""Torque noise of the Cramér-Rao bound, over the RMS torque of a joint."""


@dataclass(frozen=True)
class Known:
    """A robot, what is known of it, a clean log, and the yardstick of its parameters."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    log: Log
    true: np.ndarray
    std: np.ndarray
    """Cramér-Rao standard deviations for 1 % torque noise."""

    def ratio(self, motion: Motion) -> np.ndarray:
        """Return the parameter errors of a fit over the Cramér-Rao standard deviations."""
        problem = build_problem(motion, self.nominal, self.basis)
        beta = WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta
        return (beta - self.true) / self.std

    def model_error(self, error: np.ndarray) -> float:
        """Return the worst joint's torque error on another motion, for an error of beta."""
        W = torque_regressor(self.nominal, *self.unseen, self.basis.columns)
        tau = W @ self.true
        size = np.sqrt((tau**2).mean(axis=0))
        return float((np.sqrt(((W @ error) ** 2).mean(axis=0)) / size).max())

    @property
    def unseen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States of another motion: that of the log, joints out of step and backward in time."""
        q, dq, ddq = (np.array(getattr(self.log.truth, name)) for name in ("q", "dq", "ddq"))
        use = self.log.t >= self.log.period
        shift = [997 * (j + 1) for j in range(q.shape[1])]
        parts = [x[use][::20] for x in (q, -dq, ddq)]
        return tuple(
            np.column_stack([np.roll(x[::-1, j], s // 20) for j, s in enumerate(shift)])
            for x in parts
        )


def known(run, log: Log) -> Known:
    """Return an engine experiment with another log and its yardstick."""
    use = log.t >= 0.0
    noise = NOISE * np.sqrt((log.tau_meas[use] ** 2).mean(axis=0))
    bound = cramer_rao(exact_problem(log, run.nominal, run.basis, log.period), noise)
    true = run.basis.project(run.plant.parameters())
    return Known(run.plant, run.nominal, run.basis, log, true, np.sqrt(np.diag(bound)))


@pytest.fixture(scope="session")
def periodic(experiment) -> Callable[[Robot], Known]:
    """Return a function from a robot to a log of the series itself, as if followed exactly."""
    done: dict[tuple[bytes, tuple[JointTerm, ...]], Known] = {}

    def make(robot: Robot) -> Known:
        key = robot.parameters().tobytes(), robot.terms
        if key not in done:
            run = experiment(robot)
            offset = run.log.torque_time_offset
            at, late = run.trajectory(run.log.t), run.trajectory(run.log.t + offset)
            state = (late.q, late.dq, late.ddq)
            tau = joint_torque(robot, *state)
            log = replace(run.log, q=at.q, tau_meas=tau, truth=Truth(*state, tau))
            done[key] = known(run, log)
        return done[key]

    return make


@pytest.fixture(scope="session")
def engine(experiment) -> Callable[[Robot], Known]:
    """Return a function from a robot to the clean log of the default experiment."""
    done: dict[tuple[bytes, tuple[JointTerm, ...]], Known] = {}

    def make(robot: Robot) -> Known:
        key = robot.parameters().tobytes(), robot.terms
        if key not in done:
            run = experiment(robot)
            done[key] = known(run, run.log)
        return done[key]

    return make
