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
    """Return best costs so far against effort: curves by the title of their panel.

    The labels are of x and y, that of y at the left panels alone; the height is that of a panel
    [in], and options are those of every `Panel`.
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

    Curves are given by the index of their joint. The label of y stands at the left panels, the
    height is that of a panel [in]; lettered panels are called (a) to (f), as in print.
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
