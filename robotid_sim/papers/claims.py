"""Claims of papers, their measured values, and verdicts by the same rules for all papers.

Text, printed number, measurement and rules of a claim are in a TOML file. A claim *holds* if its
ranges are met. It is reproduced if it holds without conditions, conditional if it holds under
conditions, otherwise not reproducible. A claim whose test needs data that are not printed, such as
a log or the timed code, is not testable, independent of measurements. No verdict is set by hand.

The *nulls* of a claim are the values of guessing, random search or an ablation of the method; if
one of them also meets the rule, this is a condition. A band is a range in which the claim holds, so
that band and verdict agree; a claim that is expected to fail has an *expected* range instead.
Every testable claim has one of the two. A check tests only robotid_sim, or an unpublished value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from robotid_sim.errors import OptionError
from robotid_sim.files import write_json
from robotid_sim.papers.statistics import Ends
from robotid_sim.papers.trial_table import ClaimRange, Measure, StrictModel, TrialTable
from robotid_sim.renamed import warn_of_name

Verdict = Literal["reproduced", "conditional", "not-reproducible", "not-testable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "conditional", "not-reproducible", "not-testable")
Kind = Literal["claim", "check"]
CHECK_VERDICT = "check"
"""Verdict of a check of robotid_sim itself."""
UNJUDGED_VERDICT = "not judged"
"""Verdict of a claim with too few runs."""
Outcome = Literal["met", "undecided", "missed"]
"""Result for a band. Undecided: the number is outside, but its 95 % interval overlaps the band."""
RunsNeeded = Literal["any", "full", "runs"]
"""Runs needed for a verdict: any, a full run instead of a quick one, or enough full runs."""
MEASURED_NAME = "ours"
"""Name of the measured number in a rule."""
BAND_MISS_TEXT = "the number is outside of its band"
SCHEMA_VERSION = 1

RangeInWords = Annotated[
    ClaimRange, BeforeValidator(lambda x: ClaimRange.parse(x) if isinstance(x, str) else x)
]
Rule = Annotated[
    dict[str, RangeInWords],
    BeforeValidator(lambda x: {MEASURED_NAME: x} if isinstance(x, str) else x),
]
"""Ranges by the name of a value: ``ours`` or a fact; all must be met."""
Facts = Mapping[str, Any]
"""Measured numbers and texts, by name."""
INHERITED_KEYS = ("study", "case", "metric", "entry")
"""Keys that facts and nulls without a study inherit from ``ours``."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredValue:
    """Measured value of a claim."""

    ours: Any
    interval: Ends
    facts: Facts
    """Numbers and texts for rules, nulls and the reason."""


def collect_measured(ours: float | str, interval: Ends = None, **facts: Any) -> MeasuredValue:
    """Collect the measured number, its 95 % interval, and facts for rules and the reason."""
    return MeasuredValue(ours, interval, facts)


def __getattr__(name: str) -> Any:
    """Return a function by its old name, for papers of users."""
    if name == "measured":
        warn_of_name("measured", "collect_measured")
        return collect_measured
    raise AttributeError(name)


class PrintedClaim(StrictModel):
    """A claim of a paper, its measurement, and the rules of its verdict."""

    name: str
    """Kebab-case, unique in the paper."""
    claim: str
    """Statement of the paper in one sentence."""
    source: str = ""
    """Place in the paper; empty for a check."""
    published: int | float | str | None = None
    """The printed number or statement; None if it is illegible."""
    unit: str = ""
    """Unit of both numbers; empty for a dimensionless number."""
    kind: Kind = "claim"
    ours: Measure | None = None
    """Measurement; None if code measures value and facts."""
    facts: dict[str, Measure] = Field(default={})
    """Further numbers for rules and the reason."""
    band: RangeInWords | None = None
    """Range of a correct implementation, in which the claim holds."""
    expected: RangeInWords | None = None
    """Range of the measured number of a claim that is expected to fail, instead of a band."""
    holds: Rule = Field(default={})
    """Ranges in which the claim holds; empty if this is the band."""
    nulls: dict[str, str | Measure] = Field(default={})
    """Value of guesses, random search or an ablation instead of `ours`, or the name of a fact."""
    fully: Rule = Field(default={})
    """Ranges in which the claim holds without its conditions; empty if there are none."""
    conditions: tuple[str, ...] = ()
    """Conditions of a claim that holds."""
    missing: str = ""
    """Data that a test needs and the paper does not print; the claim then is not testable."""
    judged: RunsNeeded = "any"
    reason: str
    """Explanation; its ``{names}`` are replaced by facts."""

    @property
    def expectation(self) -> ClaimRange | None:
        """Expected range: the band, or the range of a claim that should fail."""
        return self.band or self.expected

    @property
    def rule(self) -> Mapping[str, ClaimRange]:
        """The ranges in which the claim holds."""
        return self.holds or ({} if self.band is None else {MEASURED_NAME: self.band})

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, content: Any) -> Any:
        """Give facts and nulls without a study the study of ``ours``."""
        if not isinstance(content, dict) or not isinstance(ours := content.get("ours"), dict):
            return content
        shared = {key: ours[key] for key in INHERITED_KEYS if key in ours}

        def complete(entry: Any) -> Any:
            if not isinstance(entry, dict) or "study" in entry:
                return entry
            return {
                k: v for k, v in shared.items() if (k, "metric" in entry) != ("entry", True)
            } | entry

        parts = {part: content[part] for part in ("facts", "nulls") if part in content}
        return content | {p: {k: complete(v) for k, v in d.items()} for p, d in parts.items()}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        rule = self.rule.get(MEASURED_NAME)
        if self.band is not None and (rule is None or not self.band.is_subset(rule)):
            raise ValueError(
                f"the claim does not hold in all of its band '{self.band.text}'; write 'expected' "
                "instead of 'band'"
            )
        if self.band is not None and self.expected is not None:
            raise ValueError("it has 'band' and 'expected'; keep one")
        if self.nulls and rule is None:
            raise ValueError("it has nulls, but its rule has no range of the number")
        if self.missing and self.kind != CHECK_VERDICT:
            return self
        if not self.rule:
            raise ValueError("it has no range in which it holds; write 'band' or 'holds'")
        if self.kind != CHECK_VERDICT and self.expectation is None:
            raise ValueError(
                "it has no expected range; write 'band', 'expected', or 'missing' with the data of "
                "a test"
            )
        if self.kind != CHECK_VERDICT and self.published is None:
            raise ValueError("it has no published value; make it a check")
        return self

    def measure(self, table: TrialTable, shared: Facts) -> MeasuredValue:
        """Measure the value and the facts of the claim, in addition to the facts of the paper.

        Raises `OptionError` if the table does not have a value.
        """
        assert self.ours is not None
        nulls = {name: null for name, null in self.nulls.items() if isinstance(null, Measure)}
        try:
            value, ends = self.ours.estimate(table)
            facts = {name: part.estimate(table)[0] for name, part in (self.facts | nulls).items()}
        except OptionError as error:
            raise OptionError(f"claim '{self.name}': {error}") from error
        return MeasuredValue(value, ends, {**shared, **facts})

    def judge(self, measured: MeasuredValue, *, judged: bool) -> "Claim":
        """Judge the claim by its measured value.

        Raises `OptionError` if the reason or a rule names an unknown value.
        """
        facts = {**measured.facts, MEASURED_NAME: measured.ours}
        names = {null: fact if isinstance(fact, str) else null for null, fact in self.nulls.items()}
        try:
            reason = self.reason.format(**facts)
            nulls = {null: float(facts[name]) for null, name in names.items()}
        except (KeyError, IndexError) as error:
            text = f"claim '{self.name}': its reason or a null needs the unknown value {error}"
            raise OptionError(text) from error
        return Claim(
            printed=self,
            ours=measured.ours,
            interval=measured.interval,
            facts=facts,
            nulls=nulls,
            judged=judged,
            reason=reason,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a paper with its measured value."""

    printed: PrintedClaim
    ours: float | str
    """Measured value; a number if the claim has a range."""
    interval: Ends = None
    """95 % interval of `ours` over the runs; None for a value without spread."""
    facts: Facts
    """Values for rules, including `ours`."""
    nulls: Mapping[str, float] = field(default_factory=dict)
    judged: bool = True
    """Whether there are enough runs for a verdict; see `ReproductionSetup.is_judged`."""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.printed.expectation is not None and isinstance(self.ours, str):
            raise OptionError(f"claim '{self.name}' has a band, but its value is a text")
        for name in (*self.printed.rule, *self.printed.fully):
            if name not in self.facts:
                raise OptionError(f"claim '{self.name}': its rule needs the unknown value '{name}'")

    def _is_satisfied(self, rule: Mapping[str, ClaimRange]) -> bool:
        return all(
            part.is_met(self.facts[name], self.interval if name == MEASURED_NAME else None)
            for name, part in rule.items()
        )

    @property
    def name(self) -> str:
        """Kebab-case, unique in the paper."""
        return self.printed.name

    @property
    def verdict(self) -> Verdict:
        """Verdict from number, interval, ranges and conditions."""
        if self.printed.missing:
            return "not-testable"
        if not self._is_satisfied(self.printed.rule):
            return "not-reproducible"
        return "conditional" if self.remaining_conditions else "reproduced"

    @property
    def remaining_conditions(self) -> tuple[str, ...]:
        """Remaining conditions; empty if the claim holds fully and the band is met."""
        printed = self.printed
        holds_fully = bool(printed.fully) and self._is_satisfied(printed.fully)
        is_outside = printed.band is not None and not printed.band.is_met(self.ours)
        return (
            *(() if holds_fully else printed.conditions),
            *((BAND_MISS_TEXT,) if is_outside else ()),
            *(f"{name} meets it too, with {self.nulls[name]:.3g}" for name in self.nulls_that_pass),
        )

    @property
    def nulls_that_pass(self) -> tuple[str, ...]:
        """The nulls whose number meets the rule, so that the claim is not informative."""
        nulls = self.nulls.items()
        return tuple(
            name for name, value in nulls if self.printed.rule[MEASURED_NAME].is_met(value)
        )

    @property
    def is_within(self) -> bool | None:
        """Whether the number is in the expected range; None without a range or a judgment."""
        expectation = self.printed.expectation
        if not self.judged:
            return None
        if self.printed.kind == CHECK_VERDICT:
            return self._is_satisfied(self.printed.rule)
        return None if expectation is None else expectation.is_met(self.ours)

    @property
    def outcome(self) -> Outcome | None:
        """Whether the expectation is met; None without an expectation or a judgment."""
        if self.is_within is None or self.is_within:
            return None if self.is_within is None else "met"
        aim = self.printed.expectation
        overlaps = aim is not None and self.interval is not None and aim.overlaps(self.interval)
        return "undecided" if overlaps else "missed"

    @property
    def verdict_text(self) -> str:
        """The verdict, or the reason why there is none."""
        if self.printed.kind == CHECK_VERDICT and self.judged:
            return CHECK_VERDICT
        return self.verdict if self.judged or self.printed.missing else UNJUDGED_VERDICT

    @property
    def miss_text(self) -> str:
        """Text on the distance from the expected range; empty inside of it."""
        aim = self.printed.expectation
        if self.is_within is not False or aim is None:
            return ""
        value, ends = float(self.ours), [end for end in (aim.lower, aim.upper) if end is not None]
        gap, side = min((abs(value - end), "below" if value < end else "above") for end in ends)
        text = f"{gap:.3g} {self.printed.unit}".strip() + f" {side} the expected range"
        undecided = self.outcome == "undecided"
        return f"undecided: {text}, which its interval overlaps" if undecided else text


def fill(text: str, facts: Facts) -> str:
    """Replace the names in braces of a text by facts; raises `OptionError` if one is missing."""
    try:
        return text.format(**facts)
    except (KeyError, IndexError) as error:
        raise OptionError(f"'{text[:40]}…' needs the unknown value {error}") from error


def judge(
    printed: Sequence[PrintedClaim],
    measurements: Mapping[str, MeasuredValue],
    satisfied: Mapping[RunsNeeded, bool],
) -> tuple[Claim, ...]:
    """Judge the claims of a paper, in the order of its file.

    `measurements` are by the name of their claim; `satisfied` states whether there are enough runs
    for a verdict. Raises `OptionError` if a claim is printed and not measured, measured and not
    printed, or printed twice.
    """
    names = [claim.name for claim in printed]
    for name in (*names, *measurements):
        if names.count(name) > 1:
            raise OptionError(f"claim '{name}' is twice in the file; remove one")
        if name not in measurements:
            raise OptionError(f"claim '{name}' is in the file but not measured")
        if name not in names:
            raise OptionError(f"claim '{name}' is measured but not in the file")
    return tuple(c.judge(measurements[c.name], judged=satisfied[c.judged]) for c in printed)


def write_claims(path: Path, paper: str, claims: Sequence[Claim]) -> None:
    """Write claims as JSON, schema ``robotid/claims/1``."""
    write_json(
        path, "claims", SCHEMA_VERSION, {"paper": paper, "claims": [claim_row(c) for c in claims]}
    )


def claim_row(claim: Claim) -> dict[str, Any]:
    """Convert a claim to JSON values."""
    printed, verdict = claim.printed, claim.verdict_text
    texts = ("name", "kind", "claim", "source", "published", "unit", "missing")
    ranges = {"band": printed.band, "expected": printed.expected}
    return {
        **{name: getattr(printed, name) for name in texts},
        "ours": claim.ours,
        "interval": claim.interval,
        **{name: part and [part.lower, part.upper] for name, part in ranges.items()},
        "nulls": dict(claim.nulls),
        "judged": claim.judged,
        "verdict": verdict,
        "reason": claim.reason,
        "within": claim.is_within,
        "outcome": claim.outcome,
        "holds": {name: part.text for name, part in printed.rule.items()},
        "conditions": list(claim.remaining_conditions) if verdict == "conditional" else [],
    }
