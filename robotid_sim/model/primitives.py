"""Polyhedra that stand for the primitives of a URDF: equal in volume, and nearly in moments."""

from collections.abc import Callable

import numpy as np
import trimesh

from robotid_sim.model.solid import Solid

SEGMENTS = 128
"""Segments of a circle; a prism of equal volume has the cylinder's tensor to 1e-6."""


def box(x: float, y: float, z: float) -> Solid:
    """Return a box about the origin, edges along the axes."""
    return Solid.of_mesh(trimesh.creation.box([x, y, z]))


def cylinder(radius: float, length: float, segments: int = SEGMENTS) -> Solid:
    """Return a cylinder about z and the origin, as a regular prism of its volume."""
    step = 2.0 * np.pi / segments
    wide = radius * np.sqrt(step / np.sin(step))
    return Solid.of_mesh(trimesh.creation.cylinder(wide, length, sections=segments))


def sphere(radius: float) -> Solid:
    """Return a sphere about the origin, as a polyhedron of its volume with equal moments."""
    ball = Solid.of_mesh(trimesh.creation.icosphere(subdivisions=5, radius=radius))
    return _resized(ball, 4.0 / 3.0 * np.pi * radius**3)


def capsule(radius: float, length: float) -> Solid:
    """Return a capsule about z and the origin; `length` is without its half spheres."""
    counts = np.array([SEGMENTS, SEGMENTS // 2])
    solid = Solid.of_mesh(trimesh.creation.capsule(length, radius, count=counts))
    return _resized(solid, np.pi * radius**2 * (length + 4.0 / 3.0 * radius))


def _resized(solid: Solid, volume: float) -> Solid:
    """Return a solid scaled to a volume."""
    return Solid(solid.vertices * (volume / solid.volume) ** (1.0 / 3.0), solid.faces)


MAKERS: dict[str, Callable[..., Solid]] = {
    "box": box,
    "cylinder": cylinder,
    "sphere": sphere,
    "capsule": capsule,
}
"""Makers of the URDF's primitives, with the sizes of a `Shape`."""
