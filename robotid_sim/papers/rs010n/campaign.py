"""All runs of the reproduction, and what came out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.grid import RunGrid, RunRow
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.rs010n import model
from robotid_sim.papers.rs010n.ablations import ABLATIONS
from robotid_sim.papers.rs010n.excitation import CRITERIA_OF_PAPER
from robotid_sim.papers.rs010n.trials import CLAMPED, METHODS, VARIANTS

FUNCTIONS = "robotid_sim.papers.rs010n"
TRIALS = f"{FUNCTIONS}.trials"
DRAWS, QUICK_DRAWS = 300, 60
"""Random motions that the genetic algorithm must beat."""
GA_POPULATION, GA_GENERATIONS, QUICK_GENERATIONS = 50, 100, 24
QUICK_PENALTY_GENERATIONS = 8
GA_RUNS, QUICK_GA_RUNS = 3, 1
WIDTHS = (1.0, 0.3, 0.1)
"""Half-widths of the box in which the genetic algorithm searches with the printed penalty."""
MORE_RUNS = 120
"""Runs of SEDSABSO and BSO with clamp: some that stand still early set the mean."""
ABLATION_RUNS = 20
"""Runs of SEDSABSO without one of its parts."""
BATCHES, BATCH_RUNS, QUICK_BATCH_RUNS = 2, 10, 2
"""Batches of identifications in the engine, and the runs of each."""
MORE = "velocities clamped, more runs"
PENALTY = "penalty"
"""Cases of the grid beside the variants."""


MORE_METHODS = ("SEDSABSO", "BSO")


@dataclass(frozen=True, slots=True, eq=False)
class BeetleResults:
    """Everything that tables, figures and claims are made of."""

    runs: int
    random: Mapping[str, Any]
    """What `trials.random_excitation` returns."""
    many: Mapping[str, Any]
    """The same with as many motions as the genetic algorithm evaluates in all its runs."""
    grid: RunGrid
    """What `trials.search` returns, by variant and method; and ``excitation``: what
    `trials.genetic_excitation` returns, by the columns of the condition number; ``penalty``: what
    `penalty.penalized_excitation` returns, by the width of the box; and `MORE`: searches with
    clamp, more of them, and SEDSABSO without its parts."""
    engine: Mapping[str, Any]
    """What `trials.engine` returns."""
    batches: Sequence[Mapping[str, Any]] = ()
    """What `compensation.compensation` returns, by batch."""

    @property
    def excitation(self) -> Mapping[str, Any]:
        """The best excitation with unit columns, which all searches use."""
        return self.grid.best("unit", "unit", "excitation")

    def fitness(self, variant: str, method: str) -> Float1D:
        """Return the sum of absolute torque errors of every run, shape (R,) [N m]."""
        return self.grid.values(method, "fitness", variant)

    def errors(self, variant: str, method: str) -> Float2D:
        """Return the absolute errors of the 21 parameters of every run, shape (R, 21)."""
        return np.abs(self.grid.values(method, "beta", variant) - model.theoretical())

    def evaluations(self, variant: str, method: str) -> int:
        """Return the evaluations of a search."""
        return int(self.grid.runs(method, variant)[0]["evaluations"])


def run_campaign(lab: Lab) -> BeetleResults:
    """Run what is not finished: excitations, then searches along the best one."""
    runs = lab.runs_of(model.RUNS, 3)
    few, many, genetic = _excitations(lab)
    x = RunGrid.of(genetic).best("unit", "unit", "excitation")["x"]
    keys = [(variant, method) for variant in VARIANTS for method in METHODS]
    searches = [
        trial
        for k, (v, m) in enumerate(keys, start=1)
        for trial in lab.repeated(
            f"search-{k}-run", f"{TRIALS}:search", runs, x=x, variant=v, method=m
        )
    ]
    driven = lab.trial("engine", f"{TRIALS}:engine", x=x, runs=runs)
    batches, batch_runs = (1, QUICK_BATCH_RUNS) if lab.quick else (BATCHES, BATCH_RUNS)
    compensated = lab.repeated(
        "compensation", f"{FUNCTIONS}.compensation:compensation", batches, count=batch_runs, x=x
    )
    extra, extra_cells = _more(lab, x)
    results = lab.run("identification", [driven, *compensated, *searches, *extra])
    engine, rows = results[0], results[1 + batches :]
    cells = [*(key for key in keys for _ in range(runs)), *extra_cells]
    searched = RunGrid.of(zip(cells, rows, strict=True))
    first = {(MORE, m): searched.runs(m, CLAMPED) for m in MORE_METHODS}
    more = {key: [*rows, *searched.rows.get(key, ())] for key, rows in first.items()}
    grid = RunGrid({**RunGrid.of(genetic).rows, **searched.rows, **more})
    return BeetleResults(runs, few, many, grid, engine, results[1 : 1 + batches])


def _more(lab: Lab, x: Sequence[float]) -> tuple[list[Trial], list[tuple[str, str]]]:
    """Return trials, with their case and method, of what is compared with velocities clamped.

    The further runs of SEDSABSO and BSO are numbered on from those of the table.
    """
    runs = lab.runs_of(model.RUNS, 3)
    further = range(runs, runs if lab.quick or lab.runs else MORE_RUNS)
    trials = [
        lab.trial(
            f"more-{k}-run-{run}", f"{TRIALS}:search", run=run, x=x, variant=CLAMPED, method=m
        )
        for k, m in enumerate(MORE_METHODS)
        for run in further
    ]
    cells = [(MORE, m) for m in MORE_METHODS for _ in further]
    function = f"{FUNCTIONS}.ablations:ablation"
    for k, part in enumerate(ABLATIONS):
        fewer = 2 if lab.quick else min(runs, ABLATION_RUNS)
        trials += lab.repeated(f"ablation-{k}-run", function, fewer, part=part, x=x)
        cells += [(MORE, part)] * fewer
    return trials, cells


def _excitations(lab: Lab) -> tuple[RunRow, RunRow, list[tuple[tuple[str, Any], RunRow]]]:
    """Return the best of few and of many random motions, and those of the genetic algorithm."""
    draws = QUICK_DRAWS if lab.quick else DRAWS
    generations = QUICK_GENERATIONS if lab.quick else GA_GENERATIONS
    size = {"population": GA_POPULATION, "generations": generations}
    runs = QUICK_GA_RUNS if lab.quick else GA_RUNS
    function = f"{TRIALS}:genetic_excitation"
    trials = [
        trial
        for columns in CRITERIA_OF_PAPER
        for trial in lab.repeated(f"ga-{columns}", function, runs, columns=columns, **size)
    ]
    counts = {"random-few": draws, "random-many": runs * GA_POPULATION * generations}
    drawn = [lab.trial(name, f"{TRIALS}:random_excitation", draws=n) for name, n in counts.items()]
    penalized = [
        lab.trial(
            f"penalty-{k}",
            f"{FUNCTIONS}.penalty:penalized_excitation",
            run=0,
            width=width,
            population=GA_POPULATION,
            generations=QUICK_PENALTY_GENERATIONS if lab.quick else GA_GENERATIONS,
        )
        for k, width in enumerate(WIDTHS)
    ]
    few, many, *genetic = lab.run("excitation", [*drawn, *trials, *penalized])
    cells: list[tuple[str, Any]] = [
        ("excitation", columns) for columns in CRITERIA_OF_PAPER for _ in range(runs)
    ]
    cells += [(PENALTY, width) for width in WIDTHS]
    return few, many, list(zip(cells, genetic, strict=True))
