"""Convex bodies in PyBullet."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.engine.convex_bodies import ClosestPoints, ConvexBodies
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import FileFormatError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.mesh_files import is_binary_stl

_log = logging.getLogger(__name__)


class PyBulletConvexBodies(ConvexBodies):
    """Convex bodies in a PyBullet client of their own."""

    def __init__(self, shapes: Sequence[GeometryShape]) -> None:
        self._client = EngineClient()
        try:
            self._bodies = [self._body(shape) for shape in shapes]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect from the engine."""
        self._client.close()

    def box(self, body: int) -> tuple[Float1D, Float1D]:
        """Return a box around a body that has not been placed yet; see `ConvexBodies`."""
        low, high = self._client.getAABB(self._bodies[body])
        return np.array(low), np.array(high)

    def place(self, body: int, position: Sequence[float], turn: Sequence[float]) -> None:
        """Put a body somewhere; see `ConvexBodies`."""
        self._client.resetBasePositionAndOrientation(self._bodies[body], position, turn)

    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return where two bodies are nearest; see `ConvexBodies`."""
        bodies = self._bodies
        points = self._client.getClosestPoints(bodies[first], bodies[second], distance=reach)
        if not points:
            return None
        nearest = points[0] if len(points) == 1 else min(points, key=lambda point: point[8])
        return ClosestPoints(nearest[8], nearest[5], nearest[6], nearest[7])

    def _body(self, shape: GeometryShape) -> int:
        with captured_output() as printed:
            try:
                collision = self._client.createCollisionShape(**engine_shape(self._client, shape))
            except EngineError:
                collision = -1
        if collision < 0:
            _log.debug("PyBullet: %s", printed.text)
            raise FileFormatError(
                f"PyBullet cannot read {shape.mesh or shape.kind}; save the mesh as STL or OBJ "
                "again, or remove its element from the URDF"
            )
        return int(self._client.createMultiBody(0, collision))


def engine_shape(client: EngineClient, shape: GeometryShape) -> dict[str, object]:
    """Return a shape as the engine takes it."""
    size = list(shape.size)
    sizes: dict[str, object]
    if shape.mesh is not None:
        kind, sizes = client.GEOM_MESH, {**_mesh(shape.mesh), "meshScale": size}
    elif shape.kind == "box":
        kind, sizes = client.GEOM_BOX, {"halfExtents": [0.5 * edge for edge in size]}
    elif shape.kind == "sphere":
        kind, sizes = client.GEOM_SPHERE, {"radius": size[0]}
    else:
        kind = client.GEOM_CYLINDER if shape.kind == "cylinder" else client.GEOM_CAPSULE
        sizes = {"radius": size[0], "height": size[1]}
    return {"shapeType": kind, **sizes}


def _mesh(path: Path) -> dict[str, object]:
    """Return a mesh as Bullet takes it; raise `FileFormatError` if the file is none.

    An STL file of text, or of another length than it says, crashes Bullet; an OBJ file whose faces
    name vertices that are not there gives it a body of any size.
    """
    if is_binary_stl(path):
        return {"fileName": str(path)}
    from robotid_sim.model.solid import read_mesh  # with trimesh, which few robots need here

    solid = read_mesh(path)
    is_text = path.suffix.lower() == ".stl"
    return {"vertices": solid.vertices.tolist()} if is_text else {"fileName": str(path)}
