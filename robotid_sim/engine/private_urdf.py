"""The private copy of a robot that the engine loads in place of any user's file.

It holds only bodies and joints: no geometry (self-contact would disturb the dynamics, and missing
meshes fail), no ``<dynamics>`` (Bullet would add the damping to ours), joint ranges so wide that
the engine's limit constraints never act, and principal moments with an inertial rpy, because
Bullet's own diagonalization of a full tensor costs 3e-8 in accuracy.
"""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.rigid_bodies import engine_inertia
from robotid_sim.model.geometry import number_text, rpy_from_rotation
from robotid_sim.model.robot import Robot

FREE_RANGE = 1e6
"""Position range [rad or m] that no motion reaches."""


def private_urdf(robot: Robot) -> str:
    """Return the text of the private copy."""
    parts = [f'<robot name="private"><link name="base">{_inertial(np.zeros(10))}</link>']
    for k, link in enumerate(robot.links):
        parts.append(f'<link name="body_{k}">{_inertial(link.phi)}</link>{joint_element(robot, k)}')
    # One body a line: Bullet breaks lines longer than 8191 characters anywhere, inside numbers too.
    return "\n".join(parts) + "</robot>"


def joint_element(robot: Robot, k: int) -> str:
    """Return the joint that carries the link ``body_k``, with a range that no motion reaches."""
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
    """Return a pose, shape (4, 4), as a URDF has it."""
    return (
        f'<origin xyz="{number_text(T[:3, 3])}" rpy="{number_text(rpy_from_rotation(T[:3, :3]))}"/>'
    )
