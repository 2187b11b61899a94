"""The private copy of a robot, which the engine loads instead of the user's file.

It contains only bodies and joints: no geometry (self-contact would disturb the dynamics, and
missing meshes fail), no ``<dynamics>`` (Bullet would add the damping to ours), joint ranges so wide
that limit constraints of the engine never act, and principal moments with an inertial rpy, because
Bullet's own diagonalization of a full tensor costs 3e-8 in accuracy.
"""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.rigid_bodies import engine_inertia
from robotid_sim.model.geometry import number_text, rpy_from_rotation
from robotid_sim.model.robot import Robot

FREE_RANGE = 1e6
"""Position range [rad or m] beyond every motion."""


def private_urdf(robot: Robot) -> str:
    """Return the text of the private copy."""
    parts = [f'<robot name="private"><link name="base">{_inertial(np.zeros(10))}</link>']
    for k, link in enumerate(robot.links):
        parts.append(f'<link name="body_{k}">{_inertial(link.phi)}</link>{joint_element(robot, k)}')
    # One body per line: Bullet breaks lines of more than 8191 characters, even inside numbers.
    return "\n".join(parts) + "</robot>"


def joint_element(robot: Robot, k: int) -> str:
    """Return the parent joint of the link ``body_k``, with a range beyond every motion."""
    joint = robot.joints[k]
    kind = "prismatic" if joint.prismatic else "revolute"
    parent = f"body_{k - 1}" if k else "base"
    return (
        f'<joint name="joint_{k}" type="{kind}">{origin_element(joint.T_parent_joint)}'
        f'<parent link="{parent}"/><child link="body_{k}"/>'
        f'<axis xyz="{number_text(joint.axis)}"/>'
        f'<limit lower="{-FREE_RANGE}" upper="{FREE_RANGE}" effort="0" '
        f'velocity="{FREE_RANGE}"/></joint>'
    )


def _inertial(phi: Float1D) -> str:
    mass, moments, frame = engine_inertia(phi)
    xx, yy, zz = map(number_text, moments)
    return (
        f'<inertial>{origin_element(frame)}<mass value="{mass!r}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
    )


def origin_element(T: Float2D) -> str:
    """Convert a pose, shape (4, 4), to the origin element of a URDF."""
    return (
        f'<origin xyz="{number_text(T[:3, 3])}" rpy="{number_text(rpy_from_rotation(T[:3, :3]))}"/>'
    )
