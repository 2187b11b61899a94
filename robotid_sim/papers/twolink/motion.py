"""The arm driven by torques: integrated analytically, and in the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction import Friction
from robotid_sim.model.robot import Robot
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.model import known_torque, reference_torque, regressor
from robotid_sim.trajectory.reference import Reference

HANGING = (-np.pi / 2.0, 0.0)
"""Start, at rest [rad]; the paper prints none. From the horizontal the arm would fall freely."""
DURATION, STEP = 10.0, 0.01  # [s]; neither is printed
ENGINE_STEP = 1e-3
"""Control step in the engine [s]: the torque is held for so long."""


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """Motion and torque of a run, sampled at equal steps."""

    t: Float1D
    """Time [s], shape (N,)."""
    q: Float2D
    dq: Float2D
    ddq: Float2D
    tau: Float2D
    """Torque of the drives [N m], shape (N, 2)."""

    def regressor(self) -> Float2D:
        """Return the stacked regressor, shape (2 N, 4), rows sample-major."""
        return regressor(self.q, self.dq, self.ddq).reshape(-1, 4)

    def target(self) -> Float1D:
        """Return what the regressor times lambda must give [N m], shape (2 N,).

        The torque less the part that lambda does not scale, which the paper forgets.
        """
        return np.asarray((self.tau - known_torque(self.q)).ravel())


def integrate(rhos: Sequence[float]) -> list[Driven]:
    """Return the motions under the reference torques, by Runge-Kutta steps of fourth order.

    Torques and accelerations of a sample fulfill the equation of motion to rounding, whatever the
    step, so that the data of the identification are exact. All frequencies [Hz] go at once.
    """
    rates = np.asarray(rhos, dtype=float)
    count, h = round(DURATION / STEP) + 1, STEP
    q, dq = np.tile(HANGING, (rates.size, 1)), np.zeros((rates.size, 2))
    samples = np.empty((count, 3, rates.size, 2))
    for k in range(count):
        t = k * h
        a1 = _acceleration(rates, t, q, dq)
        samples[k] = q, dq, a1
        a2 = _acceleration(rates, t + h / 2.0, q + h / 2.0 * dq, dq + h / 2.0 * a1)
        v3 = dq + h / 2.0 * a2
        a3 = _acceleration(rates, t + h / 2.0, q + h / 2.0 * (dq + h / 2.0 * a1), v3)
        a4 = _acceleration(rates, t + h, q + h * v3, dq + h * a3)
        q = q + h * dq + h * h / 6.0 * (a1 + a2 + a3)
        dq = dq + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    times = STEP * np.arange(count)
    return [
        Driven(times, q, dq, ddq, reference_torque(rho, times))
        for rho, (q, dq, ddq) in zip(rhos, samples.transpose(2, 1, 0, 3), strict=True)
    ]


def _acceleration(rates: Float1D, t: float, q: Float2D, dq: Float2D) -> Float2D:
    bias = model.velocity_torque(q, dq) + model.gravity_torque(q)
    driving = reference_torque(rates, t) - bias
    return np.asarray(np.linalg.solve(model.mass_matrix(q), driving[..., None])[..., 0])


def paper_robot() -> Robot:
    """Return the catalog's arm as the paper has it: no friction, gravity 9.8 m/s^2."""
    arm = load_robot("twolink")
    joints = tuple(replace(j, friction=Friction(eps=j.friction.eps)) for j in arm.joints)
    return replace(arm, joints=joints, gravity=np.array([0.0, 0.0, -model.ARM.g]))


@dataclass(frozen=True)
class ReferenceTorque(Controller):
    """The reference torques, whatever the arm does; only their frequency is a parameter."""

    rho: float
    """Frequency [Hz]."""
    lead: float
    """Time at which a held torque acts on average, after its command [s]."""

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:  # noqa: ARG002 - open loop
        """Return the torques of the paper."""
        return np.asarray(reference_torque(self.rho, t + self.lead))


@dataclass(frozen=True)
class Hanging:
    """The arm at rest, which is where a run starts; nothing tracks it."""

    joint_names: tuple[str, ...]
    start: float = 0.0
    duration: float = DURATION
    period: float | None = None

    def __call__(self, t: Float1D) -> Reference:
        """Return rest at all times."""
        still = np.zeros((t.size, 2))
        return Reference(still + HANGING, still, still)


def drive_in_engine(rho: float, robot: Robot | None = None) -> Driven:
    """Return the run under the reference torques in the engine, a sample every `STEP`.

    The robot is the paper's unless another one is given.

    Positions, velocities, accelerations and torques are those at which the engine's own step
    fulfills the equation of motion, without sensors.
    """
    robot = robot or paper_robot()
    with Plant(robot, dt=ENGINE_STEP) as plant:
        controller = ReferenceTorque(rho, plant.torque_time_offset)
        log = rollout(plant, controller, Hanging(robot.joint_names))
    assert log.truth is not None
    every, truth = round(STEP / ENGINE_STEP), log.truth
    return Driven(*(x[::every] for x in (log.t, truth.q, truth.dq, truth.ddq, truth.tau)))
