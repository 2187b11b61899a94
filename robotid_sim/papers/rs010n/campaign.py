"""All runs of the reproduction, and what came out of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.papers.grid import RunGrid, RunRow
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.rs010n import model
from robotid_sim.papers.rs010n.excitation import CRITERIA_OF_PAPER
from robotid_sim.papers.rs010n.trials import METHODS, VARIANTS

TRIALS = "robotid_sim.papers.rs010n.trials"
DRAWS, QUICK_DRAWS = 300, 60
"""Random motions that the genetic algorithm must beat."""
GA_POPULATION, GA_GENERATIONS, QUICK_GENERATIONS = 50, 100, 24
GA_RUNS, QUICK_GA_RUNS = 3, 1


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
    `trials.genetic_excitation` returns, by the columns of the condition number."""
    engine: Mapping[str, Any]
    """What `trials.engine` returns."""

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
    engine, *rows = lab.run("identification", [driven, *searches])
    cells = [key for key in keys for _ in range(runs)]
    grid = RunGrid.of([*genetic, *zip(cells, rows, strict=True)])
    return BeetleResults(runs, few, many, grid, engine)


def _excitations(lab: Lab) -> tuple[RunRow, RunRow, list[tuple[tuple[str, str], RunRow]]]:
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
    few, many, *genetic = lab.run("excitation", [*drawn, *trials])
    cells = [("excitation", columns) for columns in CRITERIA_OF_PAPER for _ in range(runs)]
    return few, many, list(zip(cells, genetic, strict=True))
