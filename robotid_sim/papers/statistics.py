"""Statistics of independent runs by name, each a number with a 95 % interval if available.

Statistics of one sample, shape (R,), are means, medians, …; statistics of two samples are ratios,
differences and tests. Runs are paired if runs with equal numbers share random values, such as the
bounds of a search.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, bootstrap, iqr, mannwhitneyu, spearmanr, ttest_ind
from scipy.stats import t as student

from robotid_sim.arrays import ArrayLike, Float, Float1D

Ends = tuple[float, float] | None
"""Lower and upper end of an interval; None for too few runs."""
Measurement = tuple[float, Ends]
"""A number and its interval."""
MIN_RUNS_OF_SPREAD = 12
"""Smallest number of runs for the interval of a ratio of spreads."""
MIN_RUNS_OF_INTERVAL = 4
"""Smallest number of runs for Welch's interval and the interval of a correlation."""
OUTLIER_DISTANCE = 1.5
"""Smallest distance of an outlier from the quartiles, over the interquartile range."""
MIN_DEVIATION = 1e-12
"""Value that replaces a deviation of zero in divisions."""


def interval_of_mean(values: ArrayLike, confidence: float = 0.95) -> Ends:
    """Estimate the interval of the mean of independent runs; None for fewer than four.

    It is Student's interval, which is too wide for less than four runs. If it extends below zero
    for positive values, such as costs with a rare large value, the bootstrap is used.
    """
    sample = np.asarray(values, dtype=float)
    if sample.size < 4:
        return None
    half = student.ppf(0.5 + 0.5 * confidence, sample.size - 1) * sample.std(ddof=1)
    half /= np.sqrt(sample.size)
    if sample.min() > 0.0 and half > sample.mean():
        return _bootstrap((sample,), np.mean, method="BCa", confidence_level=confidence)
    return float(sample.mean() - half), float(sample.mean() + half)


def interval_of_median(values: ArrayLike, confidence: float = 0.95) -> Ends:
    """Estimate the order-statistic interval of the median; None for fewer than six runs.

    It is the narrowest symmetric pair of order statistics that contains the median with at least
    the given probability, by the binomial distribution; below six runs there is none at 95 %.
    """
    sample = np.sort(np.asarray(values, dtype=float))
    lowest = int(binom.ppf(0.5 * (1.0 - confidence), sample.size, 0.5))
    if lowest < 1:
        return None
    return float(sample[lowest - 1]), float(sample[sample.size - lowest])


def ratio_of_means(values: ArrayLike, others: ArrayLike, *, paired: bool = False) -> Measurement:
    """Divide two means; None for fewer than two runs. A single other run is a constant."""
    a, b = (np.asarray(part, dtype=float) for part in (values, others))
    if paired:  # a run without a partner is omitted
        a, b = a[: b.size], b[: a.size]
    value = float(np.divide(a.mean(), b.mean()))
    if b.size == 1 < a.size:
        ends = interval_of_mean(a)
        return value, ends and (ends[0] / float(b[0]), ends[1] / float(b[0]))
    if min(a.size, b.size) < 2:
        return value, None

    def quotient(above: Float, below: Float, axis: int) -> Float:
        return np.asarray(above.mean(axis=axis) / below.mean(axis=axis))

    return value, _bootstrap((a, b), quotient, paired=paired, vectorized=True)


def geometric_ratio(values: ArrayLike, others: ArrayLike) -> Measurement:
    """Divide the geometric means over paired, positive runs."""
    logs = np.log(np.asarray(values, dtype=float)) - np.log(np.asarray(others, dtype=float))
    ends = interval_of_mean(logs)
    return float(np.exp(logs.mean())), ends and (float(np.exp(ends[0])), float(np.exp(ends[1])))


def deviation(values: ArrayLike) -> float:
    """Measure the standard deviation over the runs; zero for a single run."""
    sample = np.asarray(values, dtype=float)
    return float(sample.std(ddof=1)) if sample.size > 1 else 0.0


def _bootstrap(samples: Any, statistic: Callable[..., Any], **options: Any) -> tuple[float, float]:
    """Estimate an interval by the bootstrap, by default with percentiles."""
    rng = np.random.default_rng(0)
    result = bootstrap(samples, statistic, **{"method": "percentile", "rng": rng, **options})
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _mean(a: Float1D) -> Measurement:
    return float(a.mean()), interval_of_mean(a)


def _deviation(a: Float1D) -> Measurement:
    """Measure the deviation, with a bootstrap interval."""
    few, spread = a.size < 4, partial(np.std, ddof=1)
    return deviation(a), None if few else _bootstrap((a,), lambda x, axis: spread(x, axis=axis))


def _compare_geometric_means(a: Float1D, b: Float1D) -> Measurement:
    """Divide two geometric means of unpaired runs, with Welch's interval."""
    logs, others = np.log(a), np.log(b)
    ratio = float(np.exp(logs.mean() - others.mean()))
    if min(logs.size, others.size) < MIN_RUNS_OF_INTERVAL:
        return ratio, None
    ends = ttest_ind(logs, others, equal_var=False).confidence_interval()
    return ratio, (float(np.exp(ends.low)), float(np.exp(ends.high)))


def _difference_of_means(a: Float1D, b: Float1D) -> Measurement:
    """Subtract two means of unpaired runs, with Welch's interval, infinite for a single run."""
    ends = (-np.inf, np.inf)
    if min(a.size, b.size) > 1:
        welch = ttest_ind(a, b, equal_var=False).confidence_interval()
        ends = (float(welch.low), float(welch.high))
    return float(a.mean() - b.mean()), ends


def _ratio_of_spreads(a: Float1D, b: Float1D, *, spread: Callable[..., Any]) -> Measurement:
    def ratio(above: Float, below: Float, axis: int = 0) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):  # resamples of a single run
            return spread(above, axis=axis) / spread(below, axis=axis)

    ends = _bootstrap((a, b), ratio) if a.size >= MIN_RUNS_OF_SPREAD else None
    return float(ratio(a, b)), ends


def _gain_of_minima(a: Float1D, b: Float1D) -> Measurement:
    """Compute how much the minimum of the others exceeds the minimum of the values [%].

    The interval follows from resampling the runs: a minimum of a single run is as uncertain as its
    distance to the next values.
    """

    def gain(theirs: Float, ours: Float, axis: int) -> Float:
        return np.asarray(100.0 * (theirs.min(axis=axis) / ours.min(axis=axis) - 1.0))

    few = min(a.size, b.size) < 2
    return float(gain(b, a, 0)), None if few else _bootstrap((b, a), gain, vectorized=True)


def are_outliers(a: Float1D) -> NDArray[np.bool_]:
    """Check which values lie more than 1.5 interquartile ranges outside of the quartiles."""
    low, high = np.percentile(a, (25.0, 75.0))
    reach = OUTLIER_DISTANCE * (high - low)
    return np.asarray((a < low - reach) | (a > high + reach))


def _difference_of_outliers(a: Float1D, b: Float1D) -> Measurement:
    """Subtract the shares of outliers, with the interval of normal distributions."""
    shares = [are_outliers(part).astype(float) for part in (a, b)]
    value = float(shares[0].mean() - shares[1].mean())
    half = 1.96 * float(np.sqrt(sum(share.var() / share.size for share in shares)))
    return value, (value - half, value + half)


def _mean_where_reached(a: Float1D) -> Measurement:
    """Average the runs that have a number; NaN if no run has a number."""
    return _mean(a[np.isfinite(a)]) if np.isfinite(a).any() else (np.nan, None)


def _rank_test(a: Float1D, b: Float1D, *, alternative: Any) -> Measurement:
    """Return the p-value of Wilcoxon's rank-sum test; a single run is repeated."""
    size = max(a.size, b.size)
    a, b = (np.broadcast_to(part, size) if part.size == 1 else part for part in (a, b))
    if np.ptp(np.concatenate([a, b])) == 0.0:
        return 1.0, None
    return float(mannwhitneyu(a, b, alternative=alternative).pvalue), None


def _rank_correlation(a: Float1D, b: Float1D) -> Measurement:
    def correlation(x: Float1D, y: Float1D) -> float:
        return float(spearmanr(x, y).statistic)

    if a.size < 5 * MIN_RUNS_OF_INTERVAL:
        return correlation(a, b), None
    options = {"paired": True, "vectorized": False, "n_resamples": 2000}
    return correlation(a, b), _bootstrap((a, b), correlation, **options)


SAMPLE_STATISTICS: Mapping[str, Callable[[Float1D], Measurement]] = {
    "value": lambda a: (float(a[0]), None),
    "mean": _mean,
    "median": lambda a: (float(np.median(a)), interval_of_median(a)),
    "count": lambda a: (len(a), None),
    "least": lambda a: (float(a.min()), None),
    "largest": lambda a: (float(a.max()), None),
    "deviation": _deviation,
    "sample deviation": lambda a: (deviation(a) if a.size > 1 else np.nan, None),
    "spread": lambda a: (float(np.std(a)), None),
    "geometric mean": lambda a: geometric_ratio(a, np.ones_like(a)),
    "mean where reached": _mean_where_reached,
    "share of outliers": lambda a: (float(are_outliers(a).mean()), None),
}
"""Statistics of one sample, shape (R,); ``value`` is the first value."""
COMPARISON_STATISTICS: Mapping[str, Callable[[Float1D, Float1D], Measurement]] = {
    "ratio of means": ratio_of_means,
    "paired ratio of means": partial(ratio_of_means, paired=True),
    "ratio of medians": lambda a, b: (float(np.median(a) / np.median(b)), None),
    "ratio of minima": lambda a, b: (float(a.min() / b.min()), None),
    "least ratio": lambda a, b: (float((a / b).min()), None),
    "largest ratio": lambda a, b: (float((a / b).max()), None),
    "geometric ratio": geometric_ratio,
    "unpaired geometric ratio": _compare_geometric_means,
    "ratio of deviations": lambda a, b: (deviation(a) / max(deviation(b), MIN_DEVIATION), None),
    "ratio of spreads": partial(_ratio_of_spreads, spread=np.std),
    "ratio of quartile distances": partial(_ratio_of_spreads, spread=iqr),
    "gain of minima": _gain_of_minima,
    "difference of means": _difference_of_means,
    "difference of outlier shares": _difference_of_outliers,
    "rank test": partial(_rank_test, alternative="less"),
    "two-sided rank test": partial(_rank_test, alternative="two-sided"),
    "rank correlation": _rank_correlation,
}
"""Statistics of two samples, shapes (R,)."""
PAIRED_STATISTICS: Mapping[str, Callable[[Float, Float], Float]] = {
    "quotient": lambda a, b: a / b,
    "difference": lambda a, b: a - b,
    "gain": lambda a, b: 100.0 * (1.0 - a / b),
    "excess": lambda a, b: 100.0 * (a / b - 1.0),
}
"""Comparisons within every run, by entry; the statistic is their mean over the runs."""
