"""Sensors: each turns a clean log into one that a real cell would have recorded."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log


class Sensor(ABC):
    """One imperfection of the measurement; a frozen dataclass of its parameters."""

    @abstractmethod
    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Return the log with this imperfection; `truth` stays untouched."""


def measure(log: Log, sensors: Sequence[Sensor], rng: np.random.Generator) -> Log:
    """Return what the sensors make of a clean log, one after the other.

    Parameters
    ----------
    log : Log
        Clean log of a rollout.
    sensors : sequence of Sensor
        Applied in this order.
    rng : numpy.random.Generator
        Source of all noise; the only difference between noise seeds.
    """
    for sensor in sensors:
        log = sensor(log, rng)
    return log


def _per_joint(log: Log, revolute: float, prismatic: float) -> Float1D:
    return np.array([prismatic if unit == "m" else revolute for unit in log.joint_units])


def _not_negative(sensor: Sensor, *names: str) -> None:
    for name in names:
        if not 0.0 <= getattr(sensor, name) < np.inf:
            raise OptionError(f"{type(sensor).__name__} {name} must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderNoise(Sensor):
    """White Gaussian noise on the joint positions."""

    revolute: float = 1e-4
    """Standard deviation of revolute joints [rad]."""
    prismatic: float = 1e-5
    """Standard deviation of prismatic joints [m]."""

    def __post_init__(self) -> None:
        _not_negative(self, "revolute", "prismatic")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add noise to `q`."""
        std = _per_joint(log, self.revolute, self.prismatic)
        return replace(log, q=log.q + std * rng.standard_normal(log.q.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderQuantization(Sensor):
    """Rounding of the joint positions to the encoder's resolution."""

    revolute: float = 2.0 * np.pi / 2**17
    """Resolution of revolute joints [rad]; 0 for none."""
    prismatic: float = 1e-6
    """Resolution of prismatic joints [m]; 0 for none."""

    def __post_init__(self) -> None:
        _not_negative(self, "revolute", "prismatic")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Round `q` to the nearest count."""
        del rng
        step = _per_joint(log, self.revolute, self.prismatic)
        counts = np.divide(log.q, step, out=np.zeros_like(log.q), where=step > 0.0)
        return replace(log, q=np.where(step > 0.0, np.round(counts) * step, log.q))


@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueNoise(Sensor):
    """White Gaussian noise on the joint torques, relative to their size or absolute."""

    relative: float = 0.01
    """Standard deviation over the RMS torque of the joint."""
    absolute: float = 0.0
    """Standard deviation added to that [N m]."""

    def __post_init__(self) -> None:
        _not_negative(self, "relative", "absolute")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add noise to `tau_meas`."""
        motion = log.t >= 0.0 if (log.t >= 0.0).any() else log.t < 0.0
        rms = np.sqrt((log.tau_meas[motion] ** 2).mean(axis=0))
        std = self.relative * rms + self.absolute
        return replace(log, tau_meas=log.tau_meas + std * rng.standard_normal(log.q.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueDelay(Sensor):
    """A late torque channel: its samples belong to an earlier time than their stamp says."""

    delay: float = 0.0
    """Delay behind the positions [s]; fractions of a sample are interpolated linearly."""

    def __post_init__(self) -> None:
        _not_negative(self, "delay")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Shift `tau_meas` to later samples."""
        del rng
        late = [np.interp(log.t - self.delay, log.t, column) for column in log.tau_meas.T]
        return replace(log, tau_meas=np.column_stack(late))
