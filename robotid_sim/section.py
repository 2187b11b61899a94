"""What a page says, apart from how it is written: headings, texts, tables, figures."""

import csv
import io
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.chart import Chart
from robotid_sim.table import Table


@dataclass(frozen=True, slots=True)
class PageLink:
    """A way to another page."""

    text: str
    href: str
    """Relative to the page."""


@dataclass(frozen=True, slots=True)
class LivePart:
    """A part of a page that scripts make, for the screen only."""

    name: str
    """Of its element."""
    scripts: tuple[str, ...]
    """Stems of the files, in the order in which they run."""
    style: str
    """Stem of the file with the looks of it."""
    data: str
    """What the scripts are given, JSON."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading with what stands under it."""

    title: str
    text: str = ""
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    """A list of sentences."""
    links: tuple[PageLink, ...] = ()
    code: str = ""
    """What a reader can run."""
    folded: bool = False
    """Whether a page shows it only when a reader opens it."""
    live: LivePart | None = None
    """What the whole section is for; it is not printed."""


def fold(section: Section) -> Section:
    """Return a section that a page shows when a reader opens it."""
    return replace(section, folded=True)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits, or a dash."""
    return "-" if value is None or not np.isfinite(value) else f"{value:.{digits}g}"


def percent(value: float | None, digits: int = 3) -> str:
    """Return a share as a percentage, or a dash."""
    if value is None:
        return "-"
    share = 100.0 * value
    whole = 10.0**digits <= abs(share) + 0.5 < 1e6  # an exponent would be all there is to read
    return f"{share:.0f} %" if whole else f"{share:.{digits}g} %"


def torque_unit(unit: str) -> str:
    """Return the unit of a joint's torque or force from that of its position."""
    return "N" if unit == "m" else "N m"


def unit_text(unit: str) -> str:
    """Return a unit as a page prints it."""
    return unit.replace("^2", "²")


def csv_table(table: Table) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()
