"""The files of a paper: ``claims.toml`` with its claims and page, ``settings.toml`` with its print.

Tables of the file are by name, and one may stand for several::

    [claim."torque-{scenario}"]
    each = [{scenario = "nominal", needs = "full"}, {scenario = "disturbed", needs = "runs"}]
    claim = "QPSO's torque is closest to the reference's ({scenario})."
    judged = "{needs}"

Other names in braces are filled with ``facts``: numbers of the trial table, as by `Measure`.
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
"""Heading of the section that lists them."""
Status = Literal["implemented", "corrected", "not"]
"""What became of an equation, algorithm, table or figure of a paper."""


class PrintedSection(StrictModel):
    """A section of the page: its text, and names of its figures and tables."""

    title: str
    text: str = ""
    """Its ``{names}`` are filled with facts, as in captions and the finding."""
    charts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


class PrintedElement(StrictModel):
    """An equation, algorithm, table or figure of the paper, and what became of it."""

    number: str
    """As the paper numbers it: ``Eq. (14)``, ``Table 4``."""
    what: str
    status: Status
    where: tuple[str, ...] = ()
    """Dotted names of code in the package, and ``claim:``, ``figure:`` or ``table:`` with a name of
    this file."""
    note: str = ""
    """How the print was corrected, or why there is none."""

    @model_validator(mode="before")
    @classmethod
    def _from_row(cls, row: Any) -> Any:
        """Read a row of the file: number, what, status, where, note."""
        names = ("number", "what", "status", "where", "note")
        return dict(zip(names, row, strict=False)) if isinstance(row, list) else row

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if self.status == "not" and self.where:
            raise ValueError(f"{self.number} is not implemented, but somewhere")
        if self.status != "not" and not self.where:
            raise ValueError(f"{self.number} is {self.status}, but nowhere")
        if self.status != "implemented" and not self.note:
            raise ValueError(f"{self.number}: say why it is not implemented as printed")
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the page's table."""
        where = ", ".join(".".join(name.split(".")[-2:]) for name in self.where)
        return self.number, self.what, self.status, self.note or "-", where or "-"


class ClaimSheet(StrictModel):
    """The TOML file of a paper: what it is and claims, and what its page says."""

    title: str
    citation: str
    summary: str
    finding: str
    notes: tuple[str, ...] = ()
    """What the paper does not say."""
    labels: dict[str, str] = Field(default={})
    """What tables call methods and cases; by default their names."""
    facts: dict[str, Measure] = Field(default={})
    """Numbers that texts and claims name."""
    section: tuple[PrintedSection, ...] = ()
    figure: tuple[PrintedFigure, ...] = ()
    table: tuple[PrintedTable, ...] = ()
    claim: tuple[PrintedClaim, ...]
    element: tuple[PrintedElement, ...] = ()
    """In the order of the paper."""

    @model_validator(mode="before")
    @classmethod
    def _split_by_name(cls, content: Any) -> Any:
        """Take what is by name as entries with a name, and those for several apart."""
        kinds = ("figure", "table", "claim")
        named = {kind: list(_entries(content.get(kind, {}))) for kind in kinds}
        return {**content, **named}

    def measure_facts(self, table: TrialTable) -> Facts:
        """Compute the facts of the whole paper."""
        return {name: measure.estimate(table)[0] for name, measure in self.facts.items()}

    def tables(
        self, facts: Facts, code_tables: Iterable[Table], table: TrialTable = EMPTY_TABLE
    ) -> dict[str, Table]:
        """Build the declared tables, and complete those that code has made with their titles.

        Raises `OptionError` if a table is neither declared with rows nor made, or made alone.
        """
        by_code = {part.name: part for part in code_tables}
        named = {printed.name for printed in self.table if not printed.rows}
        if odd := named ^ set(by_code):
            names = ", ".join(sorted(odd))
            raise OptionError(f"tables are not both in the file and made: {names}")
        return {
            printed.name: printed.build(table, facts, self.labels)
            if printed.rows
            else printed.complete(by_code[printed.name], facts)
            for printed in self.table
        }

    def charts(self, table: TrialTable) -> list[Chart]:
        """Draw the figures that are declared; the others are drawn by code."""
        return [figure.build(table, self.labels) for figure in self.figure if figure.panels]

    def sections(
        self, facts: Facts, charts: Sequence[Chart], tables: Mapping[str, Table]
    ) -> tuple[Section, ...]:
        """Return the sections of the page, notes and elements last.

        Raises `OptionError` if a chart, table or fact that the file names is missing, or a chart is
        not shown.
        """
        printed = {figure.name: figure for figure in self.figure}
        drawn = {chart.name: chart for chart in charts}
        shown = {name for section in self.section for name in section.charts}
        if shown != set(drawn) or shown != set(printed):
            odd = ", ".join(sorted((shown | set(drawn) | set(printed)) - (shown & set(drawn))))
            raise OptionError(f"figures are not both drawn and in a section: {odd or 'captions'}")
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
            raise OptionError(f"the page needs a table named {error}") from error
        if self.notes:
            sections.append(Section(title="What the paper does not say", notes=self.notes))
        if self.element:
            columns = ("number", "what", "status", "note", "where")
            rows = tuple(element.cells for element in self.element)
            listed = Table(columns, rows, text_columns=len(columns))
            text = "Every numbered equation, algorithm, table and figure, and what became of it."
            sections.append(Section(title=ELEMENTS_HEADING, text=text, tables=(listed,)))
        return tuple(sections)


def _entries(by_name: Any) -> Iterable[Any]:
    """List entries that the file has by name, each with its name and for all that it stands for.

    A list of entries with names, as in a short file, is taken as it is.
    """
    if not isinstance(by_name, Mapping):
        yield from by_name
        return
    for name, content in by_name.items():
        yield from variants({"name": name, **content})


def read_sheet(path: Path) -> ClaimSheet:
    """Read the claims of a file; raises `FileFormatError` with the first key that is wrong."""
    try:
        return ClaimSheet(**tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FileFormatError(f"{path}: {place}: {first['msg']}") from error


def read_settings(module: str) -> dict[str, Any]:
    """Read the ``settings.toml`` beside a module's file: what the paper prints, and our effort.

    Unlike ``claims.toml`` it counts in the fingerprint of trials: some of them depend on it.
    """
    return tomllib.loads(Path(module).with_name("settings.toml").read_text(encoding="utf-8"))
