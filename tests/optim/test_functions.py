"""The standard functions: minimum, condition, symmetry-free place."""

import pickle

import numpy as np
import pytest
from standard_functions import FUNCTIONS, ellipsoid, rosenbrock, schwefel

from robotid_sim.errors import OptionError

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
