"""What a page draws of a robot: triangles by body and color, few enough for a page."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import trimesh

from robotid_sim.arrays import Float2D, Int1D
from robotid_sim.errors import RobotIdError
from robotid_sim.model.fixed_links import base_shapes
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import Solid
from robotid_sim.report.replay.simplify import simplified
from robotid_sim.viewer import robot_visuals
from robotid_sim.viewer.colors import Rgba

FINE, COARSE = 16_000, 5_000
"""Most triangles of an arm on a page, and of its shadow and of ghosts, of which there are several:
0.2 MB, and what a renderer without a graphics card draws in time."""

DOT = 0.012
"""Radius of the dot at a center of mass over the reach."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class BodyMesh:
    """Triangles of one color that are fixed to a body; vertices are doubled at sharp edges."""

    body: int
    """Index of the movable body; -1 for the base."""
    rgba: Rgba
    vertices: Float2D
    """In the frame of the body [m], shape (V, 3)."""
    faces: Int1D
    """Shape (F, 3)."""


def body_meshes(robot: Robot, limits: Sequence[int] = (FINE, COARSE)) -> list[list[BodyMesh]]:
    """Return what is drawn of a robot, once for every limit, of about so many triangles at most.

    Visual shapes, where they cannot be read collision shapes, else bars between the joints. A robot
    without any shape is bars with the inertia ellipsoids of its links.
    """
    parts, solids = zip(*_readable(robot), strict=True)
    levels = []
    for most in limits:
        groups: dict[tuple[int, Rgba], list[Solid]] = {}
        for part, solid in zip(parts, simplified(solids, most), strict=True):
            groups.setdefault((part.body, part.rgba), []).append(solid)
        levels.append([_merged(*key, group) for key, group in groups.items()])
    return levels


def _merged(body: int, rgba: Rgba, solids: Iterable[Solid]) -> BodyMesh:
    """Return the triangles of several solids in one, shaded smoothly but for sharp edges."""
    meshes = [trimesh.Trimesh(s.vertices, s.faces, process=False).smooth_shaded for s in solids]
    counts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + count for mesh, count in zip(meshes, counts, strict=False)]
    vertices = np.vstack([mesh.vertices for mesh in meshes])
    return BodyMesh(body, rgba, vertices, np.vstack(faces))


def _readable(robot: Robot) -> Iterator[tuple[robot_visuals.VisualPart, Solid]]:
    """Yield the parts of a robot with their triangles in the frames of their bodies."""
    parts = robot_visuals.robot_parts(robot)
    if not any((*base_shapes(robot), *(link.shapes for link in robot.links))):
        parts += robot_visuals.inertia_parts(
            robot, robot_visuals.SHELLS[0], dot=DOT * robot_visuals.reach(robot)
        )
    for body in range(-1, robot.dof):
        if shown := [part for part in parts if part.body == body]:
            yield from (
                _read(shown)
                or _read(robot_visuals.collision_parts(robot, body))
                or _read(list(robot_visuals.stand_in(robot, body)))
            )


def _read(
    parts: Sequence[robot_visuals.VisualPart],
) -> list[tuple[robot_visuals.VisualPart, Solid]]:
    """Return parts with their triangles; nothing if one of them cannot be read."""
    try:
        return [(part, robot_visuals.part_solid(part, placed=True)) for part in parts]
    except RobotIdError as error:
        _log.warning("%s; the page draws a simpler shape", error)
        return []
