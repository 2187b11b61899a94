"""The M-estimator: as good as least squares on Gaussian noise, and untouched by wild rows."""

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import OptionError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.robust import RobustLeastSquares
from robotid_sim.model.catalog import load_robot

SEEDS = range(30)

LOSSES = ("huber", "student")


@pytest.fixture(scope="module")
def data(exact, arm):
    return exact(arm, 100.0)


def wild(data, rng):
    """Return white noise with one sample in twenty far off, in runs of five."""
    noise = data.white(rng)
    starts = rng.random(len(noise)) < 0.01
    off = np.convolve(starts, np.ones(5))[: len(noise)] > 0
    return noise + off[:, None] * data.noise * rng.choice([-25.0, 25.0], noise.shape)


def fits(data, noise, estimator):
    """Return errors over the deviation by white noise, and which intervals hold, (seeds, b)."""
    errors, held = [], []
    for seed in SEEDS:
        problem = data.problem(noise(data, np.random.default_rng(seed)))
        found = estimator.fit(problem)
        assert found.success, found.message
        errors.append(found.beta - data.beta)
        held.append(confidence_intervals(problem, found).covers(data.beta))
    return np.array(errors), np.array(held)


def white(data, rng):
    return data.white(rng)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "least", "most"),
    [(white, 0.97, 1.08), (wild, 0.0, 0.4)],  # 95 % efficiency is 1.026
    ids=["gaussian", "wild"],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_gaussian_noise_costs_it_some_percent_and_wild_rows_do_not_lead_it(
    data, loss, noise, least, most
):
    errors, held = fits(data, noise, RobustLeastSquares(loss=loss))
    plain, _ = fits(data, noise, WeightedLeastSquares())
    ratio = np.sqrt((errors**2).mean(axis=0) / (plain**2).mean(axis=0))
    assert least < np.median(ratio) < most
    assert 0.92 < held.mean() < 0.98


def test_residuals_are_those_of_the_measured_torques(data):
    problem = data.problem(wild(data, np.random.default_rng(0)))
    found = RobustLeastSquares().fit(problem)
    residual = problem.unstack_rows(problem.y - problem.W @ found.beta)
    assert found.torque_rms == pytest.approx(np.sqrt((residual**2).mean(axis=0)))
    assert (found.noise_std < 0.5 * found.torque_rms).all()
    assert found.criterion == "huber"


def test_far_off_rows_move_students_estimate_less_and_less(data):
    def moved(size):
        noise = data.white(np.random.default_rng(0))
        noise[100:110] += size * data.noise
        robust = RobustLeastSquares(loss="student")
        found, clean = (
            robust.fit(data.problem(x)) for x in (noise, data.white(np.random.default_rng(0)))
        )
        return float((np.abs(found.beta - clean.beta) / clean.std).max())

    assert moved(1000.0) < 0.5 * moved(5.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "cubes"}, "unknown loss 'cubes'"),
        ({"tuning": -1.0}, "tuning of a robust loss must be positive"),
        ({"tuning": float("nan")}, "tuning of a robust loss must be positive"),
        ({"block": 0.0}, "positive length"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        RobustLeastSquares(**options)


@pytest.mark.parametrize("seed", [0, 18, 38])
def test_a_fit_that_alternates_between_two_sets_of_outliers_settles(seed):
    """Without constant scales these three of 80 problems never end."""
    robot, rng, count = load_robot("twolink"), np.random.default_rng(seed), 20
    basis = base_parameters(robot)
    q, dq = rng.uniform(-2.0, 2.0, (count, 2)), rng.normal(size=(count, 2))
    ddq = 3.0 * rng.normal(size=(count, 2))
    W = torque_regressor(robot, q, dq, ddq, basis.columns).reshape(2 * count, -1)
    noise = 0.3 * rng.standard_t(1.2, 2 * count)
    y = W @ basis.project(robot.parameters()) + noise
    estimate = RobustLeastSquares().fit(LinearProblem(W, y, basis, robot.joint_names, 0.01))
    assert estimate.success, estimate.message
