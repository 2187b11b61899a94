"""Rigid transforms, the shapes that a URDF attaches to links, and a movable body of the chain."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D, freeze
from robotid_sim.errors import FileFormatError
from robotid_sim.inputs import PACKAGES
from robotid_sim.model.mesh_files import require_mesh_file
from robotid_sim.representation import public_value


def transform(rotation: Float2D, translation: Float1D) -> Float2D:
    """Return the homogeneous transform, shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def rotation_from_rpy(rpy: Float1D) -> Float2D:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)``, the URDF's fixed-axis convention [rad]."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Float2D) -> Float1D:
    """Return roll, pitch, yaw [rad]; at the pitch of +-90 degrees the roll is zero."""
    cos_pitch = np.hypot(rotation[0, 0], rotation[1, 0])
    pitch = np.arctan2(-rotation[2, 0], cos_pitch)
    if cos_pitch < 1e-9:
        return np.array([0.0, pitch, np.arctan2(-rotation[0, 1], rotation[1, 1])])
    roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    return np.array([roll, pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def number_text(values: ArrayLike) -> str:
    """Return one or more numbers with all their bits, as XML holds them; without negative zeros."""
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(values))


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class GeometryShape:
    """One visual or collision shape of a movable body."""

    kind: str
    """``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``."""
    size: tuple[float, ...]
    """Box: x, y, z; cylinder and capsule: radius, length; sphere: radius; mesh: scale x, y, z."""
    T_body_shape: Float2D
    """Placement in the frame of the body, shape (4, 4)."""
    mesh: Path | None = None
    """The mesh file, resolved; it need not exist until something draws it."""
    rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    """Color."""
    collision: bool = False
    """True for collision geometry, False for visual."""
    outside: bool = False
    """Whether the mesh file is none that the file of the robot may name; it is not read."""

    def __post_init__(self) -> None:
        freeze(self, (4, 4), "T_body_shape")


def require_mesh(shape: GeometryShape, owner: str) -> None:
    """Raise `FileFormatError` if the mesh of a shape cannot be read; it belongs to `owner`."""
    if shape.mesh is None:
        return
    element = "collision" if shape.collision else "visual"
    if shape.outside:
        raise FileFormatError(
            f"mesh {shape.mesh} of {owner} is not below the folder of the robot's file; copy it "
            f"there, name a folder above both in {PACKAGES}, or remove the <{element}> element"
        )
    require_mesh_file(shape.mesh)
    if not shape.mesh.is_file():
        raise FileFormatError(
            f"mesh {shape.mesh} of {owner} is missing; put the file there, set {PACKAGES} if it "
            f"is in a ROS package, or remove the <{element}> element"
        )


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A movable body: its inertial parameters about the frame of its URDF link."""

    name: str
    phi: Float1D
    """``m mx my mz Ixx Ixy Iyy Ixz Iyz Izz`` about the link frame, shape (10,)."""
    fixed: tuple[str, ...] = ()
    """URDF links fused to it through fixed joints."""
    locked: tuple[str, ...] = ()
    """URDF links fused to it behind joints locked at zero."""
    shapes: tuple[GeometryShape, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, (10,), "phi", what=f"link '{self.name}': ")
