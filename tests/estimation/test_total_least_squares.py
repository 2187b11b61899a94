"""Total least squares: unbiased where regressor and torque are noisy together, and honest."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, stack_problems
from robotid_sim.estimation.total_least_squares import (
    MISSING_PERIODS_MESSAGE,
    NOISE_MESSAGE,
    TotalLeastSquares,
)

SEEDS = range(40)
PERIODS = 4


def repeated(data, W=0.0, y=0.0, period=10.0):
    """Return the rows of some periods, with noise of all rows added to them."""
    return LinearProblem(
        np.tile(data.W, (PERIODS, 1)) + W,
        np.tile(data.tau.ravel(), PERIODS) + y,
        data.basis,
        data.robot.joint_names,
        data.dt,
        data.robot,
        period=period,
    )


def noisy(data, seed, share=0.1, passed_on=0.0):
    """Return a problem whose regressor has noise, part of which goes on into the torque."""
    rng = np.random.default_rng(seed)
    size = share * np.sqrt((data.W**2).mean(axis=0))
    W = size * rng.standard_normal((PERIODS * len(data.W), data.W.shape[1]))
    y = np.tile(data.noise, PERIODS * len(data.tau)) * rng.standard_normal(len(W))
    return repeated(data, W, y + passed_on * W @ data.beta)


@pytest.mark.parametrize("passed_on", [0.0, -1.0], ids=["apart", "in a loop"])
def test_noise_of_the_regressor_does_not_bias_it(data, passed_on):
    errors, plain, held = [], [], []
    for seed in SEEDS:
        problem = noisy(data, seed, passed_on=passed_on)
        found, wls = TotalLeastSquares().fit(problem), WeightedLeastSquares().fit(problem)
        assert found.success, found.message
        errors.append((found.beta - data.beta) / found.std)
        plain.append((wls.beta - data.beta) / wls.std)
        held.append(confidence_intervals(problem, found).covers(data.beta))
    limit = 4.0 / np.sqrt(len(SEEDS))  # standard errors
    assert np.abs(np.mean(errors, axis=0)).max() < limit
    assert np.abs(np.mean(plain, axis=0)).max() > 3.0 * limit
    assert 0.8 < np.sqrt((np.array(errors) ** 2).mean()) < 1.2
    assert np.mean(held) > 0.92


def test_a_shaken_motion_that_follows_the_model_does_no_harm(data):
    rng = np.random.default_rng(0)
    shaking = 0.2 * np.abs(data.W).max() * rng.standard_normal((PERIODS * len(data.W), 1))
    W = shaking * rng.standard_normal(data.W.shape[1])
    y = np.tile(data.noise, PERIODS * len(data.tau)) * rng.standard_normal(len(W))
    found = TotalLeastSquares().fit(repeated(data, W, W @ data.beta + y))
    assert (np.abs(found.beta - data.beta) < 4.0 * found.std).all()


def test_exact_data_give_exact_parameters(data):
    found = TotalLeastSquares().fit(repeated(data))
    assert found.success, found.message
    np.testing.assert_allclose(found.beta, data.beta, rtol=1e-8, atol=1e-9)


def test_with_an_exact_regressor_it_is_least_squares(data):
    problem = noisy(data, 0, share=0.0)
    found, wls = TotalLeastSquares().fit(problem), WeightedLeastSquares().fit(problem)
    np.testing.assert_allclose(found.beta, wls.beta, rtol=1e-6, atol=1e-9)
    assert np.median(found.std / wls.std) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("period", [None, 10.005, 39.0], ids=["none", "uneven", "once"])
def test_without_periods_it_is_least_squares_and_says_so(data, period):
    problem = replace(noisy(data, 0), period=period)
    found = TotalLeastSquares().fit(problem)
    assert found.message == MISSING_PERIODS_MESSAGE
    np.testing.assert_array_equal(found.beta, WeightedLeastSquares().fit(problem).beta)


def test_rows_of_several_logs_are_no_motion_that_repeats(data):
    problem = noisy(data, 0)
    assert stack_problems([problem]).period == problem.period
    assert stack_problems([problem, problem]).period is None


def test_a_regressor_of_noise_fails_with_a_message(data):
    rng = np.random.default_rng(0)
    problem = repeated(data)
    W = problem.W.copy()
    W[:, 0] = rng.standard_normal(len(W))
    found = TotalLeastSquares().fit(replace(noisy(data, 0), W=W))
    assert not found.success
    assert found.message == NOISE_MESSAGE
