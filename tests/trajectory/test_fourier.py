"""The Fourier family: derivatives, rest at the boundaries, approach from home."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.trajectory.fourier import FourierTrajectory, fourier_basis, rest_basis

JOINTS = ("shoulder", "elbow", "wrist")
HARMONICS, PERIOD = 5, 4.0


def random_series(seed, *, home=None, approach=0.0):
    rng = np.random.default_rng(seed)
    free = rest_basis(HARMONICS)
    a, b = np.split((free @ rng.standard_normal((free.shape[1], 3))).T, 2, axis=1)
    q0 = rng.uniform(-1.0, 1.0, 3)
    return FourierTrajectory(JOINTS, q0, a, b, PERIOD, 3, home, approach)


@pytest.mark.parametrize("seed", range(5))
def test_velocity_and_acceleration_are_the_derivatives_of_position(seed):
    trajectory = random_series(seed, home=np.array([0.5, -0.2, 0.1]), approach=2.0)
    rng = np.random.default_rng(seed)
    h = 1e-5  # [s]
    t = rng.uniform(trajectory.start + h, trajectory.duration - h, 500)
    before, here, after = (trajectory(t + shift) for shift in (-h, 0.0, h))
    # Central differences: truncation h^2/6 |q'''| < 1e-8 and rounding 1e-16/h = 1e-11.
    tolerance = 1e-7
    assert np.abs((after.q - before.q) / (2 * h) - here.dq).max() < tolerance
    assert np.abs((after.dq - before.dq) / (2 * h) - here.ddq).max() < tolerance


@pytest.mark.parametrize("seed", range(5))
def test_every_period_starts_and_ends_at_rest(seed):
    trajectory = random_series(seed)
    boundary = trajectory(np.arange(trajectory.periods + 1) * PERIOD)
    rounding = 1e-12  # of sums of ten terms of size one, times k w <= 8
    assert np.abs(boundary.dq).max() < rounding
    assert np.abs(boundary.ddq).max() < rounding
    assert np.abs(boundary.q - boundary.q[0]).max() < rounding


def test_motion_repeats_every_period():
    trajectory = random_series(3)
    t = np.linspace(0.0, PERIOD, 100)
    first, second = trajectory(t), trajectory(t + PERIOD)
    np.testing.assert_allclose(second.q, first.q, atol=1e-12)  # rounding of sin(k w t)
    np.testing.assert_allclose(second.ddq, first.ddq, atol=1e-11)


def test_approach_starts_at_home_at_rest():
    home = np.array([0.3, -0.4, 0.2])
    trajectory = random_series(1, home=home, approach=1.5)
    first = trajectory(np.array([trajectory.start]))
    assert trajectory.start == -1.5
    np.testing.assert_array_equal(first.q[0], home)
    np.testing.assert_array_equal(first.dq[0], 0.0)
    np.testing.assert_array_equal(first.ddq[0], 0.0)


def test_approach_meets_the_series_without_a_jump():
    trajectory = random_series(2, home=np.array([0.3, -0.4, 0.2]), approach=1.5)
    around = trajectory(np.array([-1e-9, 0.0]))
    jump = 1e-6  # the jerk, some 100 rad/s^3, over 1e-9 s, with room
    assert np.abs(np.diff(around.q, axis=0)).max() < jump
    assert np.abs(np.diff(around.dq, axis=0)).max() < jump
    assert np.abs(np.diff(around.ddq, axis=0)).max() < jump


def test_without_home_there_is_no_approach():
    trajectory = random_series(1)
    assert trajectory.start == 0.0
    assert trajectory.duration == 3 * PERIOD
    assert trajectory.period == PERIOD


def test_time_order_does_not_matter():
    trajectory = random_series(4, home=np.zeros(3), approach=1.0)
    t = np.random.default_rng(0).uniform(-1.0, 12.0, 50)
    whole = trajectory(t)
    np.testing.assert_array_equal(trajectory(t[::-1]).q, whole.q[::-1])


def test_basis_matrices_are_derivatives_of_one_another():
    t, h = np.linspace(0.1, 3.9, 40), 1e-5
    _, dq, ddq = fourier_basis(t, HARMONICS, PERIOD)
    q_after, dq_after, _ = fourier_basis(t + h, HARMONICS, PERIOD)
    q_before, dq_before, _ = fourier_basis(t - h, HARMONICS, PERIOD)
    tolerance = 1e-7  # h^2/6 (k w)^2 for k w <= 8
    assert np.abs((q_after - q_before) / (2 * h) - dq).max() < tolerance
    assert np.abs((dq_after - dq_before) / (2 * h) - ddq).max() < tolerance


@pytest.mark.parametrize("harmonics", [2, 3, 5, 10])
def test_rest_basis_spans_everything_that_starts_from_rest(harmonics):
    free = rest_basis(harmonics)
    k = np.arange(1.0, harmonics + 1.0)
    zero = np.zeros(harmonics)
    conditions = np.array([[*np.ones(harmonics), *zero], [*zero, *k]])
    rounding = 1e-12  # of an SVD of numbers up to 10
    assert free.shape == (2 * harmonics, 2 * harmonics - 2)
    assert np.abs(conditions @ free).max() < rounding
    np.testing.assert_allclose(free.T @ free, np.eye(2 * harmonics - 2), atol=rounding)
    # Any solution of the two conditions is its own projection on the basis.
    x = np.random.default_rng(0).standard_normal(2 * harmonics)
    x -= np.linalg.pinv(conditions) @ (conditions @ x)
    np.testing.assert_allclose(free @ (free.T @ x), x, atol=rounding)


def test_arrays_are_read_only_and_callers_arrays_are_copied():
    q0 = np.zeros(3)
    trajectory = FourierTrajectory(JOINTS, q0, np.zeros((3, 2)), np.zeros((3, 2)), PERIOD)
    q0[0] = 1.0
    assert trajectory.q0[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        trajectory.q0[0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_period": 0.0}, "positive period"),
        ({"base_period": -1.0}, "positive period"),
        ({"base_period": np.nan}, "positive period"),
        ({"periods": 0}, "at least one period"),
        ({"approach": -1.0}, "approach >= 0"),
        ({"home": np.zeros(3)}, "approach from home needs a duration"),
    ],
)
def test_impossible_times_are_refused(change, message):
    values = {"q0": np.zeros(3), "a": np.zeros((3, 2)), "b": np.zeros((3, 2)), "base_period": 1.0}
    with pytest.raises(OptionError, match=message):
        FourierTrajectory(JOINTS, **{**values, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q0": np.zeros(2)}, "q0 has shape"),
        ({"b": np.zeros((3, 4))}, "b has shape"),
        ({"a": np.zeros((2, 2))}, "a has shape"),
        ({"q0": np.array([0.0, np.nan, 0.0])}, "q0 is not finite"),
        ({"a": None}, "^a "),
        ({"a": [[1.0], [1.0, 2.0], [1.0]]}, "^a "),
    ],
)
def test_coefficients_of_wrong_shape_are_refused(change, message):
    values = {"q0": np.zeros(3), "a": np.zeros((3, 2)), "b": np.zeros((3, 2)), "base_period": 1.0}
    with pytest.raises(ShapeError, match=message):
        FourierTrajectory(JOINTS, **{**values, **change})
