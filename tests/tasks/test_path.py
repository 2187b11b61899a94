"""Closed-loop tasks: the circle is one, the lap rests at its ends and keeps to the limits."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path, with_files
from sampling import sampled

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.inverse import singularity_index
from robotid_sim.kinematics.workspace import tip_demand
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path import JointPath, Lap, fastest_lap, make_tracking_path

CIRCLES = with_files("irb140", "iiwa", "panda", "ur5")
SMALL = ("twolink", "ppp", "scara", "rp")
"""Fewer than six joints, of which the tip can move in a plane at least."""

SPLINE = 1e-6
"""Error between the solved poses, [m] and entries of the rotation matrix: a quintic spline over
spans of 0.052 rad errs by 0.052^6 of its sixth derivative."""


@pytest.fixture(scope="module")
def paths():
    """Robot and path by name."""
    robots = {name: Robot.from_urdf(urdf_path(name)) for name in (*CIRCLES, *SMALL, "2r")}
    return {name: (robot, make_tracking_path(robot)) for name, robot in robots.items()}


@pytest.mark.parametrize("name", CIRCLES)
class TestCircle:
    def test_solved_poses_lie_on_a_circle_with_constant_orientation(self, paths, name):
        robot, path = paths[name]
        assert path.task == "circle"
        poses = np.array([tip_pose(robot, q) for q in path.points])
        assert_circle(poses, 1e-9)  # the solver stops below 1e-10

    def test_its_singularity_index_is_that_of_the_points(self, paths, name):
        robot, path = paths[name]
        index = [singularity_index(robot, q) for q in path.points]
        np.testing.assert_array_equal(path.singularity_index, index)
        assert path.largest_index == max(index)

    def test_joints_turn_evenly_along_it(self, paths, name):
        _, path = paths[name]
        turns = np.abs(np.diff(path.points, axis=0)).max(axis=1)
        assert turns.max() < 3.0 * np.median(turns)

    def test_it_closes(self, paths, name):
        robot, path = paths[name]
        first, last = (tip_pose(robot, path.points[k]) for k in (0, -1))
        np.testing.assert_allclose(first, last, atol=1e-9)
        if robot.dof == 6:  # a redundant arm may come back with another elbow
            np.testing.assert_allclose(path.points[0], path.points[-1], atol=1e-7)


def assert_circle(poses, tolerance):
    """Assert a circle in a plane of the root frame: center, radius, orientation, full turn."""
    np.testing.assert_allclose(
        poses[:, :3, :3], np.broadcast_to(poses[0, :3, :3], (len(poses), 3, 3)), atol=tolerance
    )
    points = poses[:, :3, 3]
    middle = 0.5 * (points.max(axis=0) + points.min(axis=0))
    spread = np.ptp(points, axis=0)
    flat = int(spread.argmin())
    assert spread[flat] < 2.0 * tolerance
    center = np.delete(middle, flat)
    # Extremes of a sampled circle miss those of the true one by r (step / 2)^2 / 2 at most.
    inside = np.delete(points, flat, axis=1)
    A = np.column_stack([2.0 * inside, np.ones(len(inside))])
    solved = np.linalg.lstsq(A, (inside**2).sum(axis=1), rcond=None)[0]
    np.testing.assert_allclose(solved[:2], center, atol=1e-3)
    radius = np.linalg.norm(inside - solved[:2], axis=1)
    assert radius.mean() > 0.02
    assert np.ptp(radius) < 2.0 * tolerance
    angle = np.unwrap(np.arctan2(*(inside - solved[:2]).T[::-1]))
    assert abs(abs(angle[-1] - angle[0]) - 2.0 * np.pi) < 1e-4


@pytest.mark.parametrize("name", [*CIRCLES, *SMALL])
def test_it_stays_a_circle_between_the_solved_poses(paths, name):
    """Fewer joints than six draw it with the position alone."""
    robot, path = paths[name]
    demand = tip_demand(robot)
    q = Lap(path, 10.0)(np.linspace(0.0, 10.0, 997)).q
    poses = np.array([tip_pose(robot, point) for point in q])
    if robot.dof < 6:
        poses[:, :3, :3] = np.eye(3)
    assert_circle(poses, SPLINE)
    assert max(singularity_index(robot, point, demand) for point in q[::2]) < 100.0
    assert (q >= robot.limits.lower).all()
    assert (q <= robot.limits.upper).all()


@pytest.mark.parametrize("name", CIRCLES)
def test_a_wanted_radius_is_the_circles(paths, name):
    robot, _ = paths[name]
    path = make_tracking_path(robot, 0.04)
    poses = np.array([tip_pose(robot, q) for q in path.points])
    assert_circle(poses, 1e-9)
    # 120 poses at steps of 3 degrees: the extremes are among them.
    assert 0.5 * np.ptp(poses[:, :3, 3], axis=0).max() == pytest.approx(0.04, abs=1e-9)


@pytest.mark.parametrize(
    "name", sampled((*CIRCLES, "twolink", "2r"), "irb140", "twolink", "2r", mark=pytest.mark.slow)
)
def test_the_path_depends_on_kinematics_and_limits_alone(paths, name):
    robot, path = paths[name]
    again = make_tracking_path(Robot.from_urdf(urdf_path(name)))
    other = make_tracking_path(perturb(robot, np.random.default_rng(3)))
    np.testing.assert_array_equal(again.points, path.points)
    np.testing.assert_array_equal(other.points, path.points)
    assert again.task == other.task == path.task


@pytest.mark.parametrize("name", ["irb140", "iiwa", "2r"])
@pytest.mark.parametrize(("duration", "ramp"), [(3.0, 1.0), (8.0, 0.5), (30.0, 1.0)])
class TestLap:
    def test_it_rests_at_both_ends_and_runs_one_full_lap(self, paths, name, duration, ramp):
        robot, path = paths[name]
        lap = Lap(path, duration, ramp)
        ends = lap(np.array([0.0, duration]))
        assert lap.joint_names == robot.joint_names
        assert (lap.start, lap.period) == (0.0, None)
        np.testing.assert_allclose(ends.q, path.points[[0, -1]], atol=1e-12)  # rounding
        np.testing.assert_array_equal(ends.dq, np.zeros((2, robot.dof)))
        np.testing.assert_allclose(ends.ddq, 0.0, atol=1e-12)
        outside = lap(np.array([-1.0, duration + 1.0]))
        np.testing.assert_allclose(outside.q, ends.q, atol=1e-12)
        np.testing.assert_array_equal(outside.dq, np.zeros((2, robot.dof)))

    def test_derivatives_are_those_of_the_position(self, paths, name, duration, ramp):
        lap = Lap(paths[name][1], duration, ramp)
        rng = np.random.default_rng(0)
        joints = np.array([ramp, duration - ramp])
        t = np.concatenate([rng.uniform(0.01, duration - 0.01, 200), joints])
        h = 1e-4  # [s]
        before, here, after = (lap(t + shift) for shift in (-h, 0.0, h))
        for lower, higher in (("q", "dq"), ("dq", "ddq")):
            slope = (getattr(after, lower) - getattr(before, lower)) / (2.0 * h)
            size = 1.0 + np.abs(getattr(here, higher)).max()
            # h^2 / 6 of the third derivative, (2 pi / T / r)^2 <= 400 times the first; at the ends
            # of the ramps the jerk is steady, the snap jumps.
            np.testing.assert_allclose(getattr(here, higher), slope, atol=2e-6 * size)

    def test_the_middle_runs_evenly(self, paths, name, duration, ramp):
        lap = Lap(paths[name][1], duration, ramp)
        t = np.linspace(ramp, duration - ramp, 7)
        half = lap(np.array([0.5 * duration])).q[0]
        even = 2.0 * np.pi / (duration - ramp)
        spline = Lap(paths[name][1], 1e3, 1e-6)  # phase = 2 pi t / T to 1e-9
        wanted = spline(1e3 * even * (t - 0.5 * ramp) / (2.0 * np.pi)).q
        np.testing.assert_allclose(lap(t).q, wanted, atol=1e-8)
        np.testing.assert_allclose(half, lap(t).q[3], atol=1e-12)


@pytest.mark.parametrize("name", [*CIRCLES, *SMALL, "2r"])
@pytest.mark.parametrize("share", [0.6, 0.3])
def test_the_fastest_lap_uses_its_share_of_the_limits(paths, name, share):
    robot, path = paths[name]
    lap = fastest_lap(robot, path, share, 30.0)
    reference = lap(np.linspace(0.0, lap.duration, 5001))
    still = np.abs(joint_torque(robot, path.points, 0.0 * path.points, 0.0 * path.points))
    counts = still.max(axis=0) < share * robot.limits.effort
    tau = np.abs(joint_torque(robot, reference.q, reference.dq, reference.ddq))
    used = max(
        (np.abs(reference.dq) / robot.limits.velocity).max(),
        (np.abs(reference.ddq) / robot.limits.acceleration).max(),
        (tau / robot.limits.effort)[:, counts].max(initial=0.0),
    )
    assert used < share * 1.01  # the search looks at 400 samples
    if share == 0.6:
        assert used <= share
    # The time is rounded up to 10 ms and searched to 0.1 %: 2 % of the acceleration.
    assert used > 0.95 * share or lap.duration == 2.5
    assert lap.duration <= 30.0


def test_a_limit_that_gravity_alone_exceeds_does_not_count(paths):
    robot, path = paths["2r"]
    weak = replace(robot, joints=(replace(robot.joints[0], effort=10.0), robot.joints[1]))
    assert fastest_lap(weak, path, 0.6, 30.0).duration < 30.0


def test_the_longest_lap_is_returned_where_nothing_is_slow_enough(paths):
    robot, path = paths["2r"]
    slow = replace(robot, joints=tuple(replace(j, velocity=1e-3) for j in robot.joints))
    assert fastest_lap(slow, path, 0.6, 12.0).duration == 12.0


@pytest.mark.parametrize(
    ("duration", "ramp"), [(2.0, 1.0), (1.0, 1.0), (5.0, 0.0), (5.0, -1.0), (np.nan, 1.0)]
)
def test_too_short_a_lap_is_refused(paths, duration, ramp):
    with pytest.raises(OptionError, match="too short for two ramps"):
        Lap(paths["2r"][1], duration, ramp)


def test_points_must_be_finite_and_one_column_a_joint():
    with pytest.raises(ShapeError, match="points"):
        JointPath(("a", "b"), "circle", np.zeros((10, 3)), np.ones(10))
    with pytest.raises(ShapeError, match="points"):
        JointPath(("a",), "circle", np.full((10, 1), np.nan), np.ones(10))


@pytest.mark.parametrize("index", [np.ones(9), np.full(10, np.nan), np.zeros(10)])
def test_singularity_indices_must_be_one_a_point(index):
    with pytest.raises(ShapeError, match="as many singularity indices"):
        JointPath(("a",), "circle", np.zeros((10, 1)), index)


def test_the_largest_singularity_index_may_be_infinite():
    path = JointPath(("a",), "circle", np.zeros((3, 1)), np.array([1.0, np.inf, 2.0]))
    assert path.largest_index == np.inf
    assert not path.singularity_index.flags.writeable
