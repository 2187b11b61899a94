"""What the optimizers cost beside the cost function: microseconds an evaluation.

Population 50 in 21 dimensions, through `minimize`, with a cost function that does next to nothing
(its own time is taken off), on one BLAS thread. ``cmaes`` is the package of that name, which draws
its members one by one in Python.

Below it a whole estimation: random-weight PSO, 200 particles and 200 iterations on 48 parameters
and 60,000 rows, whose cost goes through one triangular factor and so does not depend on the rows.

Run as ``python bench/optimizer_overhead.py``.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.estimation.fitness import SquaredFitness
from robotid_sim.estimation.reduction import Reduction, triangular_factor
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.optim.stability import MovingOptimizer

POPULATION, DIMENSIONS, EVALUATIONS, REPEATS = 50, 21, 20_000, 7
SWARM_TARGET, TARGET = 5.0, 15.0
"""Largest overhead of the particle swarms, and of any method [us]."""


def free(X: np.ndarray) -> np.ndarray:
    """Return a cost that is nearly free and is not flat."""
    return X[:, 0] + X[:, 1]


def seconds_of_cost() -> float:
    """Return the time that the cost function itself takes for all evaluations [s]."""
    X = np.zeros((POPULATION, DIMENSIONS))
    began = time.perf_counter()
    for _ in range(EVALUATIONS // POPULATION):
        free(X)
    return time.perf_counter() - began


def overhead(name: str) -> tuple[float, float]:
    """Return the least and the median overhead of several runs [us an evaluation]."""
    box = np.ones(DIMENSIONS)
    method = OPTIMIZERS.build(name, population=POPULATION)
    times = []
    for seed in range(REPEATS + 1):  # the first is not counted
        rng = np.random.default_rng(seed)
        began = time.perf_counter()
        minimize(free, -box, box, method=method, max_evals=EVALUATIONS, rng=rng)
        times.append(time.perf_counter() - began - seconds_of_cost())
    microseconds = 1e6 * np.array(times[1:]) / EVALUATIONS
    return float(microseconds.min()), float(np.median(microseconds))


def is_swarm(name: str) -> bool:
    """Return whether a method belongs to the particle swarms."""
    return isinstance(OPTIMIZERS.build(name), MovingOptimizer) or name.startswith("qpso")


def whole_estimation() -> tuple[float, float]:
    """Return the time of the factor and of the search [s]."""
    parameters, rows, joints, particles = 48, 60_000, 6, 200
    rng = np.random.default_rng(0)
    W = rng.standard_normal((joints, rows // joints, parameters))
    beta = rng.uniform(1.0, 2.0, parameters)
    began = time.perf_counter()
    blocks = [np.column_stack([part, part @ beta]) for part in W]
    reduction = Reduction(np.array([triangular_factor(b) for b in blocks]), rows // joints)
    fitness = SquaredFitness.from_reduction(reduction, np.ones(joints))
    factored = time.perf_counter()
    minimize(
        fitness,
        0.9 * beta,
        1.1 * beta,
        method=OPTIMIZERS.build("rwpso", population=particles),
        max_evals=200 * particles,
        rng=rng,
    )
    return factored - began, time.perf_counter() - factored


def main() -> None:
    """Print the overhead of every method beside its target."""
    print(f"population {POPULATION}, {DIMENSIONS} dimensions, {EVALUATIONS} evaluations a run")
    print(f"{'method':20} {'best us':>8} {'median us':>10} {'target us':>10}")
    missed = []
    for name in OPTIMIZERS:
        best, median = overhead(name)
        target = SWARM_TARGET if is_swarm(name) else TARGET
        missed += [name] if median > target else []
        print(f"{name:20} {best:8.2f} {median:10.2f} {target:10.0f}")
    print(f"above their target: {', '.join(missed) or 'none'}")
    factor, search = min((whole_estimation() for _ in range(REPEATS)), key=lambda pair: pair[1])
    print(f"rwpso, 200 x 200, 48 parameters, 60,000 rows: {search:.3f} s, QR {factor:.3f} s")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
