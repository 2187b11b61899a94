"""Reading of delimited text: delimiters, decimal commas, comment lines, units below names."""

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import FileFormatError
from robotid_sim.importing.raw_log import RawLog
from robotid_sim.importing.units import UNITS, unit_in
from robotid_sim.inputs import estimate_unpacked_size, open_file, require_plausible_size

DELIMITERS = (";", "\t", ",", None)
"""Delimiters in the order in which they are tried; None is any white space."""

DECIMAL_COMMA_NOTE = "numbers have decimal commas"

SNIFFED_LINES = 20
"""Lines from which the format of a file is inferred."""

_COMMENT_MARKS = ("#", "%")
_NAME_COLUMN_PATTERN = re.compile(r"(.*)name_?(\d+)")
_NUMBERED_COLUMN_PATTERN = re.compile(r"(.*?)(position|velocity|effort)_?(\d+)")
_DECIMAL_COMMA_PATTERN = re.compile(r"\s*[-+]?\d*,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)


class TextForm(NamedTuple):
    """Format of a text file: how a line is split into numbers."""

    delimiter: str | None
    decimal_comma: bool

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line, without quotation marks and space around them."""
        if self.delimiter is None:
            parts = line.split()
        else:
            try:
                parts = next(csv.reader([line], delimiter=self.delimiter))
            except csv.Error as error:
                raise FileFormatError(f"line '{line[:20]}...': {error}") from error
        return [part.strip() for part in parts]

    def numbers(self, cells: list[str]) -> list[float | None]:
        """Return the numbers in cells, NaN where a cell is empty, None where it holds no number."""
        return [self._number(cell) for cell in cells]

    def _number(self, cell: str) -> float | None:
        if not cell:
            return np.nan
        try:
            return float(cell.replace(",", ".") if self.decimal_comma else cell)
        except ValueError:
            return None


def read_text(path: Path) -> RawLog:
    """Read delimited text, which may be compressed by gzip and have lines of metadata above.

    Columns without a header line are numbered. Raises `FileFormatError` if a cell or a line is
    broken.
    """
    lines, comments = _lines(path)
    form, start = _table(lines, path)
    names = _names(lines[:start], comments, form, len(form.cells(lines[start])))
    notes = () if names else ("there is no header line: columns are numbered",)
    if not names:
        count = len(form.cells(lines[start]))
        stem = path.name.partition(".")[0]
        names = [stem] if count == 1 else [f"column {k}" for k in range(1, count + 1)]
    lines = lines[start:]
    body = [line.replace(",", ".") for line in lines] if form.decimal_comma else lines
    table = None
    with suppress(ValueError):  # a cell that holds no number
        table = np.loadtxt(body, delimiter=form.delimiter, comments=None, ndmin=2)
    if table is not None and table.shape[1] == len(names):
        columns = list(zip(names, table.T, strict=True))
        commas = (DECIMAL_COMMA_NOTE,) if form.decimal_comma else ()
        recording = _remove_duplicates(columns, (*notes, *commas))
    else:
        recording = _careful(lines, names, form, path, notes)
    return recording


def _remove_duplicates(columns: list[tuple[str, Float1D]], notes: tuple[str, ...]) -> RawLog:
    """Remove columns that share a name but differ in their numbers."""
    by_name: dict[str, list[Float1D]] = {}
    for name, column in columns:
        by_name.setdefault(name, []).append(column)
    twice = [
        name
        for name, same in by_name.items()
        if not all(np.array_equal(same[0], other, equal_nan=True) for other in same[1:])
    ]
    if twice:
        names = ", ".join(f"'{name}'" for name in twice)
        notes += (f"columns whose name stands twice are omitted: {names}; rename them",)
    return RawLog({n: same[0] for n, same in by_name.items() if n not in twice}, notes)


def _careful(
    lines: list[str], names: list[str], form: TextForm, path: Path, earlier_notes: tuple[str, ...]
) -> RawLog:
    """Return the columns of numbers of a file with empty cells, texts or errors."""
    rows = [form.cells(line) for line in lines]
    notes = list(earlier_notes)
    if rows and len(rows[-1]) < len(names) == len(rows[0]):
        rows.pop()
        notes.append("the last line is incomplete and omitted")
    if not rows:
        raise FileFormatError(f"{path} holds no samples below its header line")
    for k, row in enumerate(rows, start=1):
        if len(row) != len(names):
            commas = form.delimiter == "," and len(row) > len(names)
            remedy = "; with decimal commas part columns by semicolons" if commas else ""
            raise FileFormatError(
                f"{path}: sample {k} has {len(row)} values instead of {len(names)}{remedy}"
            )
    columns: list[tuple[str, Float1D]] = []
    clocks: list[str] = []
    texts: dict[str, list[str]] = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        column = _column(list(cells), form, f"{path}: column '{name}'")
        if column is not None:
            columns.append((name, column))
        elif (times := clock_seconds(cells)) is not None:
            columns.append((name, times))
            clocks.append(name)
            notes.append(f"'{name}' has clock times, which count from the first one")
        else:
            texts[name] = list(cells)
    if texts:
        notes.append(f"columns of text are omitted: {', '.join(texts)}")
    if form.decimal_comma:
        notes.append(DECIMAL_COMMA_NOTE)
    recording = _remove_duplicates(columns, tuple(notes))
    columns_of = _split_by_joint(dict(recording.columns), texts)
    return replace(recording, columns=columns_of, clocks=tuple(clocks))


def _split_by_joint(columns: dict[str, Float1D], texts: dict[str, list[str]]) -> dict[str, Float1D]:
    """Rename columns ``position0`` to the joint that the text in ``name0`` names.

    ROS 1 prints joint states in this form, in alphabetical order, which may differ from that of the
    robot.
    """
    named = {name: _NAME_COLUMN_PATTERN.fullmatch(name) for name in texts}
    joints = {(m[1], m[2]): texts[name][0] for name, m in named.items() if m is not None}
    renamed = {}
    for name, column in columns.items():
        numbered = _NUMBERED_COLUMN_PATTERN.fullmatch(name)
        key = numbered and (numbered[1], numbered[3])
        new = f"{numbered[1]}{numbered[2]}.{joints[key]}" if numbered and key in joints else name
        renamed[new] = column
    return renamed


def _lines(path: Path) -> tuple[list[str], list[str]]:
    """Return the non-empty lines, and the text of comment lines."""
    most = estimate_unpacked_size(path)
    try:
        with open_file(path) as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            head = stream.read(4096)
            content = head if b"\0" in head else head + stream.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error
    require_plausible_size(len(content), path)
    if b"\0" in head:
        raise FileFormatError(
            f"{path} is of no form that can be read; known: CSV and other text (.gz), NPZ, MAT, "
            "HDF5, Parquet, ROS bags, MCAP"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = [line for line in text.splitlines() if line.strip()]
    comments = [line.lstrip("#% ") for line in lines if line.startswith(_COMMENT_MARKS)]
    return [line for line in lines if not line.startswith(_COMMENT_MARKS)], comments


def _table(lines: list[str], path: Path) -> tuple[TextForm, int]:
    """Find the form in which the last lines are numbers, and the first line of that table."""
    if not lines:
        raise FileFormatError(f"{path} is empty")
    last = lines[-SNIFFED_LINES - 1 : -1] if len(lines) > SNIFFED_LINES else lines[-1:]
    single = None
    for delimiter in DELIMITERS:
        cells = [TextForm(delimiter, decimal_comma=False).cells(line) for line in last]
        comma = delimiter != "," and any(
            _DECIMAL_COMMA_PATTERN.fullmatch(c) for row in cells for c in row
        )
        form = TextForm(delimiter, comma)
        values = [form.numbers(row) for row in cells]
        some = all(any(v is not None and v == v for v in row) for row in values)
        if some and min(map(len, cells)) > 1:
            return form, _first_row(lines, form)
        if some and all(v is not None for row in values for v in row):
            single = form
    if single is None:
        raise FileFormatError(f"{path}: its lines are not a table of numbers")
    return single, _first_row(lines, single)


def _first_row(lines: list[str], form: TextForm) -> int:
    """Find the first line with as many cells as the later ones, and as many numbers."""

    def numeric(line: str) -> list[bool]:
        return [value is not None for value in form.numbers(form.cells(line))]

    later = numeric(lines[-2] if len(lines) > 1 else lines[-1])
    for k, line in enumerate(lines[:-1]):
        here = numeric(line)
        # A damaged line is reported later.
        if len(here) == len(later) and 2 * sum(map(all, zip(here, later, strict=True))) > sum(
            later
        ):
            return k
    return len(lines) - 1


def _names(head: list[str], comments: list[str], form: TextForm, count: int) -> list[str]:
    """Name the columns by the lines above them, with units; empty if no line does."""
    cut = [form.cells(line) for line in head]
    rows = [cells for cells in cut if len(cells) == count]
    rows = rows or [cells[:count] for cells in cut if len(cells) == count + 1]  # a comment's name
    if count > 2 and count % 2 == 0 and rows and all(len(set(row[::2])) == 1 for row in rows):
        # Pairs of a time and a value, by lines of a label and a value.
        pairs = {row[0].lower(): row[1::2] for row in reversed(rows)}
        time = next((label for label in pairs if "time" in label), "time")
        units = next((row for label, row in pairs.items() if "unit" in label), [])
        names = pairs.get("name") or next(iter(pairs.values()))
        values = [f"{n} [{u}]" if u else n for n, u in zip_longest(names, units, fillvalue="")]
        bracket = time.partition("[")[2].strip("]")
        return [name for value in values for name in (f"time [{bracket or 's'}]", value)]
    if not rows:
        rows = [cells for line in comments if len(cells := form.cells(line)) == count]
        rows = [row for row in rows[-1:] if None in form.numbers(row)]
    unit_cells = [cell for cell in rows[-1] if cell] if rows else []
    are_units = 2 * sum(map(_is_unit, unit_cells)) > len(unit_cells) or 2 * len(
        set(unit_cells)
    ) <= len(unit_cells)
    if len(rows) < 2 or not are_units:
        return rows[-1] if rows else []
    named = zip(rows[-2], rows[-1], strict=True)
    return [f"{name} [{unit.strip('[]()')}]" if unit else name for name, unit in named]


def _is_unit(cell: str) -> bool:
    """Return whether a cell holds a unit, in brackets or not, or is empty."""
    text = cell.strip("[]() -")
    return not text or text != cell or any(unit_in(text, quantity) for quantity in UNITS)


CLOCK_TIME_PATTERN = re.compile(
    r"(?:.*\D)?(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2})(?:[.,:](?P<f>\d+))?\s*(?P<half>[ap]m)?"
    r"\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
"""Hours, minutes and seconds, behind a date or not."""

SECONDS_PER_DAY = 86400.0


def clock_seconds(cells: Sequence[str]) -> Float1D | None:
    """Convert texts such as ``2024-03-05 23:59:55.010`` from the first one [s]; None of others."""
    matches = [CLOCK_TIME_PATTERN.fullmatch(cell) for cell in cells]
    if not all(matches):
        return None
    seconds = [
        3600.0 * (int(m["h"]) % 12 + 12 * (m["half"].lower() == "pm") if m["half"] else int(m["h"]))
        + 60.0 * int(m["m"])
        + float(f"{m['s']}.{m['f'] or 0}")
        for m in matches
        if m is not None
    ]
    steps = np.diff(seconds, prepend=seconds[0])
    days = np.cumsum(steps < -0.5 * SECONDS_PER_DAY)  # number of midnights passed
    return np.round(np.array(seconds) - seconds[0] + SECONDS_PER_DAY * days, 9)


def _column(cells: list[str], form: TextForm, what: str) -> Float1D | None:
    """Return the numbers of a column, None for a text column; a single bad cell is an error."""
    values = form.numbers(cells)
    wrong = [k for k, value in enumerate(values) if value is None]
    if 2 * len(wrong) > len(cells):
        return None
    if wrong:
        raise FileFormatError(
            f"{what}, sample {wrong[0] + 1}: {cells[wrong[0]]!r} is not a number; correct it"
        )
    return np.array(values, dtype=float)
