"""Instrumental variables: unbiased where the regressor is noisy, least squares without them."""

from dataclasses import replace

import numpy as np

from robotid_sim.estimation.instrumental import MISSING_INSTRUMENTS_MESSAGE, InstrumentalVariables
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import extend_problem, map_rows, select_columns, stack_problems
from robotid_sim.preprocess.periods import Periods

SEEDS = 40


def noisy(data, seed, share=0.1):
    """Return a problem whose regressor and instruments have noise of their own."""
    rng = np.random.default_rng(seed)
    problem = data.problem(data.white(rng))
    size = share * np.sqrt((problem.W**2).mean(axis=0))
    W, Z = (problem.W + size * rng.standard_normal(problem.W.shape) for _ in range(2))
    return replace(problem, W=W, instruments=Z)


def errors(data, estimator):
    fits = [estimator.fit(noisy(data, seed)) for seed in range(SEEDS)]
    return np.array([(fit.beta - data.beta) / fit.std for fit in fits])


def test_noise_of_the_regressor_does_not_bias_it(data):
    found, wls = (errors(data, e) for e in (InstrumentalVariables(), WeightedLeastSquares()))
    mean = np.abs(found.mean(axis=0))
    assert mean.max() < 4.0 / np.sqrt(SEEDS)  # standard errors
    assert np.abs(wls.mean(axis=0)).max() > 10.0 / np.sqrt(SEEDS)


def test_its_deviations_are_those_of_its_errors(data):
    scatter = np.sqrt((errors(data, InstrumentalVariables()) ** 2).mean())
    assert 0.7 < scatter < 1.3


def test_it_solves_the_normal_equations_of_the_instruments(data):
    problem = noisy(data, 0)
    found = InstrumentalVariables(rounds=20).fit(problem)
    left = problem.unstack_rows(problem.y - problem.W @ found.beta)
    weight = np.tile(1.0 / (left**2).mean(axis=0), problem.samples)
    Z, W = problem.instruments * weight[:, None], problem.W
    wanted = np.linalg.solve(Z.T @ W, Z.T @ problem.y)
    np.testing.assert_allclose(found.beta, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.torque_rms**2, (left**2).mean(axis=0), rtol=1e-6)


def test_without_instruments_it_is_least_squares_and_says_so(data):
    problem = data.problem(data.white(np.random.default_rng(0)))
    found, wls = InstrumentalVariables().fit(problem), WeightedLeastSquares().fit(problem)
    np.testing.assert_array_equal(found.beta, wls.beta)
    assert found.message == MISSING_INSTRUMENTS_MESSAGE


def test_instruments_follow_what_is_done_to_a_problem(data):
    problem = noisy(data, 0)
    some = select_columns(problem, [0, 2])
    np.testing.assert_array_equal(some.instruments, problem.instruments[:, [0, 2]])
    more = extend_problem(problem, problem.W[:, :1] ** 2, ["x"], ["1"])
    np.testing.assert_array_equal(more.instruments[:, -1:], problem.W[:, :1] ** 2)
    both = stack_problems([problem, problem])
    np.testing.assert_array_equal(both.instruments, np.vstack([problem.instruments] * 2))
    assert stack_problems([problem, replace(problem, instruments=None)]).instruments is None
    random = replace(problem, random=problem.W[:, :2])
    twice = map_rows(random, lambda rows: 2.0 * rows)
    for name in ("W", "y", "instruments", "random"):
        np.testing.assert_array_equal(getattr(twice, name), 2.0 * getattr(random, name))


def test_periods_of_others_leave_the_own_out():
    x = np.arange(14.0)[:, None] ** 2
    periods = Periods(first=2, samples=4, count=3)
    found = periods.average_others(x)
    np.testing.assert_allclose(found[2:6], 0.5 * (x[6:10] + x[10:14]))
    np.testing.assert_allclose(found[6:10], 0.5 * (x[2:6] + x[10:14]))
    np.testing.assert_allclose(found[:2], periods.mean(x)[[2, 3]])
