"""Interface to an engine for distances between links: convex bodies and their closest points.

It also selects the shapes of links and bounds the distance of boxes.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.engine.closing import Closeable
from robotid_sim.model.geometry import GeometryShape, require_mesh
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import base_shapes

MESH_MARGIN = 1e-3
"""Margin around a mesh [m], PyBullet's own: distances are that much too small, never too large."""


class ClosestPoints(NamedTuple):
    """Closest points of two bodies, or the deepest ones of an overlap."""

    distance: float
    """[m]; negative where they penetrate."""
    first: Sequence[float] | Float1D
    """Point on the first body [m], shape (3,)."""
    second: Sequence[float] | Float1D
    """Point on the second body [m], shape (3,)."""
    normal: Sequence[float] | Float1D
    """Unit vector from the second body to the first, shape (3,)."""


class ConvexBodies(Closeable):
    """Convex bodies in an engine, numbered in the order of their shapes.

    Every body is a shape in its own frame, for a mesh the convex hull of its file, and is at the
    origin initially.
    """

    @abstractmethod
    def box(self, body: int) -> tuple[Float1D, Float1D]:
        """Return the lowest and highest corner of a box around a body in its own frame [m]."""

    @abstractmethod
    def place(self, body: int, position: Sequence[float], turn: Sequence[float]) -> None:
        """Put a body at a position [m] and a rotation, a quaternion x, y, z, w."""

    @abstractmethod
    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return the closest points of two bodies; None if farther apart than `reach` [m]."""


MESH_SUFFIXES = (".stl", ".obj")
"""Meshes that engines read."""


def bound_box_distance(
    R_first: Float, R_second: Float, center_offset: Float2D, first: Float2D, second: Float2D
) -> Float1D:
    """Return a lower bound of the distance of boxes [m], shape (M,); not positive if they meet.

    It follows from the gaps along the axes of either box (the first six of the separating axes of
    Gottschalk, Lin, Manocha (1996), "OBBTree"), for orientations (M, 3, 3), vectors between the
    centers (M, 3), and half edges (M, 3).
    """
    between = np.abs(np.swapaxes(R_first, 1, 2) @ R_second)
    projected = np.abs(np.einsum("mij,mi->mj", R_first, center_offset))
    gaps = projected - first - np.einsum("mij,mj->mi", between, second)
    projected = np.abs(np.einsum("mij,mi->mj", R_second, center_offset))
    others = projected - second - np.einsum("mij,mi->mj", between, first)
    sums = [np.square(np.maximum(gap, 0.0)).sum(axis=1) for gap in (gaps, others)]
    return np.asarray(np.sqrt(np.maximum(*sums)))


def collision_shapes(shapes: Sequence[GeometryShape]) -> list[GeometryShape]:
    """Return the shapes for collision checks: the collision shapes, or all if there are none."""
    readable = [s for s in shapes if s.mesh is None or s.mesh.suffix.lower() in MESH_SUFFIXES]
    return [s for s in readable if s.collision] or readable


def require_meshes(robot: Robot) -> None:
    """Raise `FileFormatError` if a mesh for collision checks is missing.

    Messages name the link that has the mesh in the file; the robot may have fused it with another
    link.
    """
    document = robot.document
    links = () if document is None else document.links.values()
    owners = {(s.mesh, s.collision): f"link '{link.name}'" for link in links for s in link.shapes}
    bodies = [(f"link '{link.name}'", link.shapes) for link in robot.links]
    for owner, shapes in [*bodies, (f"link '{robot.base}'", base_shapes(robot))]:
        for shape in collision_shapes(shapes):
            require_mesh(shape, owners.get((shape.mesh, shape.collision), owner))
