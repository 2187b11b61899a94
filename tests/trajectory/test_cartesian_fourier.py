"""The Cartesian family: the point really follows the formula, and what cannot be had is named."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import OptionError, PathError, ShapeError
from robotid_sim.excitation.cartesian_space import CartesianFourierOptions
from robotid_sim.kinematics.carried_point import CarriedPoint
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model.robot import Robot

CENTER = (0.35, 0.0, 0.45)  # [m]
WRIST = (0.302, 0.0, 0.07)  # [m] in the frame of the forearm


@pytest.fixture(scope="module")
def forearm():
    """The first three joints of an ABB IRB 120."""
    return Robot.from_urdf(urdf_path("irb120"), tip="link_3")


@pytest.fixture(scope="module")
def space(forearm):
    return CartesianFourierOptions(center=CENTER, point=WRIST).space(forearm)


def formula(run, t):
    """Return eq. (45) to (47) of Umar et al. (2021) as they are printed, about the center."""
    T = run.base_period
    omega, s = 2.0 * np.pi / T, t / T
    P = 2.0 * np.pi * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    x, y, z = np.zeros((3, t.size))
    for k, (a, b, c) in enumerate(zip(run.a, run.b, run.c, strict=True), start=1):
        swing = b / (omega * k) * np.sin(omega * k * t) - c / (omega * k) * np.cos(omega * k * t)
        x += np.cos(P) * a + swing
        y += np.sin(P) * a + swing
        z += swing
    return run.center + np.column_stack([x, y, z])


@pytest.mark.parametrize("seed", range(3))
def test_the_point_follows_the_formula(forearm, space, seed):
    trajectory = space.trajectory(space.random(np.random.default_rng(seed)))
    t = np.linspace(0.0, 10.0, 40)
    wrist = [link_poses(forearm, q)[-1] @ [*WRIST, 1.0] for q in trajectory(t).q]
    np.testing.assert_allclose(np.array(wrist)[:, :3], formula(trajectory.motion, t), atol=1e-13)


def test_a_whole_arm_moves_its_wrist_center_alike(forearm, space):
    arm = Robot.from_urdf(urdf_path("irb120"))
    whole = CartesianFourierOptions(center=CENTER).space(arm)
    run = space.trajectory(space.random(np.random.default_rng(0), 0.5)).motion
    t = np.linspace(0.0, 10.0, 30)
    reference = whole.trajectory(whole.coordinates(run))(t)
    np.testing.assert_allclose(reference.q[:, :3], run(t).q, atol=1e-9)
    np.testing.assert_array_equal(reference.q[:, 3:], np.tile(arm.home[3:], (30, 1)))


def test_the_tip_keeps_its_orientation_on_six_joints(irb140):
    space = CartesianFourierOptions(follow="tip").space(irb140)
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    t = np.linspace(0.0, 10.0, 20)
    poses = np.array([tip_pose(irb140, q) for q in trajectory(t).q])
    np.testing.assert_allclose(poses[:, :3, 3], formula(trajectory.motion, t), atol=1e-12)
    np.testing.assert_allclose(poses[:, :3, :3], np.tile(poses[0, :3, :3], (20, 1, 1)), atol=1e-12)


def test_gradients_with_held_orientation_are_exact(irb140):
    space = CartesianFourierOptions(follow="tip").space(irb140)
    x, h = space.random(np.random.default_rng(0), 0.6), 1e-3
    grid, weights = space.on_grid(30), np.random.default_rng(1).standard_normal((3, 30, 6))

    def value(point):
        return sum((w * part).sum() for w, part in zip(weights, grid.motion(point), strict=True))

    gradient = grid.pull_back(*weights, x)
    for e, slope in zip(np.eye(space.size), gradient, strict=True):
        near, far = ((value(x + d * e) - value(x - d * e)) / (2 * d) for d in (h, 2 * h))
        assert slope == pytest.approx((4 * near - far) / 3, abs=1e-6 * np.abs(gradient).max())


def test_a_redundant_arm_moves_three_joints_that_can(iiwa):
    space = CartesianFourierOptions().space(iiwa)
    assert space.carrier.moved.tolist() == [0, 1, 3]  # the third turns about the stretched arm
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    still = np.delete(trajectory(np.linspace(0.0, 10.0, 20)).q, [0, 1, 3], axis=1)
    np.testing.assert_array_equal(still, np.tile(iiwa.home[[2, 4, 5, 6]], (20, 1)))


def test_swarm_finds_the_published_level_of_conditioning(forearm, space):
    # Published: 4.73 at best and 7.16 on average of 50 particles and 30 steps; random draws and
    # greedy steps from the best of them get near in less.
    columns = base_parameters(forearm).columns[:15]  # without friction
    rng, grid = np.random.default_rng(0), space.on_grid(60)

    def condition(x):
        W = torque_regressor(forearm, *grid.motion(x), columns).reshape(-1, 15)
        return np.linalg.cond(W / np.linalg.norm(W, axis=0))

    x = min((space.random(rng) for _ in range(60)), key=condition)
    best = condition(x)
    for _ in range(400):
        trial = x + 0.15 * rng.standard_normal(x.size)
        if space.limit_values(trial).max() <= 1.0 and condition(trial) < best:
            x, best = trial, condition(trial)
    assert 4.0 < best < 9.0


def test_a_path_out_of_reach_is_named(space):
    x = np.zeros(space.size)
    x[0] = 1.0 / space.radius  # a circle of a meter
    with pytest.raises(PathError, match=r"point 1 of 50 at \(1\.35, 0, 0\.45\) is out of reach"):
        space.on_grid(50).motion(x)
    with pytest.raises(PathError, match="out of reach"):
        space.trajectory(x)
    assert np.isinf(space.limit_values(x)).all()


def test_a_center_out_of_reach_is_named(forearm):
    with pytest.raises(PathError, match=r"center \(2\.0, 0\.0, 0\.0\) is out of reach"):
        CartesianFourierOptions(center=(2.0, 0.0, 0.0), point=WRIST).space(forearm)


def test_an_arm_that_cannot_carry_a_point_is_refused(arm, forearm):
    with pytest.raises(PathError, match="no 3 joints of '2r' can move a point"):
        CartesianFourierOptions().space(arm)
    # Without a point of its own, the tip is on the third axis.
    with pytest.raises(PathError, match="choose another 'point'"):
        CartesianFourierOptions().space(forearm)
    with pytest.raises(PathError, match="no 6 joints"):
        CartesianFourierOptions(follow="tip").space(forearm)


def test_a_nonlinear_grid_pulls_back_at_a_point(space):
    none = np.zeros((20, 3))
    with pytest.raises(OptionError, match="at a point x"):
        space.on_grid(20).pull_back(none, none, none)


def test_coordinates_are_in_units_of_the_largest_circle(space):
    circle = np.eye(1, space.size)[0]
    assert 0.9 < space.limit_values(circle).max() <= 1.0
    assert space.limit_values(1.05 * circle).max() > 1.0


def test_impossible_carriers_are_refused(space):
    values = space.carrier.content()
    for change in ({"moved": [0, 1]}, {"moved": [0, 1, 3]}, {"q_start": [0.0]}):
        with pytest.raises(ShapeError):
            CarriedPoint(**{**values, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": "x"}, "'start' of a trajectory is 'x'; give a finite number"),
        ({"start": 5.0}, "'start' of a trajectory is 5 s; give at most zero"),
        ({"base_period": 1e-300}, "positive duration of at least 1e-09 s, got 1e-300 s"),
        ({"periods": True}, "'periods' of a trajectory is True; give a finite number"),
    ],
)
def test_impossible_times_are_refused_by_name(space, change, said):
    run = space.trajectory(space.random(np.random.default_rng(0), 0.5)).motion
    with pytest.raises(OptionError, match=said):
        replace(run, **change)
