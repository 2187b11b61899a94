"""Convex bodies of links in the engine: which shapes they are made of, and boxes around them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.engine.client import EngineClient
from robotid_sim.model.geometry import GeometryShape

READABLE = (".stl", ".obj")
"""Meshes that the engine reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """One convex body in the engine."""

    body: int
    """The engine's number."""
    link: int
    """Index of the link that carries it; -1 for what stands still."""
    T_link_hull: Float2D
    """Placement in the frame of the link, shape (4, 4)."""
    center: Float1D
    """Center of a box around it, in its own frame [m], shape (3,)."""
    half: Float1D
    """Half edges of that box [m], shape (3,)."""


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


def engine_shape(client: EngineClient, shape: GeometryShape) -> dict[str, object]:
    """Return a shape as the engine takes it."""
    size = list(shape.size)
    sizes: dict[str, object]
    if shape.kind == "mesh":
        kind, sizes = client.GEOM_MESH, {"fileName": str(shape.mesh), "meshScale": size}
    elif shape.kind == "box":
        kind, sizes = client.GEOM_BOX, {"halfExtents": [0.5 * edge for edge in size]}
    elif shape.kind == "sphere":
        kind, sizes = client.GEOM_SPHERE, {"radius": size[0]}
    else:
        kind = client.GEOM_CYLINDER if shape.kind == "cylinder" else client.GEOM_CAPSULE
        sizes = {"radius": size[0], "height": size[1]}
    return {"shapeType": kind, **sizes}
