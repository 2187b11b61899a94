"""All trials of the reproduction, and what came out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.campaign.trials import Trial
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.rocr6.model import FRICTION, ROBOT, FirstThree

FUNCTIONS = "robotid_sim.papers.rocr6"
RUNS, QUICK_RUNS = 30, 5
"""Runs of the searches on joints 1 to 3; the paper shows one."""
CELL_RUNS, QUICK_CELL_RUNS = 10, 2
"""Runs of the experiment on six joints."""
ITERATIONS, QUICK_ITERATIONS = 200, 30
"""Of the design for six joints."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that tables, figures and claims are made of."""

    arm: FirstThree
    designs: Mapping[int, Mapping[str, Any]]
    """What `excitation.design` returns, for 3 and 6 joints."""
    searched: Sequence[Mapping[str, Any]]
    """What `searches.search_run` returns, run by run."""
    cell: Sequence[Mapping[str, Any]]
    """What `cell.experiment` returns, run by run; curves with the first."""
    ranks: Mapping[str, int]
    """Numbers of base parameters."""

    def of_search(self, method: str, key: str) -> Float2D:
        """Return a result of the searches on joints 1 to 3 for all runs, shape (R, ...)."""
        return np.array([run["methods"][method][key] for run in self.searched])

    def of_cell(self, method: str, key: str) -> Float2D:
        """Return a result of the estimators on six joints for all runs, shape (R, ...)."""
        return np.array([run["estimates"][method][key] for run in self.cell])

    def filter_errors(self, name: str, where: str) -> Float2D:
        """Return the errors of a filtered torque for all runs, shape (R, 6) [N m]."""
        return np.array([run["filters"][name][where] for run in self.cell])

    def parameter_errors(self, method: str) -> Float2D:
        """Return the errors of Table 2's parameters over their deviation by WLS, (R, 21)."""
        std = np.array([run["std"] for run in self.searched])
        return np.asarray((self.of_search(method, "parameters") - self.arm.true) / std)

    def unseen_gains(self, method: str) -> Float2D:
        """Return the gain of WLS-RWPSO in noise-free RMS on unseen motion, shape (R, 3) [%]."""
        ours, other = (self.of_search(m, "unseen_rms") for m in ("WLS-RWPSO", method))
        return np.asarray(100.0 * (1.0 - ours / other))

    def gains(self, method: str) -> Float2D:
        """Return the gain of WLS-RWPSO over a method on the verification trajectory, (R, 6) [%]."""
        ours, other = (self.of_cell(m, "measured_rms") for m in ("WLS-RWPSO", method))
        return np.asarray(100.0 * (1.0 - ours / other))


def base_ranks() -> dict[str, int]:
    """Return the numbers of base parameters that the paper states or needs."""
    three, six = FirstThree.from_catalog().robot, load_robot(ROBOT)
    return {
        "joints 1-3": base_parameters(three, ()).rank,
        "joints 1-3 with friction": base_parameters(three, FRICTION).rank,
        "joints 1-6": base_parameters(six, ()).rank,
        "joints 1-6 with friction": base_parameters(six, FRICTION).rank,
    }


def run_campaign(lab: Lab) -> Results:
    """Run what is not finished of all trials and return their results."""
    designs = _designs(lab)
    quick_runs = (QUICK_RUNS, QUICK_CELL_RUNS)
    counts = [lab.runs_of(n, q) for n, q in zip((RUNS, CELL_RUNS), quick_runs, strict=True)]
    searches = _trials("search", "searches:search_run", designs[3], counts[0], lab.seed)
    cell = _trials("cell", "cell:experiment", designs[6], counts[1], lab.seed)
    found = lab.run("search and experiment", [*cell, *searches])
    return Results(
        arm=FirstThree.from_catalog(),
        designs=designs,
        searched=found[len(cell) :],
        cell=found[: len(cell)],
        ranks=base_ranks(),
    )


def _designs(lab: Lab) -> dict[int, dict[str, Any]]:
    # The bands of joints 1 to 3 were set with the best of 60 random series, not improved.
    iterations = {3: 0, 6: QUICK_ITERATIONS if lab.quick else ITERATIONS}
    trials = [
        Trial(
            f"design-{joints}-joints",
            f"{FUNCTIONS}.excitation:design",
            {"joints": joints, "iterations": most, "seed": lab.seed},
        )
        for joints, most in iterations.items()
    ]
    return dict(zip(iterations, lab.run("design", trials), strict=True))


def _trials(
    name: str, function: str, design: Mapping[str, Any], runs: int, seed: int
) -> list[Trial]:
    paths = {key: design[key] for key in ("excitation", "verification")}
    return [
        Trial(f"{name}-run-{k}", f"{FUNCTIONS}.{function}", {**paths, "seed": seed, "run": k})
        for k in range(runs)
    ]


def above(found: Float1D, reference: Float1D) -> float:
    """Return the mean of numbers over the mean of others, less one [%]."""
    return float(100.0 * (np.mean(found) / np.mean(reference) - 1.0))
