"""The bodies of a robot in PyBullet, with the engine's traps closed."""

import tempfile
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.engine.private_urdf import private_urdf
from robotid_sim.engine.quiet import captured_output
from robotid_sim.engine.rigid_bodies import RigidBodies, engine_inertia
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot


class PyBulletBodies(RigidBodies):
    """The bodies of a robot in a PyBullet client of their own."""

    def __init__(self, robot: Robot, dt: float) -> None:
        text = private_urdf(robot)  # refuses impossible bodies before a client exists
        self._indices = list(range(robot.dof))
        self._client = EngineClient()
        try:
            self._body = self._load(text, robot, dt)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""
        self._client.close()

    def put(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        for j in self._indices:
            self._client.resetJointState(self._body, j, float(q[j]), float(dq[j]))

    def state(self) -> tuple[Float1D, Float1D]:
        """Return positions and velocities; see `RigidBodies`."""
        states = self._client.getJointStates(self._body, self._indices)
        q, dq = np.empty(len(states)), np.empty(len(states))
        for j, state in enumerate(states):  # faster than arrays of two lists
            q[j], dq[j] = state[0], state[1]
        return q, dq

    def advance(self, tau: Float1D) -> None:
        """Take one step; see `RigidBodies`."""
        self._client.setJointMotorControlArray(
            self._body, self._indices, self._client.TORQUE_CONTROL, forces=tau.tolist()
        )
        self._client.stepSimulation()

    def _load(self, text: str, robot: Robot, dt: float) -> int:
        client = self._client
        client.setPhysicsEngineParameter(enableFileCaching=0)
        client.setTimeStep(dt)
        client.setGravity(*robot.gravity.tolist())
        with tempfile.TemporaryDirectory() as folder, captured_output() as printed:
            path = Path(folder) / "private.urdf"
            path.write_text(text, encoding="utf-8")
            try:
                body = client.loadURDF(
                    str(path), useFixedBase=True, flags=client.URDF_USE_INERTIA_FROM_FILE
                )
            except EngineError:
                body = -1
        if body < 0 or client.getNumJoints(body) != robot.dof:
            raise RobotIdError(f"PyBullet refused the private copy of the robot: {printed.text}")
        self._free(body)
        self._verify(body, robot, printed.text)
        return int(body)

    def _free(self, body: int) -> None:
        """Switch off everything that the engine adds to rigid-body dynamics."""
        client = self._client
        for link in (-1, *self._indices):
            client.changeDynamics(body, link, linearDamping=0.0, angularDamping=0.0)
        # Two calls: in one call with maxJointVelocity the joint damping would stay in force.
        for link in self._indices:
            client.changeDynamics(body, link, jointDamping=0.0)
        for link in self._indices:  # the default clamps silently at 100 rad/s
            client.changeDynamics(body, link, maxJointVelocity=1e6)
        none = [0.0] * len(self._indices)
        client.setJointMotorControlArray(
            body, self._indices, client.VELOCITY_CONTROL, targetVelocities=none, forces=none
        )

    def _verify(self, body: int, robot: Robot, printed: str) -> None:
        """Raise if a body is not in the engine as it was written: Bullet zeroes what it rejects."""
        for j, link in enumerate(robot.links):
            info = self._client.getDynamicsInfo(body, j)
            mass, moments, _ = engine_inertia(link.phi)
            loaded = np.array([info[0], *info[2]])
            expected = np.array([mass, *moments])
            if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                raise RobotIdError(
                    f"PyBullet changed the inertia of link '{link.name}' at load: {printed}"
                )
