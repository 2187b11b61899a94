"""Joints with dry friction and next to nothing that they move."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.base_parameters import RATIO, light_joints
from robotid_sim.model.robot import Robot


def rubbing(robot: Robot, k: int, Fc: float) -> Robot:
    """Return the robot with the dry friction of one joint, and no rotor there."""
    joints = list(robot.joints)
    law = replace(joints[k].friction, Fc=Fc)
    joints[k] = replace(joints[k], friction=law, rotor_inertia=0.0)
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("name", ["2r", "irb140", "iiwa", "panda"])
def test_common_arms_have_none(name) -> None:
    assert light_joints(Robot.from_urdf(urdf_path(name))) == []


def test_the_joint_is_named_with_its_ratio() -> None:
    arm = Robot.from_urdf(urdf_path("2r"))
    elbow, lower = arm.joints[1], arm.links[1].phi
    least = lower[9]  # the axis is z: its inertia is the same in all configurations
    border = RATIO * least * elbow.acceleration
    assert light_joints(rubbing(arm, 1, 0.99 * border)) == []
    (text,) = light_joints(rubbing(arm, 1, 2.0 * border))
    assert text.startswith(f"{elbow.name}: dry friction alone stops it at {2.0 * RATIO:.3g} times")


def test_links_without_inertia_are_not_told_here() -> None:
    arm = Robot.from_urdf(urdf_path("2r"))
    phi = np.zeros_like(arm.parameters())
    phi[20:].reshape(2, 4)[:, 1] = 5.0
    assert light_joints(arm.with_parameters(phi, formal=True)) == []
