"""Point-to-point motion and the time that an approach takes."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.trajectory.reference import (
    PEAK_ACCELERATION,
    PEAK_VELOCITY,
    PointToPoint,
    approach_duration,
)

JOINTS = ("a", "b")
START, END = np.array([0.1, -1.0]), np.array([1.3, 2.0])


def test_derivatives_are_analytic():
    trajectory, h = PointToPoint(JOINTS, START, END, -0.5, 2.0), 1e-5
    t = np.linspace(trajectory.start + 2 * h, trajectory.duration - 2 * h, 333)
    before, here, after = (trajectory(t + shift) for shift in (-h, 0.0, h))
    tolerance = 1e-6  # h^2/6 times a third derivative below 1e3, and rounding 1e-16/h
    assert trajectory.joint_names == JOINTS
    assert trajectory.start == -0.5
    assert np.abs((after.q - before.q) / (2 * h) - here.dq).max() < tolerance
    assert np.abs((after.dq - before.dq) / (2 * h) - here.ddq).max() < tolerance


def test_quintic_joins_its_ends_and_rests_outside():
    motion = PointToPoint(JOINTS, START, END, 0.0, 2.0)
    reference = motion(np.array([-5.0, 0.0, 1.0, 2.0, 9.0]))
    np.testing.assert_array_equal(reference.q[:2], [START, START])
    np.testing.assert_allclose(reference.q[2], 0.5 * (START + END), rtol=1e-15)  # symmetry
    np.testing.assert_allclose(reference.q[3:], [END, END], rtol=1e-15)
    np.testing.assert_array_equal(reference.dq[[0, 1, 3, 4]], 0.0)
    np.testing.assert_array_equal(reference.ddq[[0, 1, 3, 4]], 0.0)


def test_peaks_of_the_quintic_are_the_stated_constants():
    T = 2.0
    reference = PointToPoint(JOINTS, START, END, 0.0, T)(np.linspace(0.0, T, 200_001))
    delta = np.abs(END - START)
    grid = 1e-8  # a maximum on a grid of step s misses s^2/8 of curvature 100
    velocity = np.abs(reference.dq).max(axis=0) * T / delta
    acceleration = np.abs(reference.ddq).max(axis=0) * T**2 / delta
    np.testing.assert_allclose(velocity, PEAK_VELOCITY, rtol=grid)
    np.testing.assert_allclose(acceleration, PEAK_ACCELERATION, rtol=grid)


def test_approach_duration_keeps_the_share_of_the_limits(robot):
    rng = np.random.default_rng(0)
    q_start, q_end = rng.uniform(robot.limits.lower, robot.limits.upper, (2, robot.dof))
    share = 0.5
    duration = approach_duration(robot.limits, q_start, q_end, share)
    motion = PointToPoint(robot.joint_names, q_start, q_end, 0.0, duration)
    reference = motion(np.linspace(0.0, duration, 5000))
    assert duration >= 1.0
    assert (2.0 * duration).is_integer()
    assert (np.abs(reference.dq) <= share * robot.limits.velocity).all()
    assert (np.abs(reference.ddq) <= share * robot.limits.acceleration).all()


def test_approach_takes_a_second_even_for_no_way(irb140):
    assert approach_duration(irb140.limits, irb140.home, irb140.home, 0.5) == 1.0


def test_time_must_pass_and_poses_must_fit():
    with pytest.raises(OptionError, match="does not come after"):
        PointToPoint(JOINTS, START, END, 1.0, 1.0)
    with pytest.raises(ShapeError, match="q_end has shape"):
        PointToPoint(JOINTS, START, np.zeros(3), 0.0, 1.0)
