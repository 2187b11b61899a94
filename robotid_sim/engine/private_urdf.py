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
from robotid_sim.model.geometry import rpy_from_rotation
from robotid_sim.model.robot import Robot

RANGE = 1e6
"""Position range [rad or m] that no motion reaches."""

TRIANGLE_SLACK = 1e-13
"""Relative distance kept from the triangle inequality; Bullet zeroes a tensor beyond it."""


def private_urdf(robot: Robot) -> str:
    """Return the text of the private copy.

    Raises
    ------
    InconsistentInertiaError
        If a body is impossible; Bullet would silently set its inertia to zero.
    """
    parts = [f'<robot name="private"><link name="base">{_inertial(np.zeros(10))}</link>']
    parent = "base"
    for k, (link, joint) in enumerate(zip(robot.links, robot.joints, strict=True)):
        if reason := inertia.inconsistency(link.phi):
            text = f"link '{link.name}': {reason}"
            raise InconsistentInertiaError(f"{text}; the engine cannot simulate such a body")
        name = f"body_{k}"
        kind = "prismatic" if joint.prismatic else "revolute"
        parts.append(
            f'<link name="{name}">{_inertial(link.phi)}</link>'
            f'<joint name="joint_{k}" type="{kind}">{_origin(joint.T_parent_joint)}'
            f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{_text(joint.axis)}"/>'
            f'<limit lower="{-RANGE}" upper="{RANGE}" effort="0" velocity="{RANGE}"/></joint>'
        )
        parent = name
    # One body a line: Bullet breaks lines longer than 8191 characters anywhere, inside numbers too.
    return "\n".join(parts) + "</robot>"


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
    xx, yy, zz = (repr(float(v)) for v in moments)
    return (
        f'<inertial>{_origin(frame)}<mass value="{mass!r}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
    )


def _origin(T: Float2D) -> str:
    return f'<origin xyz="{_text(T[:3, 3])}" rpy="{_text(rpy_from_rotation(T[:3, :3]))}"/>'


def _text(values: Float1D) -> str:
    return " ".join(repr(float(v)) for v in values)
