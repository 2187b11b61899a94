"""Tables and measurements that a paper makes by code: a column a function, a claim a number."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.claims import Measured, measured
from robotid_sim.papers.statistics import above_one as above_one
from robotid_sim.papers.statistics import interval_of_mean, interval_of_median
from robotid_sim.papers.statistics import lower_end as lower_end
from robotid_sim.papers.statistics import upper_end as upper_end
from robotid_sim.table import Table

CellColumns = Mapping[str, Callable[[Any], Any]]
"""Cells by the heading of their column, as functions of what stands in a row."""


def table_of(name: str, items: Iterable[Any], columns: CellColumns, text_columns: int = 1) -> Table:
    """Return a table with a row an item; its title stands in the paper's file.

    Columns give the text of a cell by the item; so many leading ones hold text.
    """
    rows = tuple(tuple(str(cell(item)) for cell in columns.values()) for item in items)
    return Table(tuple(columns), rows, "", text_columns, name=name)


def indexed_columns(
    headings: Sequence[str], cells_of_item: Callable[[Any], Sequence[Any]]
) -> CellColumns:
    """Return columns of which an item gives all cells at once."""

    def column(k: int) -> Callable[[Any], Any]:
        return lambda item: cells_of_item(item)[k]

    return {heading: column(k) for k, heading in enumerate(headings)}


def measured_mean(values: Float1D, **facts: Any) -> Measured:
    """Return the mean of independent runs with its interval, as what is measured."""
    return measured(float(values.mean()), interval_of_mean(values), **facts)


def measured_median(values: Float1D, **facts: Any) -> Measured:
    """Return the median of independent runs with its interval, as what is measured."""
    return measured(float(np.median(values)), interval_of_median(values), **facts)
