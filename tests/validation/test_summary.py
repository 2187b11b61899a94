"""Intervals over runs."""

import numpy as np
import pytest
from scipy import stats

from robotid_sim.validation.comparison import Interval, summarize


class Run:
    """What a summary looks at."""

    def __init__(self, task, model, value):
        self.task, self.model, self.value = task, model, value
        self.scenario, self.controller = "undisturbed", "pid"


def test_interval_is_that_of_student():
    values = np.random.default_rng(0).normal(3.0, 2.0, 12)
    found = Interval.of(values)
    low, high = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(0.5 * (high - low))
    assert found.count == 12


def test_intervals_cover_the_mean_as_often_as_they_say():
    draws = np.random.default_rng(1).normal(0.0, 1.0, (2000, 5))
    intervals = [Interval.of(row) for row in draws]
    covered = np.mean([abs(interval.mean) <= interval.half_width for interval in intervals])
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard deviations of 2000 draws


def test_a_single_run_has_no_spread():
    assert Interval.of([2.5]) == Interval(2.5, 0.0, 1)


def test_rows_come_in_the_order_of_their_cases():
    runs = [Run("lap", "true", 1.0), Run("step", "true", 5.0), Run("lap", "true", 3.0)]
    rows = summarize(runs, {"value": lambda run: run.value})
    assert [(row.case.task, row.runs) for row in rows] == [("lap", 2), ("step", 1)]
    assert rows[0].values["value"].mean == 2.0


def test_a_quantity_that_one_run_lacks_is_unknown():
    runs = [Run("lap", "true", 1.0), Run("lap", "true", None)]
    (row,) = summarize(runs, {"value": lambda run: run.value})
    assert row.values["value"] is None
