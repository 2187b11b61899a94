"""The private copy of a robot that the engine loads in place of any user's file.

It holds only bodies and joints: no geometry (self-contact would disturb the dynamics, and missing
meshes fail), no ``<dynamics>`` (Bullet would add the damping to ours), joint ranges so wide that
the engine's limit constraints never act, and principal moments with an inertial rpy, because
Bullet's own diagonalization of a full tensor costs 3e-8 in accuracy.
"""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.model import inertia
from robotid_sim.model.geometry import number_text, rpy_from_rotation
from robotid_sim.model.robot import Robot

RANGE = 1e6
"""Position range [rad or m] that no motion reaches."""

TRIANGLE_SLACK = 1e-13
"""Relative distance kept from the triangle inequality; Bullet zeroes a tensor beyond it."""


def private_urdf(robot: Robot) -> str:
    """Return the text of the private copy.

    Raises `InconsistentInertiaError` if a body is impossible; Bullet would silently set its inertia
    to zero.
    """
    parts = [f'<robot name="private"><link name="base">{_inertial(np.zeros(10))}</link>']
    for k, link in enumerate(robot.links):
        if reason := inertia.inconsistency(link.phi):
            text = f"link '{link.name}': {reason}"
            raise InconsistentInertiaError(f"{text}; the engine cannot simulate such a body")
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
        f'<limit lower="{-RANGE}" upper="{RANGE}" effort="0" velocity="{RANGE}"/></joint>'
    )


def engine_inertia(phi: Float1D) -> tuple[float, Float1D, Float2D]:
    """Return mass, principal moments and their frame (4, 4) as the engine shall have them."""
    mass, com, central = inertia.unpack(phi)
    moments, axes = inertia.principal_axes(central)
    moments = np.maximum(moments, 0.0)
    moments[2] = min(moments[2], (moments[0] + moments[1]) * (1.0 - TRIANGLE_SLACK))
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = axes, com
    return mass, moments, frame


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
