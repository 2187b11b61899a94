"""Cost functions of populations: equal to their definitions, with minima that are minima."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.estimation.fitness import BLOCK, HUBER, make_fitness
from robotid_sim.estimation.reduction import reduce_rows

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
    return np.where(size <= HUBER, size**2 / 2, HUBER * (size - HUBER / 2)).sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_of_a_population_equal_the_definition_row_by_row(case, loss) -> None:
    problem, reduction, weights = case
    assert len(problem.W) > 2 * BLOCK  # several blocks
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
    true = exact(arm).basis.of(arm.parameters())
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
