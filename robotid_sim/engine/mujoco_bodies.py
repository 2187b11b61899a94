"""The bodies of a robot in MuJoCo, built from the robot itself.

The module also loads convex bodies into MuJoCo, for distances without dynamics.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numba.extending import overload
from scipy.spatial import ConvexHull, QhullError

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.compiled import c_functions, types
from robotid_sim.engine.compiled_loop import advance, read
from robotid_sim.engine.convex_bodies import MESH_MARGIN, ClosestPoints, ConvexBodies
from robotid_sim.engine.rigid_bodies import RigidBodies, engine_inertia
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.inertia import add_extent
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import load_scene, read_mesh

DISABLED_FLAGS = (
    *(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT, mujoco.mjtDisableBit.mjDSBL_CONTACT),
    *(mujoco.mjtDisableBit.mjDSBL_SENSOR, mujoco.mjtDisableBit.mjDSBL_EULERDAMP),
    # A reset would hide divergence, which the plant reports.
    mujoco.mjtDisableBit.mjDSBL_AUTORESET,
)
"""Flags that disable everything except rigid bodies and gravity."""

LIBRARY_PATTERNS = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco*.dll")
"""Names of MuJoCo's library in its package folder, by platform."""

_library = next(
    path for names in LIBRARY_PATTERNS for path in sorted(Path(mujoco.__file__).parent.glob(names))
)
_step = c_functions(_library)("mj_step", types.void, types.intp, types.intp)


class MujocoBodies(RigidBodies):
    """Bodies of a robot in their own MuJoCo model."""

    def __init__(self, robot: Robot, dt: float) -> None:
        # Otherwise MuJoCo writes every warning to a file.
        mujoco.set_mju_user_warning(lambda _: None)
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = dt, robot.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        spec.option.disableflags = sum(int(bit) for bit in DISABLED_FLAGS)
        spec.compiler.autolimits = False
        spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
        body = spec.worldbody
        for k, (link, joint) in enumerate(zip(robot.links, robot.joints, strict=True)):
            mass, moments, frame = engine_inertia(add_extent(link.phi))
            body = body.add_body(
                name=f"body_{k}",
                pos=joint.T_parent_joint[:3, 3],
                quat=_quaternion(joint.T_parent_joint),
                mass=mass,
                ipos=frame[:3, 3],
                iquat=_quaternion(frame),
                inertia=moments,
                explicitinertial=True,
            )
            kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.prismatic else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=f"joint_{k}", type=kind, axis=joint.axis)
        try:
            self._model = spec.compile()
        except ValueError as error:
            raise RobotIdError(f"MuJoCo refused the bodies of '{robot.name}': {error}") from error
        self._data = data = mujoco.MjData(self._model)
        addresses = self._model._address, data._address  # noqa: SLF001 - MuJoCo's, for such use
        super().__init__(robot.dof, (*addresses, data.qfrc_applied, data.qpos, data.qvel))
        # Whether a body in the engine differs from the given body.
        for k, link in enumerate(robot.links, start=1):
            mass, moments, _ = engine_inertia(add_extent(link.phi))
            loaded = np.array([self._model.body_mass[k], *self._model.body_inertia[k]])
            expected = np.array([mass, *moments])
            if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                raise RobotIdError(f"MuJoCo changed the inertia of link '{link.name}'")

    def close(self) -> None:
        """Do nothing."""

    def set_state(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = q, dq


def _is_mujoco(bodies: Any) -> bool:
    array = types.Array(types.float64, 1, "C")
    return bool(bodies == types.Tuple((types.int64, types.int64, array, array, array)))


@overload(advance)
def _advance(bodies: Any, tau: Any) -> Any:  # noqa: ARG001 - numba compares the names
    def step(bodies: Any, tau: Any) -> None:
        model, data, applied, _, _ = bodies
        applied[:] = tau
        _step(model, data)

    return step if _is_mujoco(bodies) else None


@overload(read)
def _read(bodies: Any, q: Any, dq: Any) -> Any:  # noqa: ARG001 - numba compares the names
    def copy(bodies: Any, q: Any, dq: Any) -> None:
        _, _, _, qpos, qvel = bodies
        q[:] = qpos
        dq[:] = qvel

    return copy if _is_mujoco(bodies) else None


def _quaternion(T: Float2D) -> Float1D:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(T[:3, :3]).ravel())
    return quaternion


FLAT_MESH_THICKNESS = 1e-5
"""Half thickness of a flat mesh [m]; MuJoCo refuses meshes without volume."""

TOLERANCE, ITERATIONS = 1e-9, 100
"""Tolerance of distances [m], default 1e-6; 200 iterations crash MuJoCo before 3.8."""

MIN_POINT_DISTANCE = 1e-12
"""Smallest distance of points that defines a direction [m]."""

OBJ_OPTIONS: dict[str, Any] = {"group_material": False, "split_objects": True, "split_groups": True}
"""Options of trimesh that split an OBJ file as PyBullet does."""

CUBE_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
"""Corners of a cube from -1 to 1, shape (8, 3)."""

GEOM_TYPES = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
}


class MujocoConvexBodies(ConvexBodies):
    """Convex bodies in their own MuJoCo model.

    Meshes have the same margin as in PyBullet, so that both engines give the same distances.
    """

    def __init__(self, shapes: Sequence[GeometryShape]) -> None:
        self._boxes: list[tuple[Float1D, Float1D]] = []
        self._geoms: list[list[int]] = []
        """Geoms of every body: several if its file holds several objects."""
        self._margins = [MESH_MARGIN * (shape.kind == "mesh") for shape in shapes]
        spec = mujoco.MjSpec()
        spec.option.ccd_tolerance, spec.option.ccd_iterations = TOLERANCE, ITERATIONS
        for shape in shapes:
            first, world = sum(map(len, self._geoms)), spec.worldbody
            hulls = []  # corners, shape (N, 3) each; none for round shapes
            if shape.kind == "box":
                hulls = [CUBE_CORNERS * (0.5 * np.array(shape.size))]
            elif shape.mesh is not None:
                hulls = [corners * np.array(shape.size) for corners in hulls_of(shape.mesh)]
            for k, points in enumerate(hulls, start=first):
                mesh = spec.add_mesh(name=f"hull_{k}", uservert=points.ravel())
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
                world.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
            if hulls:
                margin, points = MESH_MARGIN * (shape.kind == "mesh"), np.vstack(hulls)
                box = points.min(axis=0) - margin, points.max(axis=0) + margin
            else:
                radius, length = shape.size[0], shape.size[-1] if len(shape.size) > 1 else 0.0
                world.add_geom(type=GEOM_TYPES[shape.kind], size=[radius, 0.5 * length, 0.0])
                up = 0.5 * length + (0.0 if shape.kind == "cylinder" else radius)
                box = -np.array([radius, radius, up]), np.array([radius, radius, up])
            self._boxes.append(box)
            self._geoms.append(list(range(first, first + max(len(hulls), 1))))
        try:
            self._model = spec.compile()
        except ValueError as error:
            raise FileFormatError(f"MuJoCo refused a shape: {error}") from error
        self._data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        # MuJoCo rotates a mesh to its principal axes and the geom back.
        self._offsets = self._model.geom_pos.copy()
        self._turns = self._data.geom_xmat.reshape(-1, 3, 3).copy()
        self._fromto: Float1D = np.zeros(6)

    def close(self) -> None:
        """Do nothing."""

    def box(self, body: int) -> tuple[Float1D, Float1D]:
        """Return a box around a body; see `ConvexBodies`."""
        return self._boxes[body]

    def place(self, body: int, position: Sequence[float], turn: Sequence[float]) -> None:
        """Place a body; see `ConvexBodies`."""
        entries = np.empty(9)
        mujoco.mju_quat2Mat(entries, np.array((turn[3], *turn[:3])))
        R = entries.reshape(3, 3)
        for geom in self._geoms[body]:
            self._data.geom_xpos[geom] = position + R @ self._offsets[geom]
            self._data.geom_xmat[geom] = (R @ self._turns[geom]).ravel()

    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return the closest points of two bodies; see `ConvexBodies`."""
        margin = self._margins[first] + self._margins[second]
        nearest, least = None, reach + margin
        for a, b in product(self._geoms[first], self._geoms[second]):
            distance = mujoco.mj_geomDistance(self._model, self._data, a, b, least, self._fromto)
            if distance < least:
                least, nearest = distance, (a, b, self._fromto.copy())
        if nearest is None:
            return None
        a, b, points = nearest
        normal, length = points[:3] - points[3:], float(np.linalg.norm(points[:3] - points[3:]))
        if length < MIN_POINT_DISTANCE:  # they touch exactly
            normal = self._data.geom_xpos[a] - self._data.geom_xpos[b]
            length = max(float(np.linalg.norm(normal)), MIN_POINT_DISTANCE)
        sign = 1.0 if least >= 0.0 else -1.0
        return ClosestPoints(least - margin, points[:3], points[3:], normal * (sign / length))


def hulls_of(path: Path) -> list[Float2D]:
    """Return the corners of convex hulls of a mesh file, shape (N, 3) each.

    One hull per object or group of an OBJ file, as in PyBullet, and one for other files. Raises
    `FileFormatError` if it cannot be read.
    """
    clouds = [read_mesh(path).vertices]  # its error describes the fault of a file
    if path.suffix.lower() == ".obj":
        clouds = [np.asarray(mesh.vertices) for mesh in load_scene(path, **OBJ_OPTIONS).dump()]
    return [_hull(cloud) for cloud in clouds]


def _hull(points: Float2D) -> Float2D:
    """Return the corners of a convex hull; flat points get a small thickness."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        thick = (points[:, None] + FLAT_MESH_THICKNESS * CUBE_CORNERS).reshape(-1, 3)
        return np.asarray(thick[ConvexHull(thick).vertices])
