"""Files of a paper: ``claims.toml`` with claims and page, ``settings.toml`` with printed values.

Entries of the file have names, and one entry may declare several::

    [claim."torque-{scenario}"]
    each = [{scenario = "nominal", needs = "full"}, {scenario = "disturbed", needs = "runs"}]
    claim = "QPSO's torque is closest to the reference's ({scenario})."
    judged = "{needs}"

Other names in braces are replaced by ``facts``: numbers of the trial table, see `Measure`.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from robotid_sim.chart import Chart
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.papers.charts import PrintedFigure, variants
from robotid_sim.papers.claims import Facts, PrintedClaim, fill
from robotid_sim.papers.claims import MeasuredValue as MeasuredValue
from robotid_sim.papers.claims import collect_measured as collect_measured
from robotid_sim.papers.claims import judge as judge
from robotid_sim.papers.tables import PrintedTable
from robotid_sim.papers.trial_table import EMPTY_TABLE, Measure, StrictModel, TrialTable
from robotid_sim.section import Section
from robotid_sim.table import Table

ELEMENTS_HEADING = "The paper, item by item"
"""Heading of the section on all elements of the paper."""
Status = Literal["implemented", "corrected", "not"]
"""Status of an equation, algorithm, table or figure of a paper."""


class PrintedSection(StrictModel):
    """A section of the page: its text, and names of its figures and tables."""

    title: str
    text: str = ""
    """Text; its ``{names}`` are replaced by facts, as in captions and the finding."""
    charts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


class PrintedElement(StrictModel):
    """An equation, algorithm, table or figure of the paper, with its status."""

    number: str
    """Number in the paper: ``Eq. (14)``, ``Table 4``."""
    what: str
    status: Status
    where: tuple[str, ...] = ()
    """Dotted names of code in the package, and ``claim:``, ``figure:`` or ``table:`` with a name of
    this file."""
    note: str = ""
    """Correction of the print, or reason for the omission."""

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, row: Any) -> Any:
        """Read a row of the file: number, what, status, where, note."""
        names = ("number", "what", "status", "where", "note")
        return dict(zip(names, row, strict=False)) if isinstance(row, list) else row

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if self.status == "not" and self.where:
            raise ValueError(f"{self.number} is not implemented; remove 'where'")
        if self.status != "not" and not self.where:
            raise ValueError(f"{self.number} is {self.status}; give its place in 'where'")
        if self.status != "implemented" and not self.note:
            raise ValueError(f"{self.number} is not as printed; give the reason in 'note'")
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """The row in the table of the page."""
        where = ", ".join(".".join(name.split(".")[-2:]) for name in self.where)
        return self.number, self.what, self.status, self.note or "-", where or "-"


class ClaimSheet(StrictModel):
    """The TOML file of a paper: claims, figures, tables and texts."""

    title: str
    citation: str
    summary: str
    finding: str
    notes: tuple[str, ...] = ()
    """Information that is missing in the paper."""
    labels: dict[str, str] = Field(default={})
    """Labels of methods and cases; by default their names."""
    facts: dict[str, Measure] = Field(default={})
    """Numbers for texts and claims."""
    section: tuple[PrintedSection, ...] = ()
    figure: tuple[PrintedFigure, ...] = ()
    table: tuple[PrintedTable, ...] = ()
    claim: tuple[PrintedClaim, ...]
    element: tuple[PrintedElement, ...] = ()
    """Elements in the order of the paper."""

    @model_validator(mode="before")
    @classmethod
    def _split_by_name(cls, content: Any) -> Any:
        """Convert named entries to lists, and expand entries that declare several."""
        kinds = ("figure", "table", "claim")
        entries = {kind: list(_list_entries(content.get(kind, {}))) for kind in kinds}
        return {**content, **entries}

    def measure_facts(self, table: TrialTable) -> Facts:
        """Compute the facts of the whole paper."""
        return {name: measure.estimate(table)[0] for name, measure in self.facts.items()}

    def tables(
        self, facts: Facts, computed: Iterable[Table], table: TrialTable = EMPTY_TABLE
    ) -> dict[str, Table]:
        """Build the declared tables, and complete the tables from code.

        Raises `OptionError` if a table without rows is not made by code, or not declared.
        """
        by_code = {part.name: part for part in computed}
        declared = {printed.name for printed in self.table if not printed.rows}
        if odd := declared ^ set(by_code):
            names = ", ".join(sorted(odd))
            raise OptionError(f"tables must be in the file and made by code: {names}")
        return {
            printed.name: printed.build(table, facts, self.labels)
            if printed.rows
            else printed.complete(by_code[printed.name], facts)
            for printed in self.table
        }

    def charts(self, table: TrialTable) -> list[Chart]:
        """Draw the declared figures; code draws the others."""
        return [figure.build(table, self.labels) for figure in self.figure if figure.panels]

    def sections(
        self, facts: Facts, charts: Sequence[Chart], tables: Mapping[str, Table]
    ) -> tuple[Section, ...]:
        """Build the sections of the page, notes and elements last.

        Raises `OptionError` if a chart, table or fact of the file is missing, or a chart has no
        section.
        """
        printed = {figure.name: figure for figure in self.figure}
        drawn = {chart.name: chart for chart in charts}
        shown = {name for section in self.section for name in section.charts}
        if shown != set(drawn) or shown != set(printed):
            odd = ", ".join(sorted((shown | set(drawn) | set(printed)) - (shown & set(drawn))))
            raise OptionError(f"figures must be drawn and in a section: {odd or 'captions'}")
        complete = {
            name: replace(
                chart,
                title=fill(printed[name].title, facts),
                caption=fill(printed[name].caption, facts),
            )
            for name, chart in drawn.items()
        }
        try:
            sections = [
                Section(
                    title=section.title,
                    text=fill(section.text, facts),
                    charts=tuple(complete[name] for name in section.charts),
                    tables=tuple(tables[name] for name in section.tables),
                )
                for section in self.section
            ]
        except KeyError as error:
            raise OptionError(f"the page needs the missing table {error}") from error
        if self.notes:
            sections.append(Section(title="Missing information in the paper", notes=self.notes))
        if self.element:
            columns = ("number", "element", "status", "note", "where")
            rows = tuple(element.cells for element in self.element)
            elements = Table(columns, rows, text_columns=len(columns))
            text = "All numbered equations, algorithms, tables and figures, with their status."
            sections.append(Section(title=ELEMENTS_HEADING, text=text, tables=(elements,)))
        return tuple(sections)


def _list_entries(by_name: Any) -> Iterable[Any]:
    """Yield the entries of the file with their names, and expand entries that declare several.

    A list of entries with names, as in a short file, is not changed.
    """
    if not isinstance(by_name, Mapping):
        yield from by_name
        return
    for name, content in by_name.items():
        yield from variants({"name": name, **content})


def read_sheet(path: Path) -> ClaimSheet:
    """Read the claims of a file; raises `FileFormatError` with the first wrong key."""
    try:
        return ClaimSheet(**tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FileFormatError(f"{path}: {place}: {first['msg']}") from error


def read_settings(module: str) -> dict[str, Any]:
    """Read ``settings.toml`` next to a module: printed values, and effort of the reproduction.

    Unlike ``claims.toml`` it is part of the fingerprint of trials, because some depend on it.
    """
    return tomllib.loads(Path(module).with_name("settings.toml").read_text(encoding="utf-8"))
