"""Estimates of one robot are rarely called different; covariances are honest."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import OptionError
from robotid_sim.estimation.block_sandwich import row_blocks_of
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.validation.agreement import (
    MAX_VARIANCE_RATIO,
    ComparedEstimate,
    compare_estimates,
    holm,
)
from robotid_sim.validation.comparison import Interval, summarize
from robotid_sim.validation.fit_tests import (
    ResidualNoise,
    compute_constraint_cost,
    compute_constraint_limit,
    nees_range,
    residual_limit,
)

B = 4


def compared(beta, cov=None, label="a", **known) -> ComparedEstimate:
    cov = np.eye(B) if cov is None else cov
    names = tuple(f"p{k}" for k in range(B))
    estimate = Estimate("wls", beta, names, ("kg",) * B, ("j",), np.ones(1), np.ones(1), cov=cov)
    return ComparedEstimate(label, estimate, names, **known)


def certain(beta, cov=None, label="a") -> ComparedEstimate:
    return compared(beta, cov, label, dof=np.full(B, 1e9), blocks=10**9)


def fitted(problem, label) -> ComparedEstimate:
    estimate = WeightedLeastSquares().fit(problem)
    return ComparedEstimate(
        label,
        estimate,
        problem.basis.groupings,
        dof=confidence_intervals(problem, estimate).dof,
        blocks=row_blocks_of(problem, 0.2) * problem.dof,
    )


@pytest.fixture(scope="module")
def fits(arm, exact):
    """Return estimates of one motion with new white noise."""
    case, rng = exact(arm), np.random.default_rng(0)
    return [fitted(case.problem(case.white(rng)), f"fit {k}") for k in range(60)]


def test_statistics_are_those_of_the_textbook() -> None:
    rng = np.random.default_rng(1)
    half = rng.standard_normal((2, B, B))
    first, second = (h @ h.T + np.eye(B) for h in half)
    beta = rng.standard_normal((2, B))
    (pair,) = compare_estimates([certain(beta[0], first), certain(beta[1], second)]).pairs
    delta, cov = beta[1] - beta[0], first + second
    assert pair.values == pytest.approx(delta)
    assert pair.std == pytest.approx(np.sqrt(np.diag(cov)))
    assert pair.chi_squared == pytest.approx(delta @ np.linalg.solve(cov, delta))
    assert pair.half_width == pytest.approx(1.959964 * pair.std, rel=1e-5)
    assert pair.rank == B


def test_exact_covariances_make_the_test_chi_squared() -> None:
    # chi-squared of 4 exceeds 9.4877 with probability 0.05
    delta = np.array([np.sqrt(2.0 * 9.4877 * MAX_VARIANCE_RATIO), 0.0, 0.0, 0.0])
    (pair,) = compare_estimates([certain(np.zeros(B)), certain(delta)]).pairs
    assert pair.p_value == pytest.approx(0.05, rel=1e-3)


def test_degrees_of_freedom_of_equal_covariances_add_up() -> None:
    dof, blocks = np.full(B, 12.0), 30
    one, two = (compared(np.zeros(B), dof=dof, blocks=blocks) for _ in range(2))
    (pair,) = compare_estimates([one, two]).pairs
    assert pair.dof == pytest.approx(24.0)  # Welch
    assert pair.f_dof == pytest.approx(2 * 29 - B + 1)  # Hotelling's of two samples


def test_the_statistic_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(2)
    half, scale = rng.standard_normal((B, B)), np.array([1e-6, 1.0, 1e3, 1e-2])
    cov, beta = half @ half.T, rng.standard_normal(B)
    scaled = cov * np.outer(scale, scale)
    known = {"dof": np.full(B, 20.0), "blocks": 40}
    pairs = [
        compare_estimates([compared(0.0 * x, c, **known), compared(x, 2.0 * c, **known)]).pairs[0]
        for x, c in ((beta, cov), (beta * scale, scaled))
    ]
    assert pairs[0].chi_squared == pytest.approx(pairs[1].chi_squared)
    assert pairs[0].f_dof == pytest.approx(pairs[1].f_dof)


def test_directions_without_variance_are_left_out() -> None:
    cov = np.diag([1.0, 1.0, 1.0, 1.0])
    cov[0, 1] = cov[1, 0] = 1.0
    beta = np.array([0.1, -0.1, 0.0, 0.0])
    (pair,) = compare_estimates([certain(np.zeros(B), cov), certain(beta, cov)]).pairs
    assert pair.rank == B - 1
    assert pair.is_agreement


def test_too_few_blocks_leave_the_single_parameters() -> None:
    few = [compared(np.full(B, x), dof=np.full(B, 5.0), blocks=4) for x in (0.0, 1e6)]
    unknown = [compared(np.full(B, x)) for x in (0.0, 1e6)]
    for pair_of in (few, unknown):
        (pair,) = compare_estimates(pair_of).pairs
        assert pair.p_value is None
        assert not pair.differs_jointly
        assert pair.differs.all()


def test_a_small_difference_of_all_is_no_difference_of_one() -> None:
    agreement = compare_estimates([certain(np.zeros(B)), certain(np.full(B, 4.5))])
    (pair,) = agreement.pairs
    assert pair.differs_jointly
    assert not pair.differs.any()
    assert "all parameters jointly, none by itself" in agreement.agreement_text


def test_holm_rejects_step_by_step() -> None:
    # 0.05 / 4, 0.05 / 3, 0.05 / 2: the third fails, and all after it
    p = np.array([[0.04, 0.012], [0.016, 0.03]])
    assert holm(p, 0.05).tolist() == [[False, True], [True, False]]


def test_fits_of_one_robot_agree_and_their_intervals_hold(fits) -> None:
    agreements = [compare_estimates(list(two)) for two in zip(fits[::2], fits[1::2], strict=True)]
    assert all(agreement.is_agreement for agreement in agreements)
    assert compare_estimates(fits[:5]).is_agreement
    assert len(compare_estimates(fits[:5]).pairs) == 10
    within = np.mean([agreement.pairs[0].share_within for agreement in agreements])
    assert 0.92 < within <= 1.0  # 30 pairs: 95 % to within two standard deviations and more
    chi = [agreement.pairs[0].chi_squared / agreement.pairs[0].rank for agreement in agreements]
    assert 0.7 < np.mean(chi) < 1.3


def test_what_differs_is_named_first_and_alone(fits) -> None:
    estimate = fits[1].estimate
    k = estimate.names.index("Fc2")
    moved = estimate.beta.copy()
    moved[k] += 12.0 * estimate.std[k]
    other = replace(fits[1], estimate=replace(estimate, beta=moved))
    agreement = compare_estimates([fits[0], other])
    (pair,) = agreement.pairs
    assert not agreement.is_agreement
    assert [pair.names[i] for i in np.flatnonzero(pair.differs)] == ["Fc2"]
    assert pair.strongest_first[0] == k
    assert agreement.agreement_text.startswith("they differ: Fc2 by ")


def test_the_pairs_of_the_odd_one_out_are_named(fits) -> None:
    estimate = fits[2].estimate
    odd = replace(fits[2], estimate=replace(estimate, beta=estimate.beta + 20.0 * estimate.std))
    agreement = compare_estimates([fits[0], fits[1], odd])
    assert [pair.is_agreement for pair in agreement.pairs] == [True, False, False]
    assert agreement.agreement_text.startswith("they differ in 2 of 3 pairs. fit 0 and fit 2: ")


def test_what_cannot_be_compared_is_refused() -> None:
    one = compared(np.zeros(B))
    with pytest.raises(OptionError, match="at least 2 estimates, got 1"):
        compare_estimates([one])
    with pytest.raises(OptionError, match="between 0 and 1, got 2"):
        compare_estimates([one, one], false_alarm=2.0)
    failed = replace(one.estimate, success=False, message="not excited")
    with pytest.raises(OptionError, match=r"x: the fit failed \(not excited\)"):
        ComparedEstimate("x", failed, one.groupings)
    with pytest.raises(OptionError, match="need a covariance"):
        ComparedEstimate("x", replace(one.estimate, cov=None), one.groupings)
    with pytest.raises(OptionError, match="4 positive degrees of freedom"):
        ComparedEstimate("x", one.estimate, one.groupings, dof=np.zeros(B))
    other = replace(one.estimate, names=("q0", "q1", "q2", "q3"))
    with pytest.raises(OptionError, match="y and a have different base parameters"):
        compare_estimates([one, ComparedEstimate("y", other, one.groupings)])


class Run:
    """What a summary looks at."""

    def __init__(self, task, model, value):
        self.task, self.model, self.value = task, model, value
        self.scenario, self.controller = "undisturbed", "pid"


def test_interval_is_that_of_student():
    values = np.random.default_rng(0).normal(3.0, 2.0, 12)
    found = Interval.from_values(values)
    low, high = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(0.5 * (high - low))
    assert found.count == 12


def test_intervals_cover_the_mean_as_often_as_they_say():
    draws = np.random.default_rng(1).normal(0.0, 1.0, (2000, 5))
    intervals = [Interval.from_values(row) for row in draws]
    covered = np.mean([abs(interval.mean) <= interval.half_width for interval in intervals])
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard deviations of 2000 draws


def test_a_single_run_has_no_spread():
    assert Interval.from_values([2.5]) == Interval(2.5, 0.0, 1)


def test_rows_come_in_the_order_of_their_cases():
    runs = [Run("lap", "true", 1.0), Run("step", "true", 5.0), Run("lap", "true", 3.0)]
    rows = summarize(runs, {"value": lambda run: run.value})
    assert [(row.case.task, row.runs) for row in rows] == [("lap", 2), ("step", 1)]
    assert rows[0].values["value"].mean == 2.0


def test_a_quantity_that_one_run_lacks_is_unknown():
    runs = [Run("lap", "true", 1.0), Run("lap", "true", None)]
    (row,) = summarize(runs, {"value": lambda run: run.value})
    assert row.values["value"] is None


RATE = 0.05
TRIALS = 300


@pytest.fixture(scope="module")
def trials(arm, exact):
    """Return problems of one motion with new noise, and the true parameters."""
    case, rng = exact(arm), np.random.default_rng(0)
    return [case.problem(case.white(rng)) for _ in range(TRIALS)], case.beta


def fit(problem: LinearProblem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


@pytest.mark.slow
def test_an_honest_covariance_passes_and_a_small_one_fails(trials):
    problems, truth = trials
    inside, small = 0, 0
    for problem in problems:
        estimate = fit(problem)
        error = estimate.beta - truth
        nees = error @ np.linalg.solve(estimate.cov, error) / error.size
        lower, upper = nees_range(problem, estimate, RATE)
        inside += lower <= nees <= upper
        small += 9.0 * nees > upper  # standard deviations three times too small
    assert inside >= (1.0 - 2.0 * RATE) * TRIALS
    assert small >= 0.95 * TRIALS


@pytest.mark.slow
def test_constraints_that_hold_cost_no_more_than_chance(trials):
    problems, _ = trials
    costs = []
    for problem in problems[:100]:
        free = fit(problem)
        costs.append(
            compute_constraint_cost(
                problem, Consistent().fit(problem, np.random.default_rng(0)), free
            )
        )
    limit = compute_constraint_limit(problems[0], RATE)
    assert (np.array(costs) <= limit).mean() >= 1.0 - 2.0 * RATE
    negative = replace(problems[0], y=-problems[0].y)  # a torque of the wrong sign
    wrong = Consistent().fit(negative, np.random.default_rng(0))
    assert compute_constraint_cost(negative, wrong, fit(negative)) > 10.0 * limit


def test_the_limit_of_the_residual_follows_from_the_replicates(trials):
    problem = trials[0][0]
    limits = [
        residual_limit(problem, ResidualNoise(np.ones(2), np.ones(2), count), RATE)
        for count in (3, 6, 50)
    ]
    assert limits == sorted(limits, reverse=True)
    assert 1.05 < limits[-1] < limits[0] < 1.3
