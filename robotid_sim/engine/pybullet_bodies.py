"""The bodies of a robot in PyBullet, with the engine's traps closed."""

import tempfile
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.engine.bullet import BulletBody
from robotid_sim.engine.private_urdf import private_urdf
from robotid_sim.engine.quiet import captured_output
from robotid_sim.engine.rigid_bodies import RigidBodies, engine_inertia
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot


class PyBulletBodies(RigidBodies):
    """The bodies of a robot in a PyBullet client of their own."""

    def __init__(self, robot: Robot, dt: float) -> None:
        text = private_urdf(robot)  # refuses impossible bodies before a client exists
        refused: RobotIdError | None = None
        with tempfile.TemporaryDirectory() as folder, captured_output() as printed:
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
            self._verify(robot, printed.text)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""
        self._body.close()

    def put(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state; see `RigidBodies`."""
        self._body.put(q, dq)

    def _verify(self, robot: Robot, printed: str) -> None:
        """Raise if a body is not in the engine as it was written: Bullet zeroes what it rejects."""
        for j, link in enumerate(robot.links):
            mass, moments, _ = engine_inertia(link.phi)
            expected = np.array([mass, *moments])
            loaded = self._body.mass_and_moments(j)
            if np.abs(loaded - expected).max() > 1e-12 * max(1.0, np.abs(expected).max()):
                raise RobotIdError(
                    f"PyBullet changed the inertia of link '{link.name}' at load: {printed}"
                )
        state = np.linspace(0.1, 0.2, robot.dof), np.linspace(-0.1, -0.2, robot.dof)
        self.put(*state)
        if not np.array_equal(self.state(), state):
            raise RobotIdError(
                "this build of PyBullet numbers its states otherwise; install the wheel of PyPI, "
                "or use --engine mujoco"
            )
