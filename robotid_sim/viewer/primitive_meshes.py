"""Triangle meshes of the primitive shapes of a URDF.

Bullet's cylinders have few, thin triangles and no bevels: they look coarse, and thin triangles are
slow in the software renderer.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.inputs import MAX_MESH_SIZE, read_file
from robotid_sim.model.geometry import transform

CIRCLE_SEGMENTS = 40
"""Segments of a circle."""
BEVEL_WIDTH = 0.06
"""Width of a bevel over the smallest dimension."""


def box(x: float, y: float, z: float) -> trimesh.Trimesh:
    """Make a box with beveled edges, its center at the origin."""
    bevel = BEVEL_WIDTH * min(x, y, z)
    blocks = [trimesh.creation.box([x, y, z] - 2.0 * bevel * (1.0 - axis)) for axis in np.eye(3)]
    corners = np.vstack([block.vertices for block in blocks])
    return _shade(trimesh.convex.convex_hull(corners))


def cylinder(radius: float, length: float) -> trimesh.Trimesh:
    """Make a cylinder about z with beveled edges, its center at the origin."""
    h, c = 0.5 * length, BEVEL_WIDTH * min(2.0 * radius, length)
    upper = [(radius, h - c), (radius - c, h), (0.0, h)]
    return _revolve([*((r, -z) for r, z in reversed(upper)), *upper])


def sphere(radius: float) -> trimesh.Trimesh:
    """Make a sphere about the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> trimesh.Trimesh:
    """Make a cylinder about z with hemispheres at its ends; `length` is without them."""
    angle = np.linspace(0.0, 0.5 * np.pi, CIRCLE_SEGMENTS // 4 + 1)
    upper = np.column_stack([radius * np.cos(angle), radius * np.sin(angle) + 0.5 * length])
    upper[-1, 0] = 0.0
    lower = upper[: 0 if length == 0.0 else None : -1] * (1.0, -1.0)
    return _revolve([*lower, *upper])


def _revolve(profile: Sequence[Sequence[float]]) -> trimesh.Trimesh:
    """Make the surface of revolution of points (radius, z) from the lower to the upper end."""
    return _shade(trimesh.creation.revolve(np.array(profile), sections=CIRCLE_SEGMENTS))


def _shade(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Compute normals per face and vertex at edges, and one per vertex elsewhere."""
    shaded: trimesh.Trimesh = mesh.smooth_shaded
    return shaded


def segment(start: Float1D, end: Float1D) -> tuple[Float2D, float]:
    """Compute the frame in the middle of a segment, z along it, shape (4, 4), and its length."""
    length = float(np.linalg.norm(end - start))
    turn, _ = Rotation.align_vectors((end - start)[None] / length, [[0.0, 0.0, 1.0]])
    return transform(turn.as_matrix(), 0.5 * (start + end)), length


def has_triangles(path: Path) -> bool:
    """Check whether the text of a mesh file (STL, OBJ or DAE) has triangles.

    Without triangles Bullet draws nothing and gives no message.
    """
    data = read_file(path, MAX_MESH_SIZE)
    match path.suffix.lower():
        case ".stl":
            count = int.from_bytes(data[80:84], "little")
            binary = count > 0 and len(data) >= 84 + 50 * count
            return binary or re.search(rb"vertex\s", data) is not None
        case ".obj":
            return re.search(rb"^\s*f\s", data, re.MULTILINE) is not None
        case _:
            return re.search(rb"<(\w+:)?(triangles|polylist|polygons)\b", data) is not None
