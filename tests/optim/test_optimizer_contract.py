"""What every registered optimizer does."""

from dataclasses import asdict
from typing import get_args, get_type_hints

import numpy as np
import pytest
from standard_functions import sphere

from robotid_sim.errors import CallOrderError, OptionError
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS

LOWER = np.array([-3.0, 1e-3, 100.0])
UPPER = np.array([5.0, 2e-3, 1e6])
"""A box of very different sides, off the origin."""

BOUNDED = [
    (name, bounds)
    for name in OPTIMIZERS
    for bounds in get_args(get_type_hints(OPTIMIZERS[name])["bounds"])
    if bounds != "none"
]


def bowl(X):
    """A smooth cost whose minimum is outside the box, so that points press against its walls."""
    Z = (X - LOWER) / (UPPER - LOWER)
    return np.sum((Z - np.array([0.3, 1.5, -0.5])) ** 2, axis=1)


class Recorder:
    """A cost function that keeps the points it was asked for."""

    def __init__(self, cost=bowl):
        self.cost, self.batches = cost, []

    def __call__(self, X):
        self.batches.append(X.copy())
        return self.cost(X)

    @property
    def points(self):
        return np.concatenate(self.batches)


def search(name, fun=bowl, max_evals=600, seed=3, **options):
    rng = np.random.default_rng(seed)
    return minimize(fun, LOWER, UPPER, method=name, max_evals=max_evals, rng=rng, **options)


def bits(result):
    return result.x.tobytes() + result.history.tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
class TestContract:
    def test_the_result_is_the_best_point_that_was_evaluated(self, name):
        fun = Recorder()
        result = search(name, fun)
        costs = bowl(fun.points)
        np.testing.assert_array_equal(result.x, fun.points[np.argmin(costs)])
        assert result.fun == costs.min()
        assert result.success
        assert result.message == "the budget is spent"

    def test_history_never_rises_and_counts_the_evaluations(self, name):
        fun = Recorder()
        result = search(name, fun)
        nfev, best = result.history.T
        assert result.nit == len(fun.batches) == len(result.history)
        np.testing.assert_array_equal(nfev, np.cumsum([len(X) for X in fun.batches]))
        assert result.nfev == nfev[-1] == len(fun.points)
        assert (np.diff(best) <= 0.0).all()
        assert best[-1] == result.fun

    @pytest.mark.parametrize("budget", [1, 7, 101, 1000])
    def test_the_budget_is_spent_exactly(self, name, budget):
        fun = Recorder()
        assert search(name, fun, budget).nfev == budget == len(fun.points)

    def test_same_seed_gives_the_same_bits_and_another_one_others(self, name):
        one, two, other = (search(name, seed=seed) for seed in (5, 5, 6))
        assert bits(one) == bits(two)
        assert bits(one) != bits(other)

    def test_arrays_and_hyper_parameters_stay_as_they_were(self, name):
        lower, upper = LOWER.copy(), UPPER.copy()
        optimizer = OPTIMIZERS.build(name)
        before = asdict(optimizer)
        rng = np.random.default_rng(0)
        minimize(bowl, lower, upper, method=optimizer, max_evals=400, rng=rng)
        np.testing.assert_array_equal(lower, LOWER)
        np.testing.assert_array_equal(upper, UPPER)
        assert asdict(optimizer) == before

    def test_a_cost_function_may_work_in_place(self, name):
        def destroying(X):
            costs = bowl(X)
            X[:] = np.nan
            return costs

        assert bits(search(name, destroying)) == bits(search(name))

    def test_an_instance_can_search_again(self, name):
        optimizer = OPTIMIZERS.build(name)
        rng = np.random.default_rng(0)
        minimize(sphere(5), -np.ones(5), np.ones(5), method=optimizer, max_evals=333, rng=rng)
        assert bits(search(optimizer)) == bits(search(name))

    def test_calls_in_a_meaningless_order_raise(self, name):
        optimizer, f = OPTIMIZERS.build(name), np.zeros(3)
        with pytest.raises(CallOrderError, match="ask before start"):
            optimizer.ask()
        with pytest.raises(CallOrderError, match="tell before ask"):
            optimizer.tell(np.zeros((3, 3)), f)
        optimizer.start(LOWER, UPPER, np.random.default_rng(0), 100)
        with pytest.raises(CallOrderError, match="tell before ask"):
            optimizer.tell(np.zeros((3, 3)), f)
        X = optimizer.ask()
        with pytest.raises(CallOrderError, match="other points"):
            optimizer.tell(X + 1.0, bowl(X))
        optimizer.tell(X, bowl(X))
        with pytest.raises(CallOrderError, match="tell before ask"):
            optimizer.tell(X, bowl(X))

    def test_asked_again_it_returns_the_same_points(self, name):
        optimizer = OPTIMIZERS.build(name)
        optimizer.start(LOWER, UPPER, np.random.default_rng(0), 100)
        first = optimizer.ask()
        first_bytes = first.tobytes()
        first[:] = 0.0
        assert optimizer.ask().tobytes() == first_bytes

    def test_costs_that_are_no_numbers_are_survived(self, name):
        def broken(X):
            costs = bowl(X)
            costs[::3] = np.nan
            costs[X[:, 0] < 0.0] = np.inf
            costs[X[:, 1] < 1.2e-3] = -np.inf
            return costs

        result = search(name, broken, 1500)
        assert result.success
        assert result.x[0] >= 0.0
        assert result.x[1] >= 1.2e-3
        assert result.fun < search(name, broken, 40).fun

    def test_without_a_finite_cost_it_fails_in_words(self, name):
        fun = Recorder(lambda X: np.full(len(X), np.nan))
        result = search(name, fun)
        assert not result.success
        assert result.message.startswith("no cost was finite in 600 evaluations")
        assert result.fun == np.inf
        assert (fun.points == result.x).all(axis=1).any()

    def test_it_recovers_from_a_start_without_finite_costs(self, name):
        class LateBowl(Recorder):
            def __call__(self, X):
                costs = super().__call__(X)
                return costs if len(self.points) > 300 else np.full(len(X), np.inf)

        result = search(name, LateBowl(), 1500)
        assert result.success
        assert result.fun < 0.55  # of 0.5 at the best corner and up to 3.5

    def test_a_flat_cost_does_no_harm(self, name):
        result = search(name, lambda X: np.ones(len(X)))
        assert result.success
        assert result.fun == 1.0

    def test_one_dimension_is_enough(self, name):
        def parabola(X):
            return (X[:, 0] - 0.7) ** 2

        rng = np.random.default_rng(1)
        result = minimize(parabola, [-1.0], [2.0], method=name, max_evals=1500, rng=rng)
        assert result.fun < 1e-4

    def test_the_unit_of_a_coordinate_does_not_matter(self, name):
        # Powers of two scale without rounding, so the searches agree to the last bit.
        scale = np.array([4.0, 1024.0, 0.25])
        rng = np.random.default_rng(3)
        scaled = minimize(
            lambda X: bowl(X / scale),
            LOWER * scale,
            UPPER * scale,
            method=name,
            max_evals=600,
            rng=rng,
        )
        assert scaled.history.tobytes() == search(name).history.tobytes()

    def test_sphere_reaches_its_target(self, name):
        costs = []
        for seed in range(3):
            fun = sphere(5, seed)
            rng = np.random.default_rng(seed)
            result = minimize(fun, fun.lower, fun.upper, method=name, max_evals=10_000, rng=rng)
            costs.append(result.fun)
        assert np.median(costs) < OPTIMIZERS[name].sphere_cost

    def test_it_says_what_it_is_and_where_it_comes_from(self, name):
        (entry,) = [e for e in OPTIMIZERS.describe() if e["name"] == name]
        assert entry["summary"].endswith(".")
        assert "(19" in entry["source"] or "(20" in entry["source"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"population": 0}, "population is 0; give at least"),
            ({"population": 2.5}, "population is 2.5; give a whole number"),
            ({"region": 0.0}, "region is 0.0"),
            ({"bounds": "wrap"}, "unknown bounds 'wrap'; known: clip"),
            ({"color": "red"}, "no option 'color'"),
        ],
    )
    def test_options_that_make_no_sense_are_refused(self, name, options, message):
        with pytest.raises(OptionError, match=message):
            OPTIMIZERS.build(name, **options)


@pytest.mark.parametrize(("name", "bounds"), BOUNDED)
def test_asked_points_lie_in_the_box(name, bounds):
    fun = Recorder()
    search(name, fun, 1200, bounds=bounds)
    assert (fun.points >= LOWER).all()
    assert (fun.points <= UPPER).all()


@pytest.mark.parametrize("name", sorted(set(OPTIMIZERS) - {"cmaes"}))  # there only the mean does
def test_the_first_points_lie_in_the_region(name):
    optimizer = OPTIMIZERS.build(name, region=0.25)
    optimizer.start(LOWER, UPPER, np.random.default_rng(0), 1000)
    share = (optimizer.ask() - LOWER) / (UPPER - LOWER)
    inside = np.abs(share - 0.5) <= 0.125 + 1e-12  # the qubits' angle and back rounds
    assert inside.all()
