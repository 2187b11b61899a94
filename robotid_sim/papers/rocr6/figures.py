"""Figures 2, 4, 5, 6 and 8 of the paper."""

import numpy as np

from robotid_sim.chart import Chart, Curve, Style
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import drawing, joint_chart, plotted
from robotid_sim.papers.rocr6.campaign import THREE, RwpsoResults
from robotid_sim.papers.rocr6.control import TRACKED
from robotid_sim.papers.rocr6.excitation import OPTIONS, trajectory_of

COLORS = {"LS-PSO": "joint-2", "WLS-PSO": "joint-1", "WLS-RWPSO": "joint-0"}
CURVES: tuple[tuple[str, str, Style], ...] = (
    ("WLS-PSO", "joint-1", "solid"),
    ("WLS-RWPSO", "joint-0", "solid"),
    ("WLS-RWPSO, eq. (15) as printed", "joint-3", "dashed"),
    ("WLS-PSO, w = 0.7, c = 1.5", "joint-2", "dashed"),
    ("WLS-PSO without clamp and walls", "muted", "dotted"),
)
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


def filtered_torque(results: RwpsoResults) -> Chart:
    """Return Figure 2: torque as measured and after both filters."""
    curves = _series(results, "filters")

    def lines(j: int) -> list[Curve]:
        return [
            Curve(curves["t"], curves[key][j], label, color, width=width)
            for key, color, width, label in FILTERED
        ]

    return joint_chart("figure-2", lines, "torque [N m]", 1.5, letters="abcdef")


def filter_errors(results: RwpsoResults) -> Chart:
    """Return the errors of the filtered torques, which only a simulation knows."""
    curves = _series(results, "filters")

    def lines(j: int) -> list[Curve]:
        return [
            Curve(curves["t"], curves[key][j] - curves["true"][j], label, color, width=width)
            for key, color, width, label in FILTERED
        ]

    return joint_chart("filter-errors", lines, "error [N m]", 1.3)


def residuals(results: RwpsoResults) -> Chart:
    """Return what is left of the torques of Figure 8."""
    curves = _series(results, "verification")
    colors = {**COLORS, "WLS": "true"}

    def lines(j: int) -> list[Curve]:
        return [
            Curve(curves["t"], curves["measured"][j] - curves[m][j], m, color, width=0.9)
            for m, color in colors.items()
        ]

    return joint_chart("residuals", lines, "residual [N m]", 1.4)


def fitness(results: RwpsoResults) -> Chart:
    """Return Figure 4: fitness against generations, over its range and near the optimum."""
    least = float(results.grid.median("WLS", "fitness", THREE))
    lines = []
    for method, color, style in CURVES:
        median = results.grid.median(method, "curve", THREE)
        generations = np.arange(1.0, median.size + 1.0)
        lines.append(Curve(generations, median, method, color, style, width=1.5))
    ranges = {"whole range": (0.25, 0.8), "near the optimum": (0.307, 0.325)}
    panels = (
        plotted(
            lines, "generation [-]", "fitness [N m]", title=title, levels=(least,), y_range=ends
        )
        for title, ends in ranges.items()
    )
    return drawing("figure-4", *panels, columns=2, height=2.4)


def trajectories(results: RwpsoResults) -> Chart:
    """Return Figure 5: the excitation of all joints."""
    t = np.linspace(0.0, OPTIONS.period, 400)
    q = trajectory_of(results.designs[6]["excitation"])(t).q
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


def torques(results: RwpsoResults, what: str, place: int) -> Chart:
    """Return Figure 6 (``excitation``) or 8 (``verification``): measured and predicted torques."""
    curves = _series(results, what)

    def lines(j: int) -> list[Curve]:
        measured = Curve(curves["t"], curves["measured"][j], "measured", "raw", width=3.5)
        predicted = (
            Curve(curves["t"], curves[m][j], m, COLORS[m], style, width=width)
            for m, style, width in PREDICTED
        )
        return [measured, *predicted]

    return joint_chart(f"figure-{place}", lines, "torque [N m]", 1.5, letters="abcdef")


def tracking(results: RwpsoResults) -> Chart:
    """Return the tracking errors with the nominal and identified models in the controller."""
    curves = {m: np.array(results.tracking.runs(m)[0]["curve"]) for m, _, _ in TRACKING}
    t = np.linspace(0.0, TRACKED, curves["WLS"].shape[1])

    def lines(j: int) -> list[Curve]:
        return [
            Curve(t, np.maximum(np.abs(curves[m][j]), LEAST), m, color, style, width=1.2)
            for m, color, style in TRACKING
        ]

    panels = (
        plotted(
            lines(j),
            "time [s]",
            "|error| [mrad]" if j % 2 == 0 else "",
            title=f"joint {j + 1}",
            y_scale="log",
        )
        for j in range(6)
    )
    return drawing("tracking", *panels, columns=2, height=1.5, share_x=True)


def _series(results: RwpsoResults, what: str) -> dict[str, np.ndarray]:
    """Return the time series of the first run, joints by rows, and their times `t` [s]."""
    series = {key: np.array(rows) for key, rows in results.cell[0]["figures"][what].items()}
    if "t" not in series:
        samples = series["measured"].shape[1]
        series["t"] = np.linspace(0.0, OPTIONS.period, samples, endpoint=False)
    return series


def all_charts(results: RwpsoResults) -> tuple[Chart, ...]:
    """Return all figures."""
    return (
        trajectories(results),
        filtered_torque(results),
        filter_errors(results),
        fitness(results),
        torques(results, "excitation", 6),
        torques(results, "verification", 8),
        residuals(results),
        tracking(results),
    )
