"""Least squares on exact and synthetic data, restricted too: the algebra."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import (
    ArgumentTypeError,
    LogError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.estimation.restricted import (
    ESTIMATOR_NAME,
    RestrictedLeastSquares,
    project_nominal,
)
from robotid_sim.model.perturb import perturb

BOTH = [OrdinaryLeastSquares(), WeightedLeastSquares()]
ALGEBRA = 1e-9
"""Relative to the largest parameter: rounding 1e-16 times a condition number below 1e5."""


def noisy(data, seed=0):
    return data.problem(data.white(np.random.default_rng(seed)))


def close(one, two, tolerance=ALGEBRA):
    return np.abs(one - two).max() <= tolerance * np.abs(two).max()


@pytest.mark.parametrize("estimator", BOTH)
def test_noise_free_data_return_the_base_parameters(exact, robot, estimator):
    data = exact(robot)
    estimate = estimator.fit(data.problem(), np.random.default_rng(0))
    assert estimate.success, estimate.message
    assert close(estimate.beta, data.beta, 1e-8)
    assert estimate.names == data.basis.names
    assert estimate.units == data.basis.units
    assert (estimate.torque_rms < 1e-8 * np.abs(data.tau).max()).all()


def test_blocked_qr_gives_the_solution_of_lstsq(exact, irb140):
    data = exact(irb140, 500.0)  # 5000 samples: three blocks a joint
    problem = noisy(data)
    estimate = OrdinaryLeastSquares().fit(problem, np.random.default_rng(0))
    wanted, squares, rank, _ = np.linalg.lstsq(problem.W, problem.y, rcond=None)
    assert rank == data.basis.rank
    assert close(estimate.beta, wanted)
    total = (estimate.torque_rms**2).sum() * problem.samples
    assert total == pytest.approx(squares.item(), rel=1e-9)  # rounding of a sum of squares


def test_residuals_and_noise_are_those_of_the_rows(exact, arm):
    data = exact(arm)
    problem = noisy(data)
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    squares = (problem.unstack_rows(problem.y - problem.W @ estimate.beta) ** 2).sum(axis=0)
    free = problem.samples - data.basis.rank / problem.dof
    np.testing.assert_allclose(estimate.torque_rms, np.sqrt(squares / problem.samples), rtol=1e-8)
    np.testing.assert_allclose(estimate.noise_std, np.sqrt(squares / free), rtol=1e-8)
    assert estimate.rows == len(problem.W)


def test_weights_are_the_inverse_of_the_estimated_noise(exact, irb140):
    problem = noisy(exact(irb140))
    settled = WeightedLeastSquares(rounds=25).fit(problem, np.random.default_rng(0))
    weights = np.tile(1.0 / settled.noise_std, problem.samples)
    wanted = np.linalg.lstsq(problem.W * weights[:, None], problem.y * weights, rcond=None)[0]
    # After 25 rounds the weights are those of the residuals to rounding.
    assert close(settled.beta, wanted)


def test_white_covariance_is_that_of_the_weighted_rows(exact, arm):
    problem = noisy(exact(arm))
    settled = WeightedLeastSquares(rounds=25).fit(problem, np.random.default_rng(0))
    bound = cramer_rao(problem, settled.noise_std)
    assert close(settled.cov_white, bound)
    ordinary = OrdinaryLeastSquares().fit(problem, np.random.default_rng(0))
    variances = np.tile(ordinary.noise_std**2, problem.samples)
    A = np.linalg.inv(problem.W.T @ problem.W)
    wanted = A @ (problem.W.T * variances) @ problem.W @ A
    assert close(ordinary.cov_white, wanted, 1e-7)  # the normal equations square the condition


def test_cramer_rao_is_the_inverse_information(exact, arm):
    data = exact(arm)
    weights = np.tile(data.noise**-2, len(data.tau))
    wanted = np.linalg.inv((data.W.T * weights) @ data.W)
    assert close(cramer_rao(data.problem(), data.noise), wanted, 1e-7)  # as above


def test_condition_number_is_that_of_unit_columns(exact, arm):
    problem = noisy(exact(arm))
    estimate = OrdinaryLeastSquares().fit(problem, np.random.default_rng(0))
    unit = problem.W / np.linalg.norm(problem.W, axis=0)
    assert estimate.cond == pytest.approx(np.linalg.cond(unit), rel=1e-9)


def test_scaling_the_torque_scales_the_estimate(exact, irb140):
    problem = noisy(exact(irb140))
    one = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    two = WeightedLeastSquares().fit(replace(problem, y=1e3 * problem.y), np.random.default_rng(0))
    assert close(two.beta, 1e3 * one.beta)
    np.testing.assert_allclose(two.std, 1e3 * one.std, rtol=1e-7)


@pytest.mark.parametrize("estimator", BOTH)
def test_permuting_joints_permutes_the_noise_and_keeps_the_parameters(exact, irb140, estimator):
    problem = noisy(exact(irb140))
    order = np.random.default_rng(1).permutation(problem.dof)
    turned = replace(
        problem,
        W=problem.unstack_rows(problem.W)[:, order].reshape(problem.W.shape),
        y=problem.unstack_rows(problem.y)[:, order].ravel(),
        joint_names=tuple(problem.joint_names[j] for j in order),
    )
    one, two = (estimator.fit(p, np.random.default_rng(0)) for p in (problem, turned))
    assert close(two.beta, one.beta)
    np.testing.assert_allclose(two.noise_std, one.noise_std[order], rtol=1e-9)
    np.testing.assert_allclose(two.std, one.std, rtol=1e-6)  # squares of small differences


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("defect", ["zero column", "equal columns", "sum of columns"])
def test_missing_excitation_is_a_failed_estimate_with_a_message(exact, irb140, estimator, defect):
    data = exact(irb140)
    W = data.W.copy()
    match defect:
        case "zero column":
            W[:, 10] = 0.0
        case "equal columns":
            W[:, 10] = W[:, 20]
        case _:
            W[:, 10] = W[:, 20] - 3.0 * W[:, 30]
    problem = replace(noisy(data), W=W)
    estimate = estimator.fit(problem, np.random.default_rng(0))
    assert not estimate.success
    assert "rank-deficient" in estimate.message
    assert "does not excite" in estimate.message
    assert estimate.cov is None
    assert np.isnan(estimate.std).all()


@pytest.mark.parametrize("estimator", BOTH)
def test_torque_of_zero_is_data_and_not_a_crash(exact, arm, estimator):
    data = exact(arm)
    problem = replace(data.problem(), y=np.zeros(len(data.W)))
    estimate = estimator.fit(problem, np.random.default_rng(0))
    if estimate.success:
        np.testing.assert_array_equal(estimate.beta, 0.0)
    else:
        assert estimate.message


def test_too_few_rows_are_refused(exact, arm):
    data = exact(arm)
    rows = 2 * (data.basis.rank // 2)
    with pytest.raises(LogError, match=f"{rows} rows cannot determine {data.basis.rank}"):
        replace(data.problem(), W=data.W[:rows], y=data.tau.ravel()[:rows])


def test_rows_must_fit_columns_and_joints(exact, arm):
    problem = exact(arm).problem()
    with pytest.raises(ShapeError, match=r"^W has shape"):
        replace(problem, W=problem.W[:, 1:])
    with pytest.raises(ShapeError, match=r"^y has shape"):
        replace(problem, y=problem.y[1:])
    with pytest.raises(ShapeError, match="not a multiple of 2 joints"):
        replace(problem, W=problem.W[1:], y=problem.y[1:])


def test_reduction_keeps_the_cost_of_every_joint(exact, arm):
    problem = noisy(exact(arm))
    reduction = reduce_rows(problem)
    for seed in range(3):
        beta = np.random.default_rng(seed).standard_normal(problem.basis.rank)
        direct = (problem.unstack_rows(problem.y - problem.W @ beta) ** 2).sum(axis=0)
        np.testing.assert_allclose(reduction.compute_squared_residuals(beta), direct, rtol=1e-12)


def test_fewer_samples_than_columns_per_joint_still_reduce(exact, arm):
    data = exact(arm)
    few = LinearProblem(
        data.W[:16], data.tau.ravel()[:16], data.basis, data.robot.joint_names, data.dt
    )  # 8 samples of 2 joints for 11 parameters
    direct = (few.unstack_rows(few.y) ** 2).sum(axis=0)
    zero = np.zeros(data.basis.rank)
    np.testing.assert_allclose(reduce_rows(few).compute_squared_residuals(zero), direct, rtol=1e-12)


def test_a_block_longer_than_the_log_is_one_block(exact, arm):
    problem = noisy(exact(arm))  # 10 s
    whole = WeightedLeastSquares(block=11.0).fit(problem, np.random.default_rng(0))
    assert whole.success


@pytest.mark.parametrize(
    "estimator", [OrdinaryLeastSquares(), WeightedLeastSquares(), Consistent()]
)
def test_a_fit_needs_no_rng_and_names_what_is_no_problem(estimator, irb140) -> None:
    with pytest.raises(ArgumentTypeError, match=r"problem is of type Robot.*build_problem"):
        estimator.fit(irb140)
    with pytest.raises(ArgumentTypeError, match=r"motion is of type Robot.*Adaptive"):
        build_problem(irb140, irb140, base_parameters(irb140))


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
    W, y = problem.unstack_rows(problem.W)[use], problem.unstack_rows(problem.y)[use]
    return replace(problem, W=W.reshape(-1, W.shape[2]), y=y.ravel())


def test_without_restrictions_it_is_weighted_least_squares(problem):
    plain, own = WeightedLeastSquares().fit(problem), fit(problem)
    assert close(own.beta, plain.beta, EXACT)
    assert close(own.noise_std, plain.noise_std, EXACT)
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
    assert close(own.beta, part.beta, EXACT)
    assert close(own.torque_rms, part.torque_rms, EXACT)
    assert own.rows == part.rows
    np.testing.assert_allclose(own.cov_white, part.cov_white, rtol=1e-6)  # of small entries


def test_times_are_those_of_the_log(problem):
    shifted = replace(problem, start=100.0)
    assert close(
        fit(shifted, without=[[102.0, 106.0]]).beta, fit(problem, without=[[2.0, 6.0]]).beta, EXACT
    )


def test_a_joint_without_weight_leaves_what_the_others_do_not_show_at_nominal_values(problem):
    own = fit(problem, joint_weights={"elbow": 0.0})
    rows = problem.unstack_rows(problem.W)[:, 0]
    y = problem.unstack_rows(problem.y)[:, 0]
    before = project_nominal(problem).beta
    unseen = [k for k, name in enumerate(own.names) if name in ("Fv2", "Fc2", "Ia2")]
    assert all(own.names[k] in own.message for k in unseen)
    assert (own.beta[unseen] == before[unseen]).all()
    shown = np.setdiff1d(np.arange(len(before)), unseen)
    wanted = np.linalg.lstsq(rows[:, shown], y - rows[:, unseen] @ before[unseen], rcond=None)[0]
    assert close(own.beta[shown], wanted, EXACT)
    assert (own.std[unseen] == project_nominal(problem).std[unseen]).all()
    assert not own.unbiased


def test_a_joint_that_counts_twice_moves_the_others_parameters(problem):
    one, two = fit(problem), fit(problem, joint_weights={"elbow": 2.0})
    own = [
        float((problem.unstack_rows(problem.y - problem.W @ e.beta)[:, 1] ** 2).sum())
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
    assert close(own.beta[others], wanted, EXACT)
    assert own.std[k] < 1e-2 * plain.std[k]
    assert np.linalg.eigvalsh(own.cov / np.outer(own.std, own.std)).min() > 0.0


@pytest.mark.parametrize(("ridge", "prior"), [(1e-2, None), (0.0, 0.05), (1e-3, 0.2)])
def test_ridge_and_prior_solve_their_normal_equations(problem, ridge, prior):
    own = fit(problem, ridge=ridge, prior=prior)
    known = project_nominal(problem)
    weight = np.tile(own.weights, problem.samples)
    X, z = weight[:, None] * problem.W, weight * problem.y
    left = X.T @ (z - X @ own.beta) - ridge * (X**2).sum(axis=0) * own.beta
    if prior is not None:
        left -= known.root.T @ known.root @ (own.beta - known.beta) / prior**2
    assert np.abs(left / np.linalg.norm(X, axis=0)).max() < 1e-7 * np.linalg.norm(z)
    assert not own.unbiased


def test_a_prior_pulls_to_the_nominal_robot_and_narrows_intervals(problem):
    known, plain = project_nominal(problem).beta, fit(problem)
    sure, vague = (fit(problem, prior=share) for share in (1e-5, 1e5))
    assert close(vague.beta, plain.beta, EXACT)
    assert np.abs(sure.beta - known).max() < 1e-2 * np.abs(plain.beta - known).max()
    true = fit(problem, prior=0.3)
    assert (true.std < 1.001 * plain.std).all()
    assert (true.std < 0.99 * plain.std).any()


def test_a_prior_tells_of_what_the_rows_do_not_show(problem):
    own = fit(problem, joint_weights={"elbow": 0.0}, prior=0.1)
    k = own.names.index("Fv2")
    known = project_nominal(problem)
    assert own.beta[k] == pytest.approx(known.beta[k], rel=1e-9)  # nothing else bears on it
    assert own.std[k] == pytest.approx(0.1 * known.std[k], rel=1e-9)
    assert "which follow the prior" in own.message


def test_failure_is_data(problem):
    few = RestrictedLeastSquares(without=[[0.02, 100.0]]).fit(problem)
    assert not few.success
    assert "rows cannot determine" in few.message
    alone = replace(problem, nominal=None)
    lost = RestrictedLeastSquares(joint_weights={"elbow": 0.0}).fit(alone)
    assert not lost.success
    assert "do not determine" in lost.message


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"joint_weights": {"elbow": -1.0}}, "joint_weights must not be negative"),
        ({"joint_weights": {"elbow": True}}, "joint_weights must be a table of numbers"),
        ({"joint_weights": 2.0}, "joint_weights must be a table of numbers"),
        ({"fixed": {"mx2": float("nan")}}, "fixed must be a table of numbers"),
        ({"without": [[2.0, 1.0]]}, "without must be a list of times"),
        ({"without": [1.0, 2.0]}, "without must be a list of times"),
        ({"without": 3.0}, "without must be a list of times"),
        ({"ridge": -1.0}, "the ridge must not be negative"),
        ({"ridge": "much"}, "must be a number"),
        ({"prior": 0.0}, "the prior must be positive"),
        ({"rounds": 0}, "at least 1 round"),
        ({"weight": 1.0}, "has no option 'weight'"),
    ],
)
def test_bad_options_are_named(options, text):
    with pytest.raises(OptionError, match=text):
        ESTIMATORS.build(ESTIMATOR_NAME, **options)


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
