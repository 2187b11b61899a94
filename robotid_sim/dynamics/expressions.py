"""Expressions that write themselves: arithmetic on names, recorded as lines of source code.

Numbers stay numbers, so that zeros and ones vanish before they are written. A product or a sum of
names has a text that C and Python read alike.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUM, PRODUCT, NAME = range(3)
"""How tightly the text of a term binds."""

Vector = NDArray[np.object_]
"""Terms and numbers, mixed."""

WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of source code with the value of a number."""

    text: str
    level: int = NAME

    def __add__(self, other: "Term | float") -> "Term":
        if not isinstance(other, Term):
            if other == 0.0:
                return self
            other = Term(repr(float(other)))
        sign, text = _signed(other.text)
        return Term(f"{self.text} {sign} {text}", SUM)

    def __radd__(self, other: float) -> "Term":
        return self if other == 0.0 else Term(repr(float(other))) + self

    def __neg__(self) -> "Term":
        if self.level == SUM:
            return Term(f"-({self.text})", PRODUCT)
        sign, text = _signed(self.text)
        return Term(text, self.level) if sign == "-" else Term(f"-{text}", PRODUCT)

    def __sub__(self, other: "Term | float") -> "Term":
        return self + -other

    def __rsub__(self, other: float) -> "Term":
        return -self + other

    def __mul__(self, other: "Term | float") -> Any:
        if not isinstance(other, Term):
            if other in (0.0, 1.0, -1.0):
                return {0.0: 0.0, 1.0: self, -1.0: -self}[other]
            return Term(repr(float(other))) * self
        (sign, left), (other_sign, right) = _signed(self._factor()), _signed(other._factor())
        product = f"{left}*{right}"
        return Term(product if sign == other_sign else f"-{product}", PRODUCT)

    __rmul__ = __mul__

    def _factor(self) -> str:
        return f"({self.text})" if self.level == SUM else self.text


def _signed(text: str) -> tuple[str, str]:
    """Return the sign in front of a text and the rest."""
    return ("-", text[1:]) if text.startswith("-") else ("+", text)


def call(function: str, argument: Term) -> Term:
    """Return a function of a term."""
    return Term(f"{function}({argument.text})")


def numbers(values: Any) -> Vector:
    """Return an array of plain numbers that terms can be multiplied with."""
    return np.array(np.asarray(values, dtype=float).tolist(), dtype=object)


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product of two vectors of three."""
    turns = ((1, 2), (2, 0), (0, 1))
    return np.array([a[i] * b[j] - a[j] * b[i] for i, j in turns], dtype=object)


@dataclass(slots=True)
class Recorder:
    """Assignments in their order."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    """Name and text of each."""

    def let(self, name: str, value: Any) -> Any:
        """Return a name for a term, an array of them or a number; what is short stays as it is."""
        if isinstance(value, np.ndarray):
            named = np.empty_like(value)
            for index in np.ndindex(value.shape):
                axes = "".join("xyz"[k] for k in index)
                named[index] = self.let(f"{name}{axes}", value[index])
            return named
        if not isinstance(value, Term) or WORD.fullmatch(value.text.removeprefix("-")):
            return value
        self.lines.append((name, value.text))
        return Term(name)

    def let_symmetric(self, name: str, value: Vector) -> Vector:
        """Return names for a symmetric matrix, the upper half of which is computed."""
        named = value.copy()
        for i, k in zip(*np.triu_indices(len(value)), strict=True):
            named[i, k] = named[k, i] = self.let(f"{name}{'xyz'[i]}{'xyz'[k]}", value[i, k])
        return named

    def needed_for(self, results: Iterable[Any]) -> list[tuple[str, str]]:
        """Return the assignments that the results depend on."""
        words = {w for r in results if isinstance(r, Term) for w in WORD.findall(r.text)}
        kept = []
        for name, text in reversed(self.lines):
            if name in words:
                kept.append((name, text))
                words.update(WORD.findall(text))
        return kept[::-1]
