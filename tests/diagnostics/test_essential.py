"""Essential parameters: what the data do not show goes, what they show stays."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.essential import essential_parameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import select_columns


def fit(problem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


@pytest.fixture(scope="module")
def data(exact, irb140):
    return exact(irb140)


@pytest.fixture(scope="module")
def problem(data):
    return data.problem(data.white(np.random.default_rng(0)))


@pytest.fixture(scope="module")
def essential(problem):
    return essential_parameters(problem, fit(problem))


def test_it_drops_some_and_keeps_the_rest(problem, essential):
    names = problem.basis.names
    assert 0 < len(essential.dropped) < len(names)
    assert set(essential.dropped) | set(essential.estimate.names) == set(names)
    assert essential.estimate.names == tuple(names[k] for k in essential.essential)
    assert essential.std_ratio[1] < essential.std_ratio[0]
    assert essential.p_value >= 0.05


def test_the_estimate_is_the_fit_of_those_kept(problem, essential):
    wanted = fit(select_columns(problem, essential.essential))
    np.testing.assert_array_equal(essential.estimate.beta, wanted.beta)
    np.testing.assert_array_equal(essential.beta[list(essential.essential)], wanted.beta)
    assert np.count_nonzero(essential.beta) == len(essential.essential)


def test_the_residual_does_not_grow(problem, essential):
    growth = essential.estimate.noise_std / fit(problem).noise_std
    assert growth.max() < 1.01


def test_the_statistic_is_the_f_test_of_the_sum_of_squares(exact, arm):
    """With the white covariance the Wald form is the growth of the weighted squares."""
    data = exact(arm)
    problem = data.problem(data.white(np.random.default_rng(0)))
    estimate = fit(problem)
    white = replace(estimate, cov=estimate.cov_white)
    weight = np.tile(1.0 / estimate.noise_std, problem.samples)
    one = int(np.argmax(white.std / np.abs(white.beta)))
    kept = np.delete(np.arange(len(white.beta)), one)
    X, y = problem.W * weight[:, None], problem.y * weight
    squares = [np.linalg.lstsq(x, y, rcond=None)[1][0] for x in (X, X[:, kept])]
    F = (white.beta[one] / white.std[one]) ** 2
    assert squares[1] - squares[0] == pytest.approx(F, rel=0.01)  # noise shared by joints


def test_parameters_that_are_zero_are_dropped(exact, arm):
    data = exact(arm)
    zero = [list(data.basis.names).index("Fv1"), list(data.basis.names).index("Fc2")]
    beta = np.array(data.beta)
    beta[zero] = 0.0
    noise = data.white(np.random.default_rng(3))
    problem = replace(data.problem(), y=data.W @ beta + noise.ravel())
    found = essential_parameters(problem, fit(problem), significance=1e-3)
    assert {"Fv1", "Fc2"} <= set(found.dropped)


def test_all_stay_where_all_are_seen_alike(exact, arm):
    data = exact(arm)
    problem = data.problem(data.white(np.random.default_rng(0)))
    found = essential_parameters(problem, fit(problem), ratio=1e6)
    assert found.dropped == ()
    assert found.reason == "ratio"
    np.testing.assert_array_equal(found.beta, fit(problem).beta)


def test_it_tells_in_words(essential):
    first, second, *_ = essential.sentences()
    assert f"{len(essential.essential)} of" in first
    assert essential.dropped[0] in second


def test_options_out_of_range_are_refused(problem):
    with pytest.raises(OptionError, match="above 1"):
        essential_parameters(problem, fit(problem), ratio=1.0)
