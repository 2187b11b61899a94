"""Statistics of runs, and numbers of a trial table as TOML files ask for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.papers.statistics import (
    COMPARISON_STATISTICS,
    SAMPLE_STATISTICS,
    are_outliers,
    deviation,
    geometric_ratio,
    interval_of_mean,
    interval_of_median,
    ratio_of_means,
)
from robotid_sim.papers.tables import PrintedTable
from robotid_sim.papers.trial_table import Measure, TrialTable, split_result

COSTS = {"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 2.0, 4.0, 8.0]}
TABLE = TrialTable(
    {
        ("s", case, method): [
            {"cost": scale * c, "joints": [c, 3.0 * c], "note": method} for c in costs
        ]
        for case, scale in (("easy", 1.0), ("hard", 2.0))
        for method, costs in COSTS.items()
    }
) | TrialTable.from_computed(rank=15)


def measure(**content) -> tuple:
    return Measure(**{"study": "s", "metric": "cost", "case": "easy", **content}).estimate(TABLE)


def test_a_name_alone_is_what_is_computed_once() -> None:
    assert Measure.model_validate("rank").estimate(TABLE) == (15, None)
    with pytest.raises(OptionError, match="has no runs"):
        measure(of="c", statistic="mean")
    with pytest.raises(OptionError, match="have no value 'size'"):
        measure(of="a", metric="size", statistic="mean")
    with pytest.raises(ValueError, match="unknown statistic 'avarage'; known: value, mean"):
        measure(of="a", statistic="avarage")


def test_a_statistic_has_its_interval() -> None:
    assert measure(of="a", statistic="mean") == (2.5, interval_of_mean(COSTS["a"]))
    ratio = ratio_of_means(COSTS["a"], COSTS["b"], paired=True)
    paired = {"of": "a", "over": "b", "statistic": "paired ratio of means"}
    assert measure(**paired) == ratio
    assert measure(**paired, interval=False) == (ratio[0], None)
    assert measure(**paired, end="upper") == (ratio[1][1], None)
    shown, ends = measure(**paired, shown="percent below")
    assert shown == 100.0 * (1.0 - ratio[0])
    assert ends == (100.0 * (1.0 - ratio[1][1]), 100.0 * (1.0 - ratio[1][0]))


def test_a_run_without_a_partner_is_left_out_of_a_paired_ratio() -> None:
    value, _ = ratio_of_means([1.0, 2.0, 99.0], [2.0, 4.0], paired=True)
    assert value == 0.5


def test_cases_methods_entries_and_runs_are_taken_one_by_one() -> None:
    cases = {"case": None, "each": "case", "of": "a", "statistic": "mean"}
    assert measure(**cases, rule="above 3")[0] == 1
    assert measure(**cases, pick="greatest")[0] == 5.0
    assert measure(**cases, pick="range", text="{low:g} to {high:g}")[0] == "2.5 to 5"
    assert measure(each="run", of="a", rule="at least 3")[0] == 2
    assert measure(each="of", statistic="mean", text="{name} {value:g}")[0] == "a 2.5, b 4"
    joints = {"metric": "joints", "of": "a", "statistic": "mean"}
    assert measure(**joints, each="entry", text="{name}: {value:g}")[0] == "1: 2.5, 2: 7.5"
    assert measure(**joints, entry=1)[0] == 7.5
    assert measure(**joints, entry="mean")[0] == 5.0


def test_what_is_compared_within_a_run_is_reduced_afterwards() -> None:
    value, _ = measure(metric="joints", entry="mean", of="a", over="b", statistic="quotient")
    quotients = np.array(COSTS["a"]) / np.array(COSTS["b"])
    assert value == pytest.approx(quotients.mean())


def test_a_result_of_several_studies_is_taken_apart() -> None:
    result = {"studies": {"x": {"methods": {"a": {"runs": [{"n": 1}, {"n": 2}]}}}, "y": {"n": 3}}}
    rows = TrialTable.from_results(split_result(("all", "case", ""), result)).rows
    assert rows == {("x", "case", "a"): [{"n": 1}, {"n": 2}], ("y", "case", ""): [{"n": 3}]}


def test_a_table_takes_from_its_rows_what_its_columns_do_not_say() -> None:
    columns = [
        {"heading": "method", "label": "method"},
        {"heading": "rank", "study": "computed", "of": "", "metric": "rank"},
        {"heading": "printed", "study": "printed", "case": "t", "metric": "cost"},
        {"summary": True, "metric": "cost"},
        {"heading": "joint {j}", "metric": "joints", "entry": [0, 1], "statistic": "mean"},
    ]
    printed = PrintedTable(
        name="t", title="{n} runs", rows=[{"study": "s", "case": "easy"}], columns=columns
    )
    beside = TABLE | TrialTable.from_printed({"t": {"a": {"cost": 2.25}}})
    table = printed.build(beside, {"n": 4}, {"a": "Method A"})
    assert table.title == "4 runs"
    assert table.columns[:3] == ("method", "rank", "printed")
    assert table.columns[3:] == ("minimum", "mean", "95 %", "SD", "joint 1", "joint 2")
    first, second = table.rows
    assert first[0] == "Method A"
    assert (first[2], second[2]) == ("2.25", "-")
    assert (first[3], first[4], first[7], first[8]) == ("1", "2.5", "2.5", "7.5")


def test_another_case_and_the_name_of_the_least_are_found() -> None:
    twice = measure(case="hard", over_case="easy", of="a", statistic="ratio of means")
    assert twice[0] == 2.0
    both = {"of": ["a", "b"], "statistic": "mean", "each": "of", "text": "{name} {value:.3g}"}
    assert measure(**both)[0] == "a 2.5, b 4"
    assert measure(**both, pick="least")[0] == "a 2.5"
    assert measure(**both, pick="greatest")[0] == "b 4"


def test_what_is_never_reached_is_said_in_a_list() -> None:
    table = TrialTable({("s", "", "a"): [{"x": [1.0, None]}, {"x": [2.0, 3.0]}]})
    listed = Measure(study="s", metric="x", of="a", statistic="mean", each="entry", text="{value}")
    assert listed.estimate(table)[0] == "1.5, -"


def share_covered(interval: Callable[..., Any], draws: np.ndarray, center: float) -> float:
    ends = np.array([interval(row) for row in draws])
    return float(((ends[:, 0] < center) & (ends[:, 1] > center)).mean())


@pytest.mark.slow
def test_the_intervals_of_a_mean_and_of_a_ratio_cover_as_often_as_stated() -> None:
    draws = np.random.default_rng(0).normal(3.0, 2.0, (2000, 5))
    covered = share_covered(interval_of_mean, draws, 3.0)
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard errors
    pairs = np.random.default_rng(0).normal((4.0, 2.0), 0.5, (200, 20, 2))
    covered = share_covered(lambda pair: ratio_of_means(*pair.T)[1], pairs, 2.0)
    assert covered == pytest.approx(0.94, abs=0.05)


def test_the_interval_of_the_median_covers_it_at_least_as_often_as_stated() -> None:
    draws = np.random.default_rng(0).exponential(1.0, (2000, 10))
    covered = share_covered(interval_of_median, draws, float(np.log(2.0)))
    assert covered == pytest.approx(0.979, abs=0.01)  # 1 - 2 (1 + 10) / 2^10


def test_few_runs_have_no_interval() -> None:
    assert interval_of_mean([1.0, 2.0, 3.0]) is None
    assert ratio_of_means([1.0], [2.0])[1] is None
    assert interval_of_median([1.0] * 5) is None
    assert interval_of_median(np.arange(6.0)) == (0.0, 5.0)


def test_pairs_narrow_the_interval_of_a_ratio() -> None:
    common = np.random.default_rng(0).uniform(1.0, 10.0, 20)
    free, paired = (ratio_of_means(2.0 * common, common, paired=p)[1] for p in (False, True))
    assert paired == pytest.approx((2.0, 2.0))
    assert free[1] - free[0] > 0.5


def test_a_geometric_ratio_is_that_of_geometric_means() -> None:
    value, interval = geometric_ratio([2.0, 8.0, 2.0, 8.0], [1.0, 4.0, 1.0, 4.0])
    assert value == pytest.approx(2.0)
    assert interval == pytest.approx((2.0, 2.0))
    assert geometric_ratio([6.0], [2.0]) == (pytest.approx(3.0), None)


def test_outliers_lie_beyond_the_reach_of_the_quartiles() -> None:
    values = np.append(np.arange(9.0), 100.0)
    assert are_outliers(values).tolist() == [False] * 9 + [True]
    value, (low, high) = COMPARISON_STATISTICS["difference of outlier shares"](
        values, np.arange(10.0)
    )
    assert value == pytest.approx(0.1)
    assert low < 0.0 < value < high


def test_runs_that_never_reach_something_are_left_out_of_its_mean() -> None:
    statistic = SAMPLE_STATISTICS["mean where reached"]
    assert statistic(np.array([1.0, np.nan, 3.0])) == (2.0, None)
    assert np.isnan(statistic(np.array([np.nan]))[0])


def test_a_single_run_has_no_spread() -> None:
    assert deviation([3.0]) == 0.0
    assert deviation([1.0, 3.0]) == pytest.approx(np.sqrt(2.0))
    assert np.isnan(SAMPLE_STATISTICS["sample deviation"](np.array([3.0]))[0])
