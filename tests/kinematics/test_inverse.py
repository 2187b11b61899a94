"""Inverse kinematics reaches what can be reached and says when it cannot, along paths too."""

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.kinematics.following import follow, follow_joints, phase_spline
from robotid_sim.kinematics.forward import tip_jacobian, tip_pose, tip_position
from robotid_sim.kinematics.inverse import (
    POSE_DEMAND,
    Demand,
    inverse_kinematics,
    pose_error,
    singularity_index,
    solve_path,
)
from robotid_sim.model.robot import Robot

POSE = 1e-9
"""Acceptance for positions [m] and orientations; the solver stops below 1e-10."""


@pytest.fixture(scope="module", params=["irb140", "iiwa", "panda", "ur5"])
def six(request):
    """Robots with six joints or more."""
    return Robot.from_urdf(urdf_path(request.param))


def regular(robot, rng, count):
    """Return configurations in the middle of the ranges and away from singularities."""
    found, limits = [], robot.limits
    while len(found) < count:
        q = limits.middle + 0.7 * limits.half_range.clip(max=np.pi) * rng.uniform(-1, 1, robot.dof)
        if singularity_index(robot, q) < 50.0:
            found.append(q)
    return found


def test_it_reproduces_the_pose_of_the_tip(six):
    rng = np.random.default_rng(0)
    for wanted in regular(six, rng, 40):
        T = tip_pose(six, wanted)
        q, found = inverse_kinematics(six, T, wanted + 0.1 * rng.standard_normal(six.dof))
        assert found
        np.testing.assert_allclose(tip_pose(six, q), T, atol=POSE)


def test_six_joints_come_back_to_the_configuration_they_started_near():
    robot = Robot.from_urdf(urdf_path("irb140"))
    rng = np.random.default_rng(1)
    for wanted in regular(robot, rng, 20):
        start = wanted + 0.02 * rng.standard_normal(6)
        q, _ = inverse_kinematics(robot, tip_pose(robot, wanted), start)
        # The pose error times the singularity index of at most 50 over a reach of about 1 m.
        np.testing.assert_allclose(q, wanted, atol=1e-7)


def test_a_solution_is_returned_as_it_is(six):
    q_start = regular(six, np.random.default_rng(2), 1)[0]
    q, found = inverse_kinematics(six, tip_pose(six, q_start), q_start)
    assert found
    np.testing.assert_array_equal(q, q_start)
    assert q is not q_start


def test_a_pose_out_of_reach_is_not_found(six):
    start = regular(six, np.random.default_rng(3), 1)[0]
    T = tip_pose(six, start)
    T[:3, 3] += [5.0, 0.0, 0.0]
    q, found = inverse_kinematics(six, T, start)
    assert not found
    assert np.isfinite(q).all()


@pytest.mark.slow
def test_a_redundant_arm_moves_toward_the_middle_of_its_ranges(iiwa):
    for start in regular(iiwa, np.random.default_rng(4), 5):
        q, T = start, tip_pose(iiwa, start)
        for k in range(100):  # to and fro, so that only the null space is left to move in
            T[2, 3] += 1e-4 * (-1) ** k
            q, found = inverse_kinematics(iiwa, T, q)
            assert found
        room = [np.linalg.norm(x - iiwa.limits.middle) for x in (q, start)]
        assert room[0] < room[1] - 1e-3


def test_solve_path_keeps_every_pose_limits_and_configuration(six):
    start = regular(six, np.random.default_rng(5), 1)[0]
    poses = np.repeat(tip_pose(six, start)[None], 20, axis=0)
    poses[:, 0, 3] += np.linspace(0.0, 0.05, 20)
    solution = solve_path(six, poses, start)
    assert solution.failure is None
    assert solution.share == 1.0
    path = solution.q
    for q, pose in zip(path, poses, strict=True):
        np.testing.assert_allclose(tip_pose(six, q), pose, atol=POSE)
    assert (path >= six.limits.lower).all()
    assert (path <= six.limits.upper).all()
    # 2.6 mm between poses turn a joint by less than 0.1 rad where the arm is not singular.
    assert np.abs(np.diff(path, axis=0)[2:]).max() < 0.1
    index = [singularity_index(six, q) for q in path]
    np.testing.assert_array_equal(solution.singularity_index, index)


def test_solve_path_gives_up_at_a_pose_out_of_reach(six):
    start = regular(six, np.random.default_rng(6), 1)[0]
    poses = np.repeat(tip_pose(six, start)[None], 3, axis=0)
    poses[2, 2, 3] += 5.0
    solution = solve_path(six, poses, start)
    assert len(solution.q) == len(solution.singularity_index) == 2
    assert solution.share == pytest.approx(2.0 / 3.0)
    assert solution.failure is not None
    assert solution.failure.startswith("point 3 of 3 at (")
    assert solution.failure.endswith(f"is out of reach of '{six.name}'")


def test_solve_path_stops_where_the_singularity_index_is_too_large(six):
    start = regular(six, np.random.default_rng(6), 1)[0]
    poses = np.repeat(tip_pose(six, start)[None], 20, axis=0)
    poses[:, 0, 3] += np.linspace(0.0, 0.05, 20)
    index = solve_path(six, poses, start).singularity_index
    limit = 0.5 * (index.max() + index.min())
    first = int((index > limit).argmax())
    solution = solve_path(six, poses, start, POSE_DEMAND, limit)
    assert len(solution.q) == first
    wanted = f"has a singularity index of {index[first]:.3g}, above {limit:g} (near-singular)"
    assert solution.failure is not None
    assert wanted in solution.failure


def test_solve_path_refuses_solutions_outside_the_limits(irb140):
    outside = irb140.limits.middle + 0.3
    outside[0] = irb140.limits.upper[0] + 0.1
    poses = tip_pose(irb140, outside)[None]
    assert inverse_kinematics(irb140, poses[0], outside)[1]
    solution = solve_path(irb140, poses, outside)
    upper = irb140.limits.upper[0]
    wanted = f"needs joint_1 at {outside[0]:.4g} rad, above its upper limit {upper:.4g} rad"
    assert len(solution.q) == 0
    assert solution.failure is not None
    assert wanted in solution.failure


def test_pose_error_is_a_rotation_vector_and_an_offset():
    rng = np.random.default_rng(7)
    for angle in (1e-13, 1e-6, 0.3, 2.0, 3.0):
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        x, y, z = axis
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        T = np.eye(4)
        T[:3, :3] += np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K  # Rodrigues
        T[:3, 3] = rng.standard_normal(3)
        wanted = np.concatenate([T[:3, 3], angle * axis])
        np.testing.assert_allclose(pose_error(T, np.eye(4)), wanted, atol=1e-12)


def test_pose_error_is_the_step_of_the_jacobian(six):
    rng = np.random.default_rng(8)
    q, step = regular(six, rng, 1)[0], 1e-6 * rng.standard_normal(six.dof)
    error = pose_error(tip_pose(six, q + step), tip_pose(six, q))
    # Second order in the step.
    np.testing.assert_allclose(error, tip_jacobian(six, q) @ step, atol=1e-11)


def test_singularity_index_is_the_condition_number_of_the_jacobian(six):
    for q in regular(six, np.random.default_rng(9), 5):
        J = tip_jacobian(six, q)
        size = np.linalg.norm(J, 2) * np.linalg.norm(np.linalg.pinv(J), 2)
        assert singularity_index(six, q) == pytest.approx(size, rel=1e-9)  # rounding


def test_singularity_index_of_a_planar_arm_is_the_closed_form(arm):
    # Tip at the elbow frame: columns (0, l1 | axis) and (0, 0 | axis) with l1 = 0.5 m.
    q = np.array([0.3, -0.8])
    J = np.array([[0.5, 0.0], [1.0, 1.0]])
    assert singularity_index(arm, q) == pytest.approx(np.linalg.cond(J), rel=1e-9)


def test_singularity_index_of_a_straight_wrist_is_huge(irb140):
    q = np.array([0.2, 0.3, -0.4, 0.5, 0.0, 0.1])
    assert singularity_index(irb140, q) > 1e10
    q[4] = 0.6
    assert singularity_index(irb140, q) < 100.0


PLANAR = Demand(rows=3, rank=2)


def two_link_jacobian(q):
    """Return the position Jacobian of the catalog's two links of 1 m, in their plane x-z."""
    a, b = q[0], q[0] + q[1]
    return np.array([[-np.sin(a) - np.sin(b), -np.sin(b)], [np.cos(a) + np.cos(b), np.cos(b)]])


def test_position_index_of_a_planar_arm_is_the_closed_form_in_its_plane():
    robot = Robot.from_urdf(urdf_path("twolink"))
    for q in np.random.default_rng(10).uniform(-1.5, 1.5, (10, 2)):
        wanted = np.linalg.cond(two_link_jacobian(q))
        assert singularity_index(robot, q, PLANAR) == pytest.approx(wanted, rel=1e-9)  # rounding


def test_position_of_a_planar_arm_is_found_and_its_orientation_left_free():
    robot = Robot.from_urdf(urdf_path("twolink"))
    wanted = np.array([0.4, 0.9])
    T = tip_pose(robot, wanted)
    T[:3, :3] = np.eye(3)  # not the orientation there
    q, found = inverse_kinematics(robot, T, wanted + 0.2, PLANAR)
    assert found
    np.testing.assert_allclose(q, wanted, atol=1e-8)
    T[1, 3] += 1e-3  # off the plane
    assert not inverse_kinematics(robot, T, wanted, PLANAR)[1]


def test_a_redundant_arm_for_a_position_moves_toward_the_middle_of_its_ranges():
    robot = Robot.from_urdf(urdf_path("scara"))
    start = np.array([0.3, 0.8, 0.05, 1.5])
    poses = np.repeat(tip_pose(robot, start)[None], 3, axis=0)
    solution = solve_path(robot, poses, start, Demand(rows=3, rank=3))
    assert solution.failure is None
    middle = robot.limits.middle
    assert np.linalg.norm(solution.q[0] - middle) < np.linalg.norm(start - middle) - 0.1
    for q in solution.q:
        np.testing.assert_allclose(tip_pose(robot, q)[:3, 3], poses[0, :3, 3], atol=POSE)


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
    assert solution.failure is None
    assert len(solution.q) == solution.pose_count == len(solution.singularity_index)
    assert solution.pose_count in (241, 481)
    dense = np.linspace(0.0, 2.0 * np.pi, 10 * (solution.pose_count - 1) + 1)
    tip = tip_position(gantry, phase_spline(solution.q)(dense))
    np.testing.assert_allclose(tip[:, 0], wave(dense), atol=5e-5)


def test_a_corner_is_refused_where_it_is(gantry):
    corner = along_x(lambda phase: 0.1 * np.abs(phase - 2.0))
    solution = follow(gantry, corner, np.zeros(3), POSITION, 100.0)
    assert solution.failure is not None
    assert "joints cannot follow smoothly" in solution.failure
    assert solution.share == pytest.approx(2.0 / (2.0 * np.pi), abs=0.01)


def test_a_limit_between_the_poses_is_refused(gantry):
    upper = gantry.limits.upper[0]
    # Its crest lies halfway between two poses, at which x is 2e-6 m below the limit.
    height = upper / np.cos(np.pi / 240.0)
    crest = along_x(lambda phase: (height - 2e-6) * np.cos(phase - np.pi / 2.0 - np.pi / 120.0))
    solution = follow(gantry, crest, np.zeros(3), POSITION, 100.0)
    assert solution.failure is not None
    assert "needs x at 0.60" in solution.failure
    assert "above its upper limit 0.6 m" in solution.failure


def test_a_curve_of_the_joints_is_kept_or_refused(gantry):
    wave = np.array([0.1, 0.2, 0.0])
    solution = follow_joints(gantry, lambda phase: np.outer(np.sin(20 * phase), wave), POSITION)
    assert solution.failure is None
    assert len(solution.q) > 121
    dense = np.linspace(0.0, 2.0 * np.pi, 7001)
    error = phase_spline(solution.q)(dense) - np.outer(np.sin(20.0 * dense), wave)
    assert np.abs(error).max() < 5e-5
    corner = follow_joints(
        gantry, lambda phase: np.outer(np.abs(phase - 2.0), 0.4 * wave), POSITION
    )
    assert corner.failure is not None
    assert "joints cannot follow smoothly" in corner.failure
