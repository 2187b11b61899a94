"""The bodies of a robot in MuJoCo, built from the robot itself."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numba.extending import overload

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.compiled import c_functions, types
from robotid_sim.engine.compiled_loop import advance, read
from robotid_sim.engine.rigid_bodies import RigidBodies, engine_inertia
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot

UNUSED = (
    *(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT, mujoco.mjtDisableBit.mjDSBL_CONTACT),
    *(mujoco.mjtDisableBit.mjDSBL_SENSOR, mujoco.mjtDisableBit.mjDSBL_EULERDAMP),
    # A reset would hide a simulation that has diverged; the plant tells it.
    mujoco.mjtDisableBit.mjDSBL_AUTORESET,
)
"""What is switched off: all but rigid bodies and gravity."""

LIBRARIES = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco*.dll")
"""Names of MuJoCo's library beside its package, by platform."""

_library = next(
    path for names in LIBRARIES for path in sorted(Path(mujoco.__file__).parent.glob(names))
)
_step = c_functions(_library)("mj_step", types.void, types.intp, types.intp)


class MujocoBodies(RigidBodies):
    """The bodies of a robot in a MuJoCo model of their own."""

    def __init__(self, robot: Robot, dt: float) -> None:
        # MuJoCo writes a file for every warning otherwise.
        mujoco.set_mju_user_warning(_ignore)
        try:
            self._model = _specification(robot, dt).compile()
        except ValueError as error:
            raise RobotIdError(f"MuJoCo refused the bodies of '{robot.name}': {error}") from error
        self._data = data = mujoco.MjData(self._model)
        addresses = self._model._address, data._address  # noqa: SLF001 - MuJoCo's, for such use
        super().__init__(robot.dof, (*addresses, data.qfrc_applied, data.qpos, data.qvel))
        self._verify(robot)

    def close(self) -> None:
        """Nothing stays open."""

    def put(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = q, dq

    def _verify(self, robot: Robot) -> None:
        """Raise if a body is not in the engine as it was given."""
        for k, link in enumerate(robot.links, start=1):
            mass, moments, _ = engine_inertia(link.phi)
            loaded = np.array([self._model.body_mass[k], *self._model.body_inertia[k]])
            expected = np.array([mass, *moments])
            if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                raise RobotIdError(f"MuJoCo changed the inertia of link '{link.name}'")


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


def _specification(robot: Robot, dt: float) -> "mujoco.MjSpec":
    """Return the serial chain of bodies and joints, without anything else."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = dt, robot.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.disableflags = sum(int(bit) for bit in UNUSED)
    spec.compiler.autolimits, spec.compiler.boundmass, spec.compiler.boundinertia = False, 0.0, 0.0
    body = spec.worldbody
    for k, (link, joint) in enumerate(zip(robot.links, robot.joints, strict=True)):
        mass, moments, frame = engine_inertia(link.phi)
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
    return spec


def _quaternion(T: Float2D) -> Float1D:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(T[:3, :3]).ravel())
    return quaternion


def _ignore(message: str) -> None:
    """Take a warning of MuJoCo, of a state that the plant checks itself."""
