"""Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Band, Chart, Curve, Mark, Points, Space, Style
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import drawing, motion_chart, plotted
from robotid_sim.papers.irb120 import engine, model
from robotid_sim.papers.irb120.computed import best_motion, compute_rows, conditions
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
SAMPLES = 400
"""Samples of a curve over time."""


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

    def charts(self, table: TrialTable) -> Iterator[Chart]:
        """Draw Figures 2 to 5 of the paper, and errors in the engine."""
        yield _swarm_size(table)
        yield _convergence(table)
        yield _cartesian_path(table)
        t, motion = model.PERIOD * np.arange(SAMPLES) / SAMPLES, _motion(table, "mupso")
        yield motion_chart("figure-5", t, motion, ("rad", "rad/s", "rad/s²"))
        yield _errors(table)


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


def _swarm_size(table: TrialTable) -> Chart:
    """Draw Figure 2: best cost and time by number of particles."""
    sizes = np.array(model.SWARM_SIZES, dtype=float)
    costs = [conditions(table, str(size), "size") for size in model.SWARM_SIZES]
    times = np.array([table.values("size", f"{s}", "seconds").mean() for s in model.SWARM_SIZES])
    every = np.concatenate([np.full(c.size, s) for s, c in zip(sizes, costs, strict=True)])
    rows = model.PRINTED["figure_2"]
    printed = np.array(list(rows), dtype=float)
    cost, seconds = (np.array([row[k] for row in rows.values()]) for k in ("best", "seconds"))
    reference = model.SWARM_SIZES.index(model.POPULATION)
    costs_of_runs = (
        Points(every, np.concatenate(costs), "a run", "raw"),
        Curve(sizes, np.array([c.mean() for c in costs]), "mean", "identified"),
        Points(printed, cost, "paper", "nominal", size=5.0, symbol="diamond"),
    )
    relative_times = (
        Curve(sizes, times / times[reference], "mean", "identified"),
        Points(printed, seconds / seconds[0], "paper", "nominal", size=5.0, symbol="diamond"),
    )
    labels = {"condition number [-]": costs_of_runs, "time / that of 50 [-]": relative_times}
    panels = (
        plotted(marks, "particles [-]", label, x_range=(25.0, 75.0))
        for label, marks in labels.items()
    )
    return drawing("figure-2", *panels, columns=2, height=1.8)


def _convergence(table: TrialTable) -> Chart:
    """Draw Figure 3: mean convergence of all methods."""
    marks: list[Mark] = []
    for k, (method, label) in enumerate((*model.METHODS.items(), ("random", "random search"))):
        curves = table.values("table 3", method, "curve")
        x, y = curves[0, 0] / model.POPULATION, curves[:, 1]
        if method == "mupso":
            marks.append(Band(x, y.min(axis=0), "MuPSO, all runs", "raw", upper=y.max(axis=0)))
        style: Style = "dashed" if method == "random" else "solid"
        marks.append(Curve(x, y.mean(axis=0), label, joint_role(k), style, 1.3))
    labels = ("iteration, of 50 evaluations [-]", "condition number [-]")
    best = float(conditions(table, "gradient").min())
    return drawing("figure-3", plotted(marks, *labels, levels=(best,)), height=2.8)


def _cartesian_path(table: TrialTable) -> Chart:
    """Draw Figure 4: the path of the wrist center."""
    motions = {method: _motion(table, method)[0] for method in ("gradient", "mupso")}
    looks = (("gradient", "nominal", "gradient"), ("MuPSO", "identified", "mupso"))
    paths = ((label, role, np.array([_wrist(q) for q in motions[m]])) for label, role, m in looks)
    start = motions["mupso"][0]
    chain = np.vstack([np.zeros(3), link_poses(model.arm(), start)[:, :3, 3], _wrist(start)])
    return drawing(
        "figure-4", Space(curves=(("arm at the start", "muted", chain), *paths)), height=4.0
    )


def _errors(table: TrialTable) -> Chart:
    """Draw errors in the engine over condition numbers, a point a log."""

    def points(label: str, what: str, role: str) -> Points:
        errors = table.values("engine", label, what)
        x = np.repeat(conditions(table, label, "engine"), errors.shape[1])
        return Points(x, errors.ravel(), label, role, size=3.0)

    roles = {label: joint_role(k) for k, label in enumerate(DRIVEN.values())}
    panels = (
        plotted(
            (points(label, what, role) for label, role in roles.items()),
            "condition number [-]",
            y_label,
            x_scale="log",
            y_scale="log",
        )
        for what, y_label in (
            ("relative", "parameter error [%]"),
            ("unseen", "unseen torque error [%]"),
        )
    )
    return drawing("engine", *panels, columns=2, height=2.2)


def _motion(table: TrialTable, method: str) -> tuple[Float2D, Float2D, Float2D]:
    """Compute position, velocity and acceleration of the joints along the best of a method."""
    return model.problem().space.on_grid(SAMPLES).motion(np.array(best_motion(table, method)))


def _wrist(q: Float1D) -> Float1D:
    """Compute the wrist center in the base frame [m], shape (3,)."""
    last = link_poses(model.arm(), q)[-1]
    return np.asarray(last[:3, :3] @ np.array(model.WRIST) + last[:3, 3])
