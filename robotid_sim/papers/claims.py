"""What a paper claims, what is measured, and the verdict that follows by rules of all papers.

The text of a claim, its printed number, what is measured and its rules stand in a TOML file. A
claim *holds* where its ranges are met. Held without conditions it is reproduced, held under
conditions it is conditional, else it is not reproducible. A claim whose test needs what is not
printed, such as a log or the code that was timed, is not testable, whatever we measure. No other
verdict is written by hand.

A claim compares with what could come out otherwise. Its *nulls* are what guessing, random search or
the method's own ablation reach; where one of them meets the rule too, that is a condition. A band
lies where the claim holds, so that band and verdict agree; where we expect a claim to fail, our
number has an *expected* range instead; a claim that is testable has one of them. What only our own
code can break, and what is not in the paper, is a check, no claim.
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

Verdict = Literal["reproduced", "conditional", "not-reproducible", "not-testable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "conditional", "not-reproducible", "not-testable")
Kind = Literal["claim", "check"]
CHECK_VERDICT = "check"
"""Stands for the verdict of what the testbench checks of itself."""
UNJUDGED_VERDICT = "not judged"
"""Stands for the verdict of a claim that needs more runs than there were."""
Outcome = Literal["met", "undecided", "missed"]
"""Of a band. Undecided: the number is outside, but its 95 % interval reaches into the band."""
RunsNeeded = Literal["any", "full", "runs"]
"""What a verdict needs: any run, a full run instead of a quick one, or enough runs of it."""
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
"""Ranges by the name of what must lie in them: ``ours`` or a fact; all must hold."""
Facts = Mapping[str, Any]
"""Measured numbers and texts, by name."""
INHERITED_KEYS = ("study", "case", "metric", "entry")
"""What the facts and nulls of a claim take from its ``ours`` if they name no study."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredValue:
    """What is measured for a claim."""

    ours: Any
    interval: Ends
    facts: Facts
    """Numbers and texts that rules, nulls and the reason name."""


def collect_measured(ours: float | str, interval: Ends = None, **facts: Any) -> MeasuredValue:
    """Collect what is measured: number, 95 % interval, and what rules and the reason name."""
    return MeasuredValue(ours, interval, facts)


class PrintedClaim(StrictModel):
    """A claim of a paper, what is measured for it, and the rules that judge the number."""

    name: str
    """Kebab-case, unique in the paper."""
    claim: str
    """What the paper says, in a sentence."""
    source: str = ""
    """Where the paper says it; empty for what the testbench adds."""
    published: int | float | str | None = None
    """The printed number or statement; None where the print is lost."""
    unit: str = ""
    """Unit of both numbers; empty for a bare number."""
    kind: Kind = "claim"
    ours: Measure | None = None
    """None: the paper's code measures it, and the facts."""
    facts: dict[str, Measure] = Field(default={})
    """Other numbers that rules and the reason name."""
    band: RangeInWords | None = None
    """Where an honest implementation ends and the claim holds."""
    expected: RangeInWords | None = None
    """Where our number ends, for a claim that is expected to fail; in place of a band."""
    holds: Rule = Field(default={})
    """Where the paper's claim holds; empty: in the band."""
    nulls: dict[str, str | Measure] = Field(default={})
    """What others reach in place of `ours`: guessing, random search, an ablation; or the fact that
    holds it."""
    fully: Rule = Field(default={})
    """Where it holds without its conditions; empty: nowhere, if there are conditions."""
    conditions: tuple[str, ...] = ()
    """What a claim that holds depends on."""
    missing: str = ""
    """What a test of the claim needs and the paper does not print; it has no verdict then."""
    judged: RunsNeeded = "any"
    reason: str
    """Why. Its ``{names}`` are filled with facts."""

    @property
    def expectation(self) -> ClaimRange | None:
        """Where our number is expected: the band, or the range of a claim that should fail."""
        return self.band or self.expected

    @property
    def rule(self) -> Mapping[str, ClaimRange]:
        """The ranges in which the claim holds."""
        return self.holds or ({} if self.band is None else {MEASURED_NAME: self.band})

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, content: Any) -> Any:
        """Give facts and nulls without a study that of ``ours``."""
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
                f"its band '{self.band.text}' reaches where it does not hold; write 'expected' in "
                "place of 'band'"
            )
        if self.band is not None and self.expected is not None:
            raise ValueError("it has a band and is expected to fail")
        if self.nulls and rule is None:
            raise ValueError("its rule is not about what nulls reach")
        if self.missing and self.kind != CHECK_VERDICT:
            return self
        if not self.rule:
            raise ValueError("it does not say where it holds")
        if self.kind != CHECK_VERDICT and self.expectation is None:
            raise ValueError(
                "it does not say what is expected; write 'band', 'expected', or in 'missing' what "
                "a test would need"
            )
        if self.kind != CHECK_VERDICT and self.published is None:
            raise ValueError("it has no published value; make it a check")
        return self

    def measure(self, table: TrialTable, shared: Facts) -> MeasuredValue:
        """Measure what the claim is about; the facts of the whole paper are beside its own.

        Raises `OptionError` if the table lacks what is measured.
        """
        assert self.ours is not None
        nulls = {name: null for name, null in self.nulls.items() if isinstance(null, Measure)}
        try:
            value, ends = self.ours.estimate(table)
            claim_facts = {
                name: part.estimate(table)[0] for name, part in (self.facts | nulls).items()
            }
        except OptionError as error:
            raise OptionError(f"claim '{self.name}': {error}") from error
        return MeasuredValue(value, ends, {**shared, **claim_facts})

    def judge(self, measured: MeasuredValue, *, judged: bool) -> "Claim":
        """Judge the claim by what is measured.

        Raises `OptionError` if the reason or a rule names what is not measured.
        """
        facts = {**measured.facts, MEASURED_NAME: measured.ours}
        names = {null: fact if isinstance(fact, str) else null for null, fact in self.nulls.items()}
        try:
            reason = self.reason.format(**facts)
            nulls = {null: float(facts[name]) for null, name in names.items()}
        except (KeyError, IndexError) as error:
            text = f"claim '{self.name}': its reason or a null needs {error}"
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
    """A claim of a paper beside what the testbench measures."""

    printed: PrintedClaim
    ours: float | str
    """What is measured; a number if the claim has one."""
    interval: Ends = None
    """95 % interval of `ours` over the runs; None for what has no spread."""
    facts: Facts
    """What rules name, `ours` among it."""
    nulls: Mapping[str, float] = field(default_factory=dict)
    judged: bool = True
    """Whether the runs suffice for a verdict and the band; see `Lab.is_judged`."""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.printed.expectation is not None and isinstance(self.ours, str):
            raise OptionError(f"claim '{self.name}' has a band but no number")
        for name in (*self.printed.rule, *self.printed.fully):
            if name not in self.facts:
                raise OptionError(f"claim '{self.name}': its rule needs '{name}'")

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
        """What follows from number, interval, ranges and conditions."""
        if self.printed.missing:
            return "not-testable"
        if not self._is_satisfied(self.printed.rule):
            return "not-reproducible"
        return "conditional" if self.remaining_conditions else "reproduced"

    @property
    def remaining_conditions(self) -> tuple[str, ...]:
        """The conditions that are left: none where the claim holds fully and the band is met."""
        printed = self.printed
        free = bool(printed.fully) and self._is_satisfied(printed.fully)
        out = printed.band is not None and not printed.band.is_met(self.ours)
        return (
            *(() if free else printed.conditions),
            *((BAND_MISS_TEXT,) if out else ()),
            *(f"{name} meets it too, with {self.nulls[name]:.3g}" for name in self.nulls_that_pass),
        )

    @property
    def nulls_that_pass(self) -> tuple[str, ...]:
        """The nulls whose number meets the rule too: a claim that they meet shows nothing."""
        nulls = self.nulls.items()
        return tuple(
            name for name, value in nulls if self.printed.rule[MEASURED_NAME].is_met(value)
        )

    @property
    def is_within(self) -> bool | None:
        """Whether what is expected came out; None if nothing is, or it is not judged."""
        expectation = self.printed.expectation
        if not self.judged:
            return None
        if self.printed.kind == CHECK_VERDICT:
            return self._is_satisfied(self.printed.rule)
        return None if expectation is None else expectation.is_met(self.ours)

    @property
    def outcome(self) -> Outcome | None:
        """Whether the expectation is met; None if there is none or it is not judged."""
        if self.is_within is None or self.is_within:
            return None if self.is_within is None else "met"
        aim = self.printed.expectation
        reached = aim is not None and self.interval is not None and aim.is_touched(self.interval)
        return "undecided" if reached else "missed"

    @property
    def verdict_text(self) -> str:
        """The verdict, or that there is none."""
        if self.printed.kind == CHECK_VERDICT and self.judged:
            return CHECK_VERDICT
        return self.verdict if self.judged or self.printed.missing else UNJUDGED_VERDICT

    @property
    def miss_text(self) -> str:
        """By how much the band is missed, in words; empty if it is not."""
        aim = self.printed.expectation
        if self.is_within is not False or aim is None:
            return ""
        value, ends = float(self.ours), [end for end in (aim.lower, aim.upper) if end is not None]
        by, side = min((abs(value - end), "below" if value < end else "above") for end in ends)
        text = f"{by:.3g} {self.printed.unit}".strip() + f" {side} the expected range"
        undecided = self.outcome == "undecided"
        return f"undecided: {text}, which its interval reaches" if undecided else text


def fill(text: str, facts: Facts) -> str:
    """Fill the names in braces of a text with facts; raises `OptionError` if a fact is missing."""
    try:
        return text.format(**facts)
    except (KeyError, IndexError) as error:
        raise OptionError(f"'{text[:40]}…' needs {error}") from error


def judge(
    printed: Sequence[PrintedClaim],
    measurements: Mapping[str, MeasuredValue],
    satisfied: Mapping[RunsNeeded, bool],
) -> tuple[Claim, ...]:
    """Judge the claims of a paper, in its order.

    Measurements are by the name of their claim; satisfied says whether the runs are what a verdict
    needs. Raises `OptionError` if a claim is printed and not measured, measured and not printed, or
    printed twice.
    """
    names = [claim.name for claim in printed]
    for name in (*names, *measurements):
        if names.count(name) > 1:
            raise OptionError(f"claim '{name}' stands twice in the file")
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
    """Return a claim as JSON holds it."""
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
