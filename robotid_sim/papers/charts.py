"""Charts that several papers share: convergence, curves by joint, motion, boxes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points, Space, Style
from robotid_sim.palette import joint_role
from robotid_sim.papers.statistics import are_outliers
from robotid_sim.papers.trial_table import TrialTable

BAR = 3.0
"""Thickness of a bar [pt]."""
HALF_BOX = 0.3
"""Half height of a box."""
Drawn = Panel | Matrix | Space


def drawing(name: str, *panels: Drawn, height: float = 1.1, **options: Any) -> Chart:
    """Lay out a chart whose title and caption stand in the paper's file; see `Chart`."""
    return Chart(name=name, title="", caption="", panels=panels, panel_height=height, **options)


def plotted(marks: Iterable[Mark], x_label: str, y_label: str = "", **options: Any) -> Panel:
    """Draw marks between labeled axes, with the options of `Panel`."""
    return Panel(marks=tuple(marks), x_label=x_label, y_label=y_label, **options)


def convergence_curves(
    table: TrialTable,
    study: str,
    styles: Mapping[str, tuple[str, Style]],
    *,
    case: str | None = None,
    x: str | Float1D = "at",
    average: Callable[..., Any] = np.median,
    floor: float = -np.inf,
    labels: Mapping[str, str] | None = None,
    unit: float = 1.0,
    width: float = 1.4,
) -> Iterator[Curve]:
    """Draw the average ``curve`` of the runs of every method, not below a floor.

    Styles are color role and line style by method; x, in so large a unit, is the name of a value of
    a run, or shared by all methods, shape (N,).
    """
    for method, (role, style) in styles.items():
        curve = np.maximum(average(table.values(study, method, "curve", case), axis=0), floor)
        at = table.values(study, method, x, case)[0] if isinstance(x, str) else x[: curve.size]
        yield Curve(at / unit, curve, (labels or {}).get(method, method), role, style, width)


def joint_chart(
    name: str,
    curves: Callable[[int], Iterable[Mark]],
    y_label: str,
    height: float,
    *,
    joints: int = 6,
    columns: int = 2,
    letters: str = "",
    **options: Any,
) -> Chart:
    """Draw curves over time in a panel for each joint, given by its index.

    The label of y stands at the left panels, the height is that of a panel [in]; panels with
    letters are called (a) to (f), as in print, and options are those of every `Panel`.
    """
    panels = (
        plotted(
            curves(j),
            "time [s]",
            y_label if j % columns == 0 else "",
            title=f"({letters[j]}) joint {j + 1}" if letters else f"joint {j + 1}",
            **options,
        )
        for j in range(joints)
    )
    return drawing(name, *panels, columns=columns, height=height, share_x=True)


def motion_chart(name: str, t: Float1D, motion: Sequence[Float2D], units: Sequence[str]) -> Chart:
    """Draw position, velocity and acceleration of all joints over time, each (N, n)."""
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


def bars(values: Float1D, places: Float1D, label: str, role: str) -> Curve:
    """Draw horizontal bars from zero to values, shape (N,), at heights, shape (N,)."""
    gap = np.full_like(values, np.nan)
    x = np.column_stack([np.zeros_like(values), values, gap]).ravel()
    return Curve(x, np.column_stack([places, places, gap]).ravel(), label, role, "solid", BAR)


def box(values: Float1D, place: float, labels: tuple[str, str], role: str) -> tuple[Mark, ...]:
    """Draw a horizontal box plot of values, shape (N,), about a height.

    The box spans the quartiles, whiskers reach to the last value within 1.5 of their distance, and
    what lies beyond is a point. The labels are those of boxes and of outliers.
    """
    low, middle, high = np.percentile(values, (25.0, 50.0, 75.0))
    outlying = are_outliers(values)
    inside, outside = values[~outlying], np.unique(values[outlying])
    nan = np.nan
    left, right = inside.min(), inside.max()
    x = np.array([left, low, nan, low, high, high, low, low, nan, middle, middle, nan, high, right])
    y = np.array([0, 0, nan, -1, -1, 1, 1, -1, nan, -1, 1, nan, 0, 0]) * HALF_BOX + place
    outline = Curve(x, y, labels[0], role, "solid", 1.4)
    if not outside.size:
        return (outline,)
    return outline, Points(outside, np.full(outside.size, place), labels[1], role, size=4.0)
