"""What a paper claims, what is measured, and the verdict that follows by rules of all papers.

The text of a claim, its printed number and its rules stand in a TOML file; Python measures. A claim
*holds* where its ranges are met. Held without conditions it is reproduced, held under conditions it
is conditional, else it is not reproducible. No verdict is written by hand.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self

from robotid_sim.errors import OptionError
from robotid_sim.files import write_json

Verdict = Literal["reproduced", "conditional", "not-reproducible"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "conditional", "not-reproducible")
NOT_JUDGED = "not judged"
"""Stands for the verdict of a claim that needs more runs than there were."""
Outcome = Literal["met", "undecided", "missed"]
"""Of a band. Undecided: the number is outside, but its 95 % interval reaches into the band."""
OURS = "ours"
"""Name of the measured number in a rule."""
WITH_INTERVAL = " with its interval"
OUT_OF_BAND = "the number is outside of its band"
SCHEMA = 1

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
        """Return the range of a text.

        Raises
        ------
        OptionError
            With the forms that are understood.
        """
        bare = text.removesuffix(WITH_INTERVAL)
        for pattern, ends in _FORMS.items():
            if match := re.fullmatch(pattern, bare):
                return cls(text, *ends(*map(_numeric, match.groups())), whole=bare != text)
        raise OptionError(
            f"'{text}' is no range; write 'above 1', 'below 1', 'at least 1', 'at most 1', "
            f"'exactly 1', '1 to 2' or 'a number', or add '{WITH_INTERVAL.strip()}'"
        )

    def holds(self, value: object, interval: tuple[float, float] | None = None) -> bool:
        """Return whether a number, or all of its interval, lies in the range; a text never does."""
        if not isinstance(value, Real) or isnan(value):
            return False
        low, high = interval if self.whole and interval is not None else (float(value),) * 2
        return self._above(low) and self._below(high)

    def touches(self, interval: tuple[float, float]) -> bool:
        """Return whether a point of an interval lies in the range."""
        return self._above(interval[1]) and self._below(interval[0])

    def _above(self, value: float) -> bool:
        limit = self.lower
        return limit is None or value > limit or (not self.strict and value == limit)

    def _below(self, value: float) -> bool:
        limit = self.upper
        return limit is None or value < limit or (not self.strict and value == limit)


def _numeric(text: str) -> float:
    """Return a number of a range; a count stays one."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


Rule = Mapping[str, ClaimRange]
"""Ranges by the name of what must lie in them: ``ours`` or a fact; all must hold."""


def rule_of(content: str | Mapping[str, str]) -> Rule:
    """Return the rule of its TOML form: a range of our number, or ranges by name."""
    ranges = {OURS: content} if isinstance(content, str) else content
    return {name: ClaimRange.parse(text) for name, text in ranges.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a paper beside what the testbench measures."""

    name: str
    """Kebab-case, unique in the paper."""
    claim: str
    """What the paper says, in a sentence."""
    published: float | str | None
    """The printed number or statement; None where the print is lost."""
    ours: float | str
    """What is measured; a number if the claim has one."""
    unit: str = ""
    """Unit of both numbers; empty for a bare number."""
    interval: tuple[float, float] | None = None
    """95 % interval of `ours` over the runs; None for what has no spread."""
    band: ClaimRange | None = None
    """Where an honest implementation ends."""
    holds: Rule
    """Where the paper's claim holds."""
    fully: Rule = field(default_factory=dict)
    """Where it holds without its conditions; empty: nowhere, if there are conditions."""
    conditions: tuple[str, ...] = ()
    """What a claim that holds depends on."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Other numbers that rules name."""
    judged: bool = True
    """Whether the runs suffice for a verdict and the band; see `Lab.judged`."""
    reason: str
    """Why."""

    def __post_init__(self) -> None:
        if self.band is not None and isinstance(self.ours, str):
            raise OptionError(f"claim '{self.name}' has a band but no number")
        if not self.holds:
            raise OptionError(f"claim '{self.name}' does not say where it holds")
        for name in (*self.holds, *self.fully):
            if name != OURS and name not in self.facts:
                raise OptionError(f"claim '{self.name}': its rule needs '{name}'")

    def _satisfies(self, rule: Rule) -> bool:
        return all(
            part.holds(self.ours, self.interval) if name == OURS else part.holds(self.facts[name])
            for name, part in rule.items()
        )

    @property
    def verdict(self) -> Verdict:
        """What follows from number, interval, ranges and conditions."""
        if not self._satisfies(self.holds):
            return "not-reproducible"
        return "conditional" if self.standing_conditions else "reproduced"

    @property
    def standing_conditions(self) -> tuple[str, ...]:
        """The conditions that are left: none where the claim holds fully and the band is met."""
        free = bool(self.fully) and self._satisfies(self.fully)
        out = self.band is not None and not self.band.holds(self.ours)
        return (*(() if free else self.conditions), *((OUT_OF_BAND,) if out else ()))

    @property
    def within(self) -> bool | None:
        """Whether `ours` lies in the band; None if there is none or it is not judged."""
        return None if self.band is None or not self.judged else self.band.holds(self.ours)

    @property
    def outcome(self) -> Outcome | None:
        """Whether the band is met; None if there is none or it is not judged."""
        if self.within is None or self.band is None:
            return None
        if self.within:
            return "met"
        reached = self.interval is not None and self.band.touches(self.interval)
        return "undecided" if reached else "missed"

    @property
    def shown_verdict(self) -> str:
        """The verdict, or that there is none."""
        return self.verdict if self.judged else NOT_JUDGED

    @property
    def missed(self) -> str:
        """By how much the band is missed, in words; empty if it is not."""
        if self.within is not False or self.band is None:
            return ""
        lower, upper = self.band.lower, self.band.upper
        value = float(self.ours)
        if lower is not None and value < lower:
            by, side = lower - value, "below"
        else:
            assert upper is not None
            by, side = value - upper, "above"
        text = f"{by:.3g} {self.unit}".strip() + f" {side} the band"
        undecided = self.outcome == "undecided"
        return f"undecided: {text}, which its interval reaches" if undecided else text


def write_claims(path: Path, paper: str, claims: Sequence[Claim]) -> None:
    """Write claims as JSON, schema ``robotid/claims/1``."""
    write_json(path, "claims", SCHEMA, {"paper": paper, "claims": [claim_row(c) for c in claims]})


def claim_row(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON holds it."""
    plain = ("name", "claim", "published", "ours", "unit", "interval")
    return {
        **{name: getattr(claim, name) for name in plain},
        "band": None if claim.band is None else [claim.band.lower, claim.band.upper],
        "judged": claim.judged,
        "verdict": claim.shown_verdict,
        "reason": claim.reason,
        "within": claim.within,
        "outcome": claim.outcome,
        "holds": {name: part.text for name, part in claim.holds.items()},
        "conditions": list(claim.standing_conditions)
        if claim.shown_verdict == "conditional"
        else [],
    }
