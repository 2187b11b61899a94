"""Tables of a page as declared in a TOML file: printed and measured numbers.

A row is a method, a case, an entry such as a parameter, or a run; a column is a `Measure` with a
heading, and inherits unset keys from its row::

    [table.table-3]
    title = "Table 3: condition numbers"
    rows = [{study = "search"}]
    columns = [
        {heading = "method", label = "method"},
        {heading = "mean, paper", study = "printed", case = "table_3", metric = "mean"},
        {heading = "mean", metric = "condition", statistic = "mean", digits = 3},
        {heading = "95 %", metric = "condition", statistic = "mean", shows = "interval"},
    ]
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from robotid_sim.errors import OptionError
from robotid_sim.optim.minimize import load_setting
from robotid_sim.papers.claims import Facts, fill
from robotid_sim.papers.statistics import Ends
from robotid_sim.papers.trial_table import Measure, StrictModel, TrialTable
from robotid_sim.section import number, percent
from robotid_sim.table import Table

Place = Mapping[str, Any]
"""Location of a row in the trial table, as fields of a `Measure`, and its labels."""
SUMMARY_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "minimum": {"statistic": "least"},
    "mean": {"statistic": "mean"},
    "95 %": {"statistic": "mean", "shows": "interval"},
    "SD": {"statistic": "sample deviation"},
}
"""Columns of a ``summary``."""


class Column(Measure):
    """A column: measurement and format of its cells."""

    heading: str = ""
    """Heading; with ``{j}`` there is one column per entry, such as joint 1, 2, 3."""
    metric: str = ""
    label: str = ""
    """Text of the row in the column: ``study``, ``case``, ``method`` or, of a run, ``number``."""
    summary: bool = False
    """Whether there are columns for minimum, mean, its interval, and deviation."""
    shows: Literal["value", "interval", "both", "± deviation"] = "value"
    digits: int = 4
    """Significant digits of a number."""
    format: str = ""
    """Python format of the number, such as ``.2e`` or ``repr``; ``%`` for a share in percent."""

    @model_validator(mode="before")
    @classmethod
    def _from_heading(cls, content: Any) -> Any:
        """Accept a heading only, for a table from code."""
        return {"heading": content} if isinstance(content, str) else content

    def write_cell(self, table: TrialTable, place: Place, labels: Mapping[str, str]) -> str:
        """Write the cell of a row."""
        if self.label:
            return labels.get(place[self.label], place[self.label])
        row_fields = {key: place[key] for key in place if key in Measure.model_fields}
        part = self.model_copy(
            update={k: v for k, v in row_fields.items() if k not in self.model_fields_set}
        )
        try:
            value, ends = part.estimate(table)
        except OptionError:  # no printed number, or no run
            return self.absent
        if self.shows == "interval":
            return self._format_ends(ends)
        text = value if isinstance(value, str) else self._format_number(value)
        if self.shows == "± deviation":
            spread, _ = part.model_copy(update={"statistic": "sample deviation"}).estimate(table)
            return text if np.isnan(spread) else f"{text} ± {spread:.1g}"
        return f"{text} ({self._format_ends(ends)})" if self.shows == "both" and ends else text

    def _format_number(self, value: float) -> str:
        if self.format == "%":
            return percent(value, min(self.digits, 3))
        if self.format == "repr":
            return repr(value)
        if isinstance(value, int) and not self.format:
            return str(value)
        text = format(value, self.format) if self.format else number(value, self.digits)
        return self.absent if text in ("nan", "-") else text

    def _format_ends(self, ends: Ends) -> str:
        return "-" if ends is None else " … ".join(map(self._format_number, ends))


def settings_rows(chosen: Mapping[str, str]) -> TrialTable:
    """Describe published settings of searches by method, with their stability analysis."""
    settings = {method: load_setting(name) for method, name in chosen.items()}
    return TrialTable(
        {
            ("settings", "", method): [
                {
                    "options": ", ".join(f"{k} = {v:g}" for k, v in published.options.items()),
                    "missing": published.missing,
                    "stability": "; ".join(published.flags) or "-",
                    "evaluations": published.max_evals,
                }
            ]
            for method, published in settings.items()
        }
    )


class TableRows(StrictModel):
    """Rows of a table: the methods of a study, its cases, both, or the entries of a value."""

    study: str = "computed"
    case: str | None = None
    of: tuple[str, ...] = ()
    """Methods of the rows; empty for all."""
    each: Literal["method", "case", "cell", "run", "entry"] = "method"
    """A cell is a case with a method; runs are counted from one."""
    compared: bool = False
    """Whether the methods of the rows are those that a column compares with, as in ``over``."""
    entries: str = ""
    """Value of a run with one entry per row."""
    text: str = "{method}"
    """Label ``method`` of a row; ``{run}`` is the number of a run, other names are values of the
    first run."""

    def places(self, table: TrialTable) -> Iterator[Place]:
        """Yield the locations of the rows."""
        study = {"study": self.study}
        methods = self.of or table.methods(self.study, self.case)
        cases = table.cases(self.study) if self.case is None else [self.case]
        if self.each == "entry":
            row = table.runs(self.study, methods[0], self.case)[0]
            for k in range(len(row[self.entries])):
                yield {**study, "case": self.case, "of": methods[0], "entry": k}
        elif self.each == "case":
            yield from ({**study, "case": case} for case in cases)
        elif self.each == "method":
            for method in methods:
                first = next(iter(table.runs(self.study, method, self.case)), {})
                text = self.text.format_map({**first, "method": method})
                key = "over" if self.compared else "of"
                yield {**study, "case": self.case, key: method, "method": text}
        else:
            for case, method in product(cases, methods):
                count = len(table.rows.get((self.study, case, method), ()))
                place = {**study, "case": case, "of": method}
                if self.each == "cell" and count:
                    yield {**place, "method": self.text.format(method=method)}
                for k in range(count if self.each == "run" else 0):
                    text = self.text.format(method=method, run=k + 1)
                    yield {**place, "run": k, "method": text, "number": str(k)}


class PrintedTable(StrictModel):
    """A table; one without rows is made by code."""

    name: str
    """Stem of the file."""
    title: str = ""
    rows: tuple[TableRows, ...] = ()
    columns: tuple[Column, ...] = ()
    text_columns: int = 1
    """Number of leading text columns."""

    def build(self, table: TrialTable, facts: Facts, labels: Mapping[str, str]) -> Table:
        """Build the table."""
        columns: list[Column] = []
        for column in self.columns:  # columns of several entries, and summaries, are split
            if "{j}" in column.heading and isinstance(column.entry, tuple):
                changes: list[dict[str, Any]] = [
                    {"entry": k, "heading": column.heading.format(j=k + 1)} for k in column.entry
                ]
            elif column.summary:
                changes = [
                    {"heading": heading, "digits": 3, "summary": False, **fields}
                    for heading, fields in SUMMARY_COLUMNS.items()
                ]
            else:
                changes = [{}]
            columns += [column.model_copy(update=each) for each in changes]
        places = [place for rows in self.rows for place in rows.places(table)]
        cells = tuple(
            tuple(c.write_cell(table, place, labels) for c in columns) for place in places
        )
        headings = tuple(column.heading for column in columns)
        title = fill(self.title, facts)
        return Table(headings, cells, title, self.text_columns, name=self.name)

    def complete(self, table: Table, facts: Facts) -> Table:
        """Add title, and headings of the file if there are any, to a table from code.

        Raises `OptionError` if the numbers of cells and columns differ.
        """
        headed = replace(table, title=fill(self.title, facts))
        if self.columns:
            headings = tuple(column.heading for column in self.columns)
            headed = replace(headed, columns=headings, text_columns=self.text_columns)
        if any(len(row) != len(headed.columns) for row in headed.rows):
            raise OptionError(f"table '{self.name}' does not have one cell per heading")
        return headed
