"""Drives convert drive torques into torques of an engine without friction and rotors.

The joint motors of the engine can also apply Coulomb friction, but they ignore the rotors, creep
where a joint should stick (4e-5 rad/s on a wrist at 95 % of its friction), and are wrong with
sub-steps inside the engine. Therefore friction of any law is solved here, implicitly and with the
rotors, and the engine gets the torque with which its step equals the step of the drive.
"""

import logging
from typing import Any, NamedTuple, Protocol

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import effective_inertia, not_positive_definite
from robotid_sim.dynamics.elastic_kernels import stick_slip_acceleration
from robotid_sim.dynamics.running_terms import rotor_coupling
from robotid_sim.engine import compiled_loop
from robotid_sim.errors import OptionError, RankDeficientError, RobotIdError
from robotid_sim.model.friction_law import (
    COLUMNS,
    FrictionLaw,
    SmoothCoulomb,
    coefficients_of,
    column,
    describe_law,
    evaluate_coefficients,
)
from robotid_sim.model.joint_terms import PRESLIDING, JointTerm
from robotid_sim.model.robot import Robot

_logger = logging.getLogger(__name__)


DRY_FRICTION_COLUMNS = [
    COLUMNS.index(f"{name}_{side}") for name in ("Fc", "Fs") for side in ("forward", "backward")
]
"""Coefficients of Coulomb friction."""


class DriveStep(NamedTuple):
    """Result of a drive over one sub-step, each of shape (n,)."""

    drive_torque: Float1D
    """Torque for the engine [N m]."""
    ddq: Float1D
    """Acceleration."""
    v: Float1D
    """Velocity at which forces act."""
    friction: Float1D | None
    """Friction torque [N m]; None for the friction of the robot."""


class Drive(Protocol):
    """Drives of a robot; smooth drives can compute all sub-steps in one call."""

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D) -> DriveStep:
        """Compute one sub-step from a state under drive torques `tau`."""


def terms_of(robot: Robot, law: FrictionLaw | None) -> tuple[JointTerm, ...]:
    """Return the joint terms of a plant: terms of its robot and of its friction law."""
    return (*robot.terms, *(() if law is None else law.terms(robot)))


def rows_of_drive(robot: Robot, law: FrictionLaw | None) -> Float2D:
    """Return the coefficients of friction without presliding Coulomb friction, (n, 11).

    Columns are `robotid_sim.model.friction_law.COLUMNS`.
    """
    rows = coefficients_of(robot) if law is None else evaluate_coefficients(law, robot)
    for term in terms_of(robot, law):
        if term.kind == PRESLIDING:
            rows[robot.joint_names.index(term.joint), DRY_FRICTION_COLUMNS] -= term.values[0]
    return rows


class SmoothDrive:
    """Drives with a smooth sign, by default with the friction of the robot.

    Forces act at a velocity within the sub-step `dt`, solved for implicitly; with `dt` = 0 at the
    velocity of its start. See `robotid_sim.dynamics.kernels.plant_step`.
    """

    def __init__(self, robot: Robot, dt: float, law: FrictionLaw | None = None) -> None:
        self._robot, self._dt, self._noted = robot, dt, law is not None
        rows = rows_of_drive(robot, law)
        self._model = (robot.geometry, robot.gravity, robot.parameters(), rows)
        self._coupling = rotor_coupling(robot, terms_of(robot, law))

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D) -> DriveStep:
        """Return the step; see `Drive`."""
        drive_torque, ddq, v, friction, ok = kernels.plant_step(
            *self._model, q, dq, tau, self._dt, self._coupling
        )
        if not ok:
            raise self._no_step(q)
        return DriveStep(drive_torque, ddq, v, friction if self._noted else None)

    def steps(
        self, bodies: tuple[Any, ...], q: Float1D, dq: Float1D, tau: Float1D, count: int
    ) -> tuple[Float1D, Float1D, DriveStep]:
        """Return the state after sub-steps of an engine under drive torques, and the first step.

        Compiled loops know the engine's bodies, which are changed, by the tuple `bodies`. Raises
        `RobotIdError` if a sub-step has no solution.
        """
        q_end, dq_end, drive_torque, ddq, v, friction, ok = compiled_loop.smooth_steps(
            bodies, *self._model, q, dq, tau, self._dt, self._coupling, count
        )
        if not ok:
            raise self._no_step(q_end)
        return q_end, dq_end, DriveStep(drive_torque, ddq, v, friction if self._noted else None)

    def _no_step(self, q: Float1D) -> RobotIdError:
        """Return the error for a sub-step without a solution."""
        if self._noted:
            effective_inertia(self._robot, q)  # raises if this is the reason
            return RobotIdError(no_solution(self._robot, q))
        return RankDeficientError(not_positive_definite(self._robot))


class StickSlipDrive:
    """Drives with set-valued Coulomb friction, viscous friction and an offset.

    A joint slides or stands still at the end of the sub-step `dt`. Viscous friction, as in
    `SmoothDrive`, and Coriolis forces act within it or, if not `leapfrog`, at its start.
    """

    def __init__(self, robot: Robot, dt: float, law: FrictionLaw, *, leapfrog: bool) -> None:
        self._robot, self._dt, self._leapfrog = robot, dt, leapfrog
        self._model = (robot.geometry, robot.gravity, robot.parameters())
        self._rotor = np.diag([joint.rotor_inertia for joint in robot.joints])
        coupling = rotor_coupling(robot, terms_of(robot, law))
        if coupling is not None:
            self._rotor += coupling
        self._rows = rows_of_drive(robot, law)
        self._viscous, self._level, self._peak = (
            np.array([column(self._rows, f"{name}_{side}") for side in ("forward", "backward")])
            for name in ("Fv", "Fc", "Fs")
        )

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D) -> DriveStep:
        """Return the step; see `Drive`."""
        try:
            _, _, phi = self._model
            drive = kernels.mass_matrix(self._model[0], phi, q[None])[0] + self._rotor
            mobility = np.diagonal(np.linalg.inv(drive))
            fast = np.abs(dq) / column(self._rows, "velocity")
            falling = np.exp(-(fast ** column(self._rows, "shape")))
            limit = self._level + (self._peak - self._level) * falling
            offset, v, h = column(self._rows, "Fo"), dq, bias(self._model, q, dq)
            for _ in range(kernels.CORIOLIS_PASSES):
                viscous = np.where(v >= 0.0, self._viscous[0], self._viscous[1])
                shares = [
                    kernels.friction_step_share(z) for z in (self._dt * viscous * mobility).tolist()
                ]
                span = self._dt * np.array(shares) if self._leapfrog else np.zeros(dq.size)
                ddq, _, ok = stick_slip_acceleration(
                    drive + np.diag(viscous * span),
                    tau - h - offset - viscous * dq,
                    np.ascontiguousarray(limit.T),
                    dq,
                    self._dt,
                )
                if not ok:
                    raise RobotIdError(no_solution(self._robot, q))
                v = dq + span * ddq
                h = bias(self._model, q, v)
            drive_torque = bias(self._model, q, dq, ddq)
            return DriveStep(drive_torque, ddq, v, tau - h - drive @ ddq)
        except np.linalg.LinAlgError as error:
            raise RankDeficientError(not_positive_definite(self._robot)) from error


def bias(
    model: tuple[Float2D, Float1D, Float1D], q: Float1D, v: Float1D, ddq: Float1D | None = None
) -> Float1D:
    """Return torques of rigid bodies [N m], by default without acceleration.

    The model consists of the geometry of its robot, gravity and the parameters.
    """
    a = np.zeros(v.size) if ddq is None else ddq
    return np.asarray(kernels.inverse_dynamics(*model, q[None], v[None], a[None])[0])


def no_solution(robot: Robot, q: Float1D) -> str:
    """Return the message for a friction problem without solution at a position."""
    return (
        f"the friction of '{robot.name}' has no solution at q = {q}; its law asks for more than "
        "its torques allow"
    )


def drive_of(robot: Robot, law: FrictionLaw | None, dt: float, *, leapfrog: bool) -> Drive:
    """Make the drives of a plant with sub-steps dt [s], with stick and slip if the law sticks.

    With leapfrog, velocity-dependent forces act within the sub-step, not at its start. Raises
    `OptionError` if a joint has negative friction, or the coefficients of a user's law are
    impossible.
    """
    if law is None or type(law) is SmoothCoulomb:  # a derived law has its own steps
        return SmoothDrive(robot, dt if leapfrog else 0.0)
    for joint in robot.joints:
        if joint.friction.Fc < 0.0 or joint.friction.Fv < 0.0:
            raise OptionError(
                f"joint '{joint.name}' has friction Fc {joint.friction.Fc:g}, Fv "
                f"{joint.friction.Fv:g}, which the law {describe_law(law)['law']} cannot "
                "have negative"
            )
    shaped = evaluate_coefficients(law, robot)
    dry = [column(shaped, name) for name in ("Fc_forward", "Fc_backward", "load")]
    same = np.array_equal(column(shaped, "Fv_forward"), column(shaped, "Fv_backward"))
    if same and not np.any(dry):
        _logger.warning(
            "robot '%s' has no Coulomb friction that the law %s could shape; give its joints Fc",
            robot.name,
            describe_law(law)["law"],
        )
    if law.sticks:
        return StickSlipDrive(robot, dt, law, leapfrog=leapfrog)
    return SmoothDrive(robot, dt if leapfrog else 0.0, law)
