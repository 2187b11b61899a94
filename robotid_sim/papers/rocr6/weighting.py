"""Eq. (9)-(12) as printed beside what they must mean, and the swarms with one cost for all."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.estimation.fitness import SquaredFitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares, noise_std
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import Reduction, reduce_rows
from robotid_sim.model import parameters
from robotid_sim.papers.rocr6.excitation import OPTIONS, SAMPLES, trajectory_of
from robotid_sim.papers.rocr6.model import ROBOT, FirstThree
from robotid_sim.papers.rocr6.searches import (
    CLAMP,
    NOISE,
    BoxedSwarm,
    noisy_problem,
    search,
    settled_after,
    stacked,
)
from robotid_sim.streams import named_stream

PAPER_DIVISOR, AS_PRINTED = "WLS, divisor of eq. (11)", "WLS, eq. (11) as printed"
WEIGHTED = {
    "WLS-PSO, weighted": BoxedSwarm("tang-2023-pso", CLAMP, weighted=True),
    "WLS-RWPSO, weighted": BoxedSwarm("tang-2023-rwpso", CLAMP, weighted=True),
}
"""The swarms with the weighted residuals as their cost, as `cell.METHODS` has them."""


def readings(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, runs: int
) -> dict[str, Any]:
    """Estimate joints 1 to 3 with the weights of every reading, from many draws of the noise.

    The readings are least squares of eq. (10), weights by eq. (11)-(12) with our divisor and with
    the paper's, and residuals that are multiplied by the variances, as eq. (11) is printed. Errors
    are squares in units of the variance that exact weights would leave, means over the parameters
    of a joint; torques are RMS along the verification trajectory [N m].
    """
    arm = FirstThree.from_catalog()
    W, unseen = (stacked(arm, trajectory_of(path)) for path in (excitation, verification))
    dof = arm.robot.dof
    noise, dt = np.tile(NOISE, SAMPLES), OPTIONS.period / SAMPLES
    variance = np.diagonal(np.linalg.inv((W / noise[:, None] ** 2).T @ W))
    owners = np.array(parameters.owners(dof))[arm.basis.columns]
    rows: dict[str, list[dict[str, list[float]]]] = {}
    divisor = 0.0
    for run in range(runs):
        rng = named_stream(seed, ROBOT, "torque noise", f"run {run}")
        y = W @ arm.true + noise * rng.standard_normal(len(W))
        reduction = reduce_rows(LinearProblem(W, y, arm.basis, arm.robot.joint_names, dt))
        betas = weighted_estimates(reduction)
        for name, beta in betas.items():
            squares = (beta - arm.true) ** 2 / variance
            means = [float(squares[owners == j].mean()) for j in range(dof)]
            unseen_rms = _rms(unseen @ (beta - arm.true))
            rows.setdefault(name, []).append({"errors": means, "unseen_rms": unseen_rms})
        change = np.abs(betas[PAPER_DIVISOR] - betas["WLS"]) / np.sqrt(variance)
        divisor = max(divisor, float(change.max()))
    weights = {"methods": {name: {"runs": of} for name, of in rows.items()}}
    return {"studies": {"weights": weights, "divisor": {"divisor": divisor}}}


def weighted_estimates(reduction: Reduction) -> dict[str, Float1D]:
    """Return the estimates of every reading of eq. (9)-(12), by name, each of shape (b,)."""
    plain, _ = reduction.solve(np.ones(reduction.dof))
    paper = noise_by_the_paper(reduction, plain)
    weights = {
        "WLS": 1.0 / noise_std(reduction, plain, plain.size),
        PAPER_DIVISOR: 1.0 / paper,
        AS_PRINTED: paper**2,
    }
    return {"LS": plain, **{name: reduction.solve(w)[0] for name, w in weights.items()}}


def weighted_searches(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, run: int
) -> dict[str, Any]:
    """Search joints 1 to 3 with the weighted residuals as cost, from the data of `search_run`."""
    arm = FirstThree.from_catalog()
    rng = named_stream(seed, ROBOT, "torque noise", f"run {run}")
    problem = noisy_problem(arm, trajectory_of(excitation), rng)
    unseen = stacked(arm, trajectory_of(verification))
    reduction, start = reduce_rows(problem), WeightedLeastSquares().fit(problem, rng)
    fitness = SquaredFitness.of(reduction, 1.0 / start.noise_std)
    plain = SquaredFitness.of(reduction, np.ones(problem.dof))
    results: dict[str, Any] = {}
    for name, method in WEIGHTED.items():
        stream = named_stream(seed, ROBOT, "search", name, f"run {run}")
        beta, curve = search(method, start.beta, fitness, problem.y.size, stream)
        results[name] = {
            "fitness": float(np.sqrt(plain(beta[None])[0] / problem.y.size)),
            "unseen_rms": _rms(unseen @ (beta - arm.true)),
            "generations": settled_after(curve),
        }
    return {"methods": results}


def noise_by_the_paper(reduction: Reduction, beta: Float1D) -> Float1D:
    """Return the noise of every joint with the divisor N - r_j of eq. (11) [N m].

    r_j is the number of parameters on which the torque of joint j depends.
    """
    squares = reduction.squared_residuals(beta)
    columns = reduction.factors[:, :, :-1]
    combinations = (np.linalg.norm(columns, axis=1) > 1e-9).sum(axis=1)
    return np.asarray(np.sqrt(squares / (reduction.samples - combinations)))


def _rms(torque: Float1D) -> list[float]:
    by_joint = torque.reshape(-1, 3)
    return [float(value) for value in np.sqrt((by_joint**2).mean(axis=0))]
