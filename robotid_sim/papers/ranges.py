"""Ranges in words, as rules of claims have them: above 1, 2 to 3, below 1 with its interval."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Self

from robotid_sim.errors import OptionError

WITH_INTERVAL = " with its interval"

_NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
_FORMS: dict[str, Callable[..., tuple[float | None, float | None, bool]]] = {
    rf"above {_NUMBER}": lambda a: (a, None, True),
    rf"below {_NUMBER}": lambda a: (None, a, True),
    rf"at least {_NUMBER}": lambda a: (a, None, False),
    rf"at most {_NUMBER}": lambda a: (None, a, False),
    rf"exactly {_NUMBER}": lambda a: (a, a, False),
    rf"{_NUMBER} to {_NUMBER}": lambda a, b: (a, b, False),
    "a number": lambda: (None, None, False),
}


@dataclass(frozen=True, slots=True)
class ClaimRange:
    """A range in words: above, below, at least, at most or exactly a number; a to b; a number."""

    text: str
    lower: float | None
    """None: open."""
    upper: float | None
    strict: bool
    """Whether the ends are outside."""
    whole: bool = False
    """Whether all of the 95 % interval must lie in it, if there is one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the range of a text.

        Raises
        ------
        OptionError
            With the forms that are understood.
        """
        bare = text.removesuffix(WITH_INTERVAL)
        for pattern, ends in _FORMS.items():
            if match := re.fullmatch(pattern, bare):
                numbers = (
                    int(n) if n.lstrip("-").isdecimal() else float(n) for n in match.groups()
                )
                return cls(text, *ends(*numbers), whole=bare != text)
        raise OptionError(
            f"'{text}' is no range; write 'above 1', 'below 1', 'at least 1', 'at most 1', "
            f"'exactly 1', '1 to 2' or 'a number', or add '{WITH_INTERVAL.strip()}'"
        )

    def holds(self, value: object, interval: tuple[float, float] | None = None) -> bool:
        """Tell whether a number, or all of its interval, lies in the range; a text never does."""
        if not isinstance(value, Real) or isnan(value):
            return False
        low, high = interval if self.whole and interval is not None else (float(value),) * 2
        return self._above(low) and self._below(high)

    def implies(self, other: "ClaimRange") -> bool:
        """Tell whether every number of this range lies in another one, by its ends."""
        below = other.lower is None or (
            self.lower is not None
            and (other.holds(self.lower) or (self.strict and self.lower == other.lower))
        )
        above = other.upper is None or (
            self.upper is not None
            and (other.holds(self.upper) or (self.strict and self.upper == other.upper))
        )
        return below and above

    def touches(self, interval: tuple[float, float]) -> bool:
        """Tell whether a point of an interval lies in the range."""
        return self._above(interval[1]) and self._below(interval[0])

    def _above(self, value: float) -> bool:
        limit = self.lower
        return limit is None or value > limit or (not self.strict and value == limit)

    def _below(self, value: float) -> bool:
        limit = self.upper
        return limit is None or value < limit or (not self.strict and value == limit)
