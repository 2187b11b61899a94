"""Figures 2, 4, 5, 6 and 8 of the paper."""

import numpy as np

from robotid_sim.chart import Chart, Panel, Style
from robotid_sim.chart import Curve as Line
from robotid_sim.palette import joint_role
from robotid_sim.papers.rocr6.campaign import Results
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
JOINTS = range(6)


def filtered_torque(results: Results) -> Chart:
    """Return Figure 2: torque as measured and after both filters."""
    found = results.cell[0]["figures"]["filters"]
    t = np.array(found["t"])
    shown = (
        ("raw", "raw", 0.7, "measured"),
        ("five-point", "filter-2", 0.8, "five-point smoothing"),
        ("Kalman", "warning", 1.4, "Kalman filter"),
        ("true", "true", 1.0, "true"),
    )
    panels = tuple(
        Panel(
            marks=tuple(
                Line(t, np.array(found[key][j]), label, color, width=width)
                for key, color, width, label in shown
            ),
            x_label="time [s]",
            y_label="torque [N m]" if j % 2 == 0 else "",
            title=f"({'abcdef'[j]}) joint {j + 1}",
        )
        for j in JOINTS
    )
    return Chart(
        name="figure-2",
        title="Figure 2: torque before and after the filters",
        caption="The first 2 s of the excitation. Five points at 1 kHz are 5 ms, too few to smooth "
        "much; the Kalman filter is pulled to the torque of the nominal model and lags where "
        "friction turns its sign.",
        panels=panels,
        columns=2,
        panel_height=1.5,
        share_x=True,
    )


def filter_errors(results: Results) -> Chart:
    """Return the errors of the filtered torques, which only a simulation knows."""
    found = results.cell[0]["figures"]["filters"]
    t, true = np.array(found["t"]), np.array(found["true"])
    shown = (
        ("raw", "raw", 0.7, "measured"),
        ("five-point", "filter-2", 0.8, "five-point smoothing"),
        ("Kalman", "warning", 1.4, "Kalman filter"),
    )
    panels = tuple(
        Panel(
            marks=tuple(
                Line(t, np.array(found[key][j]) - true[j], label, color, width=width)
                for key, color, width, label in shown
            ),
            x_label="time [s]",
            y_label="error [N m]" if j % 2 == 0 else "",
            title=f"joint {j + 1}",
        )
        for j in JOINTS
    )
    return Chart(
        name="filter-errors",
        title="Torque after the filters less the true torque",
        caption="The same 2 s as in Figure 2. The Kalman filter takes most of the noise away and "
        "leaves a part of the error of the nominal model that it trusts.",
        panels=panels,
        columns=2,
        panel_height=1.3,
        share_x=True,
    )


def residuals(results: Results) -> Chart:
    """Return what is left of the torques of Figure 8."""
    found = results.cell[0]["figures"]["verification"]
    t = np.linspace(0.0, OPTIONS.period, len(found["measured"][0]), endpoint=False)
    panels = tuple(
        Panel(
            marks=tuple(
                Line(
                    t,
                    np.array(found["measured"][j]) - np.array(found[m][j]),
                    m,
                    {**COLORS, "WLS": "true"}[m],
                    width=0.9,
                )
                for m in (*PAPER_METHODS, "WLS")
            ),
            x_label="time [s]",
            y_label="residual [N m]" if j % 2 == 0 else "",
            title=f"joint {j + 1}",
        )
        for j in JOINTS
    )
    return Chart(
        name="residuals",
        title="Residuals on the verification trajectory",
        caption="Torque after the Kalman filter less predicted torque, first run.",
        panels=panels,
        columns=2,
        panel_height=1.4,
        share_x=True,
    )


def fitness(results: Results) -> Chart:
    """Return Figure 4: fitness against generations."""
    least = float(np.median(results.of_search("WLS", "fitness")))
    lines = []
    for method, color, style in CURVES:
        median = np.median(results.of_search(method, "curve"), axis=0)
        generations = np.arange(1.0, median.size + 1.0)
        lines.append(Line(generations, median, method, color, style, width=1.5))
    panels = tuple(
        Panel(
            marks=tuple(lines),
            x_label="generation [-]",
            y_label="fitness [N m]",
            title=title,
            levels=(least,),
            y_range=limits,
        )
        for title, limits in (("whole range", (0.25, 0.8)), ("near the optimum", (0.307, 0.325)))
    )
    return Chart(
        name="figure-4",
        title="Figure 4: fitness curves",
        caption="Median over the runs of the best fitness so far, RMS of the torque residuals of "
        "joints 1 to 3. Dashed level: weighted least squares, the center of every box. A search "
        "ends below it where it goes back to plain least squares, the minimum of this fitness.",
        panels=panels,
        columns=2,
        panel_height=2.4,
    )


def trajectories(results: Results) -> Chart:
    """Return Figure 5: the excitation of all joints."""
    trajectory = trajectory_of(results.designs[6]["excitation"])
    t = np.linspace(0.0, OPTIONS.period, 400)
    q = trajectory(t).q
    panels = tuple(
        Panel(
            marks=tuple(Line(t, q[:, j], f"joint {j + 1}", joint_role(j)) for j in joints),
            x_label="time [s]",
            y_label="position [rad]",
            title=title,
        )
        for joints, title in ((range(3), "(a) joints 1 to 3"), (range(3, 6), "(b) joints 4 to 6"))
    )
    return Chart(
        name="figure-5",
        title="Figure 5: excitation trajectory",
        caption="One period of the fifth-order Fourier series at 0.05 Hz. It starts and ends at "
        "rest, which the paper does not ask for.",
        panels=panels,
        columns=2,
        panel_height=2.0,
    )


def torques(results: Results, what: str, place: int) -> Chart:
    """Return Figure 6 or 8: measured and predicted torques.

    Parameters
    ----------
    results : Results
        What came out.
    what : str
        ``excitation`` or ``verification``.
    place : int
        Number of the figure in the paper.
    """
    found = results.cell[0]["figures"][what]
    t = np.linspace(0.0, OPTIONS.period, len(found["measured"][0]), endpoint=False)
    panels = tuple(
        Panel(
            marks=(
                Line(t, np.array(found["measured"][j]), "measured", "raw", width=1.6),
                *(
                    Line(t, np.array(found[m][j]), m, COLORS[m], "solid", width=0.8)
                    for m in PAPER_METHODS
                ),
            ),
            x_label="time [s]",
            y_label="torque [N m]" if j % 2 == 0 else "",
            title=f"({'abcdef'[j]}) joint {j + 1}",
        )
        for j in JOINTS
    )
    return Chart(
        name=f"figure-{place}",
        title=f"Figure {place}: measured and predicted torques, {what} trajectory",
        caption="Torque after the Kalman filter and what the three methods predict, first run. At "
        "this scale no difference can be seen; Table 3 has it.",
        panels=panels,
        columns=2,
        panel_height=1.5,
        share_x=True,
    )
