"""All searches of the reproduction, and what came out of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.paper import Lab

TRIALS = "robotid_sim.papers.irb120.trials"
GRADIENT_DRAWS, GRADIENT_ITERATIONS = 20, 200
"""Random motions of which a descent starts at the best, and its largest length."""
STARTS = 3
"""Descents that share the budget of a swarm."""
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Effort:
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
    gradient_iterations: int


def effort(lab: Lab) -> Effort:
    """Return runs and budgets; side studies have fewer runs than the paper, for time."""
    if lab.quick:
        return Effort(
            runs=lab.runs_of(model.RUNS, 2),
            iterations=8,
            side_runs=1,
            study_runs=1,
            study_iterations=10,
            gradient_draws=4,
            gradient_iterations=25,
        )
    runs = lab.runs_of(model.RUNS, 2)
    return Effort(
        runs=runs,
        iterations=model.ITERATIONS,
        side_runs=min(runs, 10),
        study_runs=min(runs, 4),
        study_iterations=model.STUDY_ITERATIONS,
        gradient_draws=GRADIENT_DRAWS,
        gradient_iterations=GRADIENT_ITERATIONS,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What the searches found: a row of results a run."""

    effort: Effort
    table_3: Mapping[str, Rows]
    """By method; beside those of the paper ``random`` and ``gradient``."""
    penalty: Mapping[str, Rows]
    """By method: limits by penalty."""
    readings: Mapping[str, Rows]
    """By reading: MuPSO."""
    unprinted: Mapping[str, Rows]
    """By value of what is not printed: MuPSO."""
    sizes: Mapping[int, Rows]
    """By number of particles: MuPSO with more iterations."""

    def rows_of(self, method: str) -> Rows:
        """Return the runs of a row of Table 3; ``gradients`` are the best of three each.

        Three descents take about as many evaluations as a swarm.
        """
        if method != "gradients":
            return self.table_3[method]
        single = self.table_3["gradient"]
        firsts = range(0, max(1, len(single) - STARTS + 1), STARTS)
        groups = [single[first : first + STARTS] for first in firsts]
        return [
            {
                "condition": values(group).min(),
                "seconds": values(group, "seconds").sum(),
                "evaluations": values(group, "evaluations").sum(),
            }
            for group in groups
        ]

    @property
    def best(self) -> Float1D:
        """Coordinates of the best motion of MuPSO."""
        best = min(self.table_3["mupso"], key=lambda row: float(row["condition"]))
        return np.array(best["x"])


def values(rows: Rows, name: str = "condition") -> Float1D:
    """Return a number of every run, shape (R,)."""
    return np.array([row[name] for row in rows], dtype=float)


def curves(rows: Rows) -> tuple[Float1D, Float2D]:
    """Return evaluations (C,) and the best condition number of every run after them, (R, C)."""
    return np.array(rows[0]["curve"][0]), np.array([row["curve"][1] for row in rows])


def run_campaign(lab: Lab) -> Results:
    """Run what is not finished, and return all results."""
    budget = effort(lab)
    plan = list(_plan(lab.seed, budget))
    found = lab.run("search", [trial for _, _, trial in plan])
    gathered: dict[str, dict[Any, list[Mapping[str, Any]]]] = {}
    for (study, key, _), result in zip(plan, found, strict=True):
        gathered.setdefault(study, {}).setdefault(key, []).append(result)
    studies = ("table-3", "penalty", "reading", "unprinted", "size")
    return Results(budget, *(gathered[study] for study in studies))


def _plan(seed: int, budget: Effort) -> Iterator[tuple[str, Any, Trial]]:
    """Yield study, row and trial, long trials first so that no process waits long at the end."""
    for size in reversed(model.SWARM_SIZES):
        for run in range(budget.study_runs):
            name, iterations = f"size-{size}-{run}", budget.study_iterations
            yield "size", size, _swarm(name, seed, run, "mupso", iterations, population=size)
    for method in model.METHODS:
        for run in range(budget.runs):
            trial = _swarm(f"{method}-{run}", seed, run, method, budget.iterations)
            yield "table-3", method, trial
        for run in range(budget.side_runs):
            name = f"penalty-{method}-{run}"
            trial = _swarm(name, seed, run, method, budget.iterations, handling="penalty")
            yield "penalty", method, trial
    for study, readings in (("reading", model.READINGS), ("unprinted", model.UNPRINTED)):
        for k, reading in enumerate(readings):
            for run in range(budget.side_runs):
                name = f"{study}-{k + 1}-{run}"
                trial = _swarm(name, seed, run, "mupso", budget.iterations, reading=reading)
                yield study, reading, trial
    shared = {"population": model.POPULATION, "iterations": budget.iterations}
    for run in range(budget.runs):
        own = {"seed": seed, "run": run, "draws": budget.gradient_draws}
        own["iterations"] = budget.gradient_iterations
        yield "table-3", "gradient", Trial(f"gradient-{run}", f"{TRIALS}:gradient", own)
    for run in range(budget.side_runs):
        own = {"seed": seed, "run": run} | shared
        yield "table-3", "random", Trial(f"random-{run}", f"{TRIALS}:random_search", own)


def _swarm(
    name: str,
    seed: int,
    run: int,
    method: str,
    iterations: int,
    *,
    population: int = model.POPULATION,
    reading: str = model.MAIN_READING,
    handling: str = "scaling",
) -> Trial:
    parameters = {
        "seed": seed,
        "run": run,
        "method": method,
        "population": population,
        "iterations": iterations,
        "reading": reading,
        "handling": handling,
    }
    return Trial(name, f"{TRIALS}:swarm", parameters)
