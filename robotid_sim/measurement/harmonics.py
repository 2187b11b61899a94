"""Errors of a sensor that repeat with every revolution of a shaft."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float2D, readonly
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import PerJoint, Sensor, is_prismatic, keep_numbers, per_joint

Phases = tuple[tuple[float, ...], ...]
"""Phases of harmonics, one list per order with one number per joint."""


@dataclass(frozen=True, kw_only=True)
class HarmonicSensor(Sensor):
    r"""A sensor with an error of the angle :math:`\alpha = G q` of the encoder or the motor.

    The error is :math:`e = A \sum_k s_k \sin(k \alpha + \varphi_k)`; of a prismatic joint with a
    screw of lead p the angle is :math:`2 \pi G q / p`. Phases are drawn.
    """

    orders: tuple[float, ...] = (1.0, 2.0)
    """Periods k per revolution of the encoder or the motor."""
    shares: tuple[float, ...] = (1.0, 0.5)
    """Amplitude of each order over A."""
    gear: PerJoint = 1.0
    """Revolutions G of it per revolution of the joint, or of the screw."""
    lead: PerJoint = 0.01
    """Travel of a prismatic joint per revolution of its screw [m]."""
    phase: Phases | None = None
    """Phases [rad], a list per order with one per joint; by default they are drawn."""

    def __post_init__(self) -> None:
        keep_numbers(self, "orders", "shares")
        keep_numbers(self, "gear", "lead", positive=True)
        orders, shares = self.orders, self.shares
        lists = isinstance(orders, tuple) and isinstance(shares, tuple)
        if not lists or len(orders) != len(shares):
            raise OptionError(
                f"{type(self).__name__} orders and shares are lists of the same length, got "
                f"{orders} and {shares}"
            )

    def harmonics(self, log: Log, rng: np.random.Generator) -> tuple[Float2D, Float2D]:
        """Return the error over A, shape (N, n), and the phases, shape (len(orders), n) [rad].

        Raises
        ------
        OptionError
            If phases are given, but not one per order and joint.
        """
        shape = (len(self.orders), log.dof)
        if self.phase is None:
            phase: Float2D = rng.uniform(0.0, 2.0 * np.pi, shape)
        else:
            try:
                phase = readonly(self.phase, shape=shape, name="phase")
            except ShapeError as error:
                raise OptionError(
                    f"phases of harmonics, one per order and joint: {error}"
                ) from error
        gear, lead = per_joint(self, "gear", log), per_joint(self, "lead", log)
        angle = log.q * gear * np.where(is_prismatic(log), 2.0 * np.pi / lead, 1.0)
        terms = zip(self.orders, self.shares, phase, strict=True)
        return np.asarray(sum(share * np.sin(k * angle + p) for k, share, p in terms)), phase

    def settled(self, drawn: Mapping[str, Any]) -> Sensor:
        """Hold the phases; see `Sensor`."""
        return replace(self, phase=drawn["phase"])
