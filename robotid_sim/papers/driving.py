"""Shared functions of papers: driven motions, encoders, low-pass filter, tracking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from robotid_sim.arrays import Float1D, rms
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.experiment.rollout import Cell, rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.linear_filters import Butterworth
from robotid_sim.trajectory.reference import Reference, Trajectory

ENCODER_NOISE = 2e-5
"""Standard deviation of the position noise [rad]."""
LOW_PASS_FILTER = Butterworth(cutoff=10.0, order=4)
"""Filter of the positions before differentiation; no paper prints its numbers."""


@dataclass(frozen=True, eq=False)
class FunctionPath:
    """A motion that is a function of time."""

    joint_names: tuple[str, ...]
    at: Callable[[Float1D], Reference]
    duration: float
    """End time [s]."""
    start: float = 0.0
    period: float | None = None

    def __call__(self, t: Float1D) -> Reference:
        """Evaluate the reference at times [s]."""
        return self.at(t)


@dataclass(frozen=True, eq=False)
class TorqueLaw(Controller):
    """A control law that is a function of time, position, velocity and setpoint."""

    torque: Callable[[float, Float1D, Float1D, Setpoint], Float1D]

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Compute the torque; see `Controller`."""
        return self.torque(t, q, dq, setpoint)


def drive(plant: Robot, path: Trajectory, rate: float, controller: Controller | None = None) -> Log:
    """Drive a plant along a path, by default by computed torque with its true model.

    The log has the given rate [Hz] and no sensor errors.
    """
    law = controller or ComputedTorque(plant)
    with Cell(plant=plant, controller=law, rate=rate).open() as engine:
        return rollout(engine, law, path)


def make_sensors(sensor: str, **options: float | Sequence[float]) -> tuple[Sensor, ...]:
    """Build a torque sensor by its name, and encoders."""
    encoders = SENSORS.build("encoder-noise", revolute=ENCODER_NOISE)
    return SENSORS.build(sensor, **options), encoders


def compute_tracking_error(log: Log, path: Trajectory) -> Float1D:
    """Measure the RMS tracking error of every joint from time zero on [rad], shape (n,)."""
    later = log.t >= 0.0
    return rms(log.q[later] - path(log.t[later]).q)
