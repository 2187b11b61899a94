"""Statistics of independent runs: intervals, ratios, spreads."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, bootstrap
from scipy.stats import t as student

from robotid_sim.arrays import Float
from robotid_sim.section import number

Ends = tuple[float, float] | None
"""Lower and upper end of an interval; None for fewer runs than it needs."""


def interval_of_mean(values: ArrayLike, confidence: float = 0.95) -> Ends:
    """Estimate the interval of the mean of independent runs; None for fewer than four.

    Student's, which of two or three runs is wider than what it is about. Where it would reach below
    zero for positive values, such as costs with a rare large one, a bootstrap's.
    """
    sample = np.asarray(values, dtype=float)
    if sample.size < 4:
        return None
    half = student.ppf(0.5 + 0.5 * confidence, sample.size - 1) * sample.std(ddof=1)
    half /= np.sqrt(sample.size)
    if sample.min() > 0.0 and half > sample.mean():
        drawn = bootstrap(
            (sample,), np.mean, confidence_level=confidence, rng=np.random.default_rng(0)
        ).confidence_interval
        return float(drawn.low), float(drawn.high)
    return float(sample.mean() - half), float(sample.mean() + half)


def interval_of_median(values: ArrayLike, confidence: float = 0.95) -> Ends:
    """Return the order-statistic interval of the median; None for fewer than six runs.

    The narrowest symmetric pair of order statistics that covers the median with at least the
    stated probability, by the binomial distribution; below six runs there is none at 95 %.
    """
    sample = np.sort(np.asarray(values, dtype=float))
    lowest = int(binom.ppf(0.5 * (1.0 - confidence), sample.size, 0.5))
    if lowest < 1:
        return None
    return float(sample[lowest - 1]), float(sample[sample.size - lowest])


def interval_of_ratio(
    values: ArrayLike, others: ArrayLike, *, paired: bool = False, confidence: float = 0.95
) -> Ends:
    """Return the bootstrap interval of the ratio of two means; None for fewer than two runs.

    Runs are paired if those of one number share what is random, such as the box of a search.
    """
    samples = [np.asarray(part, dtype=float) for part in (values, others)]
    if min(part.size for part in samples) < 2:
        return None

    def quotient(above: Float, below: Float, axis: int) -> Float:
        return np.asarray(above.mean(axis=axis) / below.mean(axis=axis))

    low, high = bootstrap(
        samples,
        quotient,
        paired=paired,
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(low), float(high)


def ratio_of_means(
    values: ArrayLike, others: ArrayLike, *, paired: bool = False
) -> tuple[float, Ends]:
    """Return the ratio of two means and its interval; see `interval_of_ratio`."""
    interval = interval_of_ratio(values, others, paired=paired)
    means = (np.asarray(part, dtype=float).mean() for part in (values, others))
    return float(np.divide(*means)), interval


def geometric_ratio(numerator: ArrayLike, denominator: ArrayLike) -> tuple[float, Ends]:
    """Return the ratio of geometric means over paired, positive runs, and its 95 % interval."""
    logs = np.log(np.asarray(numerator, dtype=float)) - np.log(np.asarray(denominator, dtype=float))
    interval = interval_of_mean(logs)
    spread = None if interval is None else (float(np.exp(interval[0])), float(np.exp(interval[1])))
    return float(np.exp(logs.mean())), spread


def above_one(interval: Ends) -> Ends:
    """Return by how much the ends of the interval of a ratio are above one [%]."""
    if interval is None:
        return None
    return 100.0 * (interval[0] - 1.0), 100.0 * (interval[1] - 1.0)


def deviation(values: ArrayLike) -> float:
    """Return the standard deviation over the runs; zero for a single run."""
    sample = np.asarray(values, dtype=float)
    return float(sample.std(ddof=1)) if sample.size > 1 else 0.0


def lower_end(value: float, interval: Ends) -> float:
    """Return the lower end of an interval; the value itself if there is none."""
    return value if interval is None else interval[0]


def upper_end(value: float, interval: Ends) -> float:
    """Return the upper end of an interval; the value itself if there is none."""
    return value if interval is None else interval[1]


def summary(values: ArrayLike) -> tuple[str, str, str, str]:
    """Return minimum, mean, its 95 % interval and standard deviation, as texts of a table."""
    sample = np.asarray(values, dtype=float)
    spread = deviation(sample) if sample.size > 1 else None
    ends = interval_text(sample)
    return number(sample.min(), 3), number(float(sample.mean()), 3), ends, number(spread, 3)


def interval_text(values: ArrayLike) -> str:
    """Return the 95 % interval of the mean as the text of a cell."""
    interval = interval_of_mean(values)
    return "-" if interval is None else " … ".join(number(end, 3) for end in interval)
