"""Conclusion 3 in the engine: torques of an unseen motion, compensated with identified sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.engine.plant import Plant
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import Sensor, measure
from robotid_sim.papers.rs010n import excitation, model
from robotid_sim.papers.rs010n.trials import (
    CLAMPED,
    NOISE_SHARE,
    PAPER,
    VARIANTS,
    engine_truth,
    one_search,
)
from robotid_sim.preprocess.linear_filters import Butterworth
from robotid_sim.streams import named_stream
from robotid_sim.trajectory.reference import Trajectory

RATE = 500.0
"""Control and sampling rate [Hz]."""
ENCODER_NOISE = 2e-5
"""Standard deviation of the position noise [rad]."""
PREPROCESSING = Butterworth(cutoff=10.0, order=4)
"""Low-pass of the positions before they are differentiated."""
BANDWIDTH = 15.0
"""Of the joint controllers whose torque is compensated [rad/s]."""
NOMINAL_ERROR = 0.1
"""Largest error of the nominal parameters, relative; the box of a search is narrower."""
NONE, NOMINAL = "no compensation", "nominal parameters"
MIDDLE, TRUE = "middle of the box", "true parameters"
"""Sets beside the identified ones; the middle of the box of a search needs no data."""
DIRECT = ("least squares", "weighted least squares", "L1 optimum (LP)")
TRACKED = (NONE, NOMINAL, "SEDSABSO", "weighted least squares", TRUE)
"""Sets whose torque is fed forward in the loop."""


def compensation(*, seed: int, run: int, count: int, x: Sequence[float]) -> dict[str, Any]:
    """Identify the robot from noisy logs of the excitation, and compensate an unseen motion.

    The batch `run` has so many runs of its own, each with its noise and its box; all of them are
    of one excitation x and one unseen motion. With the first run the torque is also fed forward.
    """
    space = excitation.problem().space
    paths = {"excitation": space.trajectory(np.array(x)), "unseen": unseen_trajectory(seed)}
    clean = {name: driven(path) for name, path in paths.items()}
    true_torque = _rows(clean["unseen"])[1]
    rows = [
        _one_run(clean, true_torque, seed, number)
        for number in range(run * count, (run + 1) * count)
    ]
    sets = {**rows[0]["sets"], TRUE: engine_truth().tolist()}
    return {
        "runs": [{name: row[name] for name in row if name != "sets"} for row in rows],
        "tracking": {name: tracked(paths["unseen"], sets.get(name)) for name in TRACKED},
        "curves": _curves(clean["unseen"], sets) if run == 0 else {},
    }


def _one_run(
    clean: Mapping[str, Log], true_torque: Float1D, seed: int, number: int
) -> dict[str, Any]:
    rng = named_stream(seed, PAPER, "compensation", f"run {number}")
    (W, y), (unseen, tau) = (_rows(measure(log, sensors(), rng)) for log in clean.values())
    truth = engine_truth()
    fitness = AbsoluteFitness(W, y)
    problem = LinearProblem(W, y, model.base(), model.arm().joint_names, excitation_step())
    off = named_stream(seed, PAPER, "nominal", f"run {number}").uniform(-1.0, 1.0, truth.size)
    sets = {
        NOMINAL: truth * (1.0 + NOMINAL_ERROR * off),
        MIDDLE: box_middle(truth, seed, number),
        DIRECT[0]: np.linalg.lstsq(W, y, rcond=None)[0],
        DIRECT[1]: WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta,
        DIRECT[2]: fitness.minimum(),
    }
    for method in model.PRINTED:
        searched = one_search(fitness, truth, method, CLAMPED, seed, number)
        sets[method] = np.array(searched["beta"])
    return {
        "sets": {name: beta.tolist() for name, beta in sets.items()},
        "measured": {name: _left(tau, unseen @ beta) for name, beta in sets.items()},
        "true": {name: _left(true_torque, unseen @ beta) for name, beta in sets.items()},
        "error": {name: float(np.abs(beta - truth).mean()) for name, beta in sets.items()},
        "fitness": {name: float(fitness(beta[None])[0]) for name, beta in sets.items()},
    }


def _left(tau: Float1D, predicted: Float1D) -> list[float]:
    """Return what is left of the torque of every joint, by RMS, after compensation [%]."""
    dof = model.arm().dof
    left, size = (_rms(part.reshape(-1, dof)) for part in (tau - predicted, tau))
    shares: list[float] = (100.0 * left / size).tolist()
    return shares


def box_middle(truth: Float1D, seed: int, number: int) -> Float1D:
    """Return the middle of the box in which the searches of a run start, shape (21,)."""
    shift = named_stream(seed, PAPER, "box", f"run {number}").uniform(-0.5, 0.5, truth.size)
    return np.asarray(truth + VARIANTS[CLAMPED].half_width * shift)


def sensors() -> tuple[Sensor, ...]:
    """Return what measures the joints: noisy torques and encoders."""
    return (
        SENSORS.build("torque-noise", relative=NOISE_SHARE),
        SENSORS.build("encoder-noise", revolute=ENCODER_NOISE),
    )


def excitation_step() -> float:
    """Return the time between the samples that are used [s]."""
    return excitation.PERIOD / excitation.SAMPLES


def _rows(log: Log) -> tuple[Float2D, Float1D]:
    """Return regressor and torque of the samples of a log that are used, stacked."""
    motion = PREPROCESSING(log, model.arm())
    used = _used(log)
    q, dq, ddq, tau = (part[used] for part in (motion.q, motion.dq, motion.ddq, log.tau_meas))
    W = model.regressor(q, dq, ddq, np.tanh(dq / model.arm().eps))
    return W.reshape(-1, W.shape[-1]), tau.ravel()


def _used(log: Log) -> Int1D:
    """Return which samples of a log are used."""
    step = round(excitation_step() / log.dt)
    return np.asarray(np.flatnonzero(log.t >= -0.5 * log.dt)[::step])


def _rms(values: Float2D) -> Float1D:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def driven(path: Trajectory, controller: Controller | None = None) -> Log:
    """Drive the feasible robot along a path, by default by computed torque."""
    arm = model.arm()
    with Plant(arm, dt=1.0 / RATE) as plant:
        return rollout(plant, controller or ComputedTorque(arm), path)


@cache
def unseen_trajectory(seed: int) -> Trajectory:
    """Return a random motion within Table 3 that no fit has seen."""
    paper = excitation.problem()
    plain = ExcitationProblem(paper.nominal, paper.basis, paper.options, paper.criterion)
    drawn = feasible_draws(plain, named_stream(seed, PAPER, "unseen motion"), 1)
    return plain.space.trajectory(drawn[0].x)


@dataclass(frozen=True, slots=True, eq=False)
class FedForward(Controller):
    """Proportional-derivative control of every joint, with the torque of a set fed forward."""

    start: float
    """First time of the torque [s]."""
    torque: Float2D
    """What is fed forward in every control step [N m], shape (N, n)."""
    kp: Float1D
    kd: Float1D

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; see `Controller`."""
        known = self.torque[round((t - self.start) * RATE)]
        return np.asarray(known + self.kp * (setpoint.q - q) + self.kd * (setpoint.dq - dq))


def tracked(path: Trajectory, beta: Sequence[float] | None) -> list[float]:
    """Return the RMS tracking error of every joint with a set fed forward [rad]; None for none."""
    arm = model.arm()
    t = path.start + np.arange(round((path.duration - path.start) * RATE)) / RATE
    reference = path(t)
    torque = np.zeros_like(reference.q)
    if beta is not None:
        W = model.regressor(
            reference.q, reference.dq, reference.ddq, np.tanh(reference.dq / arm.eps)
        )
        torque = W @ np.array(beta)
    inertia = np.diagonal(mass_matrix(arm, random_states(arm)[0]), axis1=1, axis2=2).mean(axis=0)
    law = FedForward(path.start, torque, BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia)
    log = driven(path, law)
    late = log.t >= 0.0
    errors: list[float] = _rms(log.q[late] - reference.q[late]).tolist()
    return errors


def _curves(log: Log, sets: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return measured torque and what is left of it, of the unseen motion without noise."""
    W, tau = _rows(log)
    dof = model.arm().dof
    left = {
        name: (tau - W @ np.array(beta)).reshape(-1, dof).T.tolist() for name, beta in sets.items()
    }
    return {"t": log.t[_used(log)].tolist(), NONE: tau.reshape(-1, dof).T.tolist(), **left}
