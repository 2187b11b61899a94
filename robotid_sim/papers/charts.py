"""Charts that several papers share: convergence, and a panel a joint."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robotid_sim.chart import Chart, Mark, Matrix, Panel, Space

JOINTS = range(6)
Drawn = Panel | Matrix | Space


def drawing(
    name: str, *panels: Drawn, columns: int = 1, height: float = 1.1, share_x: bool = False
) -> Chart:
    """Return a chart whose title and caption stand in the paper's file."""
    return Chart(
        name=name,
        title="",
        caption="",
        panels=panels,
        columns=columns,
        panel_height=height,
        share_x=share_x,
    )


def convergence_chart(
    name: str,
    panels: Mapping[str, Sequence[Mark]],
    labels: tuple[str, str],
    height: float,
    columns: int = 1,
    **options: Any,
) -> Chart:
    """Return best costs so far against effort.

    Parameters
    ----------
    name : str
        Of the chart.
    panels : mapping of str to sequence of Mark
        Curves by the title of their panel.
    labels : tuple of str
        Of the axes; the left panels alone have that of y.
    height : float
        Of a panel [in].
    columns : int
        Panels side by side.
    **options
        Of every panel.
    """
    x_label, y_label = labels
    drawn = (
        Panel(
            marks=tuple(marks),
            title=heading,
            x_label=x_label,
            y_label=y_label if k % columns == 0 else "",
            **options,
        )
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

    Parameters
    ----------
    name : str
        Of the chart.
    marks_of_joint : callable
        Curves of a joint by its index.
    y_label : str
        Of the left panels.
    height : float
        Of a panel [in].
    lettered : bool
        Whether panels are called (a) to (f), as in print.
    """
    panels = (
        Panel(
            marks=tuple(marks_of_joint(j)),
            x_label="time [s]",
            y_label=y_label if j % 2 == 0 else "",
            title=f"({'abcdef'[j]}) joint {j + 1}" if lettered else f"joint {j + 1}",
        )
        for j in JOINTS
    )
    return drawing(name, *panels, columns=2, height=height, share_x=True)
