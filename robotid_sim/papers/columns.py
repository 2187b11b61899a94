"""One builder of tables: printed numbers beside ours, a column a function."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D
from robotid_sim.optim.settings import PublishedSetting
from robotid_sim.papers.claims import Measured, measured
from robotid_sim.papers.statistics import above_one as above_one
from robotid_sim.papers.statistics import deviation, interval_of_mean, interval_of_median
from robotid_sim.papers.statistics import lower_end as lower_end
from robotid_sim.papers.statistics import upper_end as upper_end
from robotid_sim.section import number
from robotid_sim.table import Table

CellColumns = Mapping[str, Callable[[Any], Any]]
"""Cells by the heading of their column, as functions of what stands in a row."""


def table_of(name: str, items: Iterable[Any], columns: CellColumns, text_columns: int = 1) -> Table:
    """Return a table with a row an item; its title stands in the paper's file.

    Columns give the text of a cell by the item; so many leading ones hold text.
    """
    rows = tuple(tuple(str(cell(item)) for cell in columns.values()) for item in items)
    return Table(tuple(columns), rows, "", text_columns, name=name)


def printed_columns(
    headings: Sequence[str], printed: Mapping[Any, Sequence[float | None]], digits: int = 4
) -> CellColumns:
    """Return the columns of what a paper prints by item; a dash where it prints nothing."""

    def column(k: int) -> Callable[[Any], str]:
        return lambda item: number(printed[item][k], digits) if item in printed else "-"

    return {heading: column(k) for k, heading in enumerate(headings)}


def settings_columns(chosen: Mapping[Any, PublishedSetting]) -> CellColumns:
    """Return the settings of searches as published, and what their stability analysis says."""
    return {
        "settings": lambda m: ", ".join(f"{k} = {v:g}" for k, v in chosen[m].options.items()),
        "not printed": lambda m: chosen[m].missing,
        "stability": lambda m: "; ".join(chosen[m].flags) or "-",
    }


def summary_columns(values_of_item: Callable[[Any], ArrayLike]) -> CellColumns:
    """Return minimum, mean, 95 % interval and standard deviation of the runs of an item."""

    def column(k: int) -> Callable[[Any], str]:
        return lambda item: summary(values_of_item(item))[k]

    return {heading: column(k) for k, heading in enumerate(("minimum", "mean", "95 %", "SD"))}


def indexed_columns(
    headings: Sequence[str], cells_of_item: Callable[[Any], Sequence[Any]]
) -> CellColumns:
    """Return columns of which an item gives all cells at once."""

    def column(k: int) -> Callable[[Any], Any]:
        return lambda item: cells_of_item(item)[k]

    return {heading: column(k) for k, heading in enumerate(headings)}


def summary(values: ArrayLike) -> tuple[str, str, str, str]:
    """Return minimum, mean, its 95 % interval and standard deviation, as texts of a table."""
    sample = np.asarray(values, dtype=float)
    spread = deviation(sample) if sample.size > 1 else None
    ends = interval_text(sample)
    return number(sample.min(), 3), number(float(sample.mean()), 3), ends, number(spread, 3)


def interval_text(values: ArrayLike) -> str:
    """Return the 95 % interval of the mean as the text of a cell."""
    interval = interval_of_mean(values)
    return "-" if interval is None else " … ".join(number(end, 3) for end in interval)


def measured_mean(values: Float1D, **facts: Any) -> Measured:
    """Return the mean of independent runs with its interval, as what is measured."""
    return measured(float(values.mean()), interval_of_mean(values), **facts)


def measured_median(values: Float1D, **facts: Any) -> Measured:
    """Return the median of independent runs with its interval, as what is measured."""
    return measured(float(np.median(values)), interval_of_median(values), **facts)
