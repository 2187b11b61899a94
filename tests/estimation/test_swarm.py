"""Swarm estimators, near the optimum and honest about it, and robots drawn from an estimate."""

from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import DATA

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import InconsistentInertiaError, OptionError, UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.consistent import Consistent, draw_robots
from robotid_sim.estimation.fitness import BLOCK_SIZE, HUBER_CORNER, make_fitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.estimation.swarm import SwarmEstimator, physical_box
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import DEFAULT_SCALE, perturb
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive


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
    beta, slack = basis.project(other.parameters()), 1e-9 * np.abs(upper - lower)
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


LOSSES = ("squares", "absolute", "huber")
ROUNDING = 1e-12
"""Relative difference of sums of a thousand rounded terms."""


@pytest.fixture
def case(exact, arm):
    """A problem with some gross outliers, its factors and weights."""
    data = exact(arm, 100.0)
    rng = np.random.default_rng(0)
    noise = data.white(rng)
    bad = rng.random(noise.shape) < 0.05
    noise += bad * rng.normal(0.0, 50.0 * data.noise, noise.shape)
    problem = data.problem(noise)
    return problem, reduce_rows(problem), 1.0 / data.noise


def candidates(problem, beta, count=20, size=0.05):
    noise = np.random.default_rng(1).standard_normal((count, problem.basis.rank))
    return beta * (1.0 + size * noise)


def definition(loss, residual):
    size = np.abs(residual)
    match loss:
        case "squares":
            return (residual**2).sum()
        case "absolute":
            return size.sum()
    return np.where(
        size <= HUBER_CORNER, size**2 / 2, HUBER_CORNER * (size - HUBER_CORNER / 2)
    ).sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_of_a_population_equal_the_definition_row_by_row(case, loss) -> None:
    problem, reduction, weights = case
    assert len(problem.W) > 2 * BLOCK_SIZE  # several blocks
    fitness = make_fitness(loss, problem, reduction, weights)
    X = candidates(problem, fitness.minimum())
    rows = np.tile(weights, problem.samples)
    want = [definition(loss, rows * (problem.y - problem.W @ x)) for x in X]
    np.testing.assert_allclose(fitness(X), want, rtol=ROUNDING)


@pytest.mark.parametrize("loss", LOSSES)
def test_minimum_has_least_cost(case, loss) -> None:
    problem, reduction, weights = case
    fitness = make_fitness(loss, problem, reduction, weights)
    best = fitness.minimum()
    least = float(fitness(best[None])[0])
    for size in (1e-6, 1e-4, 1e-2):
        assert fitness(candidates(problem, best, 200, size)).min() >= least * (1.0 - ROUNDING)


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_robust_minimum_is_nearer_to_the_truth_than_least_squares(exact, arm, case, loss) -> None:
    problem, reduction, weights = case
    true = exact(arm).basis.project(arm.parameters())
    W = problem.W
    errors = [
        np.linalg.norm(W @ (make_fitness(name, problem, reduction, weights).minimum() - true))
        for name in ("squares", loss)
    ]
    assert errors[1] < 0.5 * errors[0]


def test_candidates_stay_as_they_were(case) -> None:
    problem, reduction, weights = case
    for loss in LOSSES:
        fitness = make_fitness(loss, problem, reduction, weights)
        X = candidates(problem, np.ones(problem.basis.rank))
        before = X.copy()
        fitness(X)
        np.testing.assert_array_equal(X, before)


def test_unknown_loss_names_the_known_ones(case) -> None:
    with pytest.raises(OptionError, match="squares, absolute, huber"):
        make_fitness("cubes", *case)


COUNT = 200
PLAN = FitPlan(
    preprocessor=Adaptive(), estimators={"consistent": Consistent()}, chosen="consistent"
)


@pytest.fixture(
    scope="module", params=["2r.urdf", pytest.param("scara.urdf", marks=pytest.mark.slow)]
)
def drawn_fit(request):
    cell = measured(load_robot(DATA / request.param))
    return fit_logs(cell.log, cell.nominal, cell.basis, PLAN, np.random.default_rng(0))


def draws(drawn_fit, seed=0, count=COUNT, **options):
    rng = np.random.default_rng(seed)
    return draw_robots(drawn_fit.chosen, drawn_fit.nominal, drawn_fit.basis, count, rng, **options)


def test_all_can_exist_and_the_seed_decides(drawn_fit):
    robots = draws(drawn_fit, count=5)
    for robot in robots:
        assert not any(robot.inconsistencies())
        assert [joint.friction.eps for joint in robot.joints] == list(drawn_fit.nominal.eps)
    again, other = draws(drawn_fit, count=5), draws(drawn_fit, seed=1, count=5)
    for one, two, three in zip(robots, again, other, strict=True):
        assert one.parameters().tobytes() == two.parameters().tobytes()
        assert not np.allclose(one.parameters(), three.parameters(), rtol=1e-6)


def test_base_parameters_are_as_uncertain_as_the_estimate(drawn_fit):
    beta = np.array([drawn_fit.basis.project(robot.parameters()) for robot in draws(drawn_fit)])
    ratio = (beta - drawn_fit.chosen.beta) / drawn_fit.chosen.std
    # What constraints keep from one side is drawn closer, and shifted.
    assert np.abs(np.median(ratio.mean(axis=0))) < 0.1
    assert np.median(ratio.std(axis=0)) == pytest.approx(1.0, abs=0.1)
    assert ratio.std(axis=0).max() < 1.25


def test_what_the_torques_do_not_show_is_as_uncertain_as_the_nominal(drawn_fit):
    def spreads(spread):
        phi = np.array([robot.parameters() for robot in draws(drawn_fit, count=50, spread=spread)])
        masses = phi[:, : 10 * drawn_fit.nominal.dof : 10]
        return masses.std(axis=0) / masses.mean(axis=0)

    # The mass of the first link turns with nothing but its own axis: no torque shows it.
    assert 0.25 * DEFAULT_SCALE < spreads(DEFAULT_SCALE)[0] < DEFAULT_SCALE
    assert spreads(0.02)[0] < 0.03


def test_no_draws_and_failed_fits_are_refused(drawn_fit):
    with pytest.raises(OptionError, match="at least 1, got 0"):
        draws(drawn_fit, count=0)
    failed = replace(drawn_fit.chosen, success=False, message="nothing moved")
    with pytest.raises(InconsistentInertiaError, match="no robots can be sampled: nothing moved"):
        draw_robots(failed, drawn_fit.nominal, drawn_fit.basis, 1, np.random.default_rng(0))
