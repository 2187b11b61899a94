"""Sensors that simulate recording faults: lost samples and outliers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import (
    PerJoint,
    Sensor,
    keep_numbers,
    record_sensor,
    torque_rms,
)
from robotid_sim.measurement.sensors import expand_option as by_joint


def _require_share(sensor: Sensor, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise OptionError(f"{type(sensor).__name__} probability must lie in [0, 1), got {value}")


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedSamples(Sensor):
    """Lost samples: the logger repeats the previous sample, as real loggers do.

    A packet carries all joints with position, torque and current, so they are lost together. The
    number of lost samples is noted in the provenance. Apply it last.
    """

    check_options: ClassVar[Mapping[str, Any]] = {"probability": 0.2}

    probability: float = 0.01
    """Probability that a sample is lost; the first one is never lost."""

    def __post_init__(self) -> None:
        _require_share(self, self.probability)

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Replace lost samples by the previous one."""
        lost = rng.random(log.t.size) < self.probability
        lost[0] = False
        last = np.maximum.accumulate(np.where(lost, 0, np.arange(log.t.size)))
        names = ("q", "tau_meas", "dq", "current")
        channels = {n: getattr(log, n)[last] for n in names if getattr(log, n) is not None}
        return record_sensor(self, log, {"lost": int(lost.sum())}, **channels)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers(Sensor):
    """Outliers of either sign in single samples, independent between joints and channels.

    Their number is noted in the provenance. Least squares gives them full weight.
    """

    check_options: ClassVar[Mapping[str, Any]] = {"probability": 0.1, "position": 3.0}

    probability: float = 1e-3
    """Probability that a value is an outlier."""
    torque: PerJoint = 5.0
    """Size of an outlier over the RMS torque of the joint; 0 for none."""
    position: PerJoint = 0.0
    """Size of an outlier over the RMS deviation of the position from its mean; 0 for none."""

    def __post_init__(self) -> None:
        _require_share(self, self.probability)
        keep_numbers(self, "torque", "position")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add outliers to `tau_meas` and `q`."""
        torque = self._errors(by_joint(self, "torque", log) * torque_rms(log), log, rng)
        position = self._errors(by_joint(self, "position", log) * log.q.std(axis=0), log, rng)
        facts = {"torque": int((torque != 0.0).sum()), "position": int((position != 0.0).sum())}
        channels = {}
        if facts["torque"]:
            channels["tau_meas"] = log.tau_meas + torque
        if facts["position"]:
            channels["q"] = log.q + position
        return record_sensor(self, log, facts, **channels)

    def _errors(self, size: Float1D, log: Log, rng: np.random.Generator) -> Float2D:
        hit = rng.random(log.q.shape) < self.probability
        return np.asarray(size * hit * rng.choice([-1.0, 1.0], log.q.shape))
