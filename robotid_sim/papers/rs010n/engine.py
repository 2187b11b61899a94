"""The paper in the engine: the feasible robot identified, and conclusion 3 with what is found."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.control.controller import Setpoint
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.papers.driving import LOW_PASS, TorqueLaw, drive, tracking_error, with_encoders
from robotid_sim.papers.rs010n import model
from robotid_sim.papers.rs010n.trials import CLAMPED, PAPER, VARIANTS, box_middle, search_once
from robotid_sim.streams import named_stream
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.prediction import rms

EXACT_RATE, RATE = 1000.0, 500.0
"""Control and sampling rate [Hz] of the run with exact motion, and of the noisy ones."""
NOISE_SHARE = 0.01
"""Standard deviation of torque noise, share of the RMS of every joint."""
BANDWIDTH = 15.0
"""Of the joint controllers whose torque is compensated [rad/s]."""
NOMINAL_ERROR = 0.1
"""Largest error of the nominal parameters, relative; the box of a search is narrower."""
NONE, NOMINAL, TRUE = "no compensation", "nominal parameters", "true parameters"
MIDDLE = "middle of the box"
"""What the box of a search knows without data."""
TRACKED = (NONE, NOMINAL, "SEDSABSO", "weighted least squares", TRUE)
"""Sets whose torque is fed forward in the loop."""


def identification(*, seed: int, runs: int, x: Sequence[float]) -> dict[str, Any]:
    """Identify the feasible robot from exact motion and noisy torques, by all methods."""
    truth = model.true_of_engine()
    trajectory = model.problem().space.trajectory(np.array(x))
    log = drive(model.arm(), trajectory, EXACT_RATE)
    assert log.truth is not None
    used, true = _used(log), log.truth
    q, dq, ddq, tau = (part[used] for part in (true.q, true.dq, true.ddq, true.tau))
    W = model.regressor(q, dq, ddq, np.tanh(dq / model.arm().eps)).reshape(-1, model.N_PARAMETERS)
    noise = named_stream(seed, PAPER, "engine noise").standard_normal(tau.shape)
    fitness = AbsoluteFitness(W, (tau + NOISE_SHARE * rms(tau) * noise).ravel())
    exact = np.linalg.lstsq(W, tau.ravel(), rcond=None)[0]
    single = {
        "samples": int(used.size),
        "deviation": float(np.abs(q - trajectory(log.t[used]).q).max()),
        "exact_error": float(np.abs(exact - truth).max()),
    }
    scored = {
        name: {"runs": [_scores(beta, fitness, truth) for beta in betas]}
        for name, betas in _estimates(fitness, seed, range(runs)).items()
    }
    return {"studies": {"engine": {"methods": scored}, "engine log": single}}


def _estimates(
    fitness: AbsoluteFitness, seed: int, runs: Sequence[int]
) -> dict[str, list[Float1D]]:
    """Estimate the robot in the engine without a search, and by a search a run."""
    W, y, truth = fitness.W, fitness.y, model.true_of_engine()
    step = model.PERIOD / model.SAMPLES
    problem = LinearProblem(W, y, model.base(), model.arm().joint_names, step)
    weighted = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    estimates = {
        "least squares": [np.linalg.lstsq(W, y, rcond=None)[0]],
        "weighted least squares": [weighted.beta],
        "L1 optimum (LP)": [fitness.minimum()],
    }
    for method in model.PRINTED:
        searched = (search_once(fitness, truth, method, CLAMPED, seed, run) for run in runs)
        estimates[method] = [np.array(row["beta"]) for row in searched]
    return estimates


def _scores(beta: Float1D, fitness: AbsoluteFitness, truth: Float1D) -> dict[str, float]:
    cost = float(fitness(beta[None])[0])
    return {"fitness": cost, "error": float(np.abs(beta - truth).mean())}


def compensation(*, seed: int, run: int, count: int, x: Sequence[float]) -> dict[str, Any]:
    """Identify the robot from noisy logs of the excitation, and compensate an unseen motion.

    The batch `run` has so many runs of its own, each with its noise and its box; all of them are
    of one excitation x and one unseen motion. With the first run the torque is also fed forward.
    """
    plain = model.plain_problem()
    drawn = feasible_draws(plain, named_stream(seed, PAPER, "unseen motion"), 1)
    unseen = plain.space.trajectory(drawn[0].x)
    excitation = model.problem().space.trajectory(np.array(x))
    clean = [drive(model.arm(), path, RATE) for path in (excitation, unseen)]
    W, tau = _rows(clean[1])
    numbers = range(run * count, (run + 1) * count)
    identified = [_identify(clean, tau, seed, number) for number in numbers]
    first = {**identified[0][0], TRUE: model.true_of_engine()}
    tracking = {name: track(unseen, first.get(name)) for name in TRACKED}
    loop = {
        name: {"rms": error.tolist(), "relative": (error / tracking[NONE]).tolist()}
        for name, error in tracking.items()
    }
    names = identified[0][1]
    left = {name: {"runs": [scores[name] for _, scores in identified]} for name in names}
    studies: dict[str, Any] = {"compensation": {"methods": left}, "tracking": {"methods": loop}}
    if run == 0:
        dof = model.arm().dof
        curves = {m: (tau - W @ beta).reshape(-1, dof).T.tolist() for m, beta in first.items()}
        studies["curves"] = {"t": clean[1].t[_used(clean[1])].tolist(), **curves}
    return {"studies": studies}


def _identify(
    clean: Sequence[Log], true_torque: Float1D, seed: int, number: int
) -> tuple[dict[str, Float1D], dict[str, Any]]:
    """Return all sets of a noisy run, and what each of them leaves of the unseen torque."""
    rng = named_stream(seed, PAPER, "compensation", f"run {number}")
    sensors = with_encoders("torque-noise", relative=NOISE_SHARE)
    (W, y), (unseen, tau) = (_rows(measure(log, sensors, rng)) for log in clean)
    truth, fitness = model.true_of_engine(), AbsoluteFitness(W, y)
    off = named_stream(seed, PAPER, "nominal", f"run {number}").uniform(-1.0, 1.0, truth.size)
    sets = {
        NOMINAL: truth * (1.0 + NOMINAL_ERROR * off),
        MIDDLE: box_middle(truth, VARIANTS[CLAMPED]["half_width"], seed, number),
        **{name: beta for name, (beta,) in _estimates(fitness, seed, [number]).items()},
    }
    scores = {
        name: {
            "measured": _left(tau, unseen @ beta),
            "true": _left(true_torque, unseen @ beta),
            **_scores(beta, fitness, truth),
        }
        for name, beta in sets.items()
    }
    return sets, scores


def _left(tau: Float1D, predicted: Float1D) -> Any:
    """Measure what is left of the torque of every joint, by RMS, after compensation [%]."""
    left, size = (rms(part.reshape(-1, model.arm().dof)) for part in (tau - predicted, tau))
    return (100.0 * left / size).tolist()


def _rows(log: Log) -> tuple[Float2D, Float1D]:
    """Return regressor and torque of the samples of a log that are used, stacked."""
    motion, used = LOW_PASS(log, model.arm()), _used(log)
    q, dq, ddq, tau = (part[used] for part in (motion.q, motion.dq, motion.ddq, log.tau_meas))
    W = model.regressor(q, dq, ddq, np.tanh(dq / model.arm().eps))
    return W.reshape(-1, W.shape[-1]), tau.ravel()


def _used(log: Log) -> Int1D:
    """Return which samples of a log are used."""
    step = round(model.PERIOD / model.SAMPLES / log.dt)
    return np.asarray(np.flatnonzero(log.t >= -0.5 * log.dt)[::step])


def track(path: Excitation, beta: Float1D | None) -> Float1D:
    """Measure the RMS tracking error of every joint with a set fed forward [rad]; None for none."""
    arm = model.arm()
    t = path.start + np.arange(round((path.duration - path.start) * RATE)) / RATE
    reference = path(t)
    torque = np.zeros_like(reference.q)
    if beta is not None:
        smooth = np.tanh(reference.dq / arm.eps)
        torque = model.regressor(reference.q, reference.dq, reference.ddq, smooth) @ beta
    inertia = np.diagonal(mass_matrix(arm, random_states(arm)[0]), axis1=1, axis2=2).mean(axis=0)
    kp, kd = BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia

    def feed_forward(t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        forward = torque[round((t - path.start) * RATE)]
        return np.asarray(forward + kp * (setpoint.q - q) + kd * (setpoint.dq - dq))

    return tracking_error(drive(arm, path, RATE, TorqueLaw(feed_forward)), path)
