"""Content of a page, independent of its format: headings, texts, tables, figures."""

import csv
import io
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.chart import Chart
from robotid_sim.table import Table


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to another page."""

    text: str
    href: str
    """Target, relative to the page."""


@dataclass(frozen=True, slots=True)
class LivePart:
    """A part of a page that scripts create, for the screen only."""

    name: str
    """Name of the HTML element."""
    scripts: tuple[str, ...]
    """Stems of the files, in the order in which they run."""
    style: str
    """Stem of its style sheet."""
    data: str
    """JSON data for the scripts."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading with its content."""

    title: str
    text: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    """List of sentences."""
    links: tuple[PageLink, ...] = ()
    code: str = ""
    """Code that a reader can run."""
    folded: bool = False
    """Whether the section is folded until a reader opens it."""
    live: LivePart | None = None
    """Live part of the section; it is not printed."""


def fold(section: Section) -> Section:
    """Return the section in folded form, which a reader can open."""
    return replace(section, folded=True)


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with `digits` significant digits; a dash if unknown."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.{digits}g}"


def percent(value: float | None, digits: int = 3) -> str:
    """Format a share as a percentage; a dash if unknown."""
    if value is None:
        return "-"
    share = 100.0 * value
    # Without this, a large share would be printed with an exponent.
    has_digits = 10.0**digits <= abs(share) + 0.5 < 1e6
    return f"{share:.0f} %" if has_digits else f"{share:.{digits}g} %"


def torque_unit(unit: str) -> str:
    """Return the unit of the torque or force of a joint by the unit of its position."""
    return "N" if unit == "m" else "N m"


def unit_text(unit: str) -> str:
    """Format a unit for a page."""
    return unit.replace("^2", "²")


def csv_table(table: Table) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()
