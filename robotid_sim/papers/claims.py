"""What a paper claims, what is measured, and the verdict that follows by rules of all papers.

The text of a claim, its printed number and its rules stand in a TOML file; Python measures. A claim
*holds* where its ranges are met. Held without conditions it is reproduced, held under conditions it
is conditional, else it is not reproducible. A claim whose test needs what is not printed, such as
a log or the code that was timed, is not testable, whatever we measure. No other verdict is written
by hand.

A claim compares with what could come out otherwise. Its *nulls* are what guessing, random search or
the method's own ablation reach; where one of them meets the rule too, that is a condition. A band
lies where the claim holds, so that band and verdict agree; where we expect a claim to fail, our
number has an *expected* range instead; a claim that is testable has one of them. What only our own
code can break, and what is not in the paper, is a check, no claim.
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

Verdict = Literal["reproduced", "conditional", "not-reproducible", "not-testable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "conditional", "not-reproducible", "not-testable")
Kind = Literal["claim", "check"]
CHECK = "check"
"""Stands for the verdict of what the testbench checks of itself."""
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

    def implies(self, other: "ClaimRange") -> bool:
        """Return whether every number of this range lies in another one, by its ends."""
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
    return int(text) if text.lstrip("-").isdecimal() else float(text)


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
    source: str = ""
    """Where the paper says it; empty for what the testbench adds."""
    unit: str = ""
    """Unit of both numbers; empty for a bare number."""
    interval: tuple[float, float] | None = None
    """95 % interval of `ours` over the runs; None for what has no spread."""
    kind: Kind = "claim"
    band: ClaimRange | None = None
    """Where an honest implementation ends and the claim holds."""
    expected: ClaimRange | None = None
    """Where our number ends, for a claim that is expected to fail; in place of a band."""
    nulls: Mapping[str, float] = field(default_factory=dict)
    """What others reach in place of `ours`: guessing, random search, an ablation."""
    missing: str = ""
    """What a test of the claim needs and the paper does not print; it has no verdict then."""
    holds: Rule = field(default_factory=dict)
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
        if self.expectation is not None and isinstance(self.ours, str):
            raise OptionError(f"claim '{self.name}' has a band but no number")
        rule = self.holds.get(OURS)
        if self.band is not None and (rule is None or not self.band.implies(rule)):
            raise OptionError(
                f"claim '{self.name}': its band '{self.band.text}' reaches where it does not hold; "
                "write 'expected' in place of 'band'"
            )
        if self.band is not None and self.expected is not None:
            raise OptionError(f"claim '{self.name}' has a band and is expected to fail")
        if self.nulls and rule is None:
            raise OptionError(f"claim '{self.name}': its rule is not about what nulls reach")
        if self.kind == CHECK or not self.missing:
            self._require_rules()
        for name in (*self.holds, *self.fully):
            if name != OURS and name not in self.facts:
                raise OptionError(f"claim '{self.name}': its rule needs '{name}'")

    def _require_rules(self) -> None:
        if not self.holds:
            raise OptionError(f"claim '{self.name}' does not say where it holds")
        if self.kind == CHECK:
            return
        if self.expectation is None:
            raise OptionError(
                f"claim '{self.name}' does not say what is expected; write 'band', 'expected', or "
                "in 'missing' what a test would need"
            )
        if self.published is None:
            raise OptionError(f"claim '{self.name}' has no published value; make it a check")

    def _satisfies(self, rule: Rule) -> bool:
        return all(
            part.holds(self.ours, self.interval) if name == OURS else part.holds(self.facts[name])
            for name, part in rule.items()
        )

    @property
    def verdict(self) -> Verdict:
        """What follows from number, interval, ranges and conditions."""
        if self.missing:
            return "not-testable"
        if not self._satisfies(self.holds):
            return "not-reproducible"
        return "conditional" if self.standing_conditions else "reproduced"

    @property
    def standing_conditions(self) -> tuple[str, ...]:
        """The conditions that are left: none where the claim holds fully and the band is met."""
        free = bool(self.fully) and self._satisfies(self.fully)
        out = self.band is not None and not self.band.holds(self.ours)
        return (
            *(() if free else self.conditions),
            *((OUT_OF_BAND,) if out else ()),
            *(f"{name} meets it too, with {self.nulls[name]:.3g}" for name in self.met_by),
        )

    @property
    def met_by(self) -> tuple[str, ...]:
        """The nulls whose number meets the rule too: a claim that they meet shows nothing."""
        return tuple(name for name, value in self.nulls.items() if self.holds[OURS].holds(value))

    @property
    def expectation(self) -> ClaimRange | None:
        """Where our number is expected: the band, or the range of a claim that should fail."""
        return self.band or self.expected

    @property
    def within(self) -> bool | None:
        """Whether what is expected came out; None if nothing is, or it is not judged."""
        if not self.judged:
            return None
        if self.kind == CHECK:
            return self._satisfies(self.holds)
        return None if self.expectation is None else self.expectation.holds(self.ours)

    @property
    def outcome(self) -> Outcome | None:
        """Whether the expectation is met; None if there is none or it is not judged."""
        if self.within is None or self.within:
            return None if self.within is None else "met"
        aim = self.expectation
        reached = aim is not None and self.interval is not None and aim.touches(self.interval)
        return "undecided" if reached else "missed"

    @property
    def shown_verdict(self) -> str:
        """The verdict, or that there is none."""
        if self.kind == CHECK and self.judged:
            return CHECK
        return self.verdict if self.judged or self.missing else NOT_JUDGED

    @property
    def missed(self) -> str:
        """By how much the band is missed, in words; empty if it is not."""
        if self.within is not False or self.expectation is None:
            return ""
        lower, upper = self.expectation.lower, self.expectation.upper
        value = float(self.ours)
        if lower is not None and value < lower:
            by, side = lower - value, "below"
        else:
            assert upper is not None
            by, side = value - upper, "above"
        text = f"{by:.3g} {self.unit}".strip() + f" {side} the expected range"
        undecided = self.outcome == "undecided"
        return f"undecided: {text}, which its interval reaches" if undecided else text


def write_claims(path: Path, paper: str, claims: Sequence[Claim]) -> None:
    """Write claims as JSON, schema ``robotid/claims/1``."""
    write_json(path, "claims", SCHEMA, {"paper": paper, "claims": [claim_row(c) for c in claims]})


def claim_row(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON holds it."""
    plain = ("name", "kind", "claim", "source", "published", "ours", "unit", "interval")
    ranges = {"band": claim.band, "expected": claim.expected}
    return {
        **{name: getattr(claim, name) for name in plain},
        **{name: part and [part.lower, part.upper] for name, part in ranges.items()},
        "nulls": dict(claim.nulls),
        "missing": claim.missing,
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
