"""The TOML file of a paper: claims in words and rules, to which Python adds what is measured."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.papers.claims import OURS, Claim, ClaimRange, Kind, rule_of
from robotid_sim.papers.statistics import interval_of_mean, interval_of_median
from robotid_sim.section import Section
from robotid_sim.table import Table

Status = Literal["implemented", "corrected", "not"]
"""What became of an equation, algorithm, table or figure of a paper."""
ELEMENTS = "The paper, item by item"
"""Heading of the section that lists them."""
RunsNeeded = Literal["any", "full", "runs"]
"""What a verdict needs: any run, a full run instead of a quick one, or enough runs of it."""


class Printed(BaseModel):
    """A part of the TOML file: without keys that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PrintedClaim(Printed):
    """A claim as its TOML file holds it: all but what is measured."""

    name: str
    claim: str
    source: str = ""
    published: int | float | str | None = None
    unit: str = ""
    kind: Kind = "claim"
    band: str = ""
    expected: str = ""
    """In place of a band where the claim is expected to fail."""
    holds: str | dict[str, str] = ""
    """Ranges in words; empty: those of the band."""
    nulls: dict[str, str] = {}
    """The fact that holds what a null reaches, by what the null is."""
    fully: str | dict[str, str] = {}
    conditions: tuple[str, ...] = ()
    missing: str = ""
    """What a test needs and the paper does not print."""
    judged: RunsNeeded = "any"
    reason: str
    """Its ``{names}`` are filled with facts."""

    def judge(self, measured: "Measured", *, judged: bool) -> Claim:
        """Return the claim with what is measured.

        Raises `OptionError` if the reason or a rule names what is not measured.
        """
        names: dict[str, Any] = {**measured.facts, OURS: measured.ours}
        try:
            reason = self.reason.format(**names)
            nulls = {null: float(names[fact]) for null, fact in self.nulls.items()}
        except (KeyError, IndexError) as error:
            text = f"claim '{self.name}': its reason or a null needs {error}"
            raise OptionError(text) from error
        return Claim(
            name=self.name,
            claim=self.claim,
            source=self.source,
            published=self.published,
            ours=measured.ours,
            unit=self.unit,
            interval=measured.interval,
            kind=self.kind,
            band=ClaimRange.parse(self.band) if self.band else None,
            expected=ClaimRange.parse(self.expected) if self.expected else None,
            nulls=nulls,
            missing=self.missing,
            holds=rule_of(self.holds or self.band or {}),
            fully=rule_of(self.fully),
            conditions=self.conditions,
            facts=measured.facts,
            judged=judged,
            reason=reason,
        )


class PrintedSection(Printed):
    """A section of the page: its text, and names of its figures and tables."""

    title: str
    text: str = ""
    """Its ``{names}`` are filled with facts, as in captions and the finding."""
    charts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


class PrintedFigure(Printed):
    """What stands about and under a figure."""

    name: str
    title: str
    caption: str


class PrintedTable(Printed):
    """Title and headings of a table; headings that are not here come with the cells."""

    name: str
    title: str = ""
    columns: tuple[str, ...] = ()
    text_columns: int = 1
    """Leading columns that hold text."""

    def complete(self, table: Table, facts: Mapping[str, Any]) -> Table:
        """Return a table with its title and headings.

        Raises `OptionError` if rows have other numbers of cells than there are columns.
        """
        headed = replace(table, title=filled(self.title, facts))
        if self.columns:
            headed = replace(headed, columns=self.columns, text_columns=self.text_columns)
        if any(len(row) != len(headed.columns) for row in headed.rows):
            raise OptionError(f"table '{self.name}' does not have a cell for every heading")
        return headed


class PrintedElement(Printed):
    """An equation, algorithm, table or figure of the paper, and what became of it."""

    number: str
    """As the paper numbers it: ``Eq. (14)``, ``Table 4``."""
    what: str
    status: Status
    where: tuple[str, ...] = ()
    """Dotted names of code, and ``claim:``, ``figure:`` or ``table:`` with a name of this file."""
    note: str = ""
    """How the print was corrected, or why there is none."""

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


class ClaimSheet(Printed):
    """The TOML file of a paper: what it is and claims, and what its page says."""

    title: str
    citation: str
    summary: str
    finding: str
    notes: tuple[str, ...] = ()
    """What the paper does not say."""
    section: tuple[PrintedSection, ...] = ()
    figure: tuple[PrintedFigure, ...] = ()
    table: tuple[PrintedTable, ...] = ()
    claim: tuple[PrintedClaim, ...]
    element: tuple[PrintedElement, ...] = ()
    """In the order of the paper."""

    def tables(self, facts: Mapping[str, Any], tables: Sequence[Table]) -> dict[str, Table]:
        """Return tables by name, with their titles and headings.

        Raises `OptionError` if a table is in the file alone, or not in it.
        """
        printed = {table.name: table for table in self.table}
        if odd := set(printed) ^ {table.name for table in tables}:
            names = ", ".join(sorted(odd))
            raise OptionError(f"tables are not both in the file and made: {names}")
        return {table.name: printed[table.name].complete(table, facts) for table in tables}

    def sections(
        self, facts: Mapping[str, Any], charts: Sequence[Chart], tables: Mapping[str, Table]
    ) -> tuple[Section, ...]:
        """Return the sections of the page, notes and elements last; facts fill names in braces.

        Raises `OptionError` if a chart, table or fact that the file names is missing, or a chart is
        not shown.
        """
        printed = {figure.name: figure for figure in self.figure}
        drawn = {chart.name: chart for chart in charts}
        shown = {name for section in self.section for name in section.charts}
        if shown != set(drawn) or shown != set(printed):
            odd = ", ".join(sorted((shown | set(drawn) | set(printed)) - (shown & set(drawn))))
            raise OptionError(f"figures are not both drawn and in a section: {odd or 'captions'}")

        def figure(name: str) -> Chart:
            title, caption = (
                filled(t, facts) for t in (printed[name].title, printed[name].caption)
            )
            return replace(drawn[name], title=title, caption=caption)

        try:
            sections = [
                Section(
                    title=section.title,
                    text=filled(section.text, facts),
                    charts=tuple(figure(name) for name in section.charts),
                    tables=tuple(tables[name] for name in section.tables),
                )
                for section in self.section
            ]
        except KeyError as error:
            raise OptionError(f"the page needs a table named {error}") from error
        notes = Section(title="What the paper does not say", notes=self.notes)
        return (*sections, notes, *self._elements())

    def _elements(self) -> tuple[Section, ...]:
        """Return the section that lists the elements of the paper, if the file has any."""
        if not self.element:
            return ()
        columns = ("number", "what", "status", "note", "where")
        rows = tuple(element.cells for element in self.element)
        table = Table(columns, rows, text_columns=len(columns))
        text = "Every numbered equation, algorithm, table and figure, and what became of it."
        return (Section(title=ELEMENTS, text=text, tables=(table,)),)


def filled(text: str, facts: Mapping[str, Any]) -> str:
    """Return a text with its names in braces filled.

    Raises `OptionError` if a fact is missing.
    """
    try:
        return text.format(**facts)
    except (KeyError, IndexError) as error:
        raise OptionError(f"'{text[:40]}…' needs {error}") from error


def read_sheet(path: Path) -> ClaimSheet:
    """Return the claims of a file.

    Raises
    ------
    FileFormatError
        With the file, and the first key that is wrong.
    """
    try:
        return ClaimSheet(**tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FileFormatError(f"{path}: {place}: {first['msg']}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What is measured for a claim."""

    ours: float | str
    interval: tuple[float, float] | None
    facts: Mapping[str, Any]
    """Numbers and texts that rules and the reason name."""


def measured(
    ours: float | str, interval: tuple[float, float] | None = None, **facts: Any
) -> Measured:
    """Return what is measured: number, 95 % interval, and what rules and the reason name."""
    return Measured(ours, interval, facts)


def measured_mean(values: Float1D, **facts: Any) -> Measured:
    """Return the mean of independent runs with its interval, as what is measured."""
    return measured(float(values.mean()), interval_of_mean(values), **facts)


def measured_median(values: Float1D, **facts: Any) -> Measured:
    """Return the median of independent runs with its interval, as what is measured."""
    return measured(float(np.median(values)), interval_of_median(values), **facts)


def judge(
    printed: Sequence[PrintedClaim],
    measurements: Mapping[str, Measured],
    satisfied: Mapping[RunsNeeded, bool],
) -> tuple[Claim, ...]:
    """Return the claims of a paper with their verdicts, in the order of the paper.

    Measurements are by the name of their claim; satisfied says whether the runs are what a verdict
    needs. Raises `OptionError` if a claim is printed and not measured, measured and not printed, or
    printed twice.
    """
    names = [claim.name for claim in printed]
    for name in (*names, *measurements):
        if names.count(name) > 1:
            raise OptionError(f"claim '{name}' stands twice in the file")
        if name not in measurements:
            raise OptionError(f"claim '{name}' is in the file but not measured")
        if name not in names:
            raise OptionError(f"claim '{name}' is measured but not in the file")
    return tuple(c.judge(measurements[c.name], judged=satisfied[c.judged]) for c in printed)
