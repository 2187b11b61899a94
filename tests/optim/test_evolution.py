"""Facts about the evolutionary methods and annealing that their equations promise."""

import numpy as np
import pytest
from standard_functions import rastrigin, sphere

from robotid_sim.optim.evolution import others
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS


@pytest.mark.parametrize("count", [4, 5, 17])
def test_three_others_differ_from_each_other_and_from_the_member(count):
    rng = np.random.default_rng(0)
    for _ in range(50):
        drawn = np.stack([np.arange(count), *others(count, rng)])
        assert all(len(set(column)) == 4 for column in drawn.T)
        assert (drawn >= 0).all()
        assert (drawn < count).all()


def test_the_others_of_a_member_are_equally_likely():
    rng = np.random.default_rng(0)
    rounds = 4000
    drawn = np.stack([np.stack(others(5, rng)) for _ in range(rounds)])  # (rounds, 3, 5)
    for place in range(3):
        for member in range(5):
            share = np.bincount(drawn[:, place, member], minlength=5) / rounds
            assert share[member] == 0.0
            expected = np.delete(share, member)
            # Five standard deviations of a share of one quarter.
            np.testing.assert_allclose(expected, 0.25, atol=5.0 * np.sqrt(0.1875 / rounds))


def test_de_is_blind_to_the_scale_of_the_cost():
    fun = rastrigin(4)
    runs = [
        minimize(
            cost, fun.lower, fun.upper, method="de", max_evals=2000, rng=np.random.default_rng(0)
        ).x
        for cost in (fun, lambda X: 1024.0 * fun(X))
    ]
    assert runs[0].tobytes() == runs[1].tobytes()


def test_annealing_is_blind_to_the_unit_of_the_cost():
    fun = rastrigin(4)
    runs = [
        minimize(
            cost,
            fun.lower,
            fun.upper,
            method="simulated-annealing",
            max_evals=2000,
            rng=np.random.default_rng(0),
        ).x
        for cost in (fun, lambda X: 1024.0 * fun(X))
    ]
    assert runs[0].tobytes() == runs[1].tobytes()


def test_hot_chains_climb_and_cold_ones_do_not():
    def rises(**options):
        """Return how often the best cost of a batch is above that of the batch before."""
        fun = sphere(3)
        optimizer = OPTIMIZERS.build("simulated-annealing", step=0.01, **options)
        optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 100_000)
        costs = []
        for _ in range(200):
            X = optimizer.ask()
            costs.append(np.median(fun(X)))
            optimizer.tell(X, fun(X))
        return costs[-1] / costs[0]

    assert rises(heat=1e-9) < 0.1
    assert rises(heat=1e3, cold=1.0) > 0.3


def test_the_elite_of_the_genetic_algorithm_is_not_lost():
    # Where all genes mutate, children alone do not keep what is good.
    fun = sphere(3)
    spread = {}
    for elite in (0, 2):
        optimizer = OPTIMIZERS.build(
            "ga", elite=elite, crossover=0.0, mutation=1.0, step_start=0.05, step_end=0.05
        )
        optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 20_000)
        best = []
        while optimizer.evals < 20_000:
            X = optimizer.ask()
            best.append(fun(X).min())
            optimizer.tell(X, fun(X))
        spread[elite] = np.median(best[len(best) // 2 :])
    assert spread[2] < spread[0]


def test_grasshoppers_at_one_place_stay_finite():
    optimizer = OPTIMIZERS.build("goa", region=1e-12)
    fun = sphere(3)
    optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), 1000)
    for _ in range(5):
        X = optimizer.ask()
        assert np.isfinite(X).all()
        optimizer.tell(X, fun(X))
