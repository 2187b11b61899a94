"""Searches in a box, functions with known minima, and how fast optimizers are beside scipy."""

import pickle

import numpy as np
import pytest
from cmaes import CMA
from scipy.optimize import differential_evolution
from standard_functions import FUNCTIONS, StandardFunction, ellipsoid, rosenbrock, schwefel

from robotid_sim.errors import OptionError, ShapeError, UnknownNameError
from robotid_sim.optim.bounds import Box, repair_motion, repair_points
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS, Optimizer

DIM, BUDGET, TARGET = 10, 20_000, 1e-8
SEEDS = range(10)


def evaluations(name, function, seeds=SEEDS, **options):
    """Return how many evaluations every seed needs to the target; infinity if it misses it."""
    needed = []
    for seed in seeds:
        fun = FUNCTIONS[function](DIM, seed)
        result = minimize(
            fun,
            fun.lower,
            fun.upper,
            method=name,
            max_evals=BUDGET,
            rng=np.random.default_rng(seed),
            target=TARGET,
            **options,
        )
        needed.append(result.nfev if result.fun <= TARGET else np.inf)
    return np.array(needed)


@pytest.mark.parametrize(
    ("name", "function", "successes"),
    [
        ("constriction-pso", "sphere", 10),
        ("pso", "sphere", 10),
        ("de", "sphere", 10),
        ("cmaes", "sphere", 10),
        ("constriction-pso", "ellipsoid-1e2", 7),
        ("pso", "ellipsoid-1e2", 7),
        ("de", "ellipsoid-1e2", 9),
        pytest.param("cmaes", "ellipsoid-1e2", 10, marks=pytest.mark.slow),
        pytest.param("cmaes", "ellipsoid-1e6", 10, marks=pytest.mark.slow),
    ],
)
def test_ten_dimensions_to_1e_minus_8_in_20000_evaluations(name, function, successes):
    assert np.isfinite(evaluations(name, function)).sum() >= successes


def scipy_evaluations(function, seed, population):
    """Return the evaluations that scipy's DE/rand/1/bin needs to the target."""
    fun = FUNCTIONS[function](DIM, seed)
    counted = {"points": 0, "hit": np.inf}

    def cost(X):
        costs = fun(X.T)
        counted["points"] += costs.size
        if costs.min() <= TARGET:
            counted["hit"] = min(counted["hit"], counted["points"])
        return costs

    rng = np.random.default_rng(seed)
    differential_evolution(
        cost,
        list(zip(fun.lower, fun.upper, strict=True)),
        strategy="rand1bin",
        init=rng.uniform(fun.lower, fun.upper, (population, DIM)),
        mutation=0.5,
        recombination=0.9,
        maxiter=BUDGET // population,
        tol=0.0,
        polish=False,
        updating="deferred",
        vectorized=True,
        rng=rng,
        callback=lambda intermediate_result: counted["hit"] < np.inf,
    )
    return counted["hit"]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["sphere", "ellipsoid-1e2"])
def test_de_needs_as_many_evaluations_as_scipys(function):
    seeds = range(5)
    population = OPTIMIZERS.build("de").population
    ours = np.median(evaluations("de", function, seeds))
    theirs = np.median([scipy_evaluations(function, seed, population) for seed in seeds])
    assert 1.0 / 1.3 < ours / theirs < 1.3  # the same method; medians of five seeds spread by 10 %


def cmaes_evaluations(function, seed):
    """Return the evaluations that the package's own loop needs to the target."""
    fun, rng = FUNCTIONS[function](DIM, seed), np.random.default_rng(seed)
    width = fun.upper[0] - fun.lower[0]
    bounds = np.column_stack([fun.lower, fun.upper])
    strategy = CMA(rng.uniform(fun.lower, fun.upper), 0.3 * width, bounds=bounds, seed=seed)
    for points in range(strategy.population_size, BUDGET, strategy.population_size):
        X = np.array([strategy.ask() for _ in range(strategy.population_size)])
        f = fun(X)
        if f.min() <= TARGET:
            return points
        strategy.tell(list(zip(X, f.tolist(), strict=True)))
    return np.inf


@pytest.mark.slow
@pytest.mark.parametrize("function", ["sphere", "ellipsoid-1e6"])
def test_cmaes_needs_as_many_evaluations_as_the_packages_own_loop(function):
    ours = np.median(evaluations("cmaes", function))
    theirs = np.median([cmaes_evaluations(function, seed) for seed in SEEDS])
    assert 1.0 / 1.15 < ours / theirs < 1.15  # the same method; medians of ten spread by 5 %


def test_cmaes_starts_again_with_more_members_where_a_search_ends():
    optimizer = OPTIMIZERS.build("cmaes", population=6)
    fun = FUNCTIONS["rastrigin"](4, 0)
    optimizer.start(fun.lower, fun.upper, np.random.default_rng(0), BUDGET)
    sizes = set()
    while optimizer.evals < BUDGET:
        X = optimizer.ask()
        sizes.add(len(X))
        optimizer.tell(X, fun(X))
    assert {6, 12, 24} <= sizes


def test_cmaes_does_not_see_a_monotone_change_of_the_cost():
    fun = FUNCTIONS["ellipsoid-1e2"](DIM, 0)
    runs = [
        minimize(
            cost, fun.lower, fun.upper, method="cmaes", max_evals=2000, rng=np.random.default_rng(0)
        )
        for cost in (fun, lambda X: np.sqrt(fun(X)))
    ]
    assert runs[0].x.tobytes() == runs[1].x.tobytes()


@pytest.mark.parametrize("name", ["gwo", "woa"])
def test_the_origin_draws_wolves_and_whales(name):
    # Why their published results on functions with the minimum at the origin say little.
    def at(x):
        half = np.full(DIM, 5.0)
        center = np.full(DIM, x)
        fun = StandardFunction("bowl", -half, half, center, lambda Z: np.sum(Z**2, axis=1))
        rng = np.random.default_rng(0)
        result = minimize(fun, fun.lower, fun.upper, method=name, max_evals=BUDGET, rng=rng)
        return result.fun

    assert at(0.0) < 1e-30
    assert at(2.0) > 1e-6


LOWER, UPPER = np.full(4, -1.0), np.full(4, 2.0)


def cost(X):
    return np.sum(X**2, axis=1)


def run(fun=cost, lower=LOWER, upper=UPPER, method="pso", max_evals=300, rng=None, **others):
    rng = np.random.default_rng(0) if rng is None else rng
    return minimize(fun, lower, upper, method=method, max_evals=max_evals, rng=rng, **others)


class Fixed(Optimizer):
    """Asks for prepared batches and keeps what it is told."""

    def __init__(self, *batches):
        self.batches, self.told = [np.asarray(b, dtype=float) for b in batches], []

    def _first(self):
        return self.batches[0]

    def _next(self, f):
        self.told.append(f)
        return self.batches[min(len(self.told), len(self.batches) - 1)]


def test_batches_of_any_size_are_counted_point_by_point():
    optimizer = Fixed([[2.0], [1.0]], [[3.0]], [[0.5], [4.0], [0.1]])
    result = run(lower=[0.0], upper=[5.0], method=optimizer, max_evals=5)
    np.testing.assert_array_equal(result.history, [[2, 1.0], [3, 1.0], [5, 0.25]])
    assert (result.nfev, result.nit) == (5, 3)
    np.testing.assert_array_equal(result.x, [0.5])


def test_a_batch_beyond_the_budget_is_evaluated_in_part_and_not_told():
    optimizer = Fixed([[2.0], [1.0]], [[0.5], [0.1]])
    result = run(lower=[0.0], upper=[5.0], method=optimizer, max_evals=3)
    assert result.fun == 0.25
    assert len(optimizer.told) == 1


def test_costs_that_are_not_finite_are_told_as_infinite():
    optimizer = Fixed([[1.0], [2.0], [3.0], [4.0]])
    run(lambda X: np.array([np.nan, -np.inf, np.inf, 7.0]), [0.0], [5.0], method=optimizer)
    np.testing.assert_array_equal(optimizer.told[0], [np.inf, np.inf, np.inf, 7.0])


def test_costs_are_told_in_double_precision():
    optimizer = Fixed([[1.0], [2.0]])
    run(lambda X: X[:, 0].astype(np.float32), [0.0], [5.0], method=optimizer, max_evals=2)
    assert optimizer.told[0].dtype == np.float64


def test_whole_numbers_and_truth_values_are_costs():
    assert run(lambda X: (X[:, 0] > 0.0).sum() * np.ones(len(X), dtype=int)).success
    assert run(lambda X: X[:, 0] > 0.0).fun == 0.0


def test_it_stops_at_the_target():
    result = run(target=0.5, max_evals=10_000)
    assert result.success
    assert result.message == "the target is reached"
    assert result.fun <= 0.5 < result.history[-2, 1]
    assert result.nfev < 10_000


def test_a_target_that_is_reached_at_once_costs_one_batch():
    result = run(target=np.inf)
    assert (result.nit, result.success) == (1, True)


def test_the_callback_sees_every_batch():
    seen = []
    result = run(callback=lambda nfev, best: seen.append((nfev, best)))
    np.testing.assert_array_equal(np.array(seen), result.history)


def test_ctrl_c_returns_the_best_so_far():
    def interrupt(nfev, best):
        if nfev >= 90:
            raise KeyboardInterrupt

    result = run(callback=interrupt)
    assert result.nfev == 90
    assert not result.success
    assert result.message == "interrupted; this is the best point so far"
    assert result.fun == cost(result.x[None, :])[0] == result.history[-1, 1]


def test_ctrl_c_before_any_cost_is_known_passes_through():
    def impatient(X):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(impatient)


def test_results_cannot_be_changed():
    result = run()
    for array in (result.x, result.history):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_what_the_cost_function_raises_passes_with_a_note_of_the_place():
    def fails_late(X):
        if fails_late.calls:
            raise ZeroDivisionError("of the model")
        fails_late.calls += 1
        return cost(X)

    fails_late.calls = 0
    with pytest.raises(ZeroDivisionError, match="of the model") as caught:
        run(fails_late)
    assert caught.value.__notes__ == ["(the cost function, at 30 points, after 30 evaluations)"]


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (lambda X: cost(X)[:-1], r"shape \(29,\), expected \(30,\)"),
        (lambda X: cost(X)[:, None], r"shape \(30, 1\), expected \(30,\)"),
        (lambda X: 1.0, r"shape \(\), expected \(30,\)"),
        (lambda X: None, "must be real numbers, got object"),
        (lambda X: ["cheap"] * len(X), "must be real numbers, got"),
        (lambda X: cost(X) + 1j, "must be real numbers, got complex128"),
        (lambda X: [[1.0, 2.0], [3.0]], "not a vector of numbers"),
    ],
)
def test_costs_of_the_wrong_form_are_one_clear_error(fun, message):
    with pytest.raises(ShapeError, match=message):
        run(fun)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"upper": np.ones(3)}, ShapeError, r"upper bounds has shape \(3,\), expected \(4"),
        ({"lower": np.ones((2, 2))}, ShapeError, r"lower bounds has shape \(2, 2\)"),
        ({"lower": [], "upper": []}, ShapeError, "lower bounds is empty"),
        ({"upper": [2.0, np.inf, 2.0, 2.0]}, ShapeError, r"not finite at index \(1,\): inf"),
        ({"lower": [0.0, np.nan, 0.0, 0.0]}, ShapeError, r"not finite at index \(1,\): nan"),
        ({"lower": ["low"] * 4}, ShapeError, "lower bounds is not an array of numbers"),
        ({"lower": [[0.0], [0.0, 1.0]]}, ShapeError, "lower bounds is not an array of numbers"),
        ({"lower": None}, ShapeError, "lower bounds is not an array of numbers: None"),
        ({"lower": [-1e308] * 4, "upper": [1e308] * 4}, ShapeError, "width of the box is not"),
        ({"upper": [2.0, -3.0, 2.0, 2.0]}, OptionError, r"coordinate 1: the bounds \[-1.0, -3.0\]"),
        ({"upper": LOWER}, OptionError, "coordinate 0"),
        ({"max_evals": 0}, OptionError, "budget of evaluations is 0; give at least 1"),
        ({"rng": "x"}, OptionError, "rng is a str; give a numpy.random.Generator"),
        (
            {"method": "psoo"},
            UnknownNameError,
            r"unknown optimizer 'psoo' \(did you mean 'pso'\?\); known",
        ),
        ({"method": None}, OptionError, "method is a NoneType; give a name or an optimizer"),
        ({"swarm": 3}, OptionError, "optimizer 'pso' has no option 'swarm'; options: population"),
        (
            {"method": OPTIMIZERS.build("pso"), "population": 3},
            OptionError,
            "option 'population' beside a ready optimizer",
        ),
    ],
)
def test_impossible_input_is_one_clear_error(change, error, message):
    with pytest.raises(error, match=message) as caught:
        run(**change)
    assert "\n" not in str(caught.value)


def test_a_budget_that_is_no_whole_number_is_refused():
    with pytest.raises(OptionError, match=r"budget of evaluations is 10\.5"):
        run(max_evals=10.5)


def test_cmaes_without_its_package_names_the_install_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cmaes", None)
    with pytest.raises(ImportError, match=r"pip install -e '\.\[cmaes\]'"):
        run(method="cmaes")


@pytest.mark.parametrize("method", sorted(set(OPTIMIZERS) - {"cmaes"}))
def test_a_search_that_knows_a_point_is_never_worse_than_it(method):
    known = np.array([0.123, -0.456, 0.789])

    def fun(X):
        return np.where(np.abs(X - known).max(axis=1) > 1e-9, 1.0, 0.0)  # a needle

    found = minimize(
        fun, -np.ones(3), np.ones(3), method=method, max_evals=200, first=known[None],
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found.fun == 0.0


def test_a_known_point_outside_the_box_is_refused():
    with pytest.raises(OptionError, match="must lie in its box"):
        minimize(
            lambda X: X[:, 0], [0.0], [1.0], method="pso", max_evals=10, first=[[2.0]],
            rng=np.random.default_rng(0),
        )  # fmt: skip


ROUNDING = 1e-12
"""Of sums of dim terms, relative to the largest of them."""


@pytest.mark.parametrize("dim", [2, 10, 30])
@pytest.mark.parametrize("name", FUNCTIONS)
class TestFunctions:
    def test_the_minimum_is_zero_where_it_says(self, name, dim):
        fun = FUNCTIONS[name](dim, 3)
        scale = 1000.0 * dim if name == "schwefel" else 1.0
        assert abs(fun(fun.x_min[None, :])[0] - fun.f_min) <= ROUNDING * scale
        rng = np.random.default_rng(0)
        far = rng.uniform(fun.lower, fun.upper, (2000, dim))
        near = fun.x_min + 1e-3 * (fun.upper - fun.lower) * rng.standard_normal((2000, dim))
        assert fun(far).min() > 0.0
        assert fun(near).min() > -ROUNDING * scale

    def test_the_minimum_lies_inside_off_the_center_and_off_the_origin(self, name, dim):
        fun = FUNCTIONS[name](dim, 3)
        share = (fun.x_min - fun.lower) / (fun.upper - fun.lower)
        assert ((share > 0.05) & (share < 0.95)).all()
        assert np.linalg.norm(share - 0.5) > 0.05 * np.sqrt(dim)
        assert not np.allclose(fun.x_min, fun.x_min[0]) or name == "schwefel"

    def test_points_are_evaluated_one_by_one(self, name, dim):
        fun = FUNCTIONS[name](dim, 3)
        X = np.random.default_rng(1).uniform(fun.lower, fun.upper, (7, dim))
        together = fun(X)
        assert together.shape == (7,)
        apart = np.concatenate([fun(x[None, :]) for x in X])
        np.testing.assert_allclose(together, apart, rtol=1e-10)

    def test_seeds_move_the_minimum_and_copies_travel_to_other_processes(self, name, dim):
        one, same, other = (FUNCTIONS[name](dim, seed) for seed in (3, 3, 8))
        np.testing.assert_array_equal(one.x_min, same.x_min)
        if dim > 2:
            assert (one.x_min != other.x_min).any()
        copy = pickle.loads(pickle.dumps(one))
        X = np.random.default_rng(1).uniform(one.lower, one.upper, (3, dim))
        np.testing.assert_array_equal(copy(X), one(X))


@pytest.mark.parametrize("condition", [1e2, 1e6])
def test_the_hessian_of_the_ellipsoid_has_its_condition_and_is_rotated(condition):
    fun = ellipsoid(6, condition, seed=1)
    unit = np.eye(6)
    pairs = fun((fun.x_min + unit[:, None, :] + unit[None, :, :]).reshape(-1, 6)).reshape(6, 6)
    singles = fun(fun.x_min + unit)
    hessian = pairs - singles[:, None] - singles[None, :]  # of a quadratic form, exactly
    assert np.linalg.cond(hessian) == pytest.approx(condition, rel=1e-6)
    off_diagonal = np.abs(hessian - np.diag(np.diag(hessian)))
    assert off_diagonal.max() > 0.05 * np.abs(hessian).max()


def test_a_valley_needs_two_dimensions():
    with pytest.raises(OptionError, match="Rosenbrock's function is 1; give at least 2"):
        rosenbrock(1)


def test_schwefel_is_deceptive():
    fun = schwefel(1, 0)
    X = np.linspace(-500.0, 500.0, 100_001)[:, None]
    f = fun(X)
    assert X[np.argmin(f), 0] == pytest.approx(fun.x_min[0], abs=0.01)
    away = np.abs(X[:, 0] - fun.x_min[0]) > 400.0
    assert f[away].min() < 130.0 < np.median(f)


BOX = Box(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
OUTSIDE = np.array([[1.25, 0.5], [-0.25, -3.0], [3.5, 11.0], [0.5, 0.0]])
MOVING = np.full((4, 2), 0.1)


def repaired(bounds):
    X, V = OUTSIDE.copy(), MOVING.copy()
    repair_motion(X, V, BOX, bounds)
    np.testing.assert_array_equal(repair_points(OUTSIDE.copy(), BOX, bounds), X)
    return X, V


def test_clip_puts_points_on_the_wall_and_keeps_their_velocity():
    X, V = repaired("clip")
    np.testing.assert_array_equal(X, [[1.0, 0.5], [0.0, -2.0], [1.0, 2.0], [0.5, 0.0]])
    np.testing.assert_array_equal(V, MOVING)


def test_absorb_stops_them_there():
    X, V = repaired("absorb")
    np.testing.assert_array_equal(X, repaired("clip")[0])
    np.testing.assert_array_equal(V, [[0.0, 0.1], [0.0, 0.0], [0.0, 0.0], [0.1, 0.1]])


def test_reflect_mirrors_points_and_velocities_as_often_as_needed():
    X, V = repaired("reflect")
    # 3.5 meets the walls at 1, 2 and 3: three mirrors; 11 those at 2, 6 and 10: three.
    np.testing.assert_allclose(X, [[0.75, 0.5], [0.25, -1.0], [0.5, 1.0], [0.5, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(np.sign(V), [[-1, 1], [-1, -1], [-1, -1], [1, 1]])


def test_none_lets_points_go():
    X, V = repaired("none")
    np.testing.assert_array_equal(X, OUTSIDE)
    np.testing.assert_array_equal(V, MOVING)


@pytest.mark.parametrize("bounds", ["clip", "absorb", "reflect"])
def test_points_of_any_size_end_inside(bounds):
    rng = np.random.default_rng(0)
    box = Box(np.array([1e5, -1e-7]), np.array([1e5 + 0.3, 1e-7]))
    X = rng.standard_normal((500, 2)) * 10.0 ** rng.uniform(-9.0, 60.0, (500, 2))
    repair_motion(X, np.zeros_like(X), box, bounds)
    assert (X >= box.lower).all()
    assert (X <= box.upper).all()


def test_scattered_points_fill_the_middle_of_the_box_evenly():
    X = BOX.scatter(20_000, 0.5, np.random.default_rng(0))
    share = (X - BOX.lower) / BOX.width
    assert share.min() >= 0.25
    assert share.max() <= 0.75
    np.testing.assert_allclose(share.mean(axis=0), 0.5, atol=4.0 * 0.5 / np.sqrt(12 * 20_000))
    np.testing.assert_allclose(share.std(axis=0), 0.5 / np.sqrt(12.0), rtol=0.02)


def test_the_box_copies_its_bounds():
    lower = np.zeros(2)
    box = Box(lower, np.ones(2))
    lower[0] = 5.0
    assert box.lower[0] == 0.0


def test_a_swarm_without_walls_leaves_the_box():
    optimizer = OPTIMIZERS.build("pso", bounds="none", w=1.1, velocity_limit=np.inf)
    optimizer.start(BOX.lower, BOX.upper, np.random.default_rng(0), 10_000)
    for _ in range(50):
        X = optimizer.ask()
        optimizer.tell(X, X[:, 0])
    assert (X < BOX.lower).any()


def test_a_diverging_swarm_without_limits_stays_finite():
    optimizer = OPTIMIZERS.build("pso", bounds="none", w=1.3, c2=3.0, velocity_limit=np.inf)
    optimizer.start(BOX.lower, BOX.upper, np.random.default_rng(0), 100_000)
    for _ in range(2000):  # 1.3^2000 is beyond the largest number
        X = optimizer.ask()
        optimizer.tell(X, np.sum(X**2, axis=1))
    assert np.isfinite(X).all()
    assert np.abs(X).max() > 1e50


def test_absorb_is_for_algorithms_with_velocities():
    with pytest.raises(OptionError, match="unknown bounds 'absorb'; known: clip, reflect, none"):
        OPTIMIZERS.build("de", bounds="absorb")
