"""Statistics of the rows of a campaign: spreads, paired tests, effects, answers, failures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import bootstrap, rankdata, wilcoxon

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.plan import AnswerConfig
from robotid_sim.campaign.store import DONE, TrialRow
from robotid_sim.docstrings import document_attributes

RESAMPLE_COUNT = 2000
MIN_PAIRS = 5
"""Smallest number of pairs of a test."""

Label = str | float


@document_attributes
@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of a metric over the trials of a level."""

    level: Label
    values: Float1D
    """Sorted values of the finished trials."""
    failed: int
    """Number of trials that did not finish."""
    interval: tuple[float, float] | None
    """95 % bootstrap interval of the median; None for fewer than five trials."""

    def quantile(self, share: float) -> float | None:
        """Return a quantile; None without trials."""
        return float(np.quantile(self.values, share)) if self.values.size else None


@document_attributes
@dataclass(frozen=True, slots=True)
class PairedTest:
    """Test of two levels of a factor in trials that are otherwise equal."""

    first: Label
    second: Label
    pairs: int
    difference: float
    """Median of second minus first value, or of their ratio minus 1 if all values are positive."""
    p: float
    """p-value of Wilcoxon's signed-rank test, with Holm's correction for all pairs."""


def spread_by(rows: Sequence[TrialRow], factor: str, metric: str) -> list[Spread]:
    """Return the spread of a metric at every level of a factor, in the order of the levels."""
    by_level: dict[Label, list[TrialRow]] = defaultdict(list)
    for row in rows:
        by_level[row.factors[factor]].append(row)
    spreads = []
    for level in sort_levels(by_level):
        values = np.sort(values_of(by_level[level], metric))
        failed = len(by_level[level]) - values.size
        interval = None
        if values.size >= MIN_PAIRS:
            interval = (float(values[0]), float(values[0]))
            if values[0] != values[-1]:
                low, high = bootstrap(
                    (values,),
                    np.median,
                    n_resamples=RESAMPLE_COUNT,
                    method="percentile",
                    rng=np.random.default_rng(0),
                ).confidence_interval
                interval = (float(low), float(high))
        spreads.append(Spread(level, values, failed, interval))
    return spreads


def sort_levels(levels: Iterable[Label]) -> list[Label]:
    """Sort distinct levels: numbers by size, names in the order of their first use."""
    distinct = list(dict.fromkeys(levels))
    numeric = all(isinstance(level, int | float) for level in distinct)
    return sorted(distinct) if numeric else distinct


def values_of(rows: Iterable[TrialRow], metric: str) -> Float1D:
    """Return the known values of a metric of the finished trials."""
    values = (row.metrics.get(metric) for row in rows if row.status == DONE)
    return np.array([value for value in values if value is not None], dtype=float)


def test_pairs(rows: Sequence[TrialRow], factor: str, metric: str) -> list[PairedTest]:
    """Test all pairs of levels of a factor in trials that are otherwise equal.

    Trials with the same other levels and seed form a pair. Pairs of levels with fewer than five
    such pairs are omitted.
    """
    by_level: dict[Label, dict[Any, float]] = defaultdict(dict)
    for row in rows:
        value = row.metrics.get(metric)
        if row.status == DONE and value is not None:
            others = tuple((k, v) for k, v in sorted(row.factors.items()) if k != factor)
            by_level[row.factors[factor]][others, row.seed] = value
    results = []
    for first, second in combinations(sort_levels(by_level), 2):
        shared = sorted(set(by_level[first]) & set(by_level[second]), key=repr)
        if len(shared) >= MIN_PAIRS:
            pair = np.array([[by_level[level][key] for key in shared] for level in (first, second)])
            positive = bool((pair > 0.0).all())
            change = np.log(pair[1] / pair[0]) if positive else pair[1] - pair[0]
            middle = float(np.median(change))
            p = float(wilcoxon(change).pvalue) if np.any(change) else 1.0
            difference = float(np.expm1(middle)) if positive else middle
            results.append((first, second, len(shared), difference, p))
    adjusted = holm([p for *_, p in results])
    return [
        PairedTest(first, second, count, difference, p)
        for (first, second, count, difference, _), p in zip(results, adjusted, strict=True)
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests by Holm's method.

    References
    ----------
    .. [1] Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
       Journal of Statistics 6.
    """
    order = np.argsort(p, kind="stable")
    adjusted, largest = np.empty(len(p)), 0.0
    for place, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - place) * p[k]))
        adjusted[k] = largest
    return [float(value) for value in adjusted]


def effects(rows: Sequence[TrialRow], factors: Sequence[str], metric: str) -> dict[str, float]:
    """Compute the share of the rank variance of a metric that every factor explains.

    For named levels it is the variance between levels (eta squared), for many numbers the square of
    Spearman's correlation. The remaining share is due to seeds and interactions of factors.
    """
    finished = [row for row in rows if row.status == DONE and row.metrics.get(metric) is not None]
    if len(finished) < 2:
        return {}
    ranks = np.asarray(rankdata(values_of(finished, metric)))
    total = float(((ranks - ranks.mean()) ** 2).sum())
    if total == 0.0:
        return dict.fromkeys(factors, 0.0)
    shares = {}
    for factor in factors:
        labels = [row.factors[factor] for row in finished]
        if is_continuous(labels):
            correlation = np.corrcoef(rankdata(np.array(labels, dtype=float)), ranks)[0, 1]
            shares[factor] = float(correlation**2)
            continue
        between = 0.0
        for level in set(labels):
            members = ranks[[label == level for label in labels]]
            between += members.size * float((members.mean() - ranks.mean()) ** 2)
        shares[factor] = between / total
    return shares


def is_continuous(labels: Sequence[Label]) -> bool:
    """Check whether levels are numbers with few repetitions."""
    numbers = all(isinstance(label, int | float) for label in labels)
    return numbers and len(set(labels)) > max(10, len(labels) // 4)


def failures(rows: Iterable[TrialRow]) -> Counter[tuple[str, str]]:
    """Count the trials that did not finish, by status and reason."""
    return Counter((row.status, row.error) for row in rows if row.status != DONE)


def answer(config: AnswerConfig, rows: Sequence[TrialRow]) -> list[str]:
    """Answer a question of a campaign, one sentence per level of the factor `config.by`."""
    if config.by is None:
        return [_sentence(config, rows, "")]
    levels = sort_levels(row.factors[config.by] for row in rows)
    return [
        _sentence(config, [row for row in rows if row.factors[config.by] == level], level)
        for level in levels
    ]


def _sentence(config: AnswerConfig, rows: Sequence[TrialRow], by: Label) -> str:
    format_value = METRICS[config.metric].format_value
    spreads = [s for s in spread_by(rows, config.factor, config.metric) if s.values.size]
    where = f" ({config.by} {text_of(by)})" if config.by else ""
    if not spreads:
        return f"No trial is finished{where}."
    if config.at_most is None:
        chosen = min(spreads, key=lambda s: float(np.median(s.values)))
        value = float(np.median(chosen.values))
    else:
        passing = [s for s in spreads if (s.quantile(0.75) or 0.0) <= config.at_most]
        if not passing:
            best = min(spreads, key=lambda s: s.quantile(0.75) or 0.0)
            return (
                f"No {config.factor} reaches {format_value(config.at_most)}{where}; the best is "
                f"{text_of(best.level)} with {format_value(best.quantile(0.75))}."
            )
        chosen = passing[0]
        value = chosen.quantile(0.75) or 0.0
    fields: Mapping[str, str] = {
        "level": text_of(chosen.level),
        "value": format_value(value),
        "limit": format_value(config.at_most),
        "by": text_of(by),
    }
    return config.sentence.format(**fields)


def text_of(label: Label) -> str:
    """Format a level."""
    return f"{label:.4g}" if isinstance(label, float) else str(label)
