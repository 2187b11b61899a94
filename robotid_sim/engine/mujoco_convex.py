"""Convex bodies in MuJoCo, whose distances are asked for without any dynamics."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.convex_bodies import MARGIN, ClosestPoints, ConvexBodies
from robotid_sim.errors import FileFormatError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.solid import load_scene, read_mesh

THIN = 1e-5
"""Half thickness of a mesh that is flat [m]; MuJoCo takes none without a volume."""

TOLERANCE, ITERATIONS = 1e-9, 100
"""Of the distance [m], MuJoCo's own is 1e-6; with 200 iterations versions before 3.8 crashed."""

SAME = 1e-12
"""Points nearer than this have no direction [m]."""

APART: dict[str, Any] = {"group_material": False, "split_objects": True, "split_groups": True}
"""What of an OBJ file trimesh shall read apart: what PyBullet does."""

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""Corners of a cube from -1 to 1, shape (8, 3)."""

KINDS = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
}


class MujocoConvexBodies(ConvexBodies):
    """Convex bodies in a MuJoCo model of their own.

    Around meshes there is the margin that PyBullet has there, so that both say the same.
    """

    def __init__(self, shapes: Sequence[GeometryShape]) -> None:
        self._boxes: list[tuple[Float1D, Float1D]] = []
        self._geoms: list[list[int]] = []
        """Geoms of every body: several if its file holds several objects."""
        self._margins = [MARGIN * (shape.kind == "mesh") for shape in shapes]
        spec = mujoco.MjSpec()
        spec.option.ccd_tolerance, spec.option.ccd_iterations = TOLERANCE, ITERATIONS
        for shape in shapes:
            first, world = sum(map(len, self._geoms)), spec.worldbody
            hulls = _corners(shape)
            for k, points in enumerate(hulls, start=first):
                mesh = spec.add_mesh(name=f"hull_{k}", uservert=points.ravel())
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
                world.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
            if hulls:
                margin, points = MARGIN * (shape.kind == "mesh"), np.vstack(hulls)
                box = points.min(axis=0) - margin, points.max(axis=0) + margin
            else:
                radius, length = shape.size[0], shape.size[-1] if len(shape.size) > 1 else 0.0
                world.add_geom(type=KINDS[shape.kind], size=[radius, 0.5 * length, 0.0])
                up = 0.5 * length + (0.0 if shape.kind == "cylinder" else radius)
                box = -np.array([radius, radius, up]), np.array([radius, radius, up])
            self._boxes.append(box)
            self._geoms.append(list(range(first, first + max(len(hulls), 1))))
        try:
            self._model = spec.compile()
        except ValueError as error:
            raise FileFormatError(f"MuJoCo refused a shape: {error}") from error
        self._data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        # MuJoCo turns a mesh into its principal axes and the geom back.
        self._offsets = self._model.geom_pos.copy()
        self._turns = self._data.geom_xmat.reshape(-1, 3, 3).copy()
        self._fromto: Float1D = np.zeros(6)

    def close(self) -> None:
        """Nothing stays open."""

    def box(self, body: int) -> tuple[Float1D, Float1D]:
        """Return a box around a body; see `ConvexBodies`."""
        return self._boxes[body]

    def place(self, body: int, position: Sequence[float], turn: Sequence[float]) -> None:
        """Put a body somewhere; see `ConvexBodies`."""
        entries = np.empty(9)
        mujoco.mju_quat2Mat(entries, np.array((turn[3], *turn[:3])))
        R = entries.reshape(3, 3)
        for geom in self._geoms[body]:
            self._data.geom_xpos[geom] = position + R @ self._offsets[geom]
            self._data.geom_xmat[geom] = (R @ self._turns[geom]).ravel()

    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return where two bodies are nearest; see `ConvexBodies`."""
        margin = self._margins[first] + self._margins[second]
        nearest, least = None, reach + margin
        for a, b in product(self._geoms[first], self._geoms[second]):
            distance = mujoco.mj_geomDistance(self._model, self._data, a, b, least, self._fromto)
            if distance < least:
                least, nearest = distance, (a, b, self._fromto.copy())
        if nearest is None:
            return None
        a, b, points = nearest
        normal, length = points[:3] - points[3:], float(np.linalg.norm(points[:3] - points[3:]))
        if length < SAME:  # they touch exactly
            normal = self._data.geom_xpos[a] - self._data.geom_xpos[b]
            length = max(float(np.linalg.norm(normal)), SAME)
        sign = 1.0 if least >= 0.0 else -1.0
        return ClosestPoints(least - margin, points[:3], points[3:], normal * (sign / length))


def _corners(shape: GeometryShape) -> list[Float2D]:
    """Return corners of hulls, shape (N, 3) each; none of what is round.

    A box is one too: of a capsule deep in a box MuJoCo knows but one way out, a wrong one.
    """
    if shape.kind == "box":
        return [CORNERS * (0.5 * np.array(shape.size))]
    return [] if shape.mesh is None else [c * np.array(shape.size) for c in hulls_of(shape.mesh)]


def hulls_of(path: Path) -> list[Float2D]:
    """Return the corners of convex hulls of a mesh file, shape (N, 3) each.

    One of every object or group of an OBJ file, as in PyBullet, and one of other files. Raises
    `FileFormatError` if it cannot be read.
    """
    clouds = [read_mesh(path).vertices]  # tells what is wrong with a file
    if path.suffix.lower() == ".obj":
        clouds = [np.asarray(mesh.vertices) for mesh in load_scene(path, **APART).dump()]
    return [_hull(cloud) for cloud in clouds]


def _hull(points: Float2D) -> Float2D:
    """Return the corners of a convex hull; of flat points one with a small thickness."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        thick = (points[:, None] + THIN * CORNERS).reshape(-1, 3)
        return np.asarray(thick[ConvexHull(thick).vertices])
