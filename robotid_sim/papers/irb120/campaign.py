"""All searches of the reproduction, and what came out of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.grid import RunGrid, RunRow, values_of
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.engine import drivable
from robotid_sim.papers.paper import Lab

TRIALS = "robotid_sim.papers.irb120.trials"
ENGINE = "robotid_sim.papers.irb120.engine"
STARTS = 3
"""Descents that share the budget of a swarm."""
SINGLE = "single"
"""A random motion, not the best of many."""
DRIVEN = ("mupso", "de", "gradient", "random", SINGLE)
"""Whose motions are driven in the engine."""
LOGS, QUICK_LOGS = 6, 4
"""Noisy logs of a run in the engine."""
ROUNDS, TIMED_ITERATIONS, QUICK_TIMED_ITERATIONS = 7, 4, 1
"""Rounds in which swarms of two sizes are timed in turn, and the iterations of each."""


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """Runs and budgets."""

    runs: int
    """Of every method of Table 3 and of the gradient."""
    iterations: int
    side_runs: int
    """Of random search, of every method with limits by penalty, and of every reading."""
    study_runs: int
    """Of every swarm size; the paper has 30."""
    study_iterations: int
    gradient_draws: int
    """Random motions of which a descent starts at the best."""
    gradient_iterations: int
    engine_runs: int
    """Motions of every kind that are driven in the engine."""


def effort(lab: Lab) -> SearchEffort:
    """Return runs and budgets; side studies have fewer runs than the paper, for time."""
    runs = lab.runs_of(model.RUNS, 2)
    if lab.quick:
        return SearchEffort(
            runs, 8, side_runs=1, study_runs=1, study_iterations=10, gradient_draws=4,
            gradient_iterations=25, engine_runs=1,
        )  # fmt: skip
    return SearchEffort(
        runs=runs,
        iterations=model.ITERATIONS,
        side_runs=min(runs, 4),
        study_runs=min(runs, 3),
        study_iterations=model.STUDY_ITERATIONS,
        gradient_draws=20,
        gradient_iterations=200,
        engine_runs=min(runs, 10),
    )


@dataclass(frozen=True, slots=True, eq=False)
class MupsoResults:
    """What the searches arrive at."""

    effort: SearchEffort
    grid: RunGrid
    """By study and row. ``table-3``: methods, with ``random`` and ``gradient`` beside those of the
    paper; ``penalty``: methods with limits by penalty; ``reading`` and ``unprinted``: MuPSO by
    reading, and by value of what is not printed; ``size``: MuPSO by number of particles;
    ``engine``: what `engine.identification` returns, by whose motion was driven."""
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """CPU times [s] of swarms in turn, by the number of particles."""

    def runs_of(self, method: str) -> Sequence[RunRow]:
        """Return the runs of a row of Table 3; ``gradients`` are the best of three each.

        Three descents take about as many evaluations as a swarm.
        """
        if method != "gradients":
            return self.grid.runs(method, "table-3")
        single = self.grid.runs("gradient", "table-3")
        firsts = range(0, max(1, len(single) - STARTS + 1), STARTS)
        groups = [single[first : first + STARTS] for first in firsts]
        return [
            {
                "condition": values_of(group, "condition").min(),
                **{name: values_of(group, name).sum() for name in ("seconds", "evaluations")},
            }
            for group in groups
        ]

    def conditions(self, method: str | int, study: str = "table-3") -> Float1D:
        """Return the condition number of every run, shape (R,)."""
        return self.grid.values(method, "condition", study)

    @property
    def best(self) -> Float1D:
        """Coordinates of the best motion of MuPSO."""
        return np.array(self.grid.best("mupso", "condition", "table-3")["x"])


def run_campaign(lab: Lab) -> MupsoResults:
    """Run what is not finished, and return all results."""
    budget = effort(lab)
    plan = [((study, row), trial) for study, row, trials in _plan(lab, budget) for trial in trials]
    results = lab.run("search", [trial for _, trial in plan])
    keys = [key for key, _ in plan]
    searched = RunGrid.of(zip(keys, results, strict=True))
    iterations = QUICK_TIMED_ITERATIONS if lab.quick else TIMED_ITERATIONS
    function = "robotid_sim.papers.irb120.timing:swarm_times"
    timed = lab.trial("swarm-times", function, rounds=ROUNDS, iterations=iterations)
    driven, seconds = _driven(lab, budget, searched, timed)
    return MupsoResults(budget, RunGrid({**searched.rows, **driven.rows}), seconds)


def _driven(
    lab: Lab, budget: SearchEffort, searched: RunGrid, timed: Trial
) -> tuple[RunGrid, Mapping[str, Sequence[float]]]:
    """Drive motions of several searches, and return what is identified, and the timed swarms."""
    (drawn,) = lab.run(
        "single motions",
        [lab.trial("single-motions", f"{ENGINE}:random_motions", count=budget.engine_runs)],
    )
    logs = QUICK_LOGS if lab.quick else LOGS
    keys, trials = [], []
    for kind in DRIVEN:
        of_runs = [] if kind == SINGLE else searched.runs(kind, "table-3")
        motions = drawn["motions"] if kind == SINGLE else [run["x"] for run in of_runs]
        for run, x in enumerate(islice(filter(drivable, motions), budget.engine_runs)):
            given = {"kind": kind, "run": run, "x": x, "logs": logs}
            trials.append(lab.trial(f"engine-{kind}-{run}", f"{ENGINE}:identification", **given))
            keys.append(("engine", kind))
    swarms, *identified = lab.run("engine", [timed, *trials])
    return RunGrid.of(zip(keys, identified, strict=True)), swarms["seconds"]


def _plan(lab: Lab, budget: SearchEffort) -> Iterator[tuple[str, Any, list[Trial]]]:
    """Yield study, row and trials, long trials first so that no process waits long at the end."""
    size_of_swarm = {"population": model.POPULATION, "iterations": budget.iterations}
    paper = {"method": "mupso", "reading": model.MAIN_READING, "handling": "scaling"}

    def swarms(name: str, runs: int, **settings: Any) -> list[Trial]:
        parameters = {**size_of_swarm, **paper, **settings}
        return lab.repeated(name, f"{TRIALS}:swarm", runs, **parameters)

    descent = {"draws": budget.gradient_draws, "iterations": budget.gradient_iterations}
    runs, side = budget.runs, budget.side_runs
    for size in reversed(model.SWARM_SIZES):
        settings = {"population": size, "iterations": budget.study_iterations}
        yield "size", size, swarms(f"size-{size}", budget.study_runs, **settings)
    for method in model.METHODS:
        yield "table-3", method, swarms(method, runs, method=method)
        penalized = swarms(f"penalty-{method}", side, method=method, handling="penalty")
        yield "penalty", method, penalized
    for study, readings in (("reading", model.READINGS), ("unprinted", model.UNPRINTED)):
        for k, reading in enumerate(readings, start=1):
            yield study, reading, swarms(f"{study}-{k}", side, reading=reading)
    yield "table-3", "gradient", lab.repeated("gradient", f"{TRIALS}:gradient", runs, **descent)
    chance = lab.repeated("random", f"{TRIALS}:random_search", side, **size_of_swarm)
    yield "table-3", "random", chance
