"""Swarm estimators: near the optimum they search for, and honest about the distance."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.fitness import make_fitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.estimation.swarm import SwarmEstimator, physical_box
from robotid_sim.model.perturb import perturb
from robotid_sim.optim.optimizer import OPTIMIZERS


@pytest.fixture
def problem(exact, arm):
    data = exact(arm)
    return data.problem(data.white(np.random.default_rng(0)))


def fit(problem, name, seed=0, **options):
    return ESTIMATORS.build(name, **options).fit(problem, np.random.default_rng(seed))


def test_every_optimizer_is_an_estimator() -> None:
    for name in OPTIMIZERS:
        assert issubclass(ESTIMATORS[f"wls-{name}"], SwarmEstimator)
        assert ESTIMATORS.build(f"wls-{name}").optimizer == name
    assert "pso" in ESTIMATORS
    assert "ls-pso" in ESTIMATORS


@pytest.mark.parametrize("loss", ["squares", "absolute", "huber"])
def test_ratio_is_the_cost_over_the_minimum_of_the_same_cost(problem, loss) -> None:
    estimate = fit(problem, "wls-rwpso", loss=loss, evaluations=3000)
    fitness = make_fitness(loss, problem, reduce_rows(problem), estimate.weights)
    ratio = fitness(estimate.beta[None])[0] / fitness(fitness.minimum()[None])[0]
    assert estimate.criterion == loss
    assert estimate.criterion_over_optimum == pytest.approx(ratio)
    assert ratio >= 1.0 - 1e-12
    assert estimate.nfev == 3000


def test_random_weight_swarm_finds_weighted_least_squares(problem) -> None:
    wls = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    estimate = fit(problem, "wls-rwpso")
    assert estimate.criterion_over_optimum < 1.0 + 1e-6
    assert (np.abs(estimate.beta - wls.beta) < 0.02 * wls.std).all()
    assert not estimate.unbiased


def test_estimate_lies_in_its_box(problem) -> None:
    wls = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    estimate = fit(problem, "wls-pso", fraction=0.01, spread=0.5, evaluations=500)
    half = np.maximum(0.01 * np.abs(wls.beta), 0.5 * wls.std)
    assert (np.abs(estimate.beta - wls.beta) <= half * (1.0 + 1e-12)).all()


def test_more_evaluations_never_hurt(problem) -> None:
    few, many = (
        fit(problem, "wls-de", evaluations=n).criterion_over_optimum for n in (500, 20_000)
    )
    assert many < few


def test_plain_swarm_needs_no_least_squares_for_its_box(problem, arm) -> None:
    estimate = fit(problem, "pso")
    lower, upper = physical_box(arm, problem.basis)
    assert (lower <= estimate.beta).all()
    assert (estimate.beta <= upper).all()
    np.testing.assert_array_equal(estimate.weights, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_physical_box_holds_robots_like_the_nominal(robot, seed) -> None:
    basis = base_parameters(robot)
    other = perturb(robot, np.random.default_rng(seed))
    lower, upper = physical_box(robot, basis)
    beta, slack = basis.of(other.parameters()), 1e-9 * np.abs(upper - lower)
    assert (lower - slack <= beta).all()
    assert (beta <= upper + slack).all()


def test_options_are_checked_when_the_estimator_is_made() -> None:
    with pytest.raises(UnknownNameError, match="unknown optimizer 'psoo'"):
        SwarmEstimator(optimizer="psoo")
    with pytest.raises(OptionError, match="no option 'wings'"):
        ESTIMATORS.build("wls-pso", options={"wings": 2})
    with pytest.raises(OptionError, match="unknown loss"):
        ESTIMATORS.build("wls-pso", loss="cubes")
    with pytest.raises(OptionError, match="must be positive"):
        ESTIMATORS.build("wls-pso", evaluations=0)
    with pytest.raises(OptionError, match="unknown bounds 'sky'; known: fit, physics"):
        ESTIMATORS.build("wls-pso", bounds="sky")


def test_bounds_from_physics_need_the_nominal(exact, arm) -> None:
    data = exact(arm)
    problem = replace(data.problem(), nominal=None)
    with pytest.raises(OptionError, match="full parameters need"):
        fit(problem, "pso")


def test_study_on_irb140_comes_within_five_percent_of_least_squares(quick_study) -> None:
    problem = quick_study[0].fit.problem
    for seed in range(3):
        assert fit(problem, "wls-rwpso", seed=seed).criterion_over_optimum <= 1.05
