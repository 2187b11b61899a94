r"""Closed polyhedra and their inertia: meshes, primitives, hulls and unions.

At unit density a body is its pseudo-inertia :math:`J = \int \bar x \bar x^T dV` with
:math:`\bar x = (x, 1)`. Over the tetrahedra that the faces span with a point it is a sum [1]_

.. math:: \int_T x\,x^T dV = \frac{V}{20} \Big( \sum_i v_i v_i^T + s\,s^T \Big),
    \quad s = \sum_i v_i ,

of their corners :math:`v_i`, so that volume, center of mass and tensor are exact to rounding.

Meshes and hulls use trimesh, unions manifold3d, both of the extra ``cad``.

References
----------
.. [1] Tonon (2005), "Explicit exact formulas for the 3-D tetrahedron inertia tensor in terms of
   its vertex coordinates", J. Mathematics and Statistics, doi:10.3844/jmssp.2005.8.11.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import trimesh
from scipy.spatial import QhullError

from robotid_sim.arrays import Float1D, Float2D, Int1D, readonly
from robotid_sim.errors import (
    FileFormatError,
    MissingExtraError,
    OptionError,
    ShapeError,
    require_extra,
)
from robotid_sim.inputs import MAX_MESH_SIZE, read_file, require_reference_allowed
from robotid_sim.model import inertia
from robotid_sim.model.mesh_files import MESH_SUFFIXES, REFERENCE_PATTERNS

MAX_COPYING_NODES = 20
"""Maximum number of instance nodes of a Collada file; nested ones expand to many more copies."""

MAX_CACHED_MESHES = 32
"""Number of meshes in the cache; meshes of a robot are read several times."""


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A closed polyhedron; faces are triangles, counter-clockwise as seen from outside."""

    vertices: Float2D
    """Shape (V, 3) [m]."""
    faces: Int1D
    """Vertex indices, shape (F, 3)."""

    def __post_init__(self) -> None:
        vertices = readonly(self.vertices, shape=(None, 3), name="vertices of a solid")
        faces = np.array(self.faces, dtype=np.intp)
        if faces.ndim != 2 or faces.shape[1:] != (3,) or faces.size == 0:
            raise ShapeError(f"faces of a solid have shape {faces.shape}, expected (any, 3)")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise ShapeError("faces of a solid name vertices that do not exist")
        faces.setflags(write=False)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    @classmethod
    def from_mesh(cls, mesh: trimesh.Trimesh) -> Self:
        """Return a mesh of trimesh as a solid."""
        return cls(mesh.vertices, mesh.faces)

    @property
    def open_edges(self) -> int:
        """Number of edges that faces do not pass equally often in both directions; 0 if closed."""
        tail, head = self.faces.ravel(), np.roll(self.faces, -1, axis=1).ravel()
        edge = np.minimum(tail, head) * len(self.vertices) + np.maximum(tail, head)
        _, index = np.unique(edge, return_inverse=True)
        net = np.bincount(index.reshape(-1), weights=np.sign(head - tail))
        return int(np.count_nonzero(net))

    @property
    def volume(self) -> float:
        """Volume [m^3]; negative if the faces wind inward."""
        shift = self.vertices.mean(axis=0)  # avoids cancellation if the solid is far from its frame
        return float(np.linalg.det((self.vertices - shift)[self.faces]).sum() / 6.0)

    def moments(self) -> Float2D:
        """Return the pseudo-inertia at unit density [m^5, m^4, m^3], shape (4, 4)."""
        shift = self.vertices.mean(axis=0)  # avoids cancellation if the solid is far from its frame
        corners = (self.vertices - shift)[self.faces]
        signed = np.linalg.det(corners)  # six times the volume of each tetrahedron
        total = corners.sum(axis=1)
        squares = np.einsum("f,fki,fkj->ij", signed, corners, corners)
        squares += np.einsum("f,fi,fj->ij", signed, total, total)
        central = np.empty((4, 4))
        central[:3, :3] = squares / 120.0  # [1]
        central[:3, 3] = central[3, :3] = signed @ total / 24.0
        central[3, 3] = signed.sum() / 6.0
        frame = np.eye(4)
        frame[:3, 3] = shift
        return np.asarray(frame @ central @ frame.T)

    def parameters(self, *, mass: float | None = None, density: float | None = None) -> Float1D:
        """Return the ten inertial parameters of the solid filled evenly, by mass or density.

        Units are [kg] and [kg/m^3]. Raises `OptionError` if not exactly one of them is given or
        it is negative, or the solid has no volume.
        """
        if (mass is None) == (density is None):
            raise OptionError("give the mass or the density of a solid, not both or none")
        moments = self.moments()
        if not moments[3, 3] > 0.0:
            raise OptionError(f"the solid has no volume ({moments[3, 3]:.3g} m^3)")
        scale = mass / moments[3, 3] if mass is not None else density
        if scale is None or not 0.0 <= scale < np.inf:
            raise OptionError(f"the mass or density of a solid is {mass or density}")
        return inertia.from_pseudo_inertia(scale * moments)

    def transform(self, T: Float2D) -> Self:
        """Apply an affine map, shape (4, 4); a mirrored solid has its faces reversed."""
        faces = self.faces if np.linalg.det(T[:3, :3]) > 0.0 else self.faces[:, ::-1]
        return type(self)(self.vertices @ T[:3, :3].T + T[:3, 3], faces)

    def stl(self) -> bytes:
        """Return the solid as a binary STL file."""
        mesh = trimesh.Trimesh(self.vertices, self.faces, process=False)
        return bytes(trimesh.exchange.stl.export_stl(mesh))

    def convex_hull(self) -> Self:
        """Return the convex hull; raise OptionError if the solid is flat."""
        try:
            return self.from_mesh(trimesh.convex.convex_hull(self.vertices))
        except QhullError as error:
            raise OptionError("a flat solid has no convex hull with a volume") from error


def union(solids: Sequence[Solid]) -> Solid:
    """Return the union of solids; overlaps count once.

    Raises `OptionError` if one of several is not closed, `MissingExtraError` if manifold3d is
    needed and not installed.
    """
    if len(solids) == 1:
        return solids[0]
    with require_extra("inertia from geometry needs manifold3d", "cad"):
        package = importlib.import_module("manifold3d")
    manifolds = []
    for solid in solids:
        mesh = package.Mesh64(np.array(solid.vertices), np.array(solid.faces, dtype=np.uint64))
        manifolds.append(package.Manifold(mesh))
        if (status := manifolds[-1].status()) != package.Error.NoError:
            raise OptionError(
                f"a solid is not a closed surface ({status.name}, {solid.open_edges} open edges); "
                "repair the mesh or take its convex hull"
            )
    mesh = package.Manifold.batch_boolean(manifolds, package.OpType.Add).to_mesh64()
    return Solid(np.asarray(mesh.vert_properties)[:, :3], np.asarray(mesh.tri_verts))


def read_mesh(path: str | Path) -> Solid:
    """Return the mesh of a file, open or closed; formats are trimesh's: STL, OBJ, PLY and more.

    Raises `FileFormatError` if the file is missing or holds no triangles, `MissingExtraError` if a
    package that the format needs is not installed.
    """
    file = Path(path)
    if not file.is_file() or file.suffix.lower() == ".gltf":  # missing, or refers to other files
        return _read_mesh(file)
    status = file.stat()
    return _mesh_by_stamp(file.absolute(), (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=MAX_CACHED_MESHES)
def _mesh_by_stamp(file: Path, _stamp: tuple[int, int]) -> Solid:
    """Read a mesh, cached by its modification time and size."""
    return _read_mesh(file)


def _read_mesh(file: Path) -> Solid:
    """Read a mesh; see `read_mesh`."""
    try:
        mesh = load_scene(file).to_mesh()
        points, index = weld(np.asarray(mesh.vertices, dtype=float))
        faces = index[np.asarray(mesh.faces)]
        solid = Solid(points, faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)])
    except ImportError as error:
        hint = "pip install pycollada" if file.suffix.lower() == ".dae" else str(error)
        text = f"reading {file} needs another package ({hint})"
        raise MissingExtraError(f"{text}; or convert the mesh to .stl") from error
    except FileFormatError:
        raise
    except Exception as error:  # trimesh's readers raise any error for a broken file
        raise FileFormatError(
            f"cannot read mesh {file}: {error}; save it again as STL or OBJ"
        ) from error
    return solid if solid.volume >= 0.0 else Solid(solid.vertices, solid.faces[:, ::-1])


def weld(points: Float2D) -> tuple[Float2D, Int1D]:
    """Merge coinciding points; return them, in order, and the index of each old one.

    Same as `np.unique` by rows, in a quarter of its time.
    """
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    is_new = np.ones(len(points), dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    index = np.empty(len(points), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return ordered[is_new], index


def load_scene(file: Path, **options: Any) -> Any:
    """Read the geometry of a mesh file by trimesh, without materials and pictures.

    Raises `FileFormatError` if the file is missing, of an unknown format, or nests too many copies;
    errors of trimesh's readers for a broken file pass through.
    """
    suffix = file.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise FileFormatError(
            f"cannot read mesh {file}: its suffix is none of {' '.join(MESH_SUFFIXES)}; save it as "
            f"STL"
        )
    if not file.is_file():
        raise FileFormatError(f"mesh {file} is missing; put the file there")
    content = read_file(file, MAX_MESH_SIZE)
    if content.count(b"instance_node") > MAX_COPYING_NODES:
        raise FileFormatError(f"mesh {file} is made of copies of copies; save it as STL")
    buffers: dict[str, bytes] = {}
    for name in REFERENCE_PATTERNS[suffix].findall(content) if suffix == ".gltf" else ():
        buffer = file.parent / name.decode("utf-8", errors="replace")
        if buffer.suffix == ".bin":
            require_reference_allowed(
                file, buffer, f"'{buffer.name}' in mesh {file}", MAX_MESH_SIZE
            )
            buffers[name.decode()] = read_file(buffer, MAX_MESH_SIZE)
    kind = suffix.removeprefix(".")
    return trimesh.load_scene(BytesIO(content), kind, resolver=buffers, process=False, **options)


# Polyhedra replace the primitives of URDF, with equal volume and nearly equal moments.
CIRCLE_SEGMENTS = 128
"""Segments of a circle; a prism of equal volume has the cylinder's tensor to 1e-6."""


def box(x: float, y: float, z: float) -> Solid:
    """Return a box about the origin, edges along the axes."""
    return Solid.from_mesh(trimesh.creation.box([x, y, z]))


def cylinder(radius: float, length: float, segments: int = CIRCLE_SEGMENTS) -> Solid:
    """Return a cylinder about z and the origin, as a regular prism of its volume."""
    step = 2.0 * np.pi / segments
    wide = radius * np.sqrt(step / np.sin(step))
    return Solid.from_mesh(trimesh.creation.cylinder(wide, length, sections=segments))


def sphere(radius: float) -> Solid:
    """Return a sphere about the origin, as a polyhedron of its volume with equal moments."""
    ball = Solid.from_mesh(trimesh.creation.icosphere(subdivisions=5, radius=radius))
    return _resize(ball, 4.0 / 3.0 * np.pi * radius**3)


def capsule(radius: float, length: float) -> Solid:
    """Return a capsule about z and the origin; `length` is without its half spheres."""
    counts = np.array([CIRCLE_SEGMENTS, CIRCLE_SEGMENTS // 2])
    solid = Solid.from_mesh(trimesh.creation.capsule(length, radius, count=counts))
    return _resize(solid, np.pi * radius**2 * (length + 4.0 / 3.0 * radius))


def _resize(solid: Solid, volume: float) -> Solid:
    """Return a solid scaled to a volume."""
    return Solid(solid.vertices * (volume / solid.volume) ** (1.0 / 3.0), solid.faces)


SHAPE_MAKERS: dict[str, Callable[..., Solid]] = {
    "box": box,
    "cylinder": cylinder,
    "sphere": sphere,
    "capsule": capsule,
}
"""Functions that build a primitive of URDF from the sizes of a `GeometryShape`, by its kind."""
