"""The Cartesian excitation of an ABB IRB 120 by all optimizers with their defaults.

The problem is that of Umar, Shi, Khlil, Farouk (2021), doi:10.4314/njt.v40i4.14, which ``robotid
reproduce irb120-mupso`` solves with the published settings: a Cartesian Fourier path of the wrist
center, 15 base parameters, the condition number with columns of unit length, 50 x 30 evaluations.

Run as ``python bench/cartesian_path.py [SEEDS]``.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.excitation.optimal import DesignCost
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.papers.irb120 import model


def swarm(method: str, seed: int) -> float:
    """Return the condition number that a swarm arrives at."""
    problem = model.problem()
    box = np.ones(problem.space.size)
    found = minimize(
        DesignCost(problem),
        -box,
        box,
        method=OPTIMIZERS.build(method),
        max_evals=model.POPULATION_SIZE * model.ITERATIONS,
        rng=np.random.default_rng(seed),
    )
    return float(np.exp(found.fun))


def main() -> None:
    """Print a row a method, the best mean first."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    swarm("mupso", 0)  # compiles
    rows = []
    for method in OPTIMIZERS:
        began = time.perf_counter()
        values = np.array([swarm(method, seed) for seed in range(seeds)])
        seconds = (time.perf_counter() - began) / seeds
        rows.append((values.mean(), values.min(), values.std(), seconds, method))
    print(f"{'method':20} {'mean':>7} {'best':>7} {'std':>7} {'s a run':>9}")
    for mean, best, std, seconds, method in sorted(rows):
        print(f"{method:20} {mean:7.2f} {best:7.2f} {std:7.2f} {seconds:9.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
