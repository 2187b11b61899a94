"""The tests of the verdict fail sound statements as rarely as they say, and false ones always."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.validation.honesty import (
    ResidualNoise,
    constrained_cost,
    constrained_limit,
    nees_range,
    residual_limit,
)

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
            constrained_cost(problem, Consistent().fit(problem, np.random.default_rng(0)), free)
        )
    limit = constrained_limit(problems[0], RATE)
    assert (np.array(costs) <= limit).mean() >= 1.0 - 2.0 * RATE
    negative = replace(problems[0], y=-problems[0].y)  # a torque of the wrong sign
    wrong = Consistent().fit(negative, np.random.default_rng(0))
    assert constrained_cost(negative, wrong, fit(negative)) > 10.0 * limit


def test_the_limit_of_the_residual_follows_from_the_replicates(trials):
    problem = trials[0][0]
    limits = [
        residual_limit(problem, ResidualNoise(np.ones(2), np.ones(2), count), RATE)
        for count in (3, 6, 50)
    ]
    assert limits == sorted(limits, reverse=True)
    assert 1.05 < limits[-1] < limits[0] < 1.3
