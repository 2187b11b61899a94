"""The searches of the reproduction: each a swarm, a random search or a gradient descent."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import thinned
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.excitation.optimal import DesignCost, improved
from robotid_sim.excitation.plan import Handling
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.optim.minimize import minimize, setting
from robotid_sim.optim.pso import MutatingSwarm
from robotid_sim.papers.irb120.model import MAIN_READING, limit_use
from robotid_sim.papers.irb120.model import problem as problem_of
from robotid_sim.streams import named_stream

PAPER = "irb120-mupso"
CURVE_POINTS = 50


def swarm(
    *,
    seed: int,
    run: int,
    method: str,
    population: int,
    iterations: int,
    reading: str,
    handling: Handling,
) -> dict[str, Any]:
    """Return what a swarm with its published setting arrives at.

    Methods and readings draw different numbers; `handling` is how limits are kept, see
    `DesignCost`.
    """
    problem = problem_of(reading)
    cost = DesignCost(problem, handling)
    optimizer = setting(f"umar-2021-{method}").build(population=population)
    box = np.ones(problem.space.size)
    rng = named_stream(seed, PAPER, method, reading, handling, f"{population}", f"run {run}")
    most = population * iterations
    began = time.process_time()
    best = minimize(cost, -box, box, method=optimizer, max_evals=most, rng=rng)
    seconds = time.process_time() - began
    x = cost.meant(best.x)
    assert x is not None
    mutations = optimizer.mutated_at if isinstance(optimizer, MutatingSwarm) else []
    curve = best.history[thinned(len(best.history), CURVE_POINTS)]
    reached = best.history[np.argmax(best.history[:, 1] <= best.fun), 0]
    return {
        **_described(problem, x),
        "evaluations": best.nfev,
        "seconds": seconds,
        "curve": [curve[:, 0].tolist(), np.exp(curve[:, 1]).tolist()],
        "best_at": int(reached) // population,
        "mutations": [evaluations // population for evaluations in mutations],
    }


def swarm_times(*, seed: int, rounds: int, iterations: int) -> dict[str, Any]:
    """Time MuPSO with 50 and 70 particles in turn, so that other work does little harm [s]."""
    runs: dict[str, list[dict[str, float]]] = {"50": [], "70": []}
    for run in range(rounds):
        for population, of_size in runs.items():
            began = time.process_time()
            swarm(
                seed=seed,
                run=run,
                method="mupso",
                population=int(population),
                iterations=iterations,
                reading=MAIN_READING,
                handling="scaling",
            )
            of_size.append({"seconds": time.process_time() - began})
    return {"methods": {size: {"runs": of_size} for size, of_size in runs.items()}}


def random_search(*, seed: int, run: int, population: int, iterations: int) -> dict[str, Any]:
    """Return the best of as many random points of the box as a swarm may evaluate."""
    problem = problem_of()
    cost = DesignCost(problem)
    rng = named_stream(seed, PAPER, "random", f"run {run}")
    began = time.process_time()
    points = rng.uniform(-1.0, 1.0, (population * iterations, problem.space.size))
    costs = cost(points)
    seconds = time.process_time() - began
    x = cost.meant(points[int(np.argmin(costs))])
    assert x is not None
    best = np.minimum.accumulate(costs)[population - 1 :: population]
    evaluations = population * np.arange(1, iterations + 1)
    return {
        **_described(problem, x),
        "evaluations": len(costs),
        "seconds": seconds,
        "curve": [evaluations.tolist(), np.exp(best).tolist()],
    }


def gradient(*, seed: int, run: int, draws: int, iterations: int) -> dict[str, Any]:
    """Return where sequential quadratic programming arrives from the best of some motions."""
    plain = problem_of()
    problem = CountedProblem(plain.nominal, plain.basis, plain.options, plain.criterion)
    rng = named_stream(seed, PAPER, "gradient", f"run {run}")
    began = time.process_time()
    start = feasible_draws(problem, rng, draws)[0]
    arrival = improved(problem, iterations, start.x)
    x = arrival.x if arrival.value < start.value else start.x
    seconds = time.process_time() - began
    return {**_described(problem, x), "evaluations": sum(problem.calls), "seconds": seconds}


@dataclass(frozen=True, slots=True, eq=False)
class CountedProblem(ExcitationProblem):
    """An excitation problem that counts evaluations of its criterion and of the gradient."""

    calls: list[int] = field(default_factory=list, repr=False)
    """A one for every evaluation."""

    def value(self, x: Float1D, criterion: Criterion | None = None) -> float:
        """Return the criterion; see `ExcitationProblem`."""
        self.calls.append(1)
        return ExcitationProblem.value(self, x, criterion)

    def gradient(self, x: Float1D, criterion: Criterion | None = None) -> Float1D:
        """Return the gradient of the criterion; see `ExcitationProblem`."""
        self.calls.append(1)
        return ExcitationProblem.gradient(self, x, criterion)


def _described(problem: ExcitationProblem, x: Float1D) -> dict[str, Any]:
    """Return coordinates of a motion, its condition numbers, and its use of the limits."""
    unit, raw = (
        float(np.exp(ExcitationProblem.value(problem, x, CRITERIA.build(name))))
        for name in ("normalized-condition-number", "condition-number")
    )
    return {
        "x": x.tolist(),
        "condition": unit,
        "condition_si": raw,
        "limit_use": limit_use(problem, x),
    }
