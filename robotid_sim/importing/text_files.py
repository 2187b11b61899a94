"""Columns from text: any usual delimiter, decimal commas, comment lines, units below the names."""

import csv
import gzip
import re
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import FileFormatError
from robotid_sim.importing.foreign_log import ForeignLog
from robotid_sim.inputs import bound_unpacked_size, open_file, require_warranted

DELIMITERS = (";", "\t", ",", None)
"""In the order in which they are tried; None is any white space."""

DECIMAL_COMMAS = "numbers have decimal commas"

LOOKED_AT = 20
"""Lines from which the form of a file is told."""

_COMMENTS = ("#", "%")
_NAME_COLUMN = re.compile(r"(.*)name_?(\d+)")
_NUMBERED_COLUMN = re.compile(r"(.*?)(position|velocity|effort)_?(\d+)")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)


class TextForm(NamedTuple):
    """How the lines of a file are cut into numbers."""

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


def read_text(path: Path) -> ForeignLog:
    """Read delimited text, which may be compressed by gzip.

    Raises `FileFormatError` if there is no header line, or if a cell or a line is broken.
    """
    lines, comments = _lines(path)
    form = _form(lines, path)
    if form is None:
        raise FileFormatError(f"{path}: its lines are no table of numbers")
    names, lines = _header(lines, comments, form, path)
    body = [line.replace(",", ".") for line in lines] if form.decimal_comma else lines
    table = None
    if body:
        with suppress(ValueError):  # a cell that holds no number
            table = np.loadtxt(body, delimiter=form.delimiter, comments=None, ndmin=2)
    if table is not None and table.shape[1] == len(names):
        columns = dict(zip(names, table.T, strict=True))
        return ForeignLog(columns, (DECIMAL_COMMAS,) if form.decimal_comma else ())
    return _careful(lines, names, form, path)


def _careful(lines: list[str], names: list[str], form: TextForm, path: Path) -> ForeignLog:
    """Return the columns of numbers of a file with empty cells, texts or errors."""
    rows = [form.cells(line) for line in lines]
    notes = []
    if rows and len(rows[-1]) < len(names) == len(rows[0]):
        rows.pop()
        notes.append("the last line is incomplete and left out")
    if not rows:
        raise FileFormatError(f"{path} holds no samples below its header line")
    for k, row in enumerate(rows, start=1):
        if len(row) != len(names):
            commas = form.delimiter == "," and len(row) > len(names)
            remedy = "; with decimal commas part columns by semicolons" if commas else ""
            raise FileFormatError(
                f"{path}: sample {k} has {len(row)} values instead of {len(names)}{remedy}"
            )
    columns: dict[str, Float1D] = {}
    texts: dict[str, list[str]] = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        column = _column(list(cells), form, f"{path}: column '{name}'")
        if column is None:
            texts[name] = list(cells)
        else:
            columns[name] = column
    if texts:
        notes.append(f"columns of text are left out: {', '.join(texts)}")
    if form.decimal_comma:
        notes.append(DECIMAL_COMMAS)
    return ForeignLog(_with_joints(columns, texts), tuple(notes))


def _with_joints(columns: dict[str, Float1D], texts: dict[str, list[str]]) -> dict[str, Float1D]:
    """Return columns ``position0`` with the joint that the text in ``name0`` says.

    So ROS 1 prints joint states, in alphabetical order, which may not be that of the robot.
    """
    named = {name: _NAME_COLUMN.fullmatch(name) for name in texts}
    joints = {(m[1], m[2]): texts[name][0] for name, m in named.items() if m is not None}
    renamed = {}
    for name, column in columns.items():
        numbered = _NUMBERED_COLUMN.fullmatch(name)
        key = numbered and (numbered[1], numbered[3])
        new = f"{numbered[1]}{numbered[2]}.{joints[key]}" if numbered and key in joints else name
        renamed[new] = column
    return renamed


def _lines(path: Path) -> tuple[list[str], list[str]]:
    """Return the lines that hold something, and what the comment lines say."""
    most = bound_unpacked_size(path)
    try:
        with open_file(path) as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            head = stream.read(4096)
            content = head if b"\0" in head else head + stream.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error
    require_warranted(len(content), path)
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
    comments = [line.lstrip("#% ") for line in lines if line.startswith(_COMMENTS)]
    return [line for line in lines if not line.startswith(_COMMENTS)], comments


def _form(lines: list[str], path: Path) -> TextForm | None:
    """Return the first form in which the later of the first lines are numbers."""
    if not lines:
        raise FileFormatError(f"{path} is empty")
    looked_at = lines[2:LOOKED_AT] or lines[-1:]  # names and units may be above
    alone = None
    for delimiter in DELIMITERS:
        cells = [TextForm(delimiter, decimal_comma=False).cells(line) for line in looked_at]
        comma = delimiter != "," and any(_DECIMAL_COMMA.fullmatch(c) for row in cells for c in row)
        form = TextForm(delimiter, comma)
        values = [form.numbers(row) for row in cells]
        some = all(any(v is not None and v == v for v in row) for row in values)
        if some and min(map(len, cells)) > 1:
            return form
        if some and all(v is not None for row in values for v in row):
            alone = form
    return alone


def _header(
    lines: list[str], comments: list[str], form: TextForm, path: Path
) -> tuple[list[str], list[str]]:
    """Return the names of the columns, with units if these stand below, and the samples' lines."""
    first = form.cells(lines[0])
    if any(value is not None for value in form.numbers(first) if value == value):
        for comment in reversed(comments):
            names = form.cells(comment)
            if len(names) == len(first) and None in form.numbers(names):
                return names, lines
        raise FileFormatError(
            f"{path} has no header line; put one with the names of its {len(first)} columns above"
        )
    rest = lines[1:]
    if rest:
        units = form.cells(rest[0])
        if len(units) == len(first) and all(v is None or v != v for v in form.numbers(units)):
            named = zip(first, units, strict=True)
            first = [f"{name} [{unit.strip('[]()')}]" if unit else name for name, unit in named]
            rest = rest[1:]
    twice = sorted(name for name, count in Counter(first).items() if count > 1)
    if twice:
        raise FileFormatError(f"{path}: the header line has '{twice[0]}' twice; rename one")
    return first, rest


def _column(cells: list[str], form: TextForm, what: str) -> Float1D | None:
    """Return the numbers of a column, None for one of text; a single bad cell is an error."""
    values = form.numbers(cells)
    wrong = [k for k, value in enumerate(values) if value is None]
    if 2 * len(wrong) > len(cells):
        return None
    if wrong:
        raise FileFormatError(
            f"{what}, sample {wrong[0] + 1}: {cells[wrong[0]]!r} is no number; correct it"
        )
    return np.array(values, dtype=float)
