"""Charts that several papers share: convergence, motion, and a panel a joint."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points, Space
from robotid_sim.palette import joint_role

JOINTS = range(6)
BAR = 3.0
"""Thickness of a bar [pt]."""
HALF_BOX = 0.3
"""Half height of a box."""
OUTLYING = 1.5
"""Quartile distances beyond which a value is an outlier."""
Drawn = Panel | Matrix | Space


def drawing(name: str, *panels: Drawn, height: float = 1.1, **options: Any) -> Chart:
    """Return a chart whose title and caption stand in the paper's file; see `Chart`."""
    return Chart(name=name, title="", caption="", panels=panels, panel_height=height, **options)


def plotted(marks: Iterable[Mark], x_label: str, y_label: str = "", **options: Any) -> Panel:
    """Return a panel of marks between labeled axes, with the options of `Panel`."""
    return Panel(marks=tuple(marks), x_label=x_label, y_label=y_label, **options)


def bars(values: Float1D, places: Float1D, label: str, role: str) -> Curve:
    """Return horizontal bars from zero to values, shape (N,), at heights, shape (N,)."""
    gap = np.full_like(values, np.nan)
    x = np.column_stack([np.zeros_like(values), values, gap]).ravel()
    return Curve(x, np.column_stack([places, places, gap]).ravel(), label, role, "solid", BAR)


def box(values: Float1D, place: float, labels: tuple[str, str], role: str) -> tuple[Mark, ...]:
    """Return a horizontal box plot of values, shape (N,), about a height.

    The box spans the quartiles, whiskers reach to the last value within 1.5 of their distance, and
    what lies beyond is a point. The labels are those of boxes and of outliers.
    """
    low, middle, high = np.percentile(values, (25.0, 50.0, 75.0))
    reach = OUTLYING * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    outside = np.setdiff1d(values, inside)
    nan = np.nan
    left, right = inside.min(), inside.max()
    x = np.array([left, low, nan, low, high, high, low, low, nan, middle, middle, nan, high, right])
    y = np.array([0, 0, nan, -1, -1, 1, 1, -1, nan, -1, 1, nan, 0, 0]) * HALF_BOX + place
    outline = Curve(x, y, labels[0], role, "solid", 1.4)
    if not outside.size:
        return (outline,)
    return outline, Points(outside, np.full(outside.size, place), labels[1], role, size=4.0)


def motion_chart(name: str, t: Float1D, motion: Sequence[Float2D], units: Sequence[str]) -> Chart:
    """Return position, velocity and acceleration of all joints over time, each (N, n)."""
    quantities = ("position", "velocity", "acceleration")
    panels = (
        plotted(
            (Curve(t, row, f"joint {j + 1}", joint_role(j)) for j, row in enumerate(part.T)),
            "time [s]",
            f"{quantity} [{unit}]",
        )
        for quantity, part, unit in zip(quantities, motion, units, strict=True)
    )
    return drawing(name, *panels, height=1.3, share_x=True)


def convergence_chart(
    name: str,
    panels: Mapping[str, Sequence[Mark]],
    labels: tuple[str, str],
    height: float,
    columns: int = 1,
    **options: Any,
) -> Chart:
    """Return best costs so far against effort: curves by the title of their panel.

    The labels are of x and y, that of y at the left panels alone; the height is that of a panel
    [in], and options are those of every `Panel`.
    """
    x_label, y_label = labels
    drawn = (
        plotted(marks, x_label, y_label if k % columns == 0 else "", title=heading, **options)
        for k, (heading, marks) in enumerate(panels.items())
    )
    return drawing(name, *drawn, columns=columns, height=height)


def joint_chart(
    name: str,
    marks_of_joint: Callable[[int], Sequence[Mark]],
    y_label: str,
    height: float,
    *,
    lettered: bool = False,
) -> Chart:
    """Return a chart over time with a panel for each of six joints.

    Curves are given by the index of their joint. The label of y stands at the left panels, the
    height is that of a panel [in]; lettered panels are called (a) to (f), as in print.
    """
    panels = (
        plotted(
            marks_of_joint(j),
            "time [s]",
            y_label if j % 2 == 0 else "",
            title=f"({'abcdef'[j]}) joint {j + 1}" if lettered else f"joint {j + 1}",
        )
        for j in JOINTS
    )
    return drawing(name, *panels, columns=2, height=height, share_x=True)
