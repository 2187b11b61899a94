"""Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar

from robotid_sim.papers.irb120 import engine, model
from robotid_sim.papers.irb120.computed import compute_rows
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.paper import Lab, PlannedTrial, TrialPaper
from robotid_sim.papers.trial_table import TrialTable

TRIALS, ENGINE = f"{__package__}.trials", f"{__package__}.engine"
STARTS = 3
"""Descents that share the budget of a swarm."""
SINGLE = "single"
"""A random motion, not the best of many."""
DRIVEN = {
    "mupso": "MuPSO",
    "de": "DE",
    "gradient": "gradient",
    "random": "random search",
    SINGLE: "a single random motion",
}
"""Whose motions are driven in the engine, and what the page calls them."""
ROUNDS = 7
"""Rounds in which swarms of two sizes are timed in turn."""


class MutatingSwarmPaper(TrialPaper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER

    def run(self, lab: Lab) -> TrialTable:
        """Run the searches, drive motions in the engine, identify along the best; see `Paper`."""
        effort = {name: lab.choose(*sizes) for name, sizes in model.PRINTED["effort"].items()}
        runs = lab.runs_of(*model.PRINTED["runs"])
        # Side studies have fewer runs than the paper, for time.
        effort |= {name: min(runs, n) for name, n in effort.items() if name.endswith("runs")}
        effort = {"runs": runs} | effort
        table = lab.tabulate("search", _searches(lab, effort))
        # The best of three descents each, which need about as many evaluations as a swarm.
        descents, rows = table.runs("table 3", "gradient"), []
        for first in range(0, max(1, len(descents) - STARTS + 1), STARTS):
            group = descents[first : first + STARTS]
            spent = {name: sum(run[name] for run in group) for name in ("seconds", "evaluations")}
            rows.append({"condition": min(run["condition"] for run in group), **spent})
        table = table | TrialTable({("table 3", "", "gradients"): rows})
        table = table | _driven(lab, effort, table)
        return table | compute_rows(table, lab.seed, effort)


def _searches(lab: Lab, effort: Mapping[str, int]) -> list[PlannedTrial]:
    """Plan all searches, long ones first so that no process waits long at the end."""
    cells: list[PlannedTrial] = []
    runs, side = effort["runs"], effort["side_runs"]
    size = {"population": model.POPULATION, "iterations": effort["iterations"]}
    paper = {"method": "mupso", "reading": model.MAIN_READING, "handling": "scaling"}

    def swarms(study: str, row: str, runs: int, **settings: Any) -> None:
        options = {**size, **paper, **settings}
        cells.extend(lab.cells((study, "", row), f"{TRIALS}:swarm", runs, **options))

    for particles in reversed(model.SWARM_SIZES):
        settings = {"population": particles, "iterations": effort["study_iterations"]}
        swarms("size", str(particles), effort["study_runs"], **settings)
    for method in model.METHODS:
        swarms("table 3", method, runs, method=method)
        swarms("penalty", method, side, method=method, handling="penalty")
    for study, readings in (("reading", model.READINGS), ("unprinted", model.UNPRINTED)):
        for reading in readings:
            swarms(study, reading, side, reading=reading)
    descent = {"draws": effort["draws"], "iterations": effort["descent_iterations"]}
    cells += lab.cells(("table 3", "", "random"), f"{TRIALS}:random_search", side, **size)
    cells += lab.cells(("table 3", "", "gradient"), f"{TRIALS}:gradient", runs, **descent)
    return cells


def _driven(lab: Lab, effort: Mapping[str, int], table: TrialTable) -> TrialTable:
    """Drive motions of several searches in the engine, and time swarms of two sizes."""
    runs, logs = effort["engine_runs"], effort["logs"]
    single = lab.cell(("single", "", ""), f"{ENGINE}:random_motions", count=runs)
    drawn = lab.tabulate("single motions", [single]).runs("single")[0]["motions"]
    sizes = {"rounds": ROUNDS, "iterations": effort["timed_iterations"]}
    cells = [lab.cell(("timed", "", ""), f"{TRIALS}:swarm_times", **sizes)]
    for kind, label in DRIVEN.items():
        of_kind = drawn if kind == SINGLE else [r["x"] for r in table.runs("table 3", kind)]
        for run, x in enumerate(islice(filter(engine.drivable, of_kind), runs)):
            given = {"kind": kind, "run": run, "x": x, "logs": logs}
            cells.append(lab.cell(("engine", "", label), f"{ENGINE}:identification", **given))
    return lab.tabulate("engine", cells)
