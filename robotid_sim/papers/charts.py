"""Figures of a page as declared in a TOML file: marks in panels, from the trial table.

A mark shows the values of one or all runs; `PrintedMark` documents its keys::

    [figure.figure-4]
    title = "Figure 4: convergence"
    caption = "Median over the runs of the best cost so far."
    height = 2.0
    panels = [{x_label = "evaluations [-]", y_label = "cost [N m]", y_scale = "log", marks = [
        {study = "search", of = "PSO", x = "at", y = "curve", average = "median", color = "true"},
        {study = "search", of = "{m}", x = "at", y = "curve", average = "median", color = "{c}",
         each = [{m = "new", c = "joint-1"}, {m = "GA", c = "joint-2"}]},
    ]}]

Panels and marks with ``each`` declare several; names in braces are replaced by their values.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from robotid_sim.arrays import Float, Float1D
from robotid_sim.chart import Band, Chart, Curve, Mark, Panel, Points, Scale, Space, Style, Symbol
from robotid_sim.papers.statistics import are_outliers
from robotid_sim.papers.trial_table import COMPUTED_STUDY, Measure, StrictModel, TrialTable

BOX_HALF_HEIGHT = 0.3
"""Half height of a box."""


class PrintedMark(StrictModel):
    """A curve, points, a band or a box."""

    draw: Literal["curve", "points", "band", "box"] = "curve"
    """Kind of mark; a band spans all runs, a box their quartiles."""
    label: str | None = None
    """Label; by default the label of the method."""
    color: str
    """A role of `robotid_sim.palette`."""
    style: Style = "solid"
    width: float = 1.0
    size: float = 3.0
    symbol: Symbol = "circle"
    study: str = COMPUTED_STUDY
    case: str | None = None
    of: str = ""
    """Method of the values."""
    less: str = ""
    """Method whose values are subtracted."""
    y: str
    """Name of a value of the runs."""
    entry: int | None = None
    """Row of y, if it has rows."""
    column: int | None = None
    """Column of y, if it has columns."""
    x: str = ""
    """Name of a value of the first run, or of a computed value; by default sample numbers."""
    x_entry: int | None = None
    x_column: int | None = None
    average: Literal["", "median", "mean", "mean of cases", "every run"] = ""
    """Kind of average over all runs; by default the first run is drawn."""
    along: Literal["", "case", "of"] = ""
    """Plot over cases or methods whose names are numbers: means, or every run."""
    over: str = ""
    """Method whose mean divides the means along methods."""
    absolute: bool = False
    floor: float = -np.inf
    """Lower limit of y."""
    start: float = -np.inf
    """Lower limit of x."""
    scale: float = 1.0
    unit: float = 1.0
    """Divisor of y."""
    x_unit: float = 1.0
    place: float = 0.0
    """Height of a box."""

    def marks(self, table: TrialTable, labels: Mapping[str, str]) -> Iterator[Mark]:
        """Draw the mark; a box with its outline and outliers."""
        label = labels.get(self.of, self.of) if self.label is None else self.label
        if self.draw == "box":
            values = table.values(self.study, self.of, self.y, self.case)
            yield from _draw_box(values, self.place, self.color)
            return
        x, y = self.points(table)
        if self.draw == "points":
            yield Points(x, y, label, self.color, size=self.size, symbol=self.symbol)
        elif self.draw == "band":
            runs = table.values(self.study, self.of, self.y, self.case)
            ends = runs if self.entry is None else runs[:, self.entry]
            yield Band(x, ends.min(axis=0), label, self.color, upper=ends.max(axis=0))
        else:
            yield Curve(x, y, label, self.color, self.style, self.width)

    def points(self, table: TrialTable) -> tuple[Float1D, Float1D]:
        """Compute the points of the mark, shapes (N,)."""
        if self.along == "case":  # the average of every case
            names = [self.case] if self.case is not None else table.cases(self.study, self.of)
            cases = sorted(names, key=float)
            x, y = (
                np.array([table.values(self.study, self.of, name, c).mean() for c in cases])
                for name in (self.x, self.y)
            )
            return x, y
        if self.along:  # the average of every method, or all runs
            names = sorted(table.methods(self.study, self.case), key=float)
            runs = [table.values(self.study, name, self.y, self.case) for name in names]
            places = [float(name) for name in names]
            if self.average == "every run":
                counted = zip(places, runs, strict=True)
                return np.concatenate([np.full(r.size, at) for at, r in counted]), np.concatenate(
                    runs
                )
            y = np.array([run.mean() for run in runs])
            return np.array(places), y / (y[names.index(self.over)] if self.over else 1.0)
        if self.average == "every run":
            y = table.values(self.study, self.of, self.y, self.case)
            x = table.values(self.study, self.of, self.x, self.case)
            return np.repeat(x, y.shape[1]), y.ravel()
        y = self._average(table, self.of)
        y = y - self._average(table, self.less) if self.less else y
        y = np.maximum(np.abs(y) if self.absolute else y, self.floor) * self.scale / self.unit
        if not self.x:
            return np.arange(1.0, y.size + 1.0), y
        x = _pick(self._value(table, self.of, self.x), self.x_entry, self.x_column) / self.x_unit
        is_drawn = ~(x < self.start)
        return x[is_drawn], y[is_drawn]

    def _value(self, table: TrialTable, of: str, name: str) -> Float:
        """Read a value of the first run, or a computed value."""
        first = table.runs(self.study, of, self.case)[0]
        return np.array(
            (first if name in first else table.runs(COMPUTED_STUDY)[0])[name], dtype=float
        )

    def _average(self, table: TrialTable, of: str) -> Float:
        """Read y of a method, of the first run or as an average."""
        if not self.average:
            return _pick(self._value(table, of, self.y), self.entry, self.column)
        cases = table.cases(self.study, of) if self.average == "mean of cases" else [self.case]
        runs = [table.values(self.study, of, self.y, case) for case in cases]
        average = np.median if self.average == "median" else np.mean
        means = [average(r if self.entry is None else r[:, self.entry], axis=0) for r in runs]
        return np.asarray(means[0] if len(means) == 1 else np.mean(means, axis=0))


def _pick(values: Float, entry: int | None, column: int | None) -> Float:
    """Select a row or a column of values."""
    values = values if entry is None else values[entry]
    return np.asarray(values if column is None else values[:, column])


def _draw_box(values: Float1D, place: float, role: str) -> Iterator[Mark]:
    """Draw a horizontal box plot of values, shape (N,), at a height.

    The box spans the quartiles, whiskers span the values within 1.5 interquartile ranges of it, and
    points are outliers.
    """
    low, middle, high = np.percentile(values, (25.0, 50.0, 75.0))
    outlying = are_outliers(values)
    inside, outside = values[~outlying], np.unique(values[outlying])
    nan = np.nan
    start, end = inside.min(), inside.max()
    x = np.array([start, low, nan, low, high, high, low, low, nan, middle, middle, nan, high, end])
    y = np.array([0, 0, nan, -1, -1, 1, 1, -1, nan, -1, 1, nan, 0, 0]) * BOX_HALF_HEIGHT + place
    label = "quartiles, last value within 1.5 of their distance"
    yield Curve(x, y, label, role, "solid", 1.4)
    if outside.size:
        yield Points(outside, np.full(outside.size, place), "outlier", role, size=4.0)


class PrintedPanel(StrictModel):
    """A pair of axes, or curves in space."""

    marks: tuple[PrintedMark, ...]
    in_space: bool = False
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    levels: tuple[float | Measure, ...] = ()
    """Horizontal lines."""
    verticals: tuple[float | Measure, ...] = ()
    y_ticks: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _expand_variants(cls, content: Any) -> Any:
        return content | {"marks": [m for mark in content["marks"] for m in variants(mark)]}

    def build(self, table: TrialTable, labels: Mapping[str, str]) -> Panel | Space:
        """Draw the panel."""
        if self.in_space:
            runs = ((mark, table.runs(mark.study, mark.of, mark.case)[0]) for mark in self.marks)
            return Space(
                curves=tuple((str(m.label), m.color, np.array(run[m.y])) for m, run in runs)
            )
        lines: dict[str, Any] = {
            name: tuple(
                part.estimate(table)[0] if isinstance(part, Measure) else part
                for part in getattr(self, name)
            )
            for name in ("levels", "verticals")
        }
        shared = set(PrintedPanel.model_fields) - {"marks", "in_space", *lines}
        options = {name: getattr(self, name) for name in shared}
        marks = tuple(part for mark in self.marks for part in mark.marks(table, labels))
        return Panel(marks=marks, **options, **lines)


class PrintedFigure(StrictModel):
    """Title, caption and panels of a figure; code draws a figure without panels."""

    name: str
    title: str
    caption: str
    panels: tuple[PrintedPanel, ...] = ()
    columns: int = 1
    height: float = Field(default=1.1)
    """Height of a panel [in]."""
    share_x: bool = False

    @model_validator(mode="before")
    @classmethod
    def _expand_variants(cls, content: Any) -> Any:
        panels = [p for panel in content.get("panels", ()) for p in variants(panel)]
        return content | {"panels": panels}

    def build(self, table: TrialTable, labels: Mapping[str, str]) -> Chart:
        """Draw the figure without title and caption, which are added later."""
        return Chart(
            name=self.name,
            title="",
            caption="",
            panels=tuple(panel.build(table, labels) for panel in self.panels),
            columns=self.columns,
            panel_height=self.height,
            share_x=self.share_x,
        )


def variants(entry: Mapping[str, Any]) -> Iterator[Any]:
    """Expand an entry of a file: one entry per value of its ``each``."""
    part = dict(entry)
    for variant in part.pop("each", [{}]):
        yield _substitute(part, variant)


def _substitute(part: Any, variant: Mapping[str, Any]) -> Any:
    """Replace names in braces by the values of a variant, in all texts of a part."""
    if isinstance(part, dict):
        return {_substitute(k, variant): _substitute(v, variant) for k, v in part.items()}
    if isinstance(part, list):
        return [_substitute(entry, variant) for entry in part]
    if not isinstance(part, str):
        return part
    for name, value in variant.items():
        if part == f"{{{name}}}":
            return value
        part = part.replace(f"{{{name}}}", str(value))
    return part
