"""The Cartesian excitation of an ABB IRB 120 by swarms and by gradient.

The problem of Umar, Shi, Khlil, Farouk (2021), doi:10.4314/njt.v40i4.14: a Cartesian Fourier path
of the wrist center, 15 base parameters of the first three joints, the condition number with columns
of unit length. The paper's MuPSO reaches 7.16 on the mean of 30 runs of 50 particles and 30
iterations, 4.73 at best, in 7,150 s.

The second table is the study of the swarm size: 30, 50 and 70 particles at the paper's 200
iterations.

Run as ``python bench/cartesian_path.py [SEEDS [SEEDS OF THE STUDY]]``.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.swarm_design import swarm_design
from robotid_sim.model.catalog import load_robot

METHODS = ("mupso", "pso", "ldw-pso", "de", "ga", "woa", "gwo", "goa", "cmaes")
PUBLISHED_MEAN, PUBLISHED_BEST, PUBLISHED_SECONDS = 7.16, 4.73, 7150.0

ARM = load_robot("irb120", tip="link_3")
BASIS = base_parameters(ARM, ())
FAMILY = FAMILIES.build(
    "cartesian-fourier",
    center=(0.35, 0.0, 0.45),
    point=(0.302, 0.0, 0.07),
    margin=1.0,
    torque_ratio=10.0,
)
CRITERION = CRITERIA.build("normalized-condition-number")


def swarm(method: str, seed: int, population: int = 50, generations: int = 30) -> float:
    """Return the condition number that a swarm arrives at."""
    found = swarm_design(
        ARM,
        BASIS,
        np.random.default_rng(seed),
        method=method,
        options=FAMILY,
        criterion=CRITERION,
        population=population,
        generations=generations,
    )
    return float(np.exp(found.value_after))


def row(name: str, values: list[float], seconds: float) -> None:
    """Print the statistics of some runs."""
    found = np.array(values)
    print(
        f"{name:22} {found.min():7.2f} {found.mean():7.2f} {found.std():7.2f} {found.max():7.2f} "
        f"{seconds:9.2f} {PUBLISHED_SECONDS / seconds:9.0f}"
    )


def main() -> None:
    """Print both tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    few = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    swarm("mupso", 0, 4, 1)  # compiles
    head = f"{'method':22} {'best':>7} {'mean':>7} {'std':>7} {'worst':>7} {'s a run':>9} "
    print(f"{BASIS.rank} base parameters, {seeds} seeds, 50 x 30 evaluations")
    print(head + f"{'x faster':>9}")
    print(f"{'published MuPSO':22} {PUBLISHED_BEST:7.2f} {PUBLISHED_MEAN:7.2f}")
    best = np.inf
    for method in METHODS:
        began = time.perf_counter()
        values = [swarm(method, seed) for seed in range(seeds)]
        best = min(best, *values)
        row(method, values, (time.perf_counter() - began) / seeds)
    began = time.perf_counter()
    design = optimal_design(
        ARM,
        BASIS,
        np.random.default_rng(0),
        options=FAMILY,
        criterion=CRITERION,
        starts=6,
        candidates=100,
    )
    row("gradient, 6 starts", [float(np.exp(design.value_after))], time.perf_counter() - began)
    print(f"best of all swarms {best:.3f}, gradient {np.exp(design.value_after):.3f}")
    print()
    print(f"swarm size of MuPSO, 200 iterations, {few} seeds")
    print(head)
    for population in (30, 50, 70):
        began = time.perf_counter()
        values = [swarm("mupso", seed, population, 200) for seed in range(few)]
        row(f"{population} particles", values, (time.perf_counter() - began) / few)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
