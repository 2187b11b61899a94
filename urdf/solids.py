"""Solids that the catalog's meshes are built from, and how they become STL files.

Lengths are in meters, in the frame of the link that the solid belongs to. Everything is a closed
polyhedron (a manifold); unions and cuts of such are closed again.
"""

import itertools
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from manifold3d import CrossSection, Manifold, Mesh64, OpType

Point = Sequence[float]
Shapes = dict[str, tuple[dict[str, Manifold], list[Manifold]]]
"""Of every link: its parts by color, and convex pieces for collision checks."""

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

ROUND = 21.0
"""Quarter segments of a circle over the square root of its radius [m^(-1/2)], 4 to 8 of them.

The build takes it from the module of the robot: a simple arm affords more under the size limit.
"""

DETAIL = 1e-5
"""Smaller features are dropped [m]."""


def turned(
    profile: Sequence[tuple[float, float]], foot: Point, axis: Point = Z, segments: int = 0
) -> Manifold:
    """Return a solid of revolution.

    Parameters
    ----------
    profile : sequence of (radius, height)
        Its outline from the lower to the upper end; the axis closes it.
    foot : sequence of float, shape (3,)
        Where height zero is.
    axis : sequence of float, shape (3,)
        Direction of growing height.
    segments : int
        Of a circle; by default as its radius asks for.
    """
    radius = max(r for r, _ in profile)
    segments = segments or 4 * round(np.clip(ROUND * np.sqrt(radius), 4, 8))
    outline = [(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]
    points = [p for k, p in enumerate(outline) if k == 0 or p != outline[k - 1]]
    if sum(a[0] * b[1] - b[0] * a[1] for a, b in itertools.pairwise(points)) < 0.0:
        points = points[::-1]
    return _placed(Manifold.revolve(CrossSection([points]), segments), foot, axis)


def drum(
    start: Point, end: Point, radius: float, end_radius: float | None = None, bevel: float = 0.004
) -> Manifold:
    """Return a cylinder or cone between two points, with beveled edges."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    last = radius if end_radius is None else end_radius
    if bevel == 0.0:
        return turned([(radius, 0.0), (last, length)], a, b - a)
    bevel = min(bevel, 0.3 * length, 0.5 * radius, 0.5 * last)
    profile = [
        (radius - bevel, 0.0),
        (radius, bevel),
        (last, length - bevel),
        (last - bevel, length),
    ]
    return turned(profile, a, b - a)


def cap(
    start: Point, end: Point, radius: float, bevel: float = 0.003, segments: int = 0
) -> Manifold:
    """Return a cylinder that stands on something: only its far edge is beveled."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    profile = [(radius, 0.0), (radius, length - bevel), (radius - bevel, length)]
    return turned(profile, a, b - a, segments)


def block(center: Point, size: Point, bevel: float = 0.005) -> Manifold:
    """Return a box with beveled edges."""
    half = 0.5 * np.asarray(size, dtype=float)
    bevel = min(bevel, 0.45 * float(half.min()))
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8).T
    corners = [signs * (half - bevel * (1.0 - axis)) for axis in np.eye(3)]
    return Manifold.hull_points(np.vstack(corners) + np.asarray(center, dtype=float))


def plate(
    start: Point, end: Point, corners: Sequence[tuple[float, float]], radius: float, bevel: float
) -> Manifold:
    """Return a prism between two points with rounded corners, given across its axis.

    The corners are (u, v) with u along the first and v along the second of the two axes that
    remain, in the order x, y, z.
    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    across = [axis for axis in np.eye(3) if abs(axis @ (b - a)) < 1e-12]
    shifts = [u * across[0] + v * across[1] for u, v in corners]
    return hull(*(drum(a + shift, b + shift, radius, bevel=bevel) for shift in shifts))


def hull(*solids: Manifold) -> Manifold:
    """Return the convex hull of solids."""
    return Manifold.batch_hull(list(solids))


def union(*solids: Manifold) -> Manifold:
    """Return what is in any of the solids."""
    return Manifold.batch_boolean(list(solids), OpType.Add)


def convex(solid: Manifold, points: int = 30) -> Manifold:
    """Return a coarse convex hull with corners on the solid's own hull, for collision checks."""
    corners = np.asarray(solid.hull().to_mesh64().vert_properties)[:, :3]
    corners = corners[np.lexsort(corners.T)]
    k = np.arange(points) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * k / points), np.pi * (1.0 + np.sqrt(5.0)) * k
    directions = np.column_stack(
        [np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)]
    )
    size = np.ptp(corners, axis=0)  # directions as seen from a cube: long parts get their share
    chosen = np.unique((corners @ (directions / size).T).argmax(axis=0))
    return Manifold.hull_points(corners[chosen])


def triangles(solid: Manifold) -> np.ndarray:
    """Return the triangles of a solid in single precision, shape (T, 3, 3), in a fixed order."""
    mesh: Mesh64 = solid.simplify(DETAIL).to_mesh64()
    points = np.asarray(mesh.vert_properties)[:, :3].astype(np.float32) + np.float32(0.0)
    corners, index = np.unique(points, axis=0, return_inverse=True)
    faces = index.reshape(-1)[np.asarray(mesh.tri_verts, dtype=np.int64)]
    distinct = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[distinct]
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    if (np.unique(edges, axis=0, return_counts=True)[1] != 2).any():
        raise ValueError("parts of a solid touch along an edge only; let them overlap or part")
    first = faces.argmin(axis=1)[:, None]
    faces = np.take_along_axis(faces, (first + np.arange(3)) % 3, axis=1)
    return corners[faces[np.lexsort(faces.T[::-1])]]


def write_stl(solid: Manifold, path: Path) -> None:
    """Write a binary STL file; the same solid gives the same bytes."""
    corners = triangles(solid)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).astype(float)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    records = np.zeros(
        len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("tag", "<u2")]
    )
    records["normal"], records["corners"] = normals, corners
    head = b"robotid_sim, lengths in m".ljust(80, b" ")
    path.write_bytes(head + struct.pack("<I", len(corners)) + records.tobytes())


def _placed(solid: Manifold, foot: Point, axis: Point) -> Manifold:
    """Return a solid about z turned to `axis` and moved to `foot`."""
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    x = np.cross(np.eye(3)[(int(np.abs(z).argmax()) + 1) % 3], z)
    x /= np.linalg.norm(x)
    frame = np.column_stack([x, np.cross(z, x), z, np.asarray(foot, dtype=float)])
    return solid.transform(frame)
