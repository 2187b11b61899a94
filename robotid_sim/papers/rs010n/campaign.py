"""All runs of the reproduction, and what came out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.campaign.trials import Trial
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
class Searches:
    """The runs of one method in one variant."""

    fitness: Float1D
    """Sum of absolute torque errors, shape (R,) [N m]."""
    beta: Float2D
    """Parameters of Table 5, shape (R, 21)."""
    seconds: Float1D
    """CPU time of every run, shape (R,) [s]."""
    evaluations: int
    at: Float1D
    """Evaluations at the points of the curve, shape (C,)."""
    curve: Float1D
    """Mean of the best fitness so far, shape (C,)."""

    @property
    def errors(self) -> Float1D:
        """Mean absolute error of the 21 parameters, every run, shape (R,)."""
        return np.asarray(np.abs(self.beta - model.theoretical()).mean(axis=1))

    @property
    def largest_errors(self) -> Float1D:
        """Largest absolute error of the 21 parameters, every run, shape (R,)."""
        return np.asarray(np.abs(self.beta - model.theoretical()).max(axis=1))

    @property
    def best(self) -> Float1D:
        """Parameters of the run of least fitness, shape (21,)."""
        return np.asarray(self.beta[int(np.argmin(self.fitness))])


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that tables, figures and claims are made of."""

    runs: int
    random: Mapping[str, Any]
    """What `trials.random_excitation` returns."""
    many: Mapping[str, Any]
    """The same with as many motions as the genetic algorithm evaluates in all its runs."""
    genetic: Mapping[str, Sequence[Mapping[str, Any]]]
    """What `trials.genetic_excitation` returns, by the columns of the condition number."""
    searches: Mapping[tuple[str, str], Searches]
    """By variant and method."""
    engine: Mapping[str, Any]
    """What `trials.engine` returns."""

    @property
    def excitation(self) -> Mapping[str, Any]:
        """The best excitation with unit columns, which all searches use."""
        return best_excitation(self.genetic["unit"])

    def fitness(self, variant: str, method: str) -> Float1D:
        """Return the fitness of every run of a method in a variant, shape (R,)."""
        return self.searches[variant, method].fitness


def best_excitation(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the excitation of least condition number with unit columns."""
    return min(found, key=lambda one: float(one["unit"]))


def run_campaign(lab: Lab) -> Results:
    """Run what is not finished: excitations, then searches along the best one."""
    runs = lab.runs_of(model.RUNS, 3)
    drawn, many, genetic = _excitations(lab)
    x = best_excitation(genetic["unit"])["x"]
    common = {"seed": lab.seed, "x": x}
    keys = [(variant, method) for variant in VARIANTS for method in METHODS]
    searches = [
        Trial(
            f"search-{k + 1}-run-{run}",
            f"{TRIALS}:search",
            {**common, "run": run, "method": method, "variant": variant},
        )
        for k, (variant, method) in enumerate(keys)
        for run in range(runs)
    ]
    driven = Trial("engine", f"{TRIALS}:engine", {**common, "runs": runs})
    engine, *found = lab.run("identification", [driven, *searches])
    groups = (found[k * runs : (k + 1) * runs] for k in range(len(keys)))
    gathered = {key: _searches(group) for key, group in zip(keys, groups, strict=True)}
    return Results(runs, drawn, many, genetic, gathered, engine)


def _excitations(
    lab: Lab,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return the best of few and of many random motions, and those of the genetic algorithm."""
    draws = QUICK_DRAWS if lab.quick else DRAWS
    generations = QUICK_GENERATIONS if lab.quick else GA_GENERATIONS
    size = {"population": GA_POPULATION, "generations": generations}
    runs = QUICK_GA_RUNS if lab.quick else GA_RUNS
    keys = [(columns, run) for columns in CRITERIA_OF_PAPER for run in range(runs)]
    trials = [
        Trial(
            f"ga-{columns}-{run}",
            f"{TRIALS}:genetic_excitation",
            {"seed": lab.seed, "run": run, "columns": columns, **size},
        )
        for columns, run in keys
    ]
    counts = {"random-few": draws, "random-many": runs * GA_POPULATION * generations}
    drawing = [
        Trial(name, f"{TRIALS}:random_excitation", {"seed": lab.seed, "draws": count})
        for name, count in counts.items()
    ]
    few, many, *found = lab.run("excitation", [*drawing, *trials])
    genetic: dict[str, list[dict[str, Any]]] = {}
    for (columns, _), one in zip(keys, found, strict=True):
        genetic.setdefault(columns, []).append(one)
    return few, many, genetic


def _searches(runs: Sequence[Mapping[str, Any]]) -> Searches:
    fitness, beta, seconds, costs = (
        np.array([run[name] for run in runs]) for name in ("fitness", "beta", "seconds", "costs")
    )
    return Searches(
        fitness=fitness,
        beta=beta,
        seconds=seconds,
        evaluations=int(runs[0]["evaluations"]),
        at=np.array(runs[0]["at"]),
        curve=costs.mean(axis=0),
    )
