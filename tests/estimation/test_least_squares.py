"""Least squares on exact and synthetic data: the algebra."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import ArgumentTypeError, LogError, OptionError, ShapeError
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows

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
    squares = (problem.by_joint(problem.y - problem.W @ estimate.beta) ** 2).sum(axis=0)
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
        W=problem.by_joint(problem.W)[:, order].reshape(problem.W.shape),
        y=problem.by_joint(problem.y)[:, order].ravel(),
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
        direct = (problem.by_joint(problem.y - problem.W @ beta) ** 2).sum(axis=0)
        np.testing.assert_allclose(reduction.squared_residuals(beta), direct, rtol=1e-12)


def test_fewer_samples_than_columns_per_joint_still_reduce(exact, arm):
    data = exact(arm)
    few = LinearProblem(
        data.W[:16], data.tau.ravel()[:16], data.basis, data.robot.joint_names, data.dt
    )  # 8 samples of 2 joints for 11 parameters
    direct = (few.by_joint(few.y) ** 2).sum(axis=0)
    zero = np.zeros(data.basis.rank)
    np.testing.assert_allclose(reduce_rows(few).squared_residuals(zero), direct, rtol=1e-12)


def test_a_block_longer_than_the_log_is_one_block(exact, arm):
    problem = noisy(exact(arm))  # 10 s
    whole = WeightedLeastSquares(block=11.0).fit(problem, np.random.default_rng(0))
    assert whole.success


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (WeightedLeastSquares, {"rounds": 0}),
        (WeightedLeastSquares, {"block": -1.0}),
        (WeightedLeastSquares, {"block": float("nan")}),
        (OrdinaryLeastSquares, {"block": 0.0}),
    ],
)
def test_impossible_options_are_refused(estimator, options):
    with pytest.raises(OptionError):
        estimator(**options)


@pytest.mark.parametrize(
    "estimator", [OrdinaryLeastSquares(), WeightedLeastSquares(), Consistent()]
)
def test_a_fit_needs_no_rng_and_names_what_is_no_problem(estimator, irb140) -> None:
    with pytest.raises(ArgumentTypeError, match=r"problem is of type Robot.*build_problem"):
        estimator.fit(irb140)
    with pytest.raises(ArgumentTypeError, match=r"motion is of type Robot.*Adaptive"):
        build_problem(irb140, irb140, base_parameters(irb140))
