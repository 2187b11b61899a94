"""What a figure shows, apart from how it is drawn: marks in panels, in named colors.

A chart is drawn by matplotlib for files and paper, by plotly on a page, and written as a table; all
three take the same numbers from here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import ShapeError

Style = Literal["solid", "dashed", "dotted"]
Scale = Literal["linear", "log", "symlog"]
Symbol = Literal["circle", "diamond", "cross", "square"]


def _column(value: ArrayLike, name: str) -> Float1D:
    array = np.array(value, dtype=float)
    if array.ndim != 1:
        raise ShapeError(f"{name} of a mark has shape {array.shape}, expected (N,)")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class _Mark:
    x: Float1D
    y: Float1D
    label: str
    color: str
    """A role of `robotid_sim.palette`, such as ``joint-2`` or ``nominal``."""

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, _column(getattr(self, name), name))
        if self.x.shape != self.y.shape:
            raise ShapeError(f"mark '{self.label}': {self.x.size} x for {self.y.size} y")


@dataclass(frozen=True, slots=True, eq=False)
class Curve(_Mark):
    """A curve."""

    style: Style = "solid"
    width: float = 1.0
    """Width [pt]."""


@dataclass(frozen=True, slots=True, eq=False)
class Points(_Mark):
    """Single points, with error bars along x if wanted."""

    x_error: Float1D | None = None
    """Half lengths of the bars, shape (N,)."""
    size: float = 3.0
    """Diameter [pt]."""
    symbol: Symbol = "circle"


@dataclass(frozen=True, slots=True, eq=False)
class Band(_Mark):
    """The area between `y` and `upper`."""

    upper: Float1D = field(kw_only=True)
    """Shape (N,)."""

    def __post_init__(self) -> None:
        # No super(): a dataclass with slots is a new class, which the bare form does not know.
        _Mark.__post_init__(self)
        object.__setattr__(self, "upper", _column(self.upper, "upper"))


Mark = Curve | Points | Band


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """One pair of axes."""

    marks: tuple[Mark, ...]
    x_label: str = ""
    y_label: str = ""
    title: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    levels: tuple[float, ...] = ()
    """Horizontal lines, such as limits."""
    verticals: tuple[float, ...] = ()
    """Vertical lines, such as the truth."""
    y_ticks: tuple[str, ...] = ()
    """Names at y = 0, 1, …, from the top down; empty for numbers."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Matrix:
    """A square matrix of values in [-1, 1], shown as colors."""

    values: Float2D
    names: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Space:
    """Curves in space [m], with equal scales."""

    curves: tuple[tuple[str, str, Float2D], ...]
    """Label, color role, points of shape (N, 3)."""
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chart:
    """A figure: panels in rows of `columns`, filled row by row."""

    name: str
    """Stem of its files."""
    title: str
    caption: str
    """What is seen and how to read it; one or two sentences."""
    panels: tuple[Panel | Matrix | Space, ...]
    columns: int = 1
    column_shares: tuple[float, ...] = ()
    """Relative widths of the columns; empty for equal ones."""
    panel_height: float = 1.1
    """Height of a row [in]."""
    share_x: bool = False
    """The panels of a column have the same x axis, labelled at the bottom only."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return -(-len(self.panels) // self.columns)

    def is_lowest(self, k: int, columns: int) -> bool:
        """Return whether panel k is the lowest of its column: it names the x axis for all."""
        return k + columns >= len(self.panels)

    def legend(self) -> dict[str, Mark]:
        """Return one mark for every label, in the order of their first use."""
        marks: dict[str, Mark] = {}
        for panel in self.panels:
            if isinstance(panel, Panel):
                for mark in panel.marks:
                    if mark.label:
                        marks.setdefault(mark.label, mark)
        return marks

    def table(self) -> Iterator[tuple[str, Float1D]]:
        """Yield the columns of the chart's data: a heading and the numbers of each."""
        for k, panel in enumerate(self.panels):
            if isinstance(panel, Matrix):
                yield from zip(panel.names, panel.values, strict=True)
            elif isinstance(panel, Space):
                for label, _, points in panel.curves:
                    for axis, column in zip("xyz", np.asarray(points).T, strict=True):
                        yield f"{label} {axis} [m]", column
            else:
                yield from _panel_table(panel, panel.title or panel.y_label or str(k + 1))


def _panel_table(panel: Panel, where: str) -> Iterator[tuple[str, Float1D]]:
    last: Float1D | None = None
    for mark in panel.marks:
        if last is None or not np.array_equal(mark.x, last):
            last = mark.x
            yield f"{where}: {panel.x_label or 'x'}", mark.x
        yield f"{where}: {mark.label or panel.y_label}", mark.y
        if isinstance(mark, Band):
            yield f"{where}: {mark.label} upper", mark.upper
        if isinstance(mark, Points) and mark.x_error is not None:
            yield f"{where}: {mark.label} half width", np.asarray(mark.x_error)


def csv_text(chart: Chart) -> str:
    """Return the data of a chart as CSV; shorter columns end in empty cells."""
    columns = list(chart.table())
    longest = max((column.size for _, column in columns), default=0)
    cells: list[Sequence[str]] = []
    for _, column in columns:
        text = [f"{value:.9g}" for value in column.tolist()]
        cells.append(text + [""] * (longest - len(text)))
    head = ",".join('"' + name.replace('"', "'") + '"' for name, _ in columns)
    return "\n".join([head, *(",".join(row) for row in zip(*cells, strict=True))]) + "\n"


def thinned(n: int, most: int) -> slice:
    """Return a slice that keeps at most `most` of `n` samples, evenly."""
    return slice(None, None, max(1, -(-n // most)))
