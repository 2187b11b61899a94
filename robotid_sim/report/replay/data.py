r"""Encode the replay for a page: geometry, triangles and motions, numbers in base64.

The page draws by WebGL 2 with scripts of robotid_sim (0.05 MB, ``bench/replay.py``). The viewer of
MeshCat takes 0.29 MB, needs a server and evaluates code from strings, which the content security
policy forbids. Joint positions are stored, not poses: 4 bytes per joint and sample, not 28; the
page computes the forward kinematics.

Triangles of a robot are grouped by body and color, and reduced by vertex clustering on a grid with
quadric error minimization.

Every triangle is a plane :math:`n^T x = d`; a cell's vertex minimizes the area-weighted squares of
the distances from all planes that touch it [1]_

.. math:: \sum_f a_f (n_f^T x - d_f)^2 + \epsilon\, a\, |x - \bar x|^2 ,

so that edges and flat faces are preserved. The second term attracts it to the mean
:math:`\bar x` of the cell's vertices in directions that the planes do not determine.

References
----------
.. [1] Lindstrom (2000), "Out-of-core simplification of large polygonal models", SIGGRAPH,
   doi:10.1145/344779.344912, section 3.
"""

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import trimesh

from robotid_sim.arrays import ArrayLike, Float1D, Float2D, Int1D
from robotid_sim.chart import Chart, Panel
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import base_shapes
from robotid_sim.model.solid import Solid
from robotid_sim.report.replay.motions import Replay, ReplayMotion
from robotid_sim.viewer import robot_visuals
from robotid_sim.viewer.colors import REFERENCE_COLOR, Rgba, warm
from robotid_sim.viewer.view_settings import direction

ARM_TRIANGLES, GHOST_TRIANGLES = 16_000, 5_000
"""Largest number of triangles of an arm on a page, and of its shadow and each ghost (0.2 MB)."""

DOT_RADIUS = 0.012
"""Radius of the dot at a center of mass, relative to the reach of the robot."""

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


def body_meshes(
    robot: Robot, limits: Sequence[int] = (ARM_TRIANGLES, GHOST_TRIANGLES)
) -> list[list[BodyMesh]]:
    """Build the meshes of a robot, once for every limit on the number of triangles.

    Visual shapes are used, collision shapes if they cannot be read, otherwise bars between the
    joints. A robot without shapes has bars with the inertia ellipsoids of its links.
    """
    visuals = robot_visuals.robot_parts(robot)
    if not any((*base_shapes(robot), *(link.shapes for link in robot.links))):
        visuals += robot_visuals.inertia_parts(
            robot, robot_visuals.SHELL_COLORS[0], dot=DOT_RADIUS * robot_visuals.reach(robot)
        )
    readable = []
    for body in range(-1, robot.dof):
        if shown := [part for part in visuals if part.body == body]:
            readable += (
                _read(shown)
                or _read(robot_visuals.collision_parts(robot, body))
                or _read(list(robot_visuals.stand_in(robot, body)))
            )
    parts, solids = zip(*readable, strict=True)
    levels = []
    for most in limits:
        groups: dict[tuple[int, Rgba], list[Solid]] = {}
        for part, solid in zip(parts, simplify(solids, most), strict=True):
            groups.setdefault((part.body, part.rgba), []).append(solid)
        level = []
        for (body, rgba), group in groups.items():
            unshaded = [trimesh.Trimesh(s.vertices, s.faces, process=False) for s in group]
            meshes = [mesh.smooth_shaded for mesh in unshaded]  # except at sharp edges
            counts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
            faces = [mesh.faces + count for mesh, count in zip(meshes, counts, strict=False)]
            vertices = np.vstack([mesh.vertices for mesh in meshes])
            level.append(BodyMesh(body, rgba, vertices, np.vstack(faces)))
        levels.append(level)
    return levels


def _read(
    parts: Sequence[robot_visuals.VisualPart],
) -> list[tuple[robot_visuals.VisualPart, Solid]]:
    """Read the triangles of parts; empty if one of them cannot be read."""
    try:
        return [(part, robot_visuals.part_solid(part, placed=True)) for part in parts]
    except RobotIdError as error:
        _log.warning("%s; the page draws a simpler shape", error)
        return []


MAX_SAMPLES = 16_000
"""Largest number of samples of all motions of a page: about 1.5 MB for seven joints."""

SHADE_COUNT = 16
"""Number of colors for shares from 0 to 1."""


def replay_data(replay: Replay, charts: Sequence[Chart] = ()) -> dict[str, Any]:
    """Convert a replay to JSON values, with the time axes of charts tied to its motions."""
    robot, names = replay.robot, {motion.name for motion in replay.motions}
    most = MAX_SAMPLES // max(1, len(replay.motions))
    fine, coarse = body_meshes(robot)
    triangles, fewer = (sum(len(mesh.faces) for mesh in meshes) for meshes in (fine, coarse))
    return {
        "robot": robot.name,
        "joints": _joints(robot),
        "tip": robot.T_last_tip[:3].ravel().tolist(),
        "ellipsoids": [_ellipsoid(link.phi) for link in robot.links],
        "meshes": [_mesh(mesh) for mesh in fine],
        "coarse": [_mesh(mesh) for mesh in coarse] if fewer < triangles else None,
        "motions": [_motion(motion.reduce_samples(most)) for motion in replay.motions],
        "panels": [
            {
                "chart": chart.name,
                "panel": k,
                "motion": panel.clock.motion,
                "origin": panel.clock.origin,
                "unit": panel.clock.unit,
            }
            for chart in charts
            for k, panel in enumerate(chart.panels)
            if isinstance(panel, Panel) and panel.clock is not None and panel.clock.motion in names
        ],
        "direction": direction(replay.camera),
        "speed": replay.speed,
        "shades": [warm(share) for share in np.linspace(0.0, 1.0, SHADE_COUNT).tolist()],
        "reference": REFERENCE_COLOR,
    }


def _ellipsoid(phi: Float1D) -> dict[str, Any] | None:
    """Return center and semi-axes of the inertia ellipsoid of a body [m]; None without mass."""
    shape = robot_visuals.inertia_ellipsoid(phi)
    if shape is None:
        return None
    axes = (shape.rotation * shape.semi_axes).T
    return {"center": shape.center.tolist(), "axes": axes.tolist()}


def _joints(robot: Robot) -> list[dict[str, Any]]:
    limits = robot.limits
    return [
        {
            "name": joint.name,
            "unit": unit,
            "geometry": robot.geometry[j].tolist(),
            "lower": float(limits.lower[j]),
            "upper": float(limits.upper[j]),
            "velocity": float(limits.velocity[j]),
            "effort": float(limits.effort[j]) if np.isfinite(limits.effort[j]) else 0.0,
        }
        for j, (joint, unit) in enumerate(zip(robot.joints, robot.joint_units, strict=True))
    ]


def _mesh(mesh: BodyMesh) -> dict[str, Any]:
    """Encode triangles with vertices as 16-bit integers over their bounding box."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = np.maximum(high - low, np.finfo(float).tiny) / 65535.0
    kind = "<u2" if len(mesh.vertices) <= 65536 else "<u4"
    return {
        "body": mesh.body,
        "color": [round(255.0 * value) for value in mesh.rgba[:3]],
        "alpha": mesh.rgba[3],
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": _encode(np.rint((mesh.vertices - low) / step), "<u2"),
        "faces": _encode(mesh.faces, kind),
        "wide": kind == "<u4",
    }


def _motion(motion: ReplayMotion) -> dict[str, Any]:
    shown = motion.animation
    torque = None
    if shown.tau is not None:  # as a share of the limit, or of the peak of a joint without one
        peak = np.maximum(np.abs(shown.tau).max(axis=0), np.finfo(float).tiny)
        effort = shown.robot.limits.effort
        torque = _shares(np.abs(shown.tau) / np.where(np.isfinite(effort), effort, peak))
    return {
        "name": motion.name,
        "own": motion.label,
        "t": _encode(shown.t, "<f8"),
        "q": _encode(shown.q, "<f4"),
        "torque": torque,
        "residual": None if motion.residual is None else _shares(motion.residual),
        "contact": None if motion.contact is None else _shares(motion.contact.astype(float)),
        "beside": [
            {"name": arm.name, "role": arm.role, "difference": _encode(arm.difference, "<f4")}
            for arm in motion.ghosts
        ],
        "magnification": motion.magnification,
    }


def _shares(values: Float2D) -> str:
    return _encode(np.rint(255.0 * np.clip(np.nan_to_num(values), 0.0, 1.0)), "u1")


def _encode(values: ArrayLike, dtype: str) -> str:
    """Encode numbers in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


MEAN_WEIGHT = 0.002
"""Weight of the mean relative to that of the planes."""

MAX_ROUNDS = 12
"""Largest number of cell sizes that are tried."""


def simplify(solids: Sequence[Solid], most: int) -> list[Solid]:
    """Reduce solids to about `most` triangles in all.

    One cell size applies to all, so that details of one size are preserved on all of them. A solid
    that would lose all triangles is not changed.
    """
    if sum(len(solid.faces) for solid in solids) <= most:
        return list(solids)
    area = sum(float(np.linalg.norm(_normals(solid), axis=1).sum()) for solid in solids)
    cell = np.sqrt(0.5 * area / most)  # half of the value for flat faces
    for _ in range(MAX_ROUNDS):
        clusters = [_Clusters.from_solid(solid, cell) for solid in solids]
        count = sum(len(cluster.faces) for cluster in clusters)
        if count <= most:
            break
        # The number of triangles scales with that of cells, an area.
        cell *= 1.03 * np.sqrt(count / most)
    return [
        cluster.solid(solid, cell) if len(cluster.faces) else solid
        for solid, cluster in zip(solids, clusters, strict=True)
    ]


def _normals(solid: Solid) -> Float2D:
    """Return the normals of the triangles, as long as twice their areas, shape (F, 3)."""
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


class _Clusters(NamedTuple):
    """Cells of the vertices, and triangles between three cells."""

    of_vertex: Int1D
    cells: int
    faces: Int1D

    @classmethod
    def from_solid(cls, solid: Solid, cell: float) -> Self:
        keys = np.floor((solid.vertices - solid.vertices.min(axis=0)) / cell).astype(np.int64)
        span = keys.max(axis=0) + 1
        flat = (keys[:, 0] * span[1] + keys[:, 1]) * span[2] + keys[:, 2]
        cells, of_vertex = np.unique(flat, return_inverse=True)
        n = cells.size
        corners = np.sort(of_vertex[solid.faces], axis=1)
        distinct = np.flatnonzero((np.diff(corners, axis=1) > 0).all(axis=1))
        a, b, c = corners[distinct].T
        _, first = np.unique((a * n + b) * n + c, return_index=True)
        return cls(of_vertex, n, of_vertex[solid.faces[distinct[first]]])

    def solid(self, solid: Solid, cell: float) -> Solid:
        used, renamed = np.unique(self.faces, return_inverse=True)
        places = _places(solid, self.of_vertex, self.cells, cell)
        return Solid(places[used], renamed.reshape(-1, 3))


def _places(solid: Solid, of_vertex: Int1D, count: int, cell: float) -> Float2D:
    """Compute the vertices of the cells [m], shape (count, 3)."""

    def sum_by_cell(values: Float2D, index: Int1D) -> Float2D:
        columns = [np.bincount(index, column, count) for column in values.T]
        return np.column_stack(columns)

    number = np.bincount(of_vertex, minlength=count).astype(float)
    mean: Float2D = sum_by_cell(solid.vertices, of_vertex) / number[:, None]
    normal = _normals(solid)
    area: Float1D = np.linalg.norm(normal, axis=1)
    normal /= np.maximum(area, np.finfo(float).tiny)[:, None]
    index = of_vertex[solid.faces].ravel()
    planes, weights = np.repeat(normal, 3, axis=0), np.repeat(area, 3)
    distances = np.einsum(
        "fi,fi->f", planes, np.repeat(solid.vertices[solid.faces[:, 0]], 3, axis=0) - mean[index]
    )
    squares = (weights[:, None, None] * planes[:, :, None] * planes[:, None, :]).reshape(-1, 9)
    A = sum_by_cell(squares, index).reshape(-1, 3, 3)
    pull = MEAN_WEIGHT * np.maximum(np.trace(A, axis1=1, axis2=2), np.finfo(float).tiny)
    A += pull[:, None, None] * np.eye(3)
    rhs = sum_by_cell((weights * distances)[:, None] * planes, index)
    shift = np.linalg.solve(A, rhs[:, :, None])[:, :, 0]  # [1], with a Tikhonov term
    return np.asarray(mean + np.clip(shift, -cell, cell))
