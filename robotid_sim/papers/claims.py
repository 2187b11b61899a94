"""What a paper claims, what we find, and the verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, bootstrap
from scipy.stats import t as student

from robotid_sim.arrays import Float
from robotid_sim.errors import OptionError
from robotid_sim.files import write_json

Verdict = Literal["reproduced", "conditional", "not-reproducible"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "conditional", "not-reproducible")
NOT_JUDGED = "not judged"
"""Stands for the verdict of a claim that needs more runs than there were."""
Outcome = Literal["met", "undecided", "missed"]
"""Of a band. Undecided: the number is outside, but its 95 % interval reaches into the band."""

Band = tuple[float | None, float | None]
"""Lower and upper end; None on a side: open."""

SCHEMA = 1


def fits(value: float, band: Band, interval: tuple[float, float] | None = None) -> bool:
    """Return whether a number, or a point of its interval, lies in a band."""
    lower, upper = band
    low, high = interval or (value, value)
    return (lower is None or high >= lower) and (upper is None or low <= upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a paper beside what the testbench finds."""

    name: str
    """Kebab-case, unique in the paper."""
    claim: str
    """What the paper says, in a sentence."""
    published: float | str | None
    """The printed number or statement; None where the print is lost."""
    ours: float | str
    """What we find; a number if the claim is one."""
    unit: str = ""
    """Unit of both numbers; empty for a bare number."""
    interval: tuple[float, float] | None = None
    """95 % interval of `ours` over the runs; None for what has no spread."""
    band: Band | None = None
    """What an honest implementation must reach."""
    judged: bool = True
    """Whether the runs suffice for a verdict and the band; see `Lab.judged`."""
    verdict: Verdict
    reason: str
    """Why, with the conditions."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise OptionError(f"verdict '{self.verdict}' is none of {', '.join(VERDICTS)}")
        if self.band is not None and isinstance(self.ours, str):
            raise OptionError(f"claim '{self.name}' has a band but no number")

    @property
    def within(self) -> bool | None:
        """Whether `ours` lies in the band; None if there is none or it is not judged."""
        if self.band is None or not self.judged:
            return None
        return fits(float(self.ours), self.band)

    @property
    def outcome(self) -> Outcome | None:
        """Whether the band is met; None if there is none or it is not judged."""
        if self.within is None or self.band is None:
            return None
        if self.within:
            return "met"
        return "undecided" if fits(float(self.ours), self.band, self.interval) else "missed"

    @property
    def shown_verdict(self) -> str:
        """The verdict, or that there is none."""
        return self.verdict if self.judged else NOT_JUDGED

    @property
    def missed(self) -> str:
        """By how much the band is missed, in words; empty if it is not."""
        if self.within is not False or self.band is None:
            return ""
        lower, upper = self.band
        value = float(self.ours)
        if lower is not None and value < lower:
            by, side = lower - value, "below"
        else:
            assert upper is not None
            by, side = value - upper, "above"
        found = f"{by:.3g} {self.unit}".strip() + f" {side} the band"
        undecided = self.outcome == "undecided"
        return f"undecided: {found}, which its interval reaches" if undecided else found


def interval_of_mean(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's interval of the mean of independent runs; None for fewer than four.

    With two or three runs it is wider than what it is about.

    Parameters
    ----------
    values : array_like, shape (R,)
        One value a run.
    confidence : float
        Probability that the interval covers the mean.
    """
    found = np.asarray(values, dtype=float)
    if found.size < 4:
        return None
    half = student.ppf(0.5 + 0.5 * confidence, found.size - 1) * found.std(ddof=1)
    half /= np.sqrt(found.size)
    return float(found.mean() - half), float(found.mean() + half)


def interval_of_median(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the order-statistic interval of the median; None for fewer than six runs.

    The narrowest symmetric pair of order statistics that covers the median with at least the
    stated probability, by the binomial distribution; below six runs there is none at 95 %.
    """
    found = np.sort(np.asarray(values, dtype=float))
    lowest = int(binom.ppf(0.5 * (1.0 - confidence), found.size, 0.5))
    if lowest < 1:
        return None
    return float(found[lowest - 1]), float(found[found.size - lowest])


def interval_of_ratio(
    values: ArrayLike, others: ArrayLike, *, paired: bool = False, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the bootstrap interval of the ratio of two means; None for fewer than two runs.

    Parameters
    ----------
    values, others : array_like, shape (R,)
        One value a run.
    paired : bool
        Whether runs of one number share what is random, such as the box of a search.
    confidence : float
        Probability that the interval covers the ratio.
    """
    found = [np.asarray(part, dtype=float) for part in (values, others)]
    if min(part.size for part in found) < 2:
        return None

    def ratio(above: Float, below: Float, axis: int) -> Float:
        return np.asarray(above.mean(axis=axis) / below.mean(axis=axis))

    low, high = bootstrap(
        found,
        ratio,
        paired=paired,
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(low), float(high)


def write_claims(path: Path, paper: str, claims: Sequence[Claim]) -> None:
    """Write claims as JSON, schema ``robotid/claims/1``."""
    write_json(path, "claims", SCHEMA, {"paper": paper, "claims": [claim_row(c) for c in claims]})


def claim_row(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON holds it."""
    judged = {"verdict": claim.shown_verdict, "within": claim.within, "outcome": claim.outcome}
    return {**asdict(claim), **judged}
