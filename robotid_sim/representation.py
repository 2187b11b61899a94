"""Display of values: a few lines, tables in notebooks, and documented fields."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, TypeVar

import numpy as np

from robotid_sim.docstrings import attributes_of, document_attributes

WIDTH, LINES = 79, 10
"""Largest number of characters of a line, and of lines."""

MAX_TEXT_LENGTH = 60
"""Largest number of characters of the text of a field."""

MAX_NUMBERS = 6
"""Largest number of entries of an array that are shown."""

MAX_ROWS = 100
"""Largest number of rows of a table in a notebook."""

LEFT_STYLE = ' style="text-align: left"'

Titled = tuple[str, dict[str, Sequence[Any]]]
"""Title and columns of a table."""

T = TypeVar("T", bound=type)


def public_value(cls: T) -> T:
    """Give a dataclass a ``repr`` of at most LINES lines, and ``help`` with its fields.

    A notebook shows its fields with their meaning, and related fields as tables. Fields that are
    None are omitted. Place it above ``@dataclass``, whose default ``repr`` prints every array.
    """
    cls.__repr__ = _repr  # type: ignore[assignment]  # mypy takes it for a method of T
    cls._repr_html_ = _html  # type: ignore[attr-defined]
    return document_attributes(cls)


def _repr(value: Any) -> str:
    shown = {f.name: getattr(value, f.name) for f in fields(value) if f.repr}
    parts = [f"{name}={_short(field)}" for name, field in shown.items() if field is not None]
    name = type(value).__name__
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    room = LINES - 2
    if len(parts) > room:
        parts[room - 1 :] = [f"and {len(parts) - room + 1} more fields"]
    return "\n".join([f"{name}(", *(f"    {part[: WIDTH - 5]}," for part in parts), ")"])


def _short(value: Any) -> str:
    """Return a text of at most `MAX_TEXT_LENGTH` characters."""
    text = _text(value)
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and value.size <= MAX_NUMBERS
        return str([float(f"{v:.4g}") for v in value]) if few else f"array of shape {value.shape}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if is_dataclass(value) and not isinstance(value, type):
        text = repr(value)
        if len(text) <= MAX_TEXT_LENGTH and "\n" not in text:
            return text
        name = getattr(value, "name", None)
        return f"{type(value).__name__}({repr(name) if isinstance(name, str) else '…'})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_short(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple | list):
        text = f"({', '.join(map(_short, value[:MAX_NUMBERS]))})"
        many = len(value) > MAX_NUMBERS or len(text) > MAX_TEXT_LENGTH
        return f"{len(value)} x {type(value[0]).__name__}" if many else text
    return repr(value)


def _html(value: Any) -> str:
    """Return the fields of a value, and the tables within it, as HTML for notebooks."""
    cls = type(value)
    shown = {f.name: getattr(value, f.name) for f in fields(value) if f.repr}
    shown = {name: field for name, field in shown.items() if field is not None}
    texts = {name: text for name, (_, text) in attributes_of(cls).items()}
    meaning = {name: " ".join(texts.get(name, "").replace("`", "").split()) for name in shown}
    rows = [[name, _short(field), meaning[name]] for name, field in shown.items()]
    tabled = {name: getattr(value, name) for name in getattr(cls, "TABLED", ())}
    parts = [f"<strong>{cls.__name__}</strong>", _table(["field", "value", "meaning"], rows)]
    for title, columns in (*_columns(shown | tabled), *_parts(shown)):
        several = list(zip(*columns.values(), strict=True))
        cells = [[cell if isinstance(cell, str) else _text(cell) for cell in r] for r in several]
        body = _table(list(columns), cells)
        parts.append(f"<details><summary>{len(several)} {title}</summary>{body}</details>")
    return f"<div>{''.join(parts)}</div>"


def _columns(shown: Mapping[str, Any]) -> list[Titled]:
    """Group sequences into tables: texts with all sequences of the same length."""
    listed = {
        name: field.tolist() if isinstance(field, np.ndarray) else field
        for name, field in shown.items()
        if isinstance(field, tuple) or (isinstance(field, np.ndarray) and field.ndim == 1)
    }
    plain = {name: field for name, field in listed.items() if all(map(_is_plain, field))}
    tables: dict[int, Titled] = {}
    for name, field in plain.items():
        if len(field) > 1 and isinstance(field[0], str):
            tables.setdefault(len(field), (name, {name: field}))
    for name, field in plain.items():
        if len(field) in tables:
            tables[len(field)][1][name] = field
    return [table for table in tables.values() if len(table[1]) > 1]


def _parts(shown: Mapping[str, Any]) -> list[Titled]:
    """Make a table of the plain fields of every sequence of dataclasses."""
    tables: list[Titled] = []
    for title, parts in shown.items():
        if isinstance(parts, tuple | list) and parts and is_dataclass(parts[0]):
            names = [f.name for f in fields(parts[0]) if f.repr]
            columns: dict[str, Sequence[Any]] = {
                name: [getattr(part, name, ()) for part in parts] for name in names
            }
            plain = {
                name: column for name, column in columns.items() if all(map(_is_plain, column))
            }
            if len(plain) > 1:
                tables.append((title, plain))
    return tables


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML with escaped texts, of limited length."""
    head = "".join(f"<th{LEFT_STYLE}>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td{LEFT_STYLE}>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows[:MAX_ROWS]
    )
    more = len(rows) - MAX_ROWS
    more_row = f"<tr><td>and {more} more</td></tr>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more_row}</tbody></table>"
