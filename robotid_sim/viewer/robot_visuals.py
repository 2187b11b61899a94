"""The drawable parts of a robot: shapes of its bodies, and replacements of missing ones."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError
from robotid_sim.model import inertia
from robotid_sim.model.geometry import GeometryShape, require_mesh, transform
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import base_shapes
from robotid_sim.model.solid import Solid, read_mesh
from robotid_sim.viewer import primitive_meshes
from robotid_sim.viewer.colors import AXIS_COLORS, Rgba, rgba
from robotid_sim.viewer.primitive_meshes import segment

MESH_FORMATS = (".stl", ".obj", ".dae")
"""Mesh formats that Bullet reads."""

PLAIN_COLOR: Rgba = (0.7, 0.7, 0.7, 1.0)
"""Color that the reader gives to a shape without a color."""
SHELL_COLORS: tuple[Rgba, Rgba] = ((0.90, 0.91, 0.93, 1.0), (0.62, 0.67, 0.74, 1.0))
"""Alternating colors of uncolored bodies, which distinguish neighbors."""
JOINT_COLOR: Rgba = (0.27, 0.30, 0.35, 1.0)

PRIMITIVE_MESHES: dict[str, Callable[..., trimesh.Trimesh]] = {
    kind: getattr(primitive_meshes, kind) for kind in ("box", "cylinder", "sphere", "capsule")
}
"""Meshes by the kind of a `GeometryShape`, called with its sizes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class VisualPart:
    """A colored mesh fixed to a body."""

    body: int
    """Index of the movable body; -1 for the base."""
    T_body_part: Float2D
    mesh: trimesh.Trimesh | Path
    """Triangles, or a file that Bullet reads."""
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    rgba: Rgba = PLAIN_COLOR


def robot_parts(robot: Robot, *, files: bool = True) -> list[VisualPart]:
    """List the drawable parts of a robot: visual shapes, or collision shapes without them.

    A body without drawable shapes gets bars between its joints if its mesh file is missing, or if
    the whole robot has no drawable shape.

    Fixed links are fused as in the robot. Without `files` every mesh file counts as missing.
    """
    shapes = {-1: base_shapes(robot), **{k: link.shapes for k, link in enumerate(robot.links)}}
    parts_by_body = {
        body: _list_parts(body, body_shapes, files=files, collision=False)
        or _list_parts(body, body_shapes, files=files, collision=True)
        for body, body_shapes in shapes.items()
    }
    is_empty = not any(parts_by_body.values())
    for body, parts in parts_by_body.items():
        if not parts and (is_empty or shapes[body]):
            parts += stand_in(robot, body)
    return [part for parts in parts_by_body.values() for part in parts]


def collision_parts(robot: Robot, body: int) -> list[VisualPart]:
    """List the drawable collision shapes of a body."""
    shapes = base_shapes(robot) if body < 0 else robot.links[body].shapes
    return _list_parts(body, shapes, files=True, collision=True)


def part_solid(part: VisualPart, *, placed: bool = False) -> Solid:
    """Read the triangles of a part in its own frame or, if `placed`, in the frame of its body.

    Raises `FileFormatError` or `MissingExtraError` if its file cannot be read.
    """
    mesh = part.mesh
    solid = read_mesh(mesh) if isinstance(mesh, Path) else Solid(mesh.vertices, mesh.faces)
    sized = np.diag([*part.scale, 1.0])
    return solid.transform(part.T_body_part @ sized if placed else sized)


@dataclass(frozen=True, slots=True, eq=False)
class InertiaEllipsoid:
    """An ellipsoid in the frame of a body."""

    center: Float1D
    """Center of mass [m], shape (3,)."""
    semi_axes: Float1D
    """Lengths of the semi-axes [m], shape (3,)."""
    rotation: Float2D
    """Rotation matrix with the directions of the axes as columns, shape (3, 3)."""


def inertia_ellipsoid(phi: Float1D) -> InertiaEllipsoid | None:
    r"""Compute the ellipsoid of uniform density with a body's ten parameters; None without mass.

    A solid ellipsoid with semi-axes :math:`a_1, a_2, a_3` has the principal moments
    :math:`I_1 = \tfrac{m}{5} (a_2^2 + a_3^2)` and so on; solving for the axes gives

    .. math:: a_i^2 = \tfrac{5}{2 m} (I_j + I_k - I_i) .

    An axis of an inconsistent inertia (violated triangle inequality) has length zero.
    """
    mass, com, central = inertia.unpack(phi)
    if mass <= 0.0:
        return None
    moments, axes = inertia.principal_axes(central)
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    return InertiaEllipsoid(com, np.sqrt(np.maximum(squares, 0.0)), axes)


def inertia_parts(robot: Robot, color: Rgba, *, dot: float) -> list[VisualPart]:
    """Make translucent inertia ellipsoids, and dots of radius `dot` at centers of mass."""
    parts = []
    ball, com_dot = primitive_meshes.sphere(1.0), primitive_meshes.sphere(dot)
    opacity = 0.05 + 0.15 * max(color[:3])  # dark colors hide more of the background
    for body, link in enumerate(robot.links):
        if ellipsoid := inertia_ellipsoid(link.phi):
            axes = np.maximum(
                ellipsoid.semi_axes, 0.2 * dot
            ).tolist()  # a point mass has no ellipsoid
            T = transform(ellipsoid.rotation, ellipsoid.center)
            parts.append(VisualPart(body, T, ball, tuple(axes), (*color[:3], opacity)))
            parts.append(VisualPart(body, T, com_dot, rgba=color))
    return parts


def frame_parts(robot: Robot, size: float) -> list[VisualPart]:
    """Make the axes of every link frame and of the tip as thin bars of length `size`."""
    rod = primitive_meshes.cylinder(0.035 * size, size)
    frames = [*((body, np.eye(4)) for body in range(robot.dof)), (robot.dof - 1, robot.T_last_tip)]
    return [
        VisualPart(body, T @ segment(np.zeros(3), size * axis)[0], rod, rgba=rgba(color))
        for body, T in frames
        for axis, color in zip(np.eye(3), AXIS_COLORS, strict=True)
    ]


def reach(robot: Robot) -> float:
    """Compute the length of the extended arm, a bound on the distance of its tip [m]."""
    return float(sum(np.linalg.norm(end) for end in _bar_ends(robot))) or 1.0


def stand_in(robot: Robot, body: int) -> Iterator[VisualPart]:
    """Yield bars from a body's joint to the next one, and the joint itself.

    A revolute joint is a cylinder about its axis; a prismatic one a rail on the previous body, as
    long as its range, and a block that slides on it.
    """
    thickness = reach(robot) * (0.042 - 0.018 * (body + 1) / robot.dof)
    if body >= 0:
        joint = robot.joints[body]
        along, _ = segment(-joint.axis, joint.axis)
        if joint.prismatic:
            mesh = primitive_meshes.box(3.2 * thickness, 3.2 * thickness, 2.4 * thickness)
        else:
            mesh = primitive_meshes.cylinder(1.35 * thickness, 2.9 * thickness)
        yield VisualPart(body, along, mesh, rgba=JOINT_COLOR)
    else:
        base_frame = transform(np.eye(3), np.array([0.0, 0.0, 0.4 * thickness]))
        base_mesh = primitive_meshes.cylinder(2.4 * thickness, 0.8 * thickness)
        yield VisualPart(body, base_frame, base_mesh, rgba=JOINT_COLOR)
    end = _bar_ends(robot)[body + 1]
    if np.linalg.norm(end) > 1e-6:
        frame, length = segment(np.zeros(3), end)
        bar = primitive_meshes.capsule(thickness, length)
        yield VisualPart(body, frame, bar, rgba=SHELL_COLORS[(body + 1) % 2])
    if body + 1 < robot.dof and robot.joints[body + 1].prismatic:
        joint, thickness = robot.joints[body + 1], 0.9 * thickness
        T = joint.T_parent_joint
        axis = T[:3, :3] @ joint.axis
        frame, length = segment(*(T[:3, 3] + axis * x for x in (joint.lower, joint.upper)))
        rail = primitive_meshes.box(thickness, thickness, length + 3.0 * thickness)
        yield VisualPart(body, frame, rail, rgba=SHELL_COLORS[(body + 1) % 2])


def _bar_ends(robot: Robot) -> list[Float1D]:
    """Compute the end of every body's bar, which starts at its origin, in its frame; base first."""
    tip = robot.T_last_tip[:3, 3]
    if np.linalg.norm(tip) < 1e-6:  # no tool frame: a rod about the center of mass
        phi = robot.links[-1].phi
        tip = 2.0 * phi[1:4] / phi[0] if phi[0] > 0.0 else np.zeros(3)
    return [*(joint.T_parent_joint[:3, 3] for joint in robot.joints), tip]


def _list_parts(
    body: int, shapes: Sequence[GeometryShape], *, files: bool, collision: bool
) -> list[VisualPart]:
    """List the drawable parts of the visual or of the collision shapes."""
    parts = (_make_part(body, s, files=files) for s in shapes if s.collision is collision)
    return [part for part in parts if part is not None]


def _make_part(body: int, shape: GeometryShape, *, files: bool) -> VisualPart | None:
    uncolored = shape.rgba == PLAIN_COLOR or shape.collision
    color = SHELL_COLORS[(body + 1) % 2] if uncolored else shape.rgba
    if shape.mesh is None:
        if shape.kind not in PRIMITIVE_MESHES or not all(size > 0.0 for size in shape.size):
            return None
        return VisualPart(
            body, shape.T_body_shape, PRIMITIVE_MESHES[shape.kind](*shape.size), rgba=color
        )
    if not files:
        return None
    path = shape.mesh
    try:
        require_mesh(shape, "the robot")
    except FileFormatError as error:
        _log.warning("%s; it is not drawn", error)
        return None
    if path.suffix.lower() not in MESH_FORMATS or not primitive_meshes.has_triangles(path):
        _log.warning("mesh %s is not readable; it is not drawn", path)
        return None
    return VisualPart(body, shape.T_body_shape, path, shape.size, color)
