"""Finite differences: position, velocity and acceleration at a time from the samples about it."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float2D
from robotid_sim.compiled import jit
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

    def motion(self, q: Float2D) -> tuple[Float2D, Float2D, Float2D]:
        """Return position, velocity and acceleration, each of shape (N, n).

        At the ends the outermost position stands for what is missing.
        """
        found = np.empty((3, *q.shape))
        _differences(np.ascontiguousarray(q), self.weights, self.shift + int(NODES[0]), found)
        return found[0], found[1], found[2]

    def slopes(self, partial: Float) -> Float:
        """Return the derivatives by the samples at the nodes, shape (N, n, 6).

        Those by position, velocity and acceleration are partial, shape (3, N, n).
        """
        weights = np.broadcast_to(self.weights, (partial.shape[1], *self.weights.shape[1:]))
        return np.asarray(np.einsum("akn,kai->kni", partial, weights))

    def transposed(self, slopes: Float, x: Float2D) -> Float2D:
        """Return the samples, shape (N, n), that torques x (N, n) with slopes (N, n, 6) go to."""
        total = np.zeros_like(x)
        _back(np.ascontiguousarray(slopes), x, self.shift + int(NODES[0]), total)
        return total


@jit
def _differences(q: Float2D, weights: Float, first: int, found: Float) -> None:
    """Fill found (3, N, n) with the sums of the samples from `first` after each on."""
    last = q.shape[0] - 1
    for k in range(q.shape[0]):
        w = weights[min(k, weights.shape[0] - 1)]
        for j in range(q.shape[1]):
            for a in range(3):
                total = 0.0
                for i in range(w.shape[1]):
                    total += w[a, i] * q[min(max(k + first + i, 0), last), j]
                found[a, k, j] = total


@jit
def _back(slopes: Float, x: Float2D, first: int, total: Float2D) -> None:
    """Add every torque x times its slopes to the samples from `first` after it on."""
    for k in range(x.shape[0]):
        for i in range(slopes.shape[2]):
            at = k + first + i
            if 0 <= at < x.shape[0]:
                for j in range(x.shape[1]):
                    total[at, j] += slopes[k, j, i] * x[k, j]
