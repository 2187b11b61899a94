"""Several excitations of the ABB IRB 140: independent, each given those before it, or together.

log det of the information of all logs under the noise that criteria assume, default options, one
start of 200 draws a trajectory. Rows are seeds; the last two their mean and what it means for the
geometric mean of the standard deviations, against independent designs. "Twice" repeats the first
design. One BLAS thread, one process.

Run as ``python bench/sequential_design.py``.
"""

import time
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation.information import compute_information
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.sequence import optimal_sequence
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb

SEEDS = 6
COUNTS = (2, 3)
COLUMNS = ("twice", "independent", "sequence", "jointly")


def main() -> None:
    """Print a table for every number of trajectories."""
    robot = perturb(load_robot("irb140"), np.random.default_rng(1))
    basis = base_parameters(robot)
    optimal_design(
        robot,
        basis,
        np.random.default_rng(0),
        DesignPlan(search=GradientSearch(starts=1, iterations=2)),
    )  # compiles
    for count in COUNTS:
        head = " ".join(f"{name:>11}" for name in COLUMNS)
        print(f"\n{count} trajectories\n{'seed':>6} {head} {'s, sequence':>11} {'s, jointly':>11}")
        rows = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            apart = [
                optimal_design(
                    robot, basis, rng, DesignPlan(search=GradientSearch(starts=1))
                ).trajectory
                for _ in range(count)
            ]
            begun = [time.perf_counter()]
            settings = DesignPlan(search=GradientSearch(starts=1))
            plain = optimal_sequence(
                robot, basis, np.random.default_rng(seed), replace(settings, count=count)
            )
            begun.append(time.perf_counter())
            both = optimal_sequence(
                robot,
                basis,
                np.random.default_rng(seed),
                replace(settings, count=count, jointly=True),
            )
            begun.append(time.perf_counter())
            rows.append(
                [
                    compute_information(robot, basis, count * apart[:1]).log_det,
                    compute_information(robot, basis, apart).log_det,
                    plain.log_dets[-1],
                    both.log_dets[-1],
                    *np.diff(begun),
                ]
            )
            print(f"{seed:6} " + " ".join(f"{x:11.2f}" for x in rows[-1]), flush=True)
        mean = np.mean(rows, axis=0)
        print(f"{'mean':>6} " + " ".join(f"{x:11.2f}" for x in mean))
        std = np.exp(-0.5 * (mean[:4] - mean[1]) / basis.rank) - 1.0
        print(f"{'std':>6} " + " ".join(f"{x:11.1%}" for x in std))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
