"""Restricted least squares: some of the rows, fixed parameters, a ridge, and what was known."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.restricted import NAME, RestrictedLeastSquares, known_before
from robotid_sim.model.perturb import perturb

EXACT = 1e-9
"""Rounding of triangular factors times a condition number below 1e4."""


@pytest.fixture(scope="module")
def problem(exact, arm):
    """Rows of an arm with noise, whose nominal robot is wrong."""
    data = exact(arm)
    rows = data.problem(data.white(np.random.default_rng(0)))
    return replace(rows, nominal=perturb(arm, np.random.default_rng(1)))


def fit(problem, **options):
    estimate = RestrictedLeastSquares(**options).fit(problem)
    assert estimate.success, estimate.message
    return estimate


def of_samples(problem, use):
    """Return the problem of some samples."""
    W, y = problem.by_joint(problem.W)[use], problem.by_joint(problem.y)[use]
    return replace(problem, W=W.reshape(-1, W.shape[2]), y=y.ravel())


def close(one, two):
    return np.abs(one - two).max() <= EXACT * np.abs(two).max()


def test_without_restrictions_it_is_weighted_least_squares(problem):
    plain, own = WeightedLeastSquares().fit(problem), fit(problem)
    assert close(own.beta, plain.beta)
    assert close(own.noise_std, plain.noise_std)
    assert own.cond == pytest.approx(plain.cond, rel=EXACT)
    assert own.unbiased
    intervals = confidence_intervals(problem, plain)
    np.testing.assert_allclose(own.std, intervals.std, rtol=1e-9)
    np.testing.assert_allclose(confidence_intervals(problem, own).lower, intervals.lower, rtol=1e-9)


def test_random_effects_widen_as_in_weighted_least_squares(problem):
    random = replace(problem, random=0.02 * problem.y[:, None])
    intervals = confidence_intervals(random, WeightedLeastSquares().fit(random))
    own = fit(random)
    np.testing.assert_allclose(own.std, intervals.std, rtol=1e-9)
    assert (own.std > fit(problem).std).all()


def test_times_that_are_left_out_do_not_count(problem):
    low, high = 2.0, 6.0
    own = fit(problem, without=[[low, high]])
    left = (problem.times < low) | (problem.times >= high)
    part = WeightedLeastSquares().fit(of_samples(problem, left))
    assert close(own.beta, part.beta)
    assert close(own.torque_rms, part.torque_rms)
    assert own.rows == part.rows
    np.testing.assert_allclose(own.cov_white, part.cov_white, rtol=1e-6)  # of small entries


def test_times_are_those_of_the_log(problem):
    shifted = replace(problem, start=100.0)
    assert close(
        fit(shifted, without=[[102.0, 106.0]]).beta, fit(problem, without=[[2.0, 6.0]]).beta
    )


def test_a_joint_without_weight_leaves_what_the_others_do_not_show_at_nominal_values(problem):
    own = fit(problem, joint_weights={"elbow": 0.0})
    rows = problem.by_joint(problem.W)[:, 0]
    y = problem.by_joint(problem.y)[:, 0]
    before = known_before(problem).beta
    unseen = [k for k, name in enumerate(own.names) if name in ("Fv2", "Fc2", "Ia2")]
    assert all(own.names[k] in own.message for k in unseen)
    assert (own.beta[unseen] == before[unseen]).all()
    shown = np.setdiff1d(np.arange(len(before)), unseen)
    wanted = np.linalg.lstsq(rows[:, shown], y - rows[:, unseen] @ before[unseen], rcond=None)[0]
    assert close(own.beta[shown], wanted)
    assert (own.std[unseen] == known_before(problem).std[unseen]).all()
    assert not own.unbiased


def test_a_joint_that_counts_twice_moves_the_others_parameters(problem):
    one, two = fit(problem), fit(problem, joint_weights={"elbow": 2.0})
    own = [
        float((problem.by_joint(problem.y - problem.W @ e.beta)[:, 1] ** 2).sum())
        for e in (one, two)
    ]
    assert own[1] < own[0]
    ratio = [e.weights[1] / e.weights[0] for e in (one, two)]
    assert ratio[1] == pytest.approx(2.0 * ratio[0], rel=1e-2)  # the noise is estimated anew


def test_fixed_parameters_stay_and_the_others_fit_the_rest(problem):
    plain = fit(problem)
    k, j = 1, len(plain.names) - 1
    values = {plain.names[k]: 1.1 * plain.beta[k], plain.names[j]: 0.02}
    own = fit(problem, fixed=values)
    assert (own.beta[k], own.beta[j]) == (1.1 * plain.beta[k], 0.02)
    others = np.setdiff1d(np.arange(len(plain.beta)), [k, j])
    weight = np.tile(own.weights, problem.samples)
    left = problem.y - problem.W[:, [k, j]] @ own.beta[[k, j]]
    wanted = np.linalg.lstsq(weight[:, None] * problem.W[:, others], weight * left, rcond=None)[0]
    assert close(own.beta[others], wanted)
    assert own.std[k] < 1e-2 * plain.std[k]
    assert np.linalg.eigvalsh(own.cov / np.outer(own.std, own.std)).min() > 0.0


@pytest.mark.parametrize(("ridge", "prior"), [(1e-2, None), (0.0, 0.05), (1e-3, 0.2)])
def test_ridge_and_prior_solve_their_normal_equations(problem, ridge, prior):
    own = fit(problem, ridge=ridge, prior=prior)
    known = known_before(problem)
    weight = np.tile(own.weights, problem.samples)
    X, z = weight[:, None] * problem.W, weight * problem.y
    left = X.T @ (z - X @ own.beta) - ridge * (X**2).sum(axis=0) * own.beta
    if prior is not None:
        left -= known.root.T @ known.root @ (own.beta - known.beta) / prior**2
    assert np.abs(left / np.linalg.norm(X, axis=0)).max() < 1e-7 * np.linalg.norm(z)
    assert not own.unbiased


def test_a_prior_pulls_to_the_nominal_robot_and_narrows_intervals(problem):
    known, plain = known_before(problem).beta, fit(problem)
    sure, vague = (fit(problem, prior=share) for share in (1e-5, 1e5))
    assert close(vague.beta, plain.beta)
    assert np.abs(sure.beta - known).max() < 1e-2 * np.abs(plain.beta - known).max()
    true = fit(problem, prior=0.3)
    assert (true.std < 1.001 * plain.std).all()
    assert (true.std < 0.99 * plain.std).any()


def test_a_prior_tells_of_what_the_rows_do_not_show(problem):
    own = fit(problem, joint_weights={"elbow": 0.0}, prior=0.1)
    k = own.names.index("Fv2")
    known = known_before(problem)
    assert own.beta[k] == pytest.approx(known.beta[k], rel=1e-9)  # nothing else bears on it
    assert own.std[k] == pytest.approx(0.1 * known.std[k], rel=1e-9)
    assert "the prior decides" in own.message


def test_failure_is_data(problem):
    few = RestrictedLeastSquares(without=[[0.02, 100.0]]).fit(problem)
    assert not few.success
    assert "rows cannot determine" in few.message
    alone = replace(problem, nominal=None)
    lost = RestrictedLeastSquares(joint_weights={"elbow": 0.0}).fit(alone)
    assert not lost.success
    assert "do not show" in lost.message


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"joint_weights": {"elbow": -1.0}}, "joint_weights are not negative"),
        ({"joint_weights": {"elbow": True}}, "joint_weights is a table of numbers"),
        ({"joint_weights": 2.0}, "joint_weights is a table of numbers"),
        ({"fixed": {"mx2": float("nan")}}, "fixed is a table of numbers"),
        ({"without": [[2.0, 1.0]]}, "without is a list of times"),
        ({"without": [1.0, 2.0]}, "without is a list of times"),
        ({"without": 3.0}, "without is a list of times"),
        ({"ridge": -1.0}, "the ridge is not negative"),
        ({"ridge": "much"}, "must be a number"),
        ({"prior": 0.0}, "the prior is a positive share"),
        ({"rounds": 0}, "at least 1 round"),
        ({"weight": 1.0}, "has no option 'weight'"),
    ],
)
def test_bad_options_are_named(options, text):
    with pytest.raises(OptionError, match=text):
        ESTIMATORS.build(NAME, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"joint_weights": {"elbo": 0.0}}, "unknown joint 'elbo'.*did you mean 'elbow'"),
        ({"fixed": {"mx9": 0.0}}, "unknown base parameter 'mx9'"),
    ],
)
def test_unknown_names_are_refused(problem, options, text):
    with pytest.raises(UnknownNameError, match=text):
        RestrictedLeastSquares(**options).fit(problem)


def test_a_fit_needs_a_joint_and_a_prior_a_nominal_robot(problem):
    none = {"shoulder": 0.0, "elbow": 0.0}
    with pytest.raises(OptionError, match="every joint has the weight 0"):
        RestrictedLeastSquares(joint_weights=none).fit(problem)
    with pytest.raises(OptionError, match="a prior needs"):
        RestrictedLeastSquares(prior=0.1).fit(replace(problem, nominal=None))
