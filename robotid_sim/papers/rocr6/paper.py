"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6."""

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from robotid_sim.chart import Chart, Curve, Style
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import convergence_curves, drawing, joint_chart, plotted
from robotid_sim.papers.paper import Lab, TrialPaper
from robotid_sim.papers.rocr6.cell import METHODS as ESTIMATORS
from robotid_sim.papers.rocr6.cell import TRACKED
from robotid_sim.papers.rocr6.model import OPTIONS, trajectory_of
from robotid_sim.papers.rocr6.searches import METHODS
from robotid_sim.papers.rocr6.study import SIX, THREE, run_all
from robotid_sim.papers.trial_table import TrialTable
from robotid_sim.section import number
from robotid_sim.table import Table

COLORS = {"LS-PSO": "joint-2", "WLS-PSO": "joint-1", "WLS-RWPSO": "joint-0"}
CURVES: dict[str, tuple[str, Style]] = {
    "WLS-PSO": ("joint-1", "solid"),
    "WLS-RWPSO": ("joint-0", "solid"),
    "WLS-RWPSO, eq. (15) as printed": ("joint-3", "dashed"),
    "WLS-PSO, w = 0.7, c = 1.5": ("joint-2", "dashed"),
    "WLS-PSO without clamp and walls": ("muted", "dotted"),
}
FILTERED = (
    ("raw", "joint-5", 0.6, "measured"),
    ("five-point", "filter-2", 0.8, "five-point smoothing"),
    ("Kalman", "warning", 1.4, "Kalman filter"),
)
"""Filtered torques: key, color, width, label; blue, green and red as in the paper."""
TRACKING: tuple[tuple[str, str, Style], ...] = (
    ("nominal", "muted", "solid"),
    ("WLS-PSO", "joint-1", "solid"),
    ("WLS-RWPSO", "joint-0", "solid"),
    ("WLS", "true", "dashed"),
)
"""Models whose tracking errors are drawn."""
PREDICTED: tuple[tuple[str, Style, float], ...] = (
    ("LS-PSO", "solid", 1.8),
    ("WLS-PSO", "dashed", 1.4),
    ("WLS-RWPSO", "dotted", 1.2),
)
"""Predicted torques, which lie on each other: style and width."""
LEAST = 1e-4
"""Tracking errors below are drawn here [mrad]."""


class Rocr6WlsRwpso(TrialPaper):
    """Weighted least squares and a swarm with random inertia around it, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"

    def run(self, lab: Lab) -> TrialTable:
        """Run what is not finished of all trials; see `Paper`."""
        return run_all(lab)

    def charts(self, table: TrialTable) -> Iterator[Chart]:
        """Draw Figures 2, 4, 5, 6 and 8 of the paper, and the errors behind them."""
        yield _trajectories(table)
        curves = {what: _series(table, what) for what in ("filters", "excitation", "verification")}
        yield _filtered(curves["filters"], "figure-2")
        yield _filtered(curves["filters"], "filter-errors")
        yield _fitness(table)
        for what, place in (("excitation", 6), ("verification", 8)):
            marks = _torques(curves[what])
            yield joint_chart(f"figure-{place}", marks, "torque [N m]", 1.5, letters="abcdef")
        unseen, colors = curves["verification"], {**COLORS, "WLS": "true"}

        def residuals(j: int) -> list[Curve]:
            return [
                Curve(unseen["t"], unseen["measured"][j] - unseen[m][j], m, color, width=0.9)
                for m, color in colors.items()
            ]

        yield joint_chart("residuals", residuals, "residual [N m]", 1.4)
        yield _tracking(table)

    def tables(self, table: TrialTable) -> Iterator[Table]:
        """List the parameters of a run, and every run with full precision."""
        (first,) = table.runs("first run")
        listed = (table.runs(SIX, m)[0]["parameters"] for m in ("WLS", "consistent", "WLS-RWPSO"))
        cells = zip(first["names"], first["units"], first["true"], *listed, strict=True)
        rows = [(name, unit, *(number(value, 5) for value in row)) for name, unit, *row in cells]
        yield Table((), tuple(rows), name="six-joints")
        rows = []
        for method in ("LS", "WLS", *METHODS):
            for k, run in enumerate(table.runs(THREE, method)):
                errors = map(repr, run["unseen_rms"])
                rows.append((THREE, method, str(k), repr(run["fitness"]), *errors, "", "", ""))
        for method in ESTIMATORS:
            for k, run in enumerate(table.runs(SIX, method)):
                rows.append((SIX, method, str(k), "", *map(repr, run["measured_rms"])))
        yield Table((), tuple(rows), name="runs")


def _filtered(curves: dict[str, np.ndarray], name: str) -> Chart:
    """Draw Figure 2, the torque as measured and after both filters; or their errors."""
    errors = name == "filter-errors"

    def lines(j: int) -> list[Curve]:
        less = curves["true"][j] if errors else 0.0
        return [
            Curve(curves["t"], curves[key][j] - less, label, color, width=width)
            for key, color, width, label in FILTERED
        ]

    if errors:
        return joint_chart(name, lines, "error [N m]", 1.3)
    return joint_chart(name, lines, "torque [N m]", 1.5, letters="abcdef")


def _fitness(table: TrialTable) -> Chart:
    """Draw Figure 4: fitness against generations, over its range and near the optimum."""
    least = float(np.median(table.values(THREE, "WLS", "fitness")))
    generations = np.arange(1.0, 1.0 + table.values(THREE, "WLS-PSO", "curve").shape[1])
    lines = list(convergence_curves(table, THREE, CURVES, x=generations, width=1.5))
    ranges = {"whole range": (0.25, 0.8), "near the optimum": (0.307, 0.325)}
    panels = (
        plotted(
            lines, "generation [-]", "fitness [N m]", title=title, levels=(least,), y_range=ends
        )
        for title, ends in ranges.items()
    )
    return drawing("figure-4", *panels, columns=2, height=2.4)


def _trajectories(table: TrialTable) -> Chart:
    """Draw Figure 5: the excitation of all joints."""
    t = np.linspace(0.0, OPTIONS.period, 400)
    (design,) = table.runs("design", "", "6")
    q = trajectory_of(design["excitation"])(t).q
    panels = (
        plotted(
            (Curve(t, q[:, j], f"joint {j + 1}", joint_role(j)) for j in joints),
            "time [s]",
            "position [rad]",
            title=title,
        )
        for joints, title in ((range(3), "(a) joints 1 to 3"), (range(3, 6), "(b) joints 4 to 6"))
    )
    return drawing("figure-5", *panels, columns=2, height=2.0)


def _torques(curves: dict[str, np.ndarray]) -> Callable[[int], list[Curve]]:
    """Draw Figure 6 or 8 of a joint: measured and predicted torques."""

    def lines(j: int) -> list[Curve]:
        measured = Curve(curves["t"], curves["measured"][j], "measured", "raw", width=3.5)
        predicted = (
            Curve(curves["t"], curves[m][j], m, COLORS[m], style, width=width)
            for m, style, width in PREDICTED
        )
        return [measured, *predicted]

    return lines


def _tracking(table: TrialTable) -> Chart:
    """Draw the tracking errors with the nominal and identified models in the controller."""
    curves = {m: np.array(table.runs("tracking", m)[0]["curve"]) for m, _, _ in TRACKING}
    t = np.linspace(0.0, TRACKED, curves["WLS"].shape[1])

    def lines(j: int) -> list[Curve]:
        return [
            Curve(t, np.maximum(np.abs(curves[m][j]), LEAST), m, color, style, width=1.2)
            for m, color, style in TRACKING
        ]

    return joint_chart("tracking", lines, "|error| [mrad]", 1.5, y_scale="log")


def _series(table: TrialTable, what: str) -> dict[str, np.ndarray]:
    """Read the time series of the first run, joints by rows, and their times `t` [s]."""
    curves = table.runs("first run")[0]["figures"][what]
    series = {key: np.array(rows) for key, rows in curves.items()}
    if "t" not in series:
        samples = series["measured"].shape[1]
        series["t"] = np.linspace(0.0, OPTIONS.period, samples, endpoint=False)
    return series
