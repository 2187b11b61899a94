"""All trials of the reproduction, and what came out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model.catalog import published_plant
from robotid_sim.papers.grid import RunGrid
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.rocr6.model import FRICTION, ROBOT, FirstThree

FUNCTIONS = "robotid_sim.papers.rocr6"
RUNS, QUICK_RUNS = 60, 5
"""Runs of the searches on joints 1 to 3; the paper shows one."""
CELL_RUNS, QUICK_CELL_RUNS = 60, 2
"""Runs of the experiment on six joints."""
DRAWS, QUICK_DRAWS = 4000, 100
"""Draws of the noise for the weights, which need no search."""
WEIGHTED_RUNS, QUICK_WEIGHTED_RUNS = 60, 3
"""Runs of the searches on joints 1 to 3 with weighted residuals."""
FILTER_RUNS, QUICK_FILTER_RUNS = 100, 3
"""Draws of the sensors for the estimates from filtered torques."""
CONTROL_RUNS, QUICK_CONTROL_RUNS = 8, 1
"""Runs whose estimates are tried in a controller."""
CONTROLLED = ("LS-PSO", "WLS-PSO", "WLS-RWPSO", "WLS")
"""Estimates that are tried."""
ITERATIONS, QUICK_ITERATIONS = 200, 30
"""Of the design for six joints."""
THREE, SIX = "joints 1-3", "six joints"
"""Cases of the grid: the searches with the truth of Table 2, and the experiment in the engine."""


@dataclass(frozen=True, slots=True, eq=False)
class RwpsoResults:
    """Everything that tables, figures and claims are made of."""

    arm: FirstThree
    designs: Mapping[int, Mapping[str, Any]]
    """What `excitation.design` returns, for 3 and 6 joints."""
    grid: RunGrid
    """By case and method: `THREE` with what `searches.search_run` returns of a method, `SIX` with
    what `cell.experiment` returns of an estimator."""
    deviations: Float2D
    """Standard deviations of Table 2's parameters by WLS, run by run, shape (R, 21)."""
    cell: Sequence[Mapping[str, Any]]
    """What `cell.experiment` returns, run by run; curves with the first."""
    ranks: Mapping[str, int]
    """Numbers of base parameters."""
    weights: Mapping[str, Any]
    """What `weighting.readings` returns."""
    weighted: RunGrid
    """What `weighting.weighted_searches` returns, by search."""
    filtered: Mapping[str, Any]
    """What `filtering.estimates` returns."""
    tracking: RunGrid
    """What `control.tracked` returns, by model; one run of the true and the nominal model."""

    def three(self, method: str, name: str) -> Float2D:
        """Return a result of a search on joints 1 to 3 for all runs, shape (R, ...)."""
        return self.grid.values(method, name, THREE)

    def six(self, method: str, name: str) -> Float2D:
        """Return a result of an estimator on six joints for all runs, shape (R, ...)."""
        return self.grid.values(method, name, SIX)

    def filter_errors(self, name: str, where: str) -> Float2D:
        """Return the errors of a filtered torque for all runs, shape (R, 6) [N m]."""
        return np.array([run["filters"][name][where] for run in self.cell])

    def parameter_errors(self, method: str) -> Float2D:
        """Return the errors of Table 2's parameters over their deviation by WLS, (R, 21)."""
        errors = self.three(method, "parameters") - self.arm.true
        return np.asarray(errors / self.deviations)

    def gains(self, method: str, name: str = "measured_rms", case: str = SIX) -> Float2D:
        """Return the gain of WLS-RWPSO in RMS over a method on unseen motion, (R, joints) [%]."""
        ours, other = (self.grid.values(m, name, case) for m in ("WLS-RWPSO", method))
        return np.asarray(100.0 * (1.0 - ours / other))

    def weight_errors(self, name: str) -> Float2D:
        """Return squared errors by reading of the weights, mean of every joint, (R, 3)."""
        return np.array(self.weights["errors"][name])

    def filtered_errors(self, name: str) -> Float2D:
        """Return the torque errors on unseen motion by filter of the fitted torque, (R, 6)."""
        return np.array(self.filtered["errors"][name])

    def tracking_errors(self, model: str) -> Float1D:
        """Return the RMS tracking error of all joints for the runs of a model, (R,) [rad]."""
        squares = self.tracking.values(model, "rms") ** 2
        return np.asarray(np.sqrt(squares.mean(axis=1)))

    def above(self, method: str, reference: str) -> float:
        """Return the mean training RMS of a method over that of another, less one [%]."""
        means = (self.grid.mean(m, "fitness", THREE) for m in (method, reference))
        return float(100.0 * (np.divide(*means) - 1.0))


def base_ranks() -> dict[str, int]:
    """Return the numbers of base parameters that the paper states or needs."""
    arms = {"joints 1-3": FirstThree.from_catalog().robot, "joints 1-6": published_plant(ROBOT)}
    return {
        f"{name}{label}": base_parameters(arm, friction).rank
        for name, arm in arms.items()
        for label, friction in (("", ()), (" with friction", FRICTION))
    }


def run_campaign(lab: Lab) -> RwpsoResults:
    """Run what is not finished of all trials and return their results."""
    designs = _designs(lab)
    runs, cell_runs = lab.runs_of(RUNS, QUICK_RUNS), lab.runs_of(CELL_RUNS, QUICK_CELL_RUNS)
    paths = {
        joints: {name: design[name] for name in ("excitation", "verification")}
        for joints, design in designs.items()
    }
    searches = lab.repeated("search-run", f"{FUNCTIONS}.searches:search_run", runs, **paths[3])
    experiments = lab.repeated("cell-run", f"{FUNCTIONS}.cell:experiment", cell_runs, **paths[6])
    results = lab.run("search and experiment", [*experiments, *searches])
    cell, searched = results[: len(experiments)], results[len(experiments) :]
    rows = [((THREE, m), row) for run in searched for m, row in run["methods"].items()]
    rows += [((SIX, m), row) for run in cell for m, row in run["estimates"].items()]
    return RwpsoResults(
        arm=FirstThree.from_catalog(),
        designs=designs,
        grid=RunGrid.of(rows),
        deviations=np.array([run["std"] for run in searched]),
        cell=cell,
        ranks=base_ranks(),
        **_comparisons(lab, paths, cell),
    )


def _comparisons(
    lab: Lab, paths: Mapping[int, Mapping[str, Any]], cell: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return weights, weighted searches, filters and controllers."""
    weights, filtered = lab.run(
        "weights and filters",
        [
            lab.trial(
                "weights",
                f"{FUNCTIONS}.weighting:readings",
                runs=lab.runs_of(DRAWS, QUICK_DRAWS),
                **paths[3],
            ),
            lab.trial(
                "filters",
                f"{FUNCTIONS}.filtering:estimates",
                runs=lab.runs_of(FILTER_RUNS, QUICK_FILTER_RUNS),
                **paths[6],
            ),
        ],
    )
    runs = lab.runs_of(WEIGHTED_RUNS, QUICK_WEIGHTED_RUNS)
    function = f"{FUNCTIONS}.weighting:weighted_searches"
    searched = lab.run("weighted cost", lab.repeated("weighted", function, runs, **paths[3]))
    return {
        "weights": weights,
        "filtered": filtered,
        "weighted": RunGrid.of([(("", m), row) for run in searched for m, row in run.items()]),
        "tracking": _tracking(lab, paths[6]["verification"], cell),
    }


def _tracking(
    lab: Lab, verification: Mapping[str, Any], cell: Sequence[Mapping[str, Any]]
) -> RunGrid:
    runs = min(lab.runs_of(CONTROL_RUNS, QUICK_CONTROL_RUNS), len(cell))
    tried: list[dict[str, list[float]]] = [{"true": [], "nominal": []}]
    tried += [{m: run["estimates"][m]["parameters"] for m in CONTROLLED} for run in cell[:runs]]
    trials = [
        lab.trial(
            f"control-{k}",
            f"{FUNCTIONS}.control:track",
            estimates=estimates,
            verification=verification,
            run=max(k - 1, 0),
        )
        for k, estimates in enumerate(tried)
    ]
    results = lab.run("track with the models", trials)
    return RunGrid.of([(("", m), row) for run in results for m, row in run.items()])


def _designs(lab: Lab) -> dict[int, dict[str, Any]]:
    # The bands of joints 1 to 3 were set with the best of 60 random series, not improved.
    iterations = {3: 0, 6: QUICK_ITERATIONS if lab.quick else ITERATIONS}
    function = f"{FUNCTIONS}.excitation:design"
    trials = [
        lab.trial(f"design-{joints}-joints", function, joints=joints, iterations=most)
        for joints, most in iterations.items()
    ]
    return dict(zip(iterations, lab.run("design", trials), strict=True))
