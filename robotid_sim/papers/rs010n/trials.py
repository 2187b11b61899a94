"""The pieces of work of the reproduction: excitations, searches, and the run in the engine."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import thinned
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.engine.plant import Plant
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.swarm_design import DesignCost
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model import parameters
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.settings import setting
from robotid_sim.papers.rs010n import excitation, model
from robotid_sim.streams import named_stream

PAPER = "rs010n-sedsabso"
CURVE_POINTS = 100
ENGINE_STEP = 1e-3
"""Control step in the engine [s]."""
NOISE_SHARE = 0.01
"""Standard deviation of torque noise in the engine, share of the RMS of every joint."""


@dataclass(frozen=True, slots=True)
class BeetleSearch:
    """A search: its published setting, and what is changed of it."""

    setting: str
    changes: Mapping[str, Any]
    budget: str | None = None
    """Setting whose number of evaluations it gets; None for its own."""


METHODS = {
    "SEDSABSO": BeetleSearch("kou-2022-sedsabso", {}),
    "SEDSABSO, literal": BeetleSearch("kou-2022-sedsabso", {"form": "literal"}),
    "BSO": BeetleSearch("kou-2022-bso", {}),
    "BSO, literal": BeetleSearch("kou-2022-bso", {"form": "literal"}),
    "LDWPSO": BeetleSearch("kou-2022-ldwpso", {}),
    "LDWPSO, as many evaluations": BeetleSearch("kou-2022-ldwpso", {}, "kou-2022-sedsabso"),
}
"""Searches of the page; those of the paper without a suffix are in the corrected form."""


@dataclass(frozen=True, slots=True)
class SearchVariant:
    """What the paper does not print: the box of the search, and the clamp of velocities."""

    half_width: float
    """Of the box, in every parameter, in its SI unit."""
    velocity_limit: float
    """Share of the box per iteration."""


FREE = "no velocity clamp"
CLAMPED = "velocities clamped"
WIDE = "clamped, wide box"
VARIANTS = {
    FREE: SearchVariant(0.5, 1e6),
    CLAMPED: SearchVariant(0.5, 0.2),
    WIDE: SearchVariant(5.0, 0.2),
}
"""Velocity limits of a million boxes are none; at the walls points are clipped."""


def random_excitation(*, seed: int, draws: int) -> dict[str, Any]:
    """Return the best of some random motions within the limits, for both condition numbers.

    Of one seed, fewer motions are the first of more.
    """
    paper = excitation.problem()
    plain = ExcitationProblem(paper.nominal, paper.basis, paper.options, paper.criterion)
    drawn = feasible_draws(plain, named_stream(seed, PAPER, "random"), draws)
    numbers = [excitation.condition_numbers(draw.x) for draw in drawn]
    least = {name: min(draw[name] for draw in numbers) for name in excitation.CRITERIA_OF_PAPER}
    return {"draws": draws, **least}


def genetic_excitation(
    *, seed: int, run: int, columns: str, population: int, generations: int
) -> dict[str, Any]:
    """Return the excitation that a genetic algorithm finds.

    It minimizes the condition number of ``unit`` columns, or in ``SI`` units.
    """
    problem = excitation.problem(columns)
    cost = DesignCost(problem)
    box = np.ones(problem.space.size)
    rng = named_stream(seed, PAPER, "ga", columns, f"run {run}")
    most = population * generations
    best = minimize(cost, -box, box, method="ga", population=population, max_evals=most, rng=rng)
    x = cost.meant(best.x)
    assert x is not None
    return {
        "x": x.tolist(),
        "evaluations": best.nfev,
        "limit_use": excitation.limit_use(x),
        **excitation.condition_numbers(x),
    }


def search(*, seed: int, run: int, method: str, variant: str, x: Sequence[float]) -> dict[str, Any]:
    """Return what a search finds from noise-free torques of the theoretical parameters.

    The method is one of `METHODS`, the variant one of `VARIANTS`.
    """
    W = model.regressor(*excitation.motion(np.array(x))).reshape(-1, len(model.TABLE_5))
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    return one_search(fitness, model.theoretical(), method, variant, seed, run)


def one_search(
    fitness: AbsoluteFitness, center: Float1D, method: str, variant: str, seed: int, run: int
) -> dict[str, Any]:
    """Return what one run of a search finds, with the cost of eq. (17).

    The box is about a point that is drawn within half its size of `center`, the true parameters
    (21,), the same for all methods: a box about the truth would give the answer away.
    """
    chosen, how = METHODS[method], VARIANTS[variant]
    shift = named_stream(seed, PAPER, "box", f"run {run}").uniform(-0.5, 0.5, center.size)
    middle = center + how.half_width * shift
    budget = setting(chosen.budget or chosen.setting).max_evals
    free = {"bounds": "clip"} if variant == FREE else {}
    optimizer = setting(chosen.setting).build(
        **chosen.changes, **free, velocity_limit=how.velocity_limit
    )
    ends = middle - how.half_width, middle + how.half_width
    rng = named_stream(seed, PAPER, method, variant, f"run {run}")
    began = time.process_time()
    best = minimize(fitness, *ends, method=optimizer, max_evals=budget, rng=rng)
    seconds = time.process_time() - began
    curve = best.history[thinned(len(best.history), CURVE_POINTS)]
    return {
        "fitness": best.fun,
        "beta": best.x.tolist(),
        "seconds": seconds,
        "evaluations": best.nfev,
        "at": curve[:, 0].tolist(),
        "costs": curve[:, 1].tolist(),
    }


def engine(*, seed: int, runs: int, x: Sequence[float]) -> dict[str, Any]:
    """Return estimates from a run of the feasible robot in the engine, with torque noise."""
    arm = model.arm()
    trajectory = excitation.problem().space.trajectory(np.array(x))
    with Plant(arm, dt=ENGINE_STEP) as plant:
        log = rollout(plant, ComputedTorque(arm), trajectory)
    assert log.truth is not None
    step = round(excitation.PERIOD / ENGINE_STEP / excitation.SAMPLES)
    used = np.flatnonzero(log.t >= -0.5 * ENGINE_STEP)[::step]
    truth = log.truth
    q, dq, ddq, tau = (part[used] for part in (truth.q, truth.dq, truth.ddq, truth.tau))
    W = model.regressor(q, dq, ddq, np.tanh(dq / arm.eps)).reshape(-1, len(model.TABLE_5))
    beta = engine_truth()
    noise = named_stream(seed, PAPER, "engine noise").standard_normal(tau.shape)
    y = (tau + NOISE_SHARE * np.sqrt(np.mean(tau**2, axis=0)) * noise).ravel()
    fitness = AbsoluteFitness(W, y)
    exact = np.linalg.lstsq(W, tau.ravel(), rcond=None)[0]
    problem = LinearProblem(W, y, model.base(), arm.joint_names, step * ENGINE_STEP)
    wls = WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta
    estimates = {
        "least squares": [np.linalg.lstsq(W, y, rcond=None)[0].tolist()],
        "weighted least squares": [wls.tolist()],
        "L1 optimum (LP)": [fitness.minimum().tolist()],
    }
    for method in model.PRINTED:
        estimates[method] = [
            one_search(fitness, beta, method, CLAMPED, seed, run)["beta"] for run in range(runs)
        ]
    betas = {method: np.array(rows) for method, rows in estimates.items()}
    return {
        "samples": int(used.size),
        "tracking": float(np.abs(q - trajectory(log.t[used]).q).max()),
        "exact_error": float(np.abs(exact - beta).max()),
        "fitness": {m: fitness(rows).tolist() for m, rows in betas.items()},
        "error": {m: np.abs(rows - beta).mean(axis=1).tolist() for m, rows in betas.items()},
    }


def engine_truth() -> Float1D:
    """Return the parameters of Table 5 of the feasible robot, with its friction, shape (21,)."""
    arm = model.arm()
    phi = arm.parameters()
    inertial = parameters.N_INERTIAL * arm.dof
    drives = phi[inertial:].reshape(arm.dof, parameters.N_JOINT)
    order = [parameters.JOINT.index(symbol) for symbol in ("Fc", "Fv")]
    return model.table_5_of(phi[:inertial], drives[:, order])
