"""Joints 1 to 3 with the parameters of Table 2: least squares and the swarms around it.

And eq. (9)-(12) as printed beside what they must mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.fitness import SquaredFitness
from robotid_sim.estimation.least_squares import (
    OrdinaryLeastSquares,
    WeightedLeastSquares,
    noise_std,
)
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import Reduction, reduce_rows
from robotid_sim.model import parameters
from robotid_sim.optim.minimize import minimize, setting
from robotid_sim.papers.rocr6.model import (
    OPTIONS,
    PRINTED,
    ROBOT,
    SAMPLES,
    FirstThree,
    sample_times,
    trajectory_of,
)
from robotid_sim.streams import named_stream
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.validation.prediction import rms

NOISE = (0.35, 0.2, 0.35)
"""Torque noise of joints 1 to 3 [N m], about the residuals of Table 3."""
BOX = 0.1
"""Half width of the search box, share of every parameter."""
CLAMP = {"velocity_limit": 0.1, "bounds": "clip"}
"""Limit of velocity [share of the box's width] and walls, which the paper does not mention.

Without them w = 1.3 diverges. The limit is a fifth of the box's half width. With 0.05 RWPSO comes
nearest to its printed generations, with 0.2 the PSO does; no limit gives both, and the page shows
all three.
"""
SETTLED = 0.99
"""Share of the whole fall of the fitness at which a search counts as converged."""


@dataclass(frozen=True, slots=True)
class BoxedSwarm:
    """A swarm in a box about a least-squares estimate, as ``settings.toml`` has it."""

    setting: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    start: str = "WLS"
    knows_start: bool = False
    weighted: bool = False


def search_run(
    excitation: Mapping[str, Any],
    verification: Mapping[str, Any],
    seed: int,
    run: int,
    searches: str = "searches",
) -> dict[str, Any]:
    """Estimate once from noisy torques: least squares, weighted least squares, and searches.

    Motion is exact, along trajectories in their JSON form. The fitness is the root mean square of
    all torque residuals, and every search has 200 particles and 200 generations; noise and searches
    depend on the run. Deviations are errors over the standard deviations by weighted least squares.
    """
    arm = FirstThree.from_catalog()
    rng = named_stream(seed, ROBOT, "torque noise", f"run {run}")
    problem = noisy_problem(arm, trajectory_of(excitation), rng)
    rows = problem.y.size
    starts = {
        "LS": OrdinaryLeastSquares().fit(problem, rng),
        "WLS": WeightedLeastSquares().fit(problem, rng),
    }
    reduction = reduce_rows(problem)
    plain = SquaredFitness.of(reduction, np.ones(problem.dof))
    weighted = SquaredFitness.of(reduction, 1.0 / starts["WLS"].noise_std)
    unseen = stacked(arm, trajectory_of(verification))
    std = np.sqrt(np.diagonal(np.asarray(starts["WLS"].cov_white)))
    methods: dict[str, Any] = {
        name: {"evaluations": 0, **_scored(start.beta, plain, arm, unseen, rows)}
        for name, start in starts.items()
    }
    for name, fields in PRINTED[searches].items():
        method = BoxedSwarm(**fields)
        stream = named_stream(seed, ROBOT, "search", name, f"run {run}")
        fitness, center = weighted if method.weighted else plain, starts[method.start].beta
        best, curve = search(method, center, fitness, rows, stream)
        gain = 1.0 - float(np.sqrt(fitness(best[None])[0] / fitness(center[None])[0]))
        methods[name] = {
            **_scored(best, plain, arm, unseen, rows),
            "evaluations": setting(method.setting).max_evals,
            "curve": curve.tolist(),
            "generations": settled_after(curve),
            "gain_over_start": gain,
        }
    for scores in methods.values():
        scores["deviations"] = ((np.array(scores["parameters"]) - arm.true) / std).tolist()
    return {"methods": methods}


def noisy_problem(
    arm: FirstThree, trajectory: FourierTrajectory, rng: np.random.Generator
) -> LinearProblem:
    """Return the problem of exact motion along a trajectory and noisy torques."""
    W = stacked(arm, trajectory)
    y = W @ arm.true + np.tile(NOISE, SAMPLES) * rng.standard_normal(len(W))
    dt = OPTIONS.period / SAMPLES
    return LinearProblem(W, y, arm.basis, arm.robot.joint_names, dt)


def stacked(arm: FirstThree, trajectory: FourierTrajectory) -> Float2D:
    """Return the regressor of Table 2 along a trajectory, shape (6000, 21), sample-major."""
    motion = trajectory(sample_times())
    W = arm.regressor(motion.q, motion.dq, motion.ddq)
    return np.ascontiguousarray(W.reshape(-1, W.shape[2]))


def search(
    method: BoxedSwarm,
    center: Float1D,
    fitness: SquaredFitness,
    rows: int,
    rng: np.random.Generator,
) -> tuple[Float1D, Float1D]:
    """Return the best point of a search and the best fitness of every generation.

    The box reaches 10 % of the parameter's size to both sides of its center, shape (b,); the
    fitness is the sum of squared residuals, of which there are so many rows.
    """
    chosen, half = setting(method.setting), BOX * np.abs(center)
    ends, most = (center - half, center + half), chosen.max_evals
    optimizer = chosen.build(**{**CLAMP, **method.changes})
    first = center[None] if method.knows_start else None
    result = minimize(fitness, *ends, method=optimizer, max_evals=most, rng=rng, first=first)
    return result.x, np.sqrt(result.history[:, 1] / rows)


def settled_after(curve: Float1D) -> int:
    """Return the generation in which a search has done 99 % of its whole improvement."""
    goal = curve[0] - SETTLED * (curve[0] - curve[-1])
    return int(np.argmax(curve <= goal)) + 1


def _scored(
    beta: Float1D, fitness: SquaredFitness, arm: FirstThree, unseen: Float2D, rows: int
) -> dict[str, Any]:
    errors = (unseen @ (beta - arm.true)).reshape(-1, arm.robot.dof)
    return {
        "parameters": beta.tolist(),
        "fitness": float(np.sqrt(fitness(beta[None])[0] / rows)),
        "unseen_rms": rms(errors).tolist(),
    }


PAPER_DIVISOR, AS_PRINTED = "WLS, divisor of eq. (11)", "WLS, eq. (11) as printed"


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
            unseen_rms = rms((unseen @ (beta - arm.true)).reshape(-1, dof)).tolist()
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


def noise_by_the_paper(reduction: Reduction, beta: Float1D) -> Float1D:
    """Return the noise of every joint with the divisor N - r_j of eq. (11) [N m].

    r_j is the number of parameters on which the torque of joint j depends.
    """
    squares = reduction.squared_residuals(beta)
    columns = reduction.factors[:, :, :-1]
    combinations = (np.linalg.norm(columns, axis=1) > 1e-9).sum(axis=1)
    return np.asarray(np.sqrt(squares / (reduction.samples - combinations)))
