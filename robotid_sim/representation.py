"""How values show themselves: a few lines, whatever they hold, and documented fields."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from robotid_sim.docstrings import documented

WIDTH, LINES = 79, 10
"""Most characters of a line, and most lines."""

LONGEST = 60
"""Most characters of the text of a field."""

FEW = 6
"""Most numbers of an array that are shown."""

T = TypeVar("T", bound=type)


def public_value(cls: T) -> T:
    """Give a dataclass a ``repr`` of at most LINES lines, and ``help`` that has its fields.

    Fields that are None are left out of the ``repr``. To stand above ``@dataclass``, whose own
    ``repr`` writes out every array.
    """
    cls.__repr__ = _repr  # type: ignore[assignment]  # mypy takes it for a method of T
    return documented(cls)


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
    """Return a text of at most LONGEST characters."""
    text = _text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and value.size <= FEW
        return str([float(f"{v:.4g}") for v in value]) if few else f"array of shape {value.shape}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if is_dataclass(value) and not isinstance(value, type):
        whole = repr(value)
        if len(whole) <= LONGEST and "\n" not in whole:
            return whole
        named = getattr(value, "name", None)
        return f"{type(value).__name__}({repr(named) if isinstance(named, str) else '…'})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_short(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple | list):
        whole = f"({', '.join(map(_short, value[:FEW]))})"
        many = len(value) > FEW or len(whole) > LONGEST
        return f"{len(value)} x {type(value[0]).__name__}" if many else whole
    return repr(value)
