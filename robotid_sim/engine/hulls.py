"""Convex bodies of links: which shapes they are made of, and boxes around them."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.model.fixed_links import base_shapes
from robotid_sim.model.geometry import GeometryShape, require_mesh
from robotid_sim.model.robot import Robot

READABLE = (".stl", ".obj")
"""Meshes that engines read."""


def boxes_apart(
    R_first: Float, R_second: Float, apart: Float2D, first: Float2D, second: Float2D
) -> Float1D:
    """Return a lower bound of the distance of boxes [m], shape (M,); not positive if they meet.

    By the gaps along the axes of either box (the first six of the separating axes of Gottschalk,
    Lin, Manocha (1996), "OBBTree"), for orientations (M, 3, 3), the way from center to center and
    half edges (M, 3).
    """
    between = np.abs(np.swapaxes(R_first, 1, 2) @ R_second)
    seen = np.abs(np.einsum("mij,mi->mj", R_first, apart))
    gaps = seen - first - np.einsum("mij,mj->mi", between, second)
    seen = np.abs(np.einsum("mij,mi->mj", R_second, apart))
    others = seen - second - np.einsum("mij,mi->mj", between, first)
    sums = [np.square(np.maximum(gap, 0.0)).sum(axis=1) for gap in (gaps, others)]
    return np.asarray(np.sqrt(np.maximum(*sums)))


def collision_shapes(shapes: Sequence[GeometryShape]) -> list[GeometryShape]:
    """Return the shapes that collisions are looked for with: those of collision, or all."""
    readable = [s for s in shapes if s.mesh is None or s.mesh.suffix.lower() in READABLE]
    return [s for s in readable if s.collision] or readable


def require_meshes(robot: Robot) -> None:
    """Raise `FileFormatError` if a mesh is missing that collisions are looked for with.

    Messages name the link of the file that has it, which may be fused with its body.
    """
    document = robot.document
    links = () if document is None else document.links.values()
    owners = {(s.mesh, s.collision): f"link '{link.name}'" for link in links for s in link.shapes}
    bodies = [(f"link '{link.name}'", link.shapes) for link in robot.links]
    for owner, shapes in [*bodies, (f"link '{robot.base}'", base_shapes(robot))]:
        for shape in collision_shapes(shapes):
            require_mesh(shape, owners.get((shape.mesh, shape.collision), owner))
