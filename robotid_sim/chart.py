"""Content of a figure, independent of its drawing: marks in panels, in named colors.

A chart is drawn by matplotlib for files and paper, by plotly on a page, and written as a table; all
three use the same numbers.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.errors import ShapeError
from robotid_sim.palette import require_role

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
        require_role(self.color, f"mark '{self.label}'")


@dataclass(frozen=True, slots=True, eq=False)
class Curve(_Mark):
    """A curve."""

    style: Style = "solid"
    width: float = 1.0
    """Width [pt]."""


@dataclass(frozen=True, slots=True, eq=False)
class Points(_Mark):
    """Single points, optionally with error bars along x."""

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
        # No super() without arguments: a dataclass with slots is a new class.
        _Mark.__post_init__(self)
        object.__setattr__(self, "upper", _column(self.upper, "upper"))


Mark = Curve | Points | Band


@dataclass(frozen=True, slots=True)
class Clock:
    """Link of a time axis to a motion; its time is ``origin + unit * x`` [s]."""

    motion: str = ""
    """Name of the motion in the replay of a page; empty for none."""
    origin: float = 0.0
    """Time at x = 0 [s]."""
    unit: float = 1.0
    """Time per unit of x [s]."""


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
    clock: Clock | None = None
    """Clock of the x axis if it is a time axis."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Matrix:
    """A matrix of values, shown as colors; by default square and of values in [-1, 1]."""

    values: Float2D
    names: tuple[str, ...]
    """Names of the rows."""
    title: str = ""
    across: tuple[str, ...] = ()
    """Names of the columns; empty for those of the rows."""
    ends: tuple[float, float] = (-1.0, 1.0)
    """Values of the first and last color."""
    colors: tuple[str, ...] = ("nominal", "identified")
    """Roles of the last colors; with a single role, the first color is the background."""
    texts: tuple[tuple[str, ...], ...] = ()
    """Texts of the cells, for a small heat map."""

    def __post_init__(self) -> None:
        for color in self.colors:
            require_role(color, f"matrix '{self.title}'")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.across or self.names

    @property
    def is_square(self) -> bool:
        """Whether it has the same rows and columns."""
        return not self.across


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Space:
    """Curves in space [m], with equal scales."""

    curves: tuple[tuple[str, str, Float2D], ...]
    """Label, color role, points of shape (N, 3)."""
    title: str = ""

    def __post_init__(self) -> None:
        for label, color, _ in self.curves:
            require_role(color, f"curve '{label}'")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chart:
    """A figure: panels in rows of `columns`, filled row by row."""

    name: str
    """Stem of its files."""
    title: str
    caption: str
    """Content of the figure and how to read it; one or two sentences."""
    panels: tuple[Panel | Matrix | Space, ...]
    columns: int = 1
    column_shares: tuple[float, ...] = ()
    """Relative widths of the columns; empty for equal ones."""
    panel_height: float = 1.1
    """Height of a row [in]."""
    share_x: bool = False
    """Whether the panels of a column share the x axis, labeled at the bottom only."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return -(-len(self.panels) // self.columns)

    def is_lowest(self, k: int, columns: int) -> bool:
        """Return whether panel k is the lowest of its column: it names the x axis for all."""
        return k + columns >= len(self.panels)

    def tie_to_motion(self, motion: str) -> Self:
        """Return the chart with its time axes, if any, linked to a motion."""
        panels = (
            replace(panel, clock=replace(panel.clock, motion=motion))
            if isinstance(panel, Panel) and panel.clock
            else panel
            for panel in self.panels
        )
        return replace(self, panels=tuple(panels))

    def legend(self) -> dict[str, Mark]:
        """Return one mark for every label, in the order of their first use."""
        marks: dict[str, Mark] = {}
        for panel in self.panels:
            if isinstance(panel, Panel):
                for mark in panel.marks:
                    if mark.label:
                        marks.setdefault(mark.label, mark)
        return marks


def csv_text(chart: Chart) -> str:
    """Return the data of a chart as tidy CSV: one row per point, with panel and series.

    Columns are panel, series, quantity, x under its own name (or ``x`` and ``x_quantity`` if panels
    differ in it) and value; also ``upper`` of bands and ``half_width`` of error bars if there are
    any. A matrix has row, column and value, curves in space x, y and z.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for panels, rows_of in ((Matrix, _matrix_rows), (Space, _space_rows), (Panel, _panel_rows)):
        chosen = [panel for panel in chart.panels if isinstance(panel, panels)]
        if chosen:
            writer.writerows(rows_of(chosen))
    return text.getvalue()


CsvRows = Iterator[Sequence[str]]


def _matrix_rows(panels: Sequence[Any]) -> CsvRows:
    yield ("row", "column", "value")
    for panel in panels:
        for name, values in zip(panel.names, panel.values, strict=True):
            for other, value in zip(panel.columns, values.tolist(), strict=True):
                yield (name, other, _format(value))


def _space_rows(panels: Sequence[Any]) -> CsvRows:
    yield ("panel", "series", "x [m]", "y [m]", "z [m]")
    for panel in panels:
        for label, _, points in panel.curves:
            for point in np.asarray(points).tolist():
                yield (panel.title, label, *map(_format, point))


def _panel_rows(panels: Sequence[Any]) -> CsvRows:
    head, parts = tidy_parts(panels)
    yield head
    extras = head[head.index("value") + 1 :]
    for lead, mark in parts:
        extra = [_extra(mark, name) for name in extras]
        columns = [
            mark.x,
            mark.y,
            *(np.full(mark.x.size, np.nan) if e is None else e for e in extra),
        ]
        for x, *values in np.column_stack(columns).tolist():
            yield (*lead, _format(x), *map(_format, values))


def tidy_parts(panels: Sequence[Any]) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], Mark]]]:
    """Return the head of the table of panels, and every mark with the first cells of its rows."""
    marks = [mark for panel in panels for mark in panel.marks]
    labels = {panel.x_label or "x" for panel in panels}
    x_names = tuple(labels) if len(labels) == 1 else ("x_quantity", "x")
    extras = [
        name for name in ("upper", "half_width") if any(_extra(m, name) is not None for m in marks)
    ]
    parts = []
    for k, panel in enumerate(panels):
        x_lead = () if len(labels) == 1 else (panel.x_label or "x",)
        lead = (panel.title or panel.y_label or str(k + 1),)
        parts += [((*lead, mark.label, panel.y_label, *x_lead), mark) for mark in panel.marks]
    return ("panel", "series", "quantity", *x_names, "value", *extras), parts


def _extra(mark: Mark, name: str) -> Float1D | None:
    """Return the second channel of a mark: the upper end of a band, or error bars."""
    if name == "upper":
        return mark.upper if isinstance(mark, Band) else None
    return mark.x_error if isinstance(mark, Points) else None


def _format(value: float) -> str:
    """Format a number for a file; empty if it is missing."""
    return "" if np.isnan(value) else f"{value:.7g}"


def sample_evenly(n: int, most: int) -> slice:
    """Return a slice that keeps at most `most` of `n` samples, evenly."""
    return slice(None, None, max(1, -(-n // most)))
