"""Bullet's physics server through PyBullet's C interface, which compiled loops can call.

PyBullet's Python functions call the same code, so the results are equal to the bit.

The module loads the bodies of a robot into PyBullet, whose unwanted defaults are switched off, and
convex bodies for distances.
"""

import ctypes
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba.extending import intrinsic, overload
from numba.np.numpy_support import carray

from robotid_sim.arrays import Float1D
from robotid_sim.compiled import c_functions, types
from robotid_sim.engine.client import EngineClient, EngineError, capture_output
from robotid_sim.engine.closing import Closeable
from robotid_sim.engine.compiled_loop import advance, read
from robotid_sim.engine.convex_bodies import ClosestPoints, ConvexBodies
from robotid_sim.engine.private_urdf import private_urdf
from robotid_sim.engine.rigid_bodies import RigidBodies, engine_inertia
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.mesh_files import is_binary_stl
from robotid_sim.model.robot import Robot

with capture_output():  # prints its build time
    import pybullet

FIRST_Q, FIRST_DQ = 7, 6
"""Indices of the first joint in Bullet's state, after pose and twist of the base."""

VELOCITY, TORQUE = 0, 1
"""Modes of control."""

INERTIA_FLAG = 2
"""Flag of loading a URDF."""

RECORD_SIZE = 256
"""Size of Bullet's record of a body's dynamics, of which the first numbers are used."""

_LIBRARY_PATH = Path(pybullet.__file__)
_LIBRARY = ctypes.CDLL(str(_LIBRARY_PATH))

open_clients: set[int] = set()
"""Addresses of the clients that are connected."""


def _c(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the C interface."""
    try:
        function = getattr(_LIBRARY, f"b3{name}")
    except AttributeError as error:
        raise RobotIdError(
            f"this build of PyBullet hides its C interface (b3{name}); install the wheel of PyPI, "
            "or use --engine mujoco"
        ) from error
    function.restype, function.argtypes = result, arguments
    return function


_ptr, _int, _double, _text = ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.c_char_p
_connect = _c("ConnectPhysicsDirect", _ptr)
_disconnect = _c("DisconnectSharedMemory", None, _ptr)
_submit = _c("SubmitClientCommandAndWaitStatus", _ptr, _ptr, _ptr)
_physics = _c("InitPhysicsParamCommand", _ptr, _ptr)
_time_step = _c("PhysicsParamSetTimeStep", _int, _ptr, _double)
_gravity = _c("PhysicsParamSetGravity", _int, _ptr, _double, _double, _double)
_caching = _c("PhysicsParamSetEnableFileCaching", _int, _ptr, _int)
_urdf = _c("LoadUrdfCommandInit", _ptr, _ptr, _text)
_fixed_base = _c("LoadUrdfCommandSetUseFixedBase", _int, _ptr, _int)
_flags = _c("LoadUrdfCommandSetFlags", _int, _ptr, _int)
_body_of = _c("GetStatusBodyIndex", _int, _ptr)
_joints_of = _c("GetNumJoints", _int, _ptr, _int)
_change = _c("InitChangeDynamicsInfo", _ptr, _ptr)
_linear_damping = _c("ChangeDynamicsInfoSetLinearDamping", _int, _ptr, _int, _double)
_angular_damping = _c("ChangeDynamicsInfoSetAngularDamping", _int, _ptr, _int, _double)
_joint_damping = _c("ChangeDynamicsInfoSetJointDamping", _int, _ptr, _int, _int, _double)
_fastest = _c("ChangeDynamicsInfoSetMaxJointVelocity", _int, _ptr, _int, _double)
_control = _c("JointControlCommandInit2", _ptr, _ptr, _int, _int)
_velocity = _c("JointControlSetDesiredVelocity", _int, _ptr, _int, _double)
_motor_force = _c("JointControlSetMaximumForce", _int, _ptr, _int, _double)
_pose = _c("CreatePoseCommandInit", _ptr, _ptr, _int)
_pose_q = _c("CreatePoseCommandSetJointPosition", _int, _ptr, _ptr, _int, _double)
_pose_dq = _c("CreatePoseCommandSetJointVelocity", _int, _ptr, _ptr, _int, _double)
_ask_record = _c("GetDynamicsInfoCommandInit", _ptr, _ptr, _int, _int)
_record = _c("GetDynamicsInfo", _int, _ptr, _ptr)

# The same function for compiled code.
_of_c = c_functions(_LIBRARY_PATH)
_send = _of_c("b3SubmitClientCommandAndWaitStatus", *[types.intp] * 3)
_begin = _of_c("b3JointControlCommandInit2", types.intp, types.intp, types.intc, types.intc)
_torque = _of_c(
    "b3JointControlSetDesiredForceTorque", types.intc, types.intp, types.intc, types.float64
)
_step = _of_c("b3InitStepSimulationCommand", types.intp, types.intp)
_ask_state = _of_c("b3RequestActualStateCommandInit", types.intp, types.intp, types.intc)
_state = _of_c("b3GetStatusActualState", types.intc, *[types.intp] * 8)


class BulletBody(Closeable):
    """Fixed-base chain of joints with one degree of freedom, from a URDF, in its own client.

    Parameters
    ----------
    urdf : Path
        URDF file; every link except the root has a movable parent joint.
    dt : float
        Step [s].
    gravity : ndarray, shape (3,)
        In the root frame [m/s^2].
    dof : int
        Required number of joints.

    Raises
    ------
    RobotIdError
        If Bullet refuses the file.
    """

    def __init__(self, urdf: Path, dt: float, gravity: Float1D, dof: int) -> None:
        self._client = int(_connect() or 0)
        if not self._client:
            raise RobotIdError("PyBullet gave no client; is there memory for one more?")
        open_clients.add(self._client)
        self._addresses = np.zeros(2, dtype=np.int64)
        try:
            command = _physics(self._client)
            _caching(command, 0)
            _time_step(command, dt)
            _gravity(command, *gravity.tolist())
            self._submit(command)
            command = _urdf(self._client, str(urdf).encode())
            _fixed_base(command, 1)
            _flags(command, INERTIA_FLAG)
            self._body = int(_body_of(self._submit(command)))
            if self._body < 0 or _joints_of(self._client, self._body) != dof:
                raise RobotIdError("PyBullet refused the private copy of the robot")
            # Switch off everything that the engine adds to rigid-body dynamics.
            for change, value in ((_linear_damping, 0.0), (_angular_damping, 0.0), (_fastest, 1e6)):
                command = _change(self._client)
                change(command, self._body, value)  # the default clamps silently at 100 rad/s
                self._submit(command)
            for joint in range(dof):
                # A separate command: in one command with the largest velocity, damping would stay.
                command = _change(self._client)
                _joint_damping(command, self._body, joint, 0.0)
                self._submit(command)
            command = _control(self._client, self._body, VELOCITY)
            for joint in range(dof):
                _velocity(command, FIRST_DQ + joint, 0.0)
                _motor_force(command, FIRST_DQ + joint, 0.0)
            self._submit(command)
        except BaseException:
            self.close()
            raise

    @property
    def handle(self) -> tuple[int, int, Any]:
        """Handle for compiled loops, an array of addresses."""
        return self._client, self._body, self._addresses

    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""
        if self._client in open_clients:
            open_clients.remove(self._client)
            _disconnect(self._client)

    def put(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state, both of shape (n,)."""
        command = _pose(self._client, self._body)
        for j, (position, velocity) in enumerate(zip(q.tolist(), dq.tolist(), strict=True)):
            _pose_q(self._client, command, j, position)
            _pose_dq(self._client, command, j, velocity)
        self._submit(command)

    def mass_and_moments(self, link: int) -> Float1D:
        """Return mass [kg] and principal moments [kg m^2] of a link, shape (4,)."""
        record = np.zeros(RECORD_SIZE)
        status = self._submit(_ask_record(self._client, self._body, link))
        _record(status, record.ctypes.data)
        return record[:4]

    def _submit(self, command: Any) -> Any:
        return _submit(self._client, command)


def _pointer(_context: Any, _address: Any) -> Any:
    """Return a compiled conversion of an address to a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.intp), generate


_doubles: Any = intrinsic(_pointer)


def _is_bullet(bodies: Any) -> bool:
    return bool(bodies == types.Tuple((types.int64, types.int64, types.Array(types.int64, 1, "C"))))


@overload(advance)
def _advance(bodies: Any, tau: Any) -> Any:  # noqa: ARG001 - numba compares the names
    def step(bodies: Any, tau: Any) -> None:
        client, body, _ = bodies
        command = _begin(client, body, TORQUE)
        for j in range(tau.shape[0]):
            _torque(command, FIRST_DQ + j, tau[j])
        _send(client, command)
        _send(client, _step(client))

    return step if _is_bullet(bodies) else None


@overload(read)
def _read(bodies: Any, q: Any, dq: Any) -> Any:  # noqa: ARG001 - numba compares the names
    def copy(bodies: Any, q: Any, dq: Any) -> None:
        client, body, addresses = bodies
        status, place, n = (
            _send(client, _ask_state(client, body)),
            addresses.ctypes.data,
            q.shape[0],
        )
        _state(status, 0, 0, 0, 0, place, place + 8, 0)
        q[:] = carray(_doubles(addresses[0]), (FIRST_Q + n,))[FIRST_Q:]
        dq[:] = carray(_doubles(addresses[1]), (FIRST_DQ + n,))[FIRST_DQ:]

    return copy if _is_bullet(bodies) else None


class PyBulletBodies(RigidBodies):
    """Bodies of a robot in their own PyBullet client."""

    def __init__(self, robot: Robot, dt: float) -> None:
        text = private_urdf(robot)  # refuses inconsistent bodies before a client exists
        refused: RobotIdError | None = None
        with tempfile.TemporaryDirectory() as folder, capture_output() as printed:
            path = Path(folder) / "private.urdf"
            path.write_text(text, encoding="utf-8")
            try:
                self._body = BulletBody(path, dt, robot.gravity, robot.dof)
            except RobotIdError as error:
                refused = error
        if refused is not None:
            raise RobotIdError(f"{refused}: {printed.text}") from refused
        super().__init__(robot.dof, self._body.handle)
        try:
            # Bullet sets rejected values to zero.
            for j, link in enumerate(robot.links):
                mass, moments, _ = engine_inertia(link.phi)
                expected = np.array([mass, *moments])
                loaded = self._body.mass_and_moments(j)
                if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                    what = f"the inertia of link '{link.name}'"
                    raise RobotIdError(f"PyBullet changed {what} at load: {printed.text}")
            state = np.linspace(0.1, 0.2, robot.dof), np.linspace(-0.1, -0.2, robot.dof)
            self.set_state(*state)
            if not np.array_equal(self.state(), state):
                raise RobotIdError(
                    "this build of PyBullet numbers its states otherwise; install the wheel of "
                    "PyPI, or use --engine mujoco"
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""
        self._body.close()

    def set_state(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        self._body.put(q, dq)


_log = logging.getLogger(__name__)


class PyBulletConvexBodies(ConvexBodies):
    """Convex bodies in their own PyBullet client."""

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
        """Place a body; see `ConvexBodies`."""
        self._client.resetBasePositionAndOrientation(self._bodies[body], position, turn)

    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return the closest points of two bodies; see `ConvexBodies`."""
        bodies = self._bodies
        points = self._client.getClosestPoints(bodies[first], bodies[second], distance=reach)
        if not points:
            return None
        nearest = points[0] if len(points) == 1 else min(points, key=lambda point: point[8])
        return ClosestPoints(nearest[8], nearest[5], nearest[6], nearest[7])

    def _body(self, shape: GeometryShape) -> int:
        with capture_output() as printed:
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
    """Convert a shape to the form that the engine accepts."""
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
    """Load a mesh in the form that Bullet accepts; raise `FileFormatError` for other files.

    A text STL file, or one whose length contradicts its header, crashes Bullet; an OBJ file whose
    faces name missing vertices gives a body of arbitrary size.
    """
    if is_binary_stl(path):
        return {"fileName": str(path)}
    from robotid_sim.model.solid import read_mesh  # imports trimesh, which few robots need here

    solid = read_mesh(path)
    is_text = path.suffix.lower() == ".stl"
    return {"vertices": solid.vertices.tolist()} if is_text else {"fileName": str(path)}
