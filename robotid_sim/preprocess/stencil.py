"""Finite differences: position, velocity and acceleration at a time from the samples about it."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float2D
from robotid_sim.measurement.log import Log

NODES = np.arange(-2, 4)
"""Samples about a time whose polynomial gives position, velocity and acceleration there."""


@dataclass(frozen=True, slots=True, eq=False)
class Stencil:
    """Position, velocity and acceleration at the torque times from samples about them."""

    weights: Float2D
    """Rows for the three, shape (3, 6)."""
    shift: int
    """Sample of the node zero, after that of the torque."""

    @classmethod
    def of(cls, log: Log) -> Self:
        """Return the differences at the times at which the torques of a log act."""
        late = log.torque_time_offset / log.dt
        shift = int(np.floor(late))
        x, powers = late - shift, np.arange(NODES.size)
        value = x**powers
        slope = powers * x ** np.maximum(powers - 1, 0)
        bend = powers * (powers - 1) * x ** np.maximum(powers - 2, 0)
        polynomial = np.linalg.inv(np.vander(NODES, increasing=True).astype(float))
        rows = np.stack([value, slope / log.dt, bend / log.dt**2])
        return cls(rows @ polynomial, shift)

    def neighbors(self, x: Float2D) -> Float:
        """Return the samples at the nodes of every torque, shape (N, n, 6)."""
        index = np.arange(len(x))[:, None] + self.shift + NODES
        return np.moveaxis(x[np.clip(index, 0, len(x) - 1)], 1, 2)

    def motion(self, q: Float2D) -> tuple[Float2D, Float2D, Float2D]:
        """Return position, velocity and acceleration, each of shape (N, n)."""
        near = self.neighbors(q)
        value, slope, bend = (near @ row for row in self.weights)
        return value, slope, bend

    def transposed(self, slopes: Float, x: Float2D) -> Float2D:
        """Return the samples, shape (N, n), that torques x (N, n) with slopes (N, n, 6) go to."""
        total = np.zeros_like(x)
        index = np.arange(len(x)) + self.shift
        for i, node in enumerate(NODES):
            at = index + node
            inside = (at >= 0) & (at < len(x))
            total[at[inside]] += (slopes[:, :, i] * x)[inside]
        return total
