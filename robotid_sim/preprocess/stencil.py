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

    weights: Float
    """Rows for the three, shape (N, 3, 6), or (1, 3, 6) if they are the same for all samples."""
    shift: int
    """Sample of the node zero, after that of the torque."""

    @classmethod
    def of(cls, log: Log) -> Self:
        """Return the differences at the times at which the torques of a log act."""
        late = np.array([log.torque_time_offset])
        if log.torque_times is not None:
            late = log.action_times - log.t
        late = late / log.dt
        shift = int(np.floor(np.median(late)))
        x, powers = (late - shift)[:, None], np.arange(NODES.size)
        value = x**powers
        slope = powers * x ** np.maximum(powers - 1, 0)
        bend = powers * (powers - 1) * x ** np.maximum(powers - 2, 0)
        polynomial = np.linalg.inv(np.vander(NODES, increasing=True).astype(float))
        rows = np.stack([value, slope / log.dt, bend / log.dt**2], axis=1)
        return cls(rows @ polynomial, shift)

    def neighbors(self, x: Float2D) -> Float:
        """Return the samples at the nodes of every torque, shape (N, n, 6)."""
        index = np.arange(len(x))[:, None] + self.shift + NODES
        return np.moveaxis(x[np.clip(index, 0, len(x) - 1)], 1, 2)

    def motion(self, q: Float2D) -> tuple[Float2D, Float2D, Float2D]:
        """Return position, velocity and acceleration, each of shape (N, n)."""
        value, slope, bend = np.einsum("kni,kai->akn", self.neighbors(q), self._at(len(q)))
        return value, slope, bend

    def slopes(self, partial: Float) -> Float:
        """Return the derivatives by the samples at the nodes, shape (N, n, 6).

        Those by position, velocity and acceleration are partial, shape (3, N, n).
        """
        return np.asarray(np.einsum("akn,kai->kni", partial, self._at(partial.shape[1])))

    def _at(self, samples: int) -> Float:
        return np.broadcast_to(self.weights, (samples, *self.weights.shape[1:]))

    def transposed(self, slopes: Float, x: Float2D) -> Float2D:
        """Return the samples, shape (N, n), that torques x (N, n) with slopes (N, n, 6) go to."""
        total = np.zeros_like(x)
        index = np.arange(len(x)) + self.shift
        for i, node in enumerate(NODES):
            at = index + node
            inside = (at >= 0) & (at < len(x))
            total[at[inside]] += (slopes[:, :, i] * x)[inside]
        return total
