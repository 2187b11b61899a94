"""Between solved poses: the spline keeps to the path, or the path is refused."""

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.kinematics.following import follow, follow_joints, phase_spline
from robotid_sim.kinematics.forward import tip_position
from robotid_sim.kinematics.inverse import Demand
from robotid_sim.model.robot import Robot

POSITION = Demand(rows=3, rank=3)


@pytest.fixture(scope="module")
def gantry():
    """Three prismatic joints, whose tip at zero is at (0, 0, 1.3)."""
    return Robot.from_urdf(urdf_path("ppp"))


def along_x(x):
    """Return the poses of a tip that moves along x as a function of the phase."""

    def poses(phase):
        T = np.repeat(np.eye(4)[None], len(phase), axis=0)
        T[:, :3, 3] = [0.0, 0.0, 1.3]
        T[:, 0, 3] += x(phase)
        return T

    return poses


def test_steps_are_halved_until_the_tip_keeps_to_the_path(gantry):
    def wave(phase):
        return 0.1 * np.sin(20.0 * phase)

    solution = follow(gantry, along_x(wave), np.zeros(3), POSITION, 100.0)
    assert solution.obstacle is None
    assert len(solution.q) == solution.poses == len(solution.singularity_index)
    assert solution.poses in (241, 481)
    dense = np.linspace(0.0, 2.0 * np.pi, 10 * (solution.poses - 1) + 1)
    tip = tip_position(gantry, phase_spline(solution.q)(dense))
    np.testing.assert_allclose(tip[:, 0], wave(dense), atol=5e-5)


def test_a_corner_is_refused_where_it_is(gantry):
    corner = along_x(lambda phase: 0.1 * np.abs(phase - 2.0))
    solution = follow(gantry, corner, np.zeros(3), POSITION, 100.0)
    assert solution.obstacle is not None
    assert "joints cannot follow smoothly" in solution.obstacle
    assert solution.share == pytest.approx(2.0 / (2.0 * np.pi), abs=0.01)


def test_a_limit_between_the_poses_is_refused(gantry):
    upper = gantry.limits.upper[0]
    # Its crest lies halfway between two poses, at which x is 2e-6 m below the limit.
    height = upper / np.cos(np.pi / 240.0)
    crest = along_x(lambda phase: (height - 2e-6) * np.cos(phase - np.pi / 2.0 - np.pi / 120.0))
    solution = follow(gantry, crest, np.zeros(3), POSITION, 100.0)
    assert solution.obstacle is not None
    assert "needs x at 0.60" in solution.obstacle
    assert "above its upper limit 0.6 m" in solution.obstacle


def test_a_curve_of_the_joints_is_kept_or_refused(gantry):
    wave = np.array([0.1, 0.2, 0.0])
    solution = follow_joints(gantry, lambda phase: np.outer(np.sin(20 * phase), wave), POSITION)
    assert solution.obstacle is None
    assert len(solution.q) > 121
    dense = np.linspace(0.0, 2.0 * np.pi, 7001)
    error = phase_spline(solution.q)(dense) - np.outer(np.sin(20.0 * dense), wave)
    assert np.abs(error).max() < 5e-5
    corner = follow_joints(
        gantry, lambda phase: np.outer(np.abs(phase - 2.0), 0.4 * wave), POSITION
    )
    assert corner.obstacle is not None
    assert "joints cannot follow smoothly" in corner.obstacle
