"""Drives: what turns drive torques into those of an engine without friction and rotors.

The engine's own joint motors would brake a joint with Coulomb friction too, but they do not know
the rotors, creep where a joint should stick (4e-5 rad/s on a wrist at 95 % of its friction), and
are wrong with sub-steps inside the engine. So friction of any law is solved here, with the rotors,
and the engine gets the torque that makes its step that of the drive.
"""

import logging
from typing import NamedTuple, Protocol

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics import friction_kernels, kernels
from robotid_sim.dynamics.dynamics import not_positive_definite
from robotid_sim.errors import OptionError, RankDeficientError, RobotIdError
from robotid_sim.model.friction_laws import FrictionLaw, SmoothCoulomb, column
from robotid_sim.model.robot import Robot

_logger = logging.getLogger(__name__)


class DriveStep(NamedTuple):
    """What a drive does over one sub-step, each of shape (n,)."""

    held: Float1D
    """Torque for the engine [N m]."""
    ddq: Float1D
    """Acceleration."""
    v: Float1D
    """Velocity at which forces act."""
    friction: Float1D | None
    """Friction torque [N m]; None for that of the robot."""


class Drive(Protocol):
    """The drives of a robot."""

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D, dt: float, passes: int) -> DriveStep:
        """Return what happens under drive torques `tau` over a sub-step `dt` from a state.

        Forces act at the mid-step velocity, found by fixed-point `passes`; 0 takes the start.
        """


class ModelDrive:
    """Drives with the friction of the robot."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._model = (robot.geometry, robot.gravity, robot.parameters(), robot.eps)

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D, dt: float, passes: int) -> DriveStep:
        """Return the step; see `Drive`."""
        held, ddq, v, ok = kernels.plant_step(*self._model, q, dq, tau, dt, passes)
        if not ok:
            raise RankDeficientError(not_positive_definite(self._robot))
        return DriveStep(held, ddq, v, None)


class LawDrive:
    """Drives with a friction law of their own.

    The law replaces the friction of the robot. Raises `OptionError` if a joint has negative
    friction, which no law is made for.
    """

    def __init__(self, robot: Robot, law: FrictionLaw) -> None:
        for joint in robot.joints:
            if joint.friction.Fc < 0.0 or joint.friction.Fv < 0.0:
                raise OptionError(
                    f"joint '{joint.name}' has friction Fc {joint.friction.Fc:g}, Fv "
                    f"{joint.friction.Fv:g}, which the law {law.describe()['law']} cannot "
                    "have negative"
                )
        self._robot, self._sticks = robot, law.sticks
        self._model = (robot.geometry, robot.gravity, robot.parameters())
        self._rotor = np.array([joint.rotor_inertia for joint in robot.joints])
        self._rows = law.coefficients(robot)
        self._viscous = column(self._rows, "Fv_forward"), column(self._rows, "Fv_backward")
        self._offset = column(self._rows, "Fo")
        self._still = np.zeros((1, robot.dof))

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D, dt: float, passes: int) -> DriveStep:
        """Return the step; see `Drive`."""
        geometry, _, phi = self._model
        M = kernels.mass_matrix(geometry, phi, q[None])[0]
        v = dq
        for turn in range(passes + 1):
            h = kernels.inverse_dynamics(*self._model, q[None], v[None], self._still)[0]
            ddq, friction, ok = self._solve(M, tau, h, dq, v, dt)
            if turn < passes:
                v = dq + 0.5 * dt * ddq
        if not ok:
            raise RobotIdError(
                f"the friction of '{self._robot.name}' has no solution at q = {q}; its law asks "
                "for more than its torques allow"
            )
        held = kernels.inverse_dynamics(*self._model, q[None], dq[None], ddq[None])[0]
        return DriveStep(held, ddq, v, friction)

    def _solve(
        self, M: Float2D, tau: Float1D, h: Float1D, dq: Float1D, v: Float1D, dt: float
    ) -> tuple[Float1D, Float1D, bool]:
        """Return acceleration and friction at velocity `v`, and whether they were found."""
        try:
            if not self._sticks:
                return friction_kernels.smooth_acceleration(M, self._rotor, tau, h, self._rows, v)
            smooth = np.where(v >= 0.0, *self._viscous) * v + self._offset
            ddq, dry, ok = friction_kernels.stick_slip_acceleration(
                M, self._rotor, tau - h - smooth, self._rows, dq, dt
            )
            return ddq, smooth + dry, ok
        except np.linalg.LinAlgError as error:
            raise RankDeficientError(not_positive_definite(self._robot)) from error


def drive_of(robot: Robot, law: FrictionLaw | None) -> Drive:
    """Return the drives of a plant; without a law, or with the robot's own, those of the robot."""
    if law is None or isinstance(law, SmoothCoulomb):
        return ModelDrive(robot)
    shaped = law.coefficients(robot)
    dry = [column(shaped, name) for name in ("Fc_forward", "Fc_backward", "load")]
    same = np.array_equal(column(shaped, "Fv_forward"), column(shaped, "Fv_backward"))
    if same and not np.any(dry):
        _logger.warning(
            "robot '%s' has no Coulomb friction that the law %s could shape; give its joints Fc",
            robot.name,
            law.describe()["law"],
        )
    return LawDrive(robot, law)
