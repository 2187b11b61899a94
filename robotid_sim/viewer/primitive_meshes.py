"""Triangle meshes of simple bodies, for what a URDF describes by numbers.

Bullet's own cylinders have few, thin triangles and no bevels: they look coarse, and thin triangles
cost the software renderer most.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D

SEGMENTS = 40
"""Segments of a circle."""
BEVEL = 0.06
"""Width of a bevel over the smallest dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangles with a normal per vertex, outward side counter-clockwise."""

    vertices: Float2D
    """Shape (V, 3) [m]."""
    normals: Float2D
    """Shape (V, 3)."""
    faces: Int1D
    """Vertex indices, shape (F, 3)."""

    def save(self, path: Path) -> None:
        """Write the mesh as Wavefront OBJ."""
        lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in self.vertices]
        lines += [f"vn {x:.5g} {y:.5g} {z:.5g}" for x, y, z in self.normals]
        lines += [f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in self.faces + 1]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")


def cylinder(radius: float, length: float) -> Mesh:
    """Return a cylinder about z with beveled edges, its middle at the origin."""
    h, c = 0.5 * length, BEVEL * min(2.0 * radius, length)
    d = np.sqrt(0.5)
    return _turned(
        [
            [(0.0, -h, 0.0, -1.0), (radius - c, -h, 0.0, -1.0)],
            [(radius - c, -h, d, -d), (radius, c - h, d, -d)],
            [(radius, c - h, 1.0, 0.0), (radius, h - c, 1.0, 0.0)],
            [(radius, h - c, d, d), (radius - c, h, d, d)],
            [(radius - c, h, 0.0, 1.0), (0.0, h, 0.0, 1.0)],
        ]
    )


def sphere(radius: float) -> Mesh:
    """Return a sphere about the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Mesh:
    """Return a cylinder about z with half spheres at its ends; `length` is without them."""
    turns = np.linspace(-0.5 * np.pi, 0.5 * np.pi, SEGMENTS // 2 + 1)
    shift = np.where(turns < 0.0, -0.5, 0.5) * length
    middle = turns.size // 2
    turns, shift = np.insert(turns, middle, 0.0), np.insert(shift, middle, -0.5 * length)
    c, s = np.cos(turns), np.sin(turns)
    return _turned([list(zip(radius * c, radius * s + shift, c, s, strict=True))])


def box(x: float, y: float, z: float) -> Mesh:
    """Return a box with beveled edges, its middle at the origin."""
    half = 0.5 * np.array([x, y, z])
    bevel = BEVEL * 2.0 * float(half.min())
    square = np.array([[0, 4, 5], [0, 5, 1]])  # corners in a row-major grid of 4 x 4 points
    cells = np.concatenate([square + 4 * i + j for i in range(3) for j in range(3)])
    faces: list[Int1D] = []
    grids: list[Float2D] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        along_u, along_v = (np.array([-h, bevel - h, h - bevel, h]) for h in half[[u, v]])
        for side in (1.0, -1.0):
            grid = np.empty((4, 4, 3))
            grid[..., axis] = side * half[axis]
            grid[..., u], grid[..., v] = along_u[:, None], side * along_v[None, :]
            faces.append(cells + 16 * len(grids))
            grids.append(grid.reshape(-1, 3))
    raw = np.concatenate(grids)
    core = np.clip(raw, bevel - half, half - bevel)  # the box less its bevels
    normals = (raw - core) / np.linalg.norm(raw - core, axis=1, keepdims=True)
    return Mesh(core + bevel * normals, normals, np.concatenate(faces))


def _turned(runs: Sequence[Sequence[tuple[float, float, float, float]]]) -> Mesh:
    """Return the surface of revolution of profiles of (radius, z, normal r, normal z)."""
    angle = np.linspace(0.0, 2.0 * np.pi, SEGMENTS + 1)
    c, s = np.cos(angle), np.sin(angle)
    vertices, normals, faces, count = [], [], [], 0
    for run in runs:
        r, z, nr, nz = np.array(run).T[:, :, None]
        vertices.append(np.stack([r * c, r * s, z + 0.0 * c], axis=-1).reshape(-1, 3))
        normals.append(np.stack([nr * c, nr * s, nz + 0.0 * c], axis=-1).reshape(-1, 3))
        row = np.arange(len(run) - 1)[:, None] * (SEGMENTS + 1)
        a = (count + row + np.arange(SEGMENTS)).ravel()
        b = a + SEGMENTS + 1
        faces += [np.column_stack([a, a + 1, b + 1]), np.column_stack([a, b + 1, b])]
        count += len(run) * (SEGMENTS + 1)
    found = np.concatenate(faces)
    points = np.concatenate(vertices)
    area = np.linalg.norm(_cross(points, found), axis=1)
    return Mesh(points, np.concatenate(normals), found[area > 1e-12 * area.max()])  # no slivers


def _cross(points: Float2D, faces: Int1D) -> Float2D:
    """Return twice the area vector of every face, shape (F, 3)."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    return np.asarray(np.cross(b - a, c - a))


def has_triangles(path: Path) -> bool:
    """Return whether a mesh file (STL, OBJ or DAE) holds triangles, by a look at its text.

    Bullet draws nothing, and says nothing, if it holds none.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return False
    match path.suffix.lower():
        case ".stl":
            count = int.from_bytes(data[80:84], "little")
            binary = count > 0 and len(data) >= 84 + 50 * count
            return binary or re.search(rb"vertex\s", data) is not None
        case ".obj":
            return re.search(rb"^\s*f\s", data, re.MULTILINE) is not None
        case _:
            return re.search(rb"<(\w+:)?(triangles|polylist|polygons)\b", data) is not None


def volume(mesh: Mesh) -> float:
    """Return the enclosed volume [m^3], positive if the faces wind outward."""
    a = mesh.vertices[mesh.faces[:, 0]]
    return float(np.einsum("ij,ij->i", a, _cross(mesh.vertices, mesh.faces)).sum() / 6.0)


def segment(start: Float1D, end: Float1D) -> tuple[Float2D, float]:
    """Return the frame in the middle of a segment with z along it, shape (4, 4), and its length."""
    along = end - start
    length = float(np.linalg.norm(along))
    z = along / length
    x = np.cross(z, np.eye(3)[int(np.abs(z).argmin())])
    x /= np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    frame[:3, 3] = 0.5 * (start + end)
    return frame, length
