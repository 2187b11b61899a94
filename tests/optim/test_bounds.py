"""The box, and the four ways to treat points that leave it."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.optim.bounds import Box, keep_inside, put_inside
from robotid_sim.optim.optimizer import OPTIMIZERS

BOX = Box(np.array([0.0, -2.0]), np.array([1.0, 2.0]))
OUTSIDE = np.array([[1.25, 0.5], [-0.25, -3.0], [3.5, 11.0], [0.5, 0.0]])
MOVING = np.full((4, 2), 0.1)


def repaired(bounds):
    X, V = OUTSIDE.copy(), MOVING.copy()
    keep_inside(X, V, BOX, bounds)
    np.testing.assert_array_equal(put_inside(OUTSIDE.copy(), BOX, bounds), X)
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
    keep_inside(X, np.zeros_like(X), box, bounds)
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
