"""The pieces of work of the reproduction; each is a function of what JSON can hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import thinned
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.settings import setting
from robotid_sim.papers.twolink import criterion as criteria
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.criterion import LS_IN_BOX, TorqueCriterion
from robotid_sim.papers.twolink.motion import STEP, Driven, drive_in_engine, integrate
from robotid_sim.streams import named_stream

SETTINGS = {
    "ELPIDSO": ("yan-2015-elpidso", {}),
    "SPSO": ("yan-2015-spso", {}),
    "GA": ("yan-2015-ga", {}),
    "ELPIDSO without I, D": ("yan-2015-elpidso", {"ki": 0.0, "kd": 0.0}),
}
"""The searches by the paper's names: published setting, and what is changed of it."""

TORQUE_NOISE = 0.005
"""Standard deviation of the noise of measured torques, share of their amplitude."""
CHECKPOINTS = 80
"""Points of a convergence curve."""
SHOWN = 250
"""Most samples of a curve over time."""


def engine_run(rho: float, seed: int) -> dict[str, Any]:
    """Drive the arm in the engine, and return the criterion with torque noise."""
    run, exact = drive_in_engine(rho), integrate([rho])[0]
    gap = run.q - exact.q[: run.t.size]
    shown = thinned(run.t.size, SHOWN)
    goal = TorqueCriterion.of_run(run)
    return {
        "ls_error": float(np.abs(goal.least_squares - model.TRUE).max()),
        "condition": float(np.linalg.cond(goal.factor)),
        "noisy": TorqueCriterion.of_run(with_torque_noise(run, rho, seed)).content(),
        "largest_gap": float(np.abs(gap).max()),
        "largest_motion": float(np.abs(exact.q - exact.q[0]).max()),
        "largest_residual": float(np.abs(run.target() - run.regressor() @ model.TRUE).max()),
        "t": run.t[shown].tolist(),
        "gap": gap[shown].T.tolist(),
    }


def check_in_engine(
    rho: float, estimates: Mapping[str, list[float]], seed: int
) -> dict[str, list[float]]:
    """Return the relative errors of estimates' torques for a noisy run in the engine."""
    noisy = with_torque_noise(drive_in_engine(rho), rho, seed)
    return {
        method: criteria.relative_error(noisy, np.array(estimate)).tolist()
        for method, estimate in estimates.items()
    }


def costs_in_engine(rho: float, estimates: Sequence[list[float]], seed: int) -> dict[str, Any]:
    """Return J of least squares and of estimates for a noisy run in the engine, by definition.

    Least squares is solved afresh, and J is summed sample by sample, so that nothing of the
    quadratic form that the searches minimize enters.
    """
    noisy = with_torque_noise(drive_in_engine(rho), rho, seed)
    least = np.linalg.lstsq(noisy.regressor(), noisy.target(), rcond=None)[0]
    return {
        "least_squares": criteria.mean_squared_error(noisy, least),
        "searches": [
            criteria.mean_squared_error(noisy, np.array(estimate)) for estimate in estimates
        ],
    }


def with_torque_noise(run: Driven, rho: float, seed: int) -> Driven:
    """Return a run whose measured torques have the noise of `TORQUE_NOISE`."""
    rng = named_stream(seed, "twolink", "torque noise", f"rho {rho}")
    noise = rng.normal(0.0, TORQUE_NOISE * model.AMPLITUDE, run.tau.shape)
    return replace(run, tau=run.tau + noise)


def search(
    method: str, criterion: Mapping[str, Any], max_evals: int, seed: int, stream: list[str]
) -> dict[str, Any]:
    """Search the parameters by one of `SETTINGS` and return them with the convergence curve.

    The criterion is the content of a `TorqueCriterion`; `stream` names the random stream.
    """
    name, changes = SETTINGS[method]
    goal = TorqueCriterion.from_content(criterion)
    optimizer, rng = setting(name).build(**changes), named_stream(seed, "twolink", *stream)
    bounds = model.LOWER, model.UPPER
    best = minimize(goal.excess, *bounds, method=optimizer, max_evals=max_evals, rng=rng)
    return {
        "parameters": best.x.tolist(),
        "excess": best.fun,
        "error": float(np.abs(best.x - model.TRUE).max()),
        "evaluations": best.nfev,
        "curve": best_at(best.history, checkpoints(max_evals)).tolist(),
    }


def checkpoints(max_evals: int) -> Float1D:
    """Return the evaluations at which a convergence curve is kept, evenly in their logarithm."""
    return np.asarray(np.geomspace(40.0, max_evals, CHECKPOINTS))


def best_at(history: Float2D, evaluations: Float1D) -> Float1D:
    """Return the best cost at numbers of evaluations, of a history (nit, 2) of both."""
    last = np.searchsorted(history[:, 0], evaluations, side="right") - 1
    return np.asarray(history[np.maximum(last, 0), 1])


def differentiated(
    rho: float, noise: float, max_evals: int, seed: int, stream: list[str]
) -> dict[str, Any]:
    """Estimate from noisy positions that are differentiated twice: least squares and ELPIDSO.

    Both are given the same data, torques without noise; central differences, no filter. The noise
    is the standard deviation of the positions [rad].
    """
    run = integrate([rho])[0]
    rng = named_stream(seed, "twolink", "encoders", *stream)
    q = run.q + rng.normal(0.0, noise, run.q.shape)
    dq = np.gradient(q, STEP, axis=0)
    data = Driven(run.t, q, dq, np.gradient(dq, STEP, axis=0), run.tau)
    goal = TorqueCriterion.of_run(data)
    best = search("ELPIDSO", goal.content(), max_evals, seed, [*stream, "search"])
    found = {"LS": goal.least_squares, LS_IN_BOX: goal.in_the_box()}
    excess = {"LS": 0.0, LS_IN_BOX: float(goal.excess(found[LS_IN_BOX][None])[0])}
    found["ELPIDSO"], excess["ELPIDSO"] = np.array(best["parameters"]), best["excess"]
    scale = np.linalg.norm(model.TRUE)
    rows = {
        method: {
            "parameters": x.tolist(),
            "floor": goal.floor,
            "excess": excess[method],
            "relative": float(np.linalg.norm(x - model.TRUE) / scale),
        }
        for method, x in found.items()
    }
    return {"methods": rows}
