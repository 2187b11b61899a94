"""Polyhedra that stand for the primitives of a URDF: equal in volume, and nearly in moments."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robotid_sim.arrays import readonly
from robotid_sim.model.solid import Solid

SEGMENTS = 128
"""Segments of a circle; a prism of equal volume has the cylinder's tensor to 1e-6."""


def box(x: float, y: float, z: float) -> Solid:
    """Return a box about the origin, edges along the axes."""
    return prism(0.5 * np.array([[-x, -y], [x, -y], [x, y], [-x, y]]), z)


def prism(polygon: ArrayLike, length: float) -> Solid:
    """Return a prism along z about the origin over a convex polygon in x, y, shape (n, 2)."""
    outline = readonly(polygon, shape=(None, 2), name="polygon")
    n = len(outline)
    ends = [np.column_stack([outline, np.full(n, h)]) for h in (-0.5 * length, 0.5 * length)]
    k, near = np.arange(n), np.arange(1, n - 1)
    after = (k + 1) % n
    fan = np.column_stack([np.zeros(n - 2, dtype=np.intp), near, near + 1])
    sides = [np.column_stack([k, after, after + n]), np.column_stack([k, after + n, k + n])]
    solid = Solid(np.vstack(ends), np.vstack([*sides, fan[:, ::-1], fan + n]))
    return solid if solid.volume > 0.0 else Solid(solid.vertices, solid.faces[:, ::-1])


def cylinder(radius: float, length: float, segments: int = SEGMENTS) -> Solid:
    """Return a cylinder about z and the origin, as a regular prism of its volume."""
    step = 2.0 * np.pi / segments
    angle = step * np.arange(segments)
    wide = radius * np.sqrt(step / np.sin(step))
    return prism(wide * np.column_stack([np.cos(angle), np.sin(angle)]), length)


def sphere(radius: float) -> Solid:
    """Return a sphere about the origin, as a polyhedron of its volume with equal moments."""
    return _resized(_ball(), 4.0 / 3.0 * np.pi, radius)


def capsule(radius: float, length: float) -> Solid:
    """Return a capsule about z and the origin; `length` is without its half spheres."""
    ball, shift = _ball(), np.array([0.0, 0.0, 0.5 * length / radius])
    solid = Solid(np.vstack([ball.vertices + shift, ball.vertices - shift]), ball.faces)
    return _resized(solid.convex_hull(), np.pi * (length / radius + 4.0 / 3.0), radius)


def _ball() -> Solid:
    """Return a unit sphere from an octahedron whose faces are split in four again and again."""
    points = np.vstack([np.eye(3), -np.eye(3)])
    faces = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2]])
    faces = np.vstack([faces, np.where(faces == 2, 5, faces)[:, ::-1]])
    for _ in range(5):
        corners = points[faces]
        middle = 0.5 * (corners + np.roll(corners, -1, axis=1))
        (a, b, c), (ab, bc, ca) = corners.swapaxes(0, 1), middle.swapaxes(0, 1)
        split = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
        points, index = np.unique(split, axis=0, return_inverse=True)  # an edge's middle: same bits
        faces = index.reshape(-1, 3)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return Solid(points, faces)


def _resized(solid: Solid, volume: float, scale: float) -> Solid:
    """Return a solid scaled to a volume, then by a factor."""
    factor = scale * (volume / solid.volume) ** (1.0 / 3.0)
    return Solid(solid.vertices * factor, solid.faces)


MAKERS: dict[str, Callable[..., Solid]] = {
    "box": box,
    "cylinder": cylinder,
    "sphere": sphere,
    "capsule": capsule,
}
"""Makers of the URDF's primitives, with the sizes of a `Shape`."""
