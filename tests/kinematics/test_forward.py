"""Poses and Jacobians against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from robotid_sim.errors import ShapeError
from robotid_sim.kinematics.forward import link_poses, tip_jacobian, tip_pose
from robotid_sim.model.robot import Robot

EXACT = 1e-12  # [m] a chain of seven products of rotations


@pytest.fixture
def configurations(robot: Robot) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(robot.limits.lower, robot.limits.upper, (50, robot.dof))


def test_tip_pose_is_pinocchios(robot, configurations, pinocchio_model) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    frame = model.getFrameId(robot.tip)
    for q in configurations:
        pin.framesForwardKinematics(model, data, q)
        np.testing.assert_allclose(tip_pose(robot, q), data.oMf[frame].homogeneous, atol=EXACT)


def test_tip_jacobian_is_pinocchios(robot, configurations, pinocchio_model) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    frame = model.getFrameId(robot.tip)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for q in configurations:
        want = pin.computeFrameJacobian(model, data, q, frame, aligned)
        np.testing.assert_allclose(tip_jacobian(robot, q), want, atol=EXACT)


def test_poses_are_rigid_transforms(robot, configurations) -> None:
    for q in configurations[:5]:
        poses = link_poses(robot, q)
        assert poses.shape == (robot.dof, 4, 4)
        R = poses[:, :3, :3]
        identity = np.broadcast_to(np.eye(3), R.shape)
        np.testing.assert_allclose(R @ R.swapaxes(1, 2), identity, atol=EXACT)
        np.testing.assert_array_equal(poses[:, 3], [[0, 0, 0, 1]] * robot.dof)


def test_wrong_number_of_joints_is_a_shape_error(irb140: Robot) -> None:
    with pytest.raises(ShapeError, match=r"q has shape \(5,\); give \(6,\)"):
        tip_pose(irb140, np.zeros(5))
