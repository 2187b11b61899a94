"""What of a robot can be drawn: parts that hang on its bodies, and stand-ins for missing ones."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.model.fixed_links import base_shapes
from robotid_sim.model.geometry import Shape, transform
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import primitive_meshes
from robotid_sim.viewer.inertia_ellipsoid import inertia_ellipsoid
from robotid_sim.viewer.primitive_meshes import Mesh

Color = tuple[float, float, float, float]

MESH_FORMATS = (".stl", ".obj", ".dae")
"""What Bullet reads."""

PLAIN: Color = (0.7, 0.7, 0.7, 1.0)
"""The reader's color of a shape that has none."""
SHELLS: tuple[Color, Color] = ((0.90, 0.91, 0.93, 1.0), (0.62, 0.67, 0.74, 1.0))
"""Colors of uncolored bodies, in turn, so that neighbors can be told apart."""
JOINT_COLOR: Color = (0.27, 0.30, 0.35, 1.0)
AXIS_COLORS: tuple[Color, ...] = ((0.84, 0.15, 0.16, 1), (0.17, 0.63, 0.17, 1), (0.12, 0.4, 0.9, 1))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class VisualPart:
    """A colored mesh fixed to a body."""

    body: int
    """Index of the movable body; -1 for the base."""
    T_body_part: Float2D
    mesh: Mesh | Path
    """Triangles, or a file that Bullet reads."""
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    rgba: Color = PLAIN


def robot_parts(robot: Robot, *, files: bool = True) -> list[VisualPart]:
    """Return what of a robot is drawn: its visual shapes, or collision shapes where it has none.

    A body of which no shape can be drawn gets bars between its joints if it lost a mesh file, or if
    the whole robot has nothing else to show.

    Parameters
    ----------
    robot : Robot
        Its shapes are those of the URDF, fixed links fused.
    files : bool
        Use mesh files; if False every one of them counts as missing.
    """
    shapes = {-1: base_shapes(robot), **{k: link.shapes for k, link in enumerate(robot.links)}}
    drawn = {body: _drawn(body, of, files=files) for body, of in shapes.items()}
    bare = not any(drawn.values())
    parts: list[VisualPart] = []
    for body, found in drawn.items():
        if not found and (bare or shapes[body]):
            found = list(stand_in(robot, body))
        parts += found
    return parts


def inertia_parts(robot: Robot, color: Color, *, dot: float) -> list[VisualPart]:
    """Return a robot's inertia ellipsoids, translucent, and dots of radius `dot` at the COMs."""
    parts = []
    ball, round_dot = primitive_meshes.sphere(1.0), primitive_meshes.sphere(dot)
    opacity = 0.05 + 0.15 * max(color[:3])  # dark colors cover what is behind them most
    for body, link in enumerate(robot.links):
        found = inertia_ellipsoid(link.phi)
        if found is None:
            continue
        axes = np.maximum(found.semi_axes, 0.2 * dot)  # a point mass has none
        T = transform(found.rotation, found.center)
        scale = (float(axes[0]), float(axes[1]), float(axes[2]))
        parts.append(VisualPart(body, T, ball, scale, (*color[:3], opacity)))
        parts.append(VisualPart(body, T, round_dot, rgba=color))
    return parts


def frame_parts(robot: Robot, size: float) -> list[VisualPart]:
    """Return the axes of every link frame and of the tip as thin bars of length `size`."""
    rod = primitive_meshes.cylinder(0.035 * size, size)
    frames = [(body, np.eye(4)) for body in range(robot.dof)]
    frames.append((robot.dof - 1, np.asarray(robot.T_last_tip)))
    parts = []
    for body, T in frames:
        for axis, color in zip(np.eye(3), AXIS_COLORS, strict=True):
            along, _ = primitive_meshes.segment(np.zeros(3), size * axis)
            parts.append(VisualPart(body, T @ along, rod, rgba=color))
    return parts


def reach(robot: Robot) -> float:
    """Return the length of the stretched arm, a bound on the distance of its tip [m]."""
    return float(sum(np.linalg.norm(end - start) for start, end in _bars(robot))) or 1.0


def stand_in(robot: Robot, body: int) -> Iterator[VisualPart]:
    """Yield bars from a body's joint to the next one, and the joint itself.

    A revolute joint is a drum about its axis; a prismatic one a rail on the body before it, as long
    as its range, and a block that slides on it.
    """
    thick = reach(robot) * (0.042 - 0.018 * (body + 1) / robot.dof)
    color = SHELLS[(body + 1) % 2]
    if body >= 0:
        joint = robot.joints[body]
        drum = primitive_meshes.cylinder(1.35 * thick, 2.9 * thick)
        block = primitive_meshes.box(3.2 * thick, 3.2 * thick, 2.4 * thick)
        along, _ = primitive_meshes.segment(-joint.axis, joint.axis)
        mesh = block if joint.prismatic else drum
        yield VisualPart(body, along, mesh, rgba=JOINT_COLOR)
    else:
        foot = transform(np.eye(3), np.array([0.0, 0.0, 0.4 * thick]))
        yield VisualPart(
            body, foot, primitive_meshes.cylinder(2.4 * thick, 0.8 * thick), rgba=JOINT_COLOR
        )
    start, end = _bars(robot)[body + 1]
    if np.linalg.norm(end - start) > 1e-6:
        frame, length = primitive_meshes.segment(start, end)
        yield VisualPart(body, frame, primitive_meshes.capsule(thick, length), rgba=color)
    if body + 1 < robot.dof and robot.joints[body + 1].prismatic:
        yield _rail(robot.joints[body + 1], body, 0.9 * thick)


def _bars(robot: Robot) -> list[tuple[Float1D, Float1D]]:
    """Return start and end of the bar of every body in its frame, the base first."""
    bars: list[tuple[Float1D, Float1D]] = []
    for body in range(-1, robot.dof):
        if body + 1 < robot.dof:
            end = robot.joints[body + 1].T_parent_joint[:3, 3]
        else:
            end = robot.T_last_tip[:3, 3]
            if np.linalg.norm(end) < 1e-6:  # no tool frame: a rod about the centre of mass
                phi = robot.links[body].phi
                end = 2.0 * phi[1:4] / phi[0] if phi[0] > 0.0 else np.zeros(3)
        bars.append((np.zeros(3), np.asarray(end)))
    return bars


def _rail(joint: Joint, body: int, thick: float) -> VisualPart:
    """Return the rail of a prismatic joint on the body that carries it."""
    T = joint.T_parent_joint
    axis = T[:3, :3] @ joint.axis
    start, end = (T[:3, 3] + axis * value for value in (joint.lower, joint.upper))
    frame, length = primitive_meshes.segment(start, end)
    rail = primitive_meshes.box(thick, thick, length + 3.0 * thick)
    return VisualPart(body, frame, rail, rgba=SHELLS[(body + 1) % 2])


def _drawn(body: int, shapes: tuple[Shape, ...], *, files: bool) -> list[VisualPart]:
    """Return parts of the visual shapes that can be drawn, else of the collision shapes."""
    for collision in (False, True):
        wanted = [shape for shape in shapes if shape.collision is collision]
        parts = [p for shape in wanted if (p := _part(body, shape, files=files)) is not None]
        if parts:
            return parts
    return []


def _part(body: int, shape: Shape, *, files: bool) -> VisualPart | None:
    uncolored = shape.rgba == PLAIN or shape.collision
    rgba = SHELLS[(body + 1) % 2] if uncolored else shape.rgba
    if shape.kind == "mesh":
        path = shape.mesh
        if not files or path is None:
            return None
        if path.suffix.lower() not in MESH_FORMATS or not primitive_meshes.has_triangles(path):
            _log.warning("mesh %s is missing or not readable; it is not drawn", path)
            return None
        return VisualPart(body, shape.T_body_shape, path, shape.size, rgba)
    makers: dict[str, Callable[..., Mesh]] = {
        "box": primitive_meshes.box,
        "cylinder": primitive_meshes.cylinder,
        "sphere": primitive_meshes.sphere,
        "capsule": primitive_meshes.capsule,
    }
    if shape.kind not in makers or not all(size > 0.0 for size in shape.size):
        return None
    return VisualPart(body, shape.T_body_shape, makers[shape.kind](*shape.size), rgba=rgba)
