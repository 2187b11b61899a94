"""Figures 2, 4, 5, 6 and 8 of the paper."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Panel, Style
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import convergence_chart, drawing, joint_chart
from robotid_sim.papers.rocr6.campaign import RwpsoResults
from robotid_sim.papers.rocr6.excitation import OPTIONS, trajectory_of
from robotid_sim.papers.rocr6.tables import PAPER_METHODS

COLORS = {"LS-PSO": "joint-2", "WLS-PSO": "joint-1", "WLS-RWPSO": "joint-0"}
CURVES: tuple[tuple[str, str, Style], ...] = (
    ("WLS-PSO", "joint-1", "solid"),
    ("WLS-RWPSO", "joint-0", "solid"),
    ("WLS-RWPSO, eq. (15) as printed", "joint-3", "dashed"),
    ("WLS-PSO, w = 0.7, c = 1.5", "joint-2", "dashed"),
    ("WLS-PSO without clamp and walls", "muted", "dotted"),
)
FILTERED = (
    ("raw", "raw", 0.7, "measured"),
    ("five-point", "filter-2", 0.8, "five-point smoothing"),
    ("Kalman", "warning", 1.4, "Kalman filter"),
)
"""Filtered torques: key, color, width, label."""


def filtered_torque(results: RwpsoResults) -> Chart:
    """Return Figure 2: torque as measured and after both filters."""
    curves = results.cell[0]["figures"]["filters"]
    t = np.array(curves["t"])
    return joint_chart(
        "figure-2",
        lambda j: [
            Curve(t, np.array(curves[key][j]), label, color, width=width)
            for key, color, width, label in (*FILTERED, ("true", "true", 1.0, "true"))
        ],
        "torque [N m]",
        1.5,
        lettered=True,
    )


def filter_errors(results: RwpsoResults) -> Chart:
    """Return the errors of the filtered torques, which only a simulation knows."""
    curves = results.cell[0]["figures"]["filters"]
    t, true = np.array(curves["t"]), np.array(curves["true"])
    return joint_chart(
        "filter-errors",
        lambda j: [
            Curve(t, np.array(curves[key][j]) - true[j], label, color, width=width)
            for key, color, width, label in FILTERED
        ],
        "error [N m]",
        1.3,
    )


def residuals(results: RwpsoResults) -> Chart:
    """Return what is left of the torques of Figure 8."""
    curves = results.cell[0]["figures"]["verification"]
    t, measured = _times(curves), np.array(curves["measured"])
    colors = {**COLORS, "WLS": "true"}
    return joint_chart(
        "residuals",
        lambda j: [
            Curve(t, measured[j] - np.array(curves[m][j]), m, colors[m], width=0.9)
            for m in (*PAPER_METHODS, "WLS")
        ],
        "residual [N m]",
        1.4,
    )


def fitness(results: RwpsoResults) -> Chart:
    """Return Figure 4: fitness against generations."""
    least = float(np.median(results.three("WLS", "fitness")))
    lines = []
    for method, color, style in CURVES:
        median = np.median(results.three(method, "curve"), axis=0)
        generations = np.arange(1.0, median.size + 1.0)
        lines.append(Curve(generations, median, method, color, style, width=1.5))
    chart = convergence_chart(
        "figure-4",
        {"whole range": lines, "near the optimum": lines},
        ("generation [-]", "fitness [N m]"),
        2.4,
        columns=2,
        levels=(least,),
    )
    limits = ((0.25, 0.8), (0.307, 0.325))
    panels = (
        replace(panel, y_range=ends, y_label="fitness [N m]")
        for panel, ends in zip(chart.panels, limits, strict=True)
        if isinstance(panel, Panel)
    )
    return replace(chart, panels=tuple(panels))


def trajectories(results: RwpsoResults) -> Chart:
    """Return Figure 5: the excitation of all joints."""
    trajectory = trajectory_of(results.designs[6]["excitation"])
    t = np.linspace(0.0, OPTIONS.period, 400)
    q = trajectory(t).q
    panels = tuple(
        Panel(
            marks=tuple(Curve(t, q[:, j], f"joint {j + 1}", joint_role(j)) for j in joints),
            x_label="time [s]",
            y_label="position [rad]",
            title=title,
        )
        for joints, title in ((range(3), "(a) joints 1 to 3"), (range(3, 6), "(b) joints 4 to 6"))
    )
    return drawing("figure-5", *panels, columns=2, height=2.0)


def torques(results: RwpsoResults, what: str, place: int) -> Chart:
    """Return Figure 6 (``excitation``) or 8 (``verification``): measured and predicted torques."""
    curves = results.cell[0]["figures"][what]
    t = _times(curves)
    return joint_chart(
        f"figure-{place}",
        lambda j: [
            Curve(t, np.array(curves["measured"][j]), "measured", "raw", width=1.6),
            *(Curve(t, np.array(curves[m][j]), m, COLORS[m], width=0.8) for m in PAPER_METHODS),
        ],
        "torque [N m]",
        1.5,
        lettered=True,
    )


def _times(curves: Mapping[str, Any]) -> Float1D:
    return np.linspace(0.0, OPTIONS.period, len(curves["measured"][0]), endpoint=False)


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
    )
