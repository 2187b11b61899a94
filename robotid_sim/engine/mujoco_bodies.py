"""The bodies of a robot in MuJoCo, built from the robot itself."""

import mujoco
import numpy as np

from robotid_sim.arrays import Float1D, Float2D
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


class MujocoBodies(RigidBodies):
    """The bodies of a robot in a MuJoCo model of their own."""

    def __init__(self, robot: Robot, dt: float) -> None:
        # MuJoCo writes a file for every warning otherwise.
        mujoco.set_mju_user_warning(_ignore)
        try:
            self._model = _specification(robot, dt).compile()
        except ValueError as error:
            raise RobotIdError(f"MuJoCo refused the bodies of '{robot.name}': {error}") from error
        self._data = mujoco.MjData(self._model)
        self._verify(robot)

    def close(self) -> None:
        """Nothing stays open."""

    def put(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = q, dq

    def state(self) -> tuple[Float1D, Float1D]:
        """Return positions and velocities; see `RigidBodies`."""
        return self._data.qpos.copy(), self._data.qvel.copy()

    def advance(self, tau: Float1D) -> None:
        """Take one step; see `RigidBodies`."""
        self._data.qfrc_applied[:] = tau
        mujoco.mj_step(self._model, self._data)

    def _verify(self, robot: Robot) -> None:
        """Raise if a body is not in the engine as it was given."""
        for k, link in enumerate(robot.links, start=1):
            mass, moments, _ = engine_inertia(link.phi)
            loaded = np.array([self._model.body_mass[k], *self._model.body_inertia[k]])
            expected = np.array([mass, *moments])
            if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                raise RobotIdError(f"MuJoCo changed the inertia of link '{link.name}'")


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
