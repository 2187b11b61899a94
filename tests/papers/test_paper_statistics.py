"""Intervals of means, medians and ratios, and outliers."""

import numpy as np
import pytest

from robotid_sim.papers.statistics import (
    ALONE,
    BESIDE,
    are_outliers,
    deviation,
    geometric_ratio,
    interval_of_mean,
    interval_of_median,
    ratio_of_means,
)


@pytest.mark.slow
def test_the_interval_of_the_mean_covers_it_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(3.0, 2.0, (2000, 5))
    ends = np.array([interval_of_mean(row) for row in draws])
    covered = ((ends[:, 0] < 3.0) & (ends[:, 1] > 3.0)).mean()
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard errors
    assert interval_of_mean([1.0, 2.0, 3.0]) is None


@pytest.mark.slow
def test_the_interval_of_a_ratio_covers_it_about_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal((4.0, 2.0), 0.5, (200, 20, 2))
    ends = np.array([ratio_of_means(*pair.T)[1] for pair in draws])
    covered = ((ends[:, 0] < 2.0) & (ends[:, 1] > 2.0)).mean()
    assert covered == pytest.approx(0.94, abs=0.05)
    assert ratio_of_means([1.0], [2.0])[1] is None


def test_pairs_narrow_the_interval_of_a_ratio() -> None:
    common = np.random.default_rng(0).uniform(1.0, 10.0, 20)
    free, paired = (ratio_of_means(2.0 * common, common, paired=p)[1] for p in (False, True))
    assert paired == pytest.approx((2.0, 2.0))
    assert free[1] - free[0] > 0.5


def test_the_interval_of_the_median_covers_it_at_least_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(1.0, (2000, 10))
    ends = np.array([interval_of_median(row) for row in draws])
    covered = ((ends[:, 0] < np.log(2.0)) & (ends[:, 1] > np.log(2.0))).mean()
    assert covered == pytest.approx(0.979, abs=0.01)  # 1 - 2 (1 + 10) / 2^10
    assert interval_of_median([1.0] * 5) is None
    assert interval_of_median(np.arange(6.0)) == (0.0, 5.0)


def test_a_geometric_ratio_is_that_of_geometric_means() -> None:
    value, interval = geometric_ratio([2.0, 8.0, 2.0, 8.0], [1.0, 4.0, 1.0, 4.0])
    assert value == pytest.approx(2.0)
    assert interval == pytest.approx((2.0, 2.0))
    assert geometric_ratio([6.0], [2.0]) == (pytest.approx(3.0), None)


def test_outliers_lie_beyond_the_reach_of_the_quartiles() -> None:
    values = np.append(np.arange(9.0), 100.0)
    assert are_outliers(values).tolist() == [False] * 9 + [True]
    value, (low, high) = BESIDE["difference of outlier shares"](values, np.arange(10.0))
    assert value == pytest.approx(0.1)
    assert low < 0.0 < value < high


def test_runs_that_never_reach_something_are_left_out_of_its_mean() -> None:
    statistic = ALONE["mean where reached"]
    assert statistic(np.array([1.0, np.nan, 3.0])) == (2.0, None)
    assert np.isnan(statistic(np.array([np.nan]))[0])


def test_a_single_run_has_no_spread() -> None:
    assert deviation([3.0]) == 0.0
    assert deviation([1.0, 3.0]) == pytest.approx(np.sqrt(2.0))
    assert np.isnan(ALONE["sample deviation"](np.array([3.0]))[0])
