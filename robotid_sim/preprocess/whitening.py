"""Whitening of rows by the banded Cholesky factors of their covariance.

The module also has finite differences: position, velocity and acceleration at a time from the
samples about it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cholesky_banded

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import RowFilter
from robotid_sim.representation import public_value

NODE_OFFSETS = np.arange(-2, 4)
"""Offsets of the samples whose polynomial defines position, velocity and acceleration at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Stencil:
    """Weights that give position, velocity and acceleration at torque times from nearby samples."""

    weights: Float
    """Weights of the three quantities, shape (N, 3, 6), or (1, 3, 6) if equal for all."""
    shift: int
    """Number of samples from the torque sample to node zero."""

    @classmethod
    def from_log(cls, log: Log) -> Self:
        """Compute the weights for the torque times of a log."""
        delay = np.array([log.torque_time_offset])
        if log.torque_times is not None:
            delay = log.action_times - log.t
        delay = delay / log.dt
        shift = int(np.floor(np.median(delay)))
        x, powers = (delay - shift)[:, None], np.arange(NODE_OFFSETS.size)
        value = x**powers
        slope = powers * x ** np.maximum(powers - 1, 0)
        curvature = powers * (powers - 1) * x ** np.maximum(powers - 2, 0)
        polynomial = np.linalg.inv(np.vander(NODE_OFFSETS, increasing=True).astype(float))
        rows = np.stack([value, slope / log.dt, curvature / log.dt**2], axis=1)
        return cls(rows @ polynomial, shift)

    def motion(self, q: Float2D) -> tuple[Float2D, Float2D, Float2D]:
        """Compute position, velocity and acceleration, each of shape (N, n).

        At the ends the first or last position replaces missing samples.
        """
        result = np.empty((3, *q.shape))
        _differences(
            np.ascontiguousarray(q), self.weights, self.shift + int(NODE_OFFSETS[0]), result
        )
        return result[0], result[1], result[2]

    def slopes(self, partial: Float) -> Float:
        """Compute the derivatives by the samples at the nodes, shape (N, n, 6).

        The partial derivatives by position, velocity and acceleration have the shape (3, N, n).
        """
        weights = np.broadcast_to(self.weights, (partial.shape[1], *self.weights.shape[1:]))
        return np.asarray(np.einsum("akn,kai->kni", partial, weights))

    def apply_transposed(self, slopes: Float, x: Float2D) -> Float2D:
        """Apply the transpose of slopes (N, n, 6) to torques x (N, n); return samples (N, n)."""
        total = np.zeros_like(x)
        _add_transposed(np.ascontiguousarray(slopes), x, self.shift + int(NODE_OFFSETS[0]), total)
        return total


@jit
def _differences(q: Float2D, weights: Float, first: int, result: Float) -> None:
    """Fill `result` (3, N, n) with weighted sums of the samples from k + `first` on, for each k."""
    last = q.shape[0] - 1
    for k in range(q.shape[0]):
        w = weights[min(k, weights.shape[0] - 1)]
        for j in range(q.shape[1]):
            for a in range(3):
                total = 0.0
                for i in range(w.shape[1]):
                    total += w[a, i] * q[min(max(k + first + i, 0), last), j]
                result[a, k, j] = total


@jit
def _add_transposed(slopes: Float, x: Float2D, first: int, total: Float2D) -> None:
    """Add each torque x[k], times its slopes, to the samples of `total` from k + `first` on."""
    for k in range(x.shape[0]):
        for i in range(slopes.shape[2]):
            at = k + first + i
            if 0 <= at < x.shape[0]:
                for j in range(x.shape[1]):
                    total[at, j] += slopes[k, j, i] * x[k, j]


BAND_COUNT = NODE_OFFSETS.size - 1
"""Number of preceding torques whose stencils share positions with that of a torque."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class WhiteningRowFilter(RowFilter):
    """Row filter that first removes, joint by joint, the correlation of noise between neighbors."""

    factors: Float | None = None
    """Lower bands of the Cholesky factor of the covariance over the torque's own variance, shape
    (n, 6, stop - first)."""

    def filter_parts(self, parts: Iterable[Float]) -> Float:
        """Return the rows of a signal in parts, whitened; see `RowFilter`."""
        assert self.factors is not None
        return RowFilter.filter_parts(self, whiten(parts, self.factors))


def whiten(parts: Iterable[Float], factors: Float) -> Iterator[Float]:
    """Yield the parts of a signal after forward substitution with the factors of the joints.

    The parts, shape (M, n, ...), are consecutive ones of N samples; factors, shape (n, 6, N), come
    from `factor_of`.
    """
    before, begin = np.zeros(0), 0
    for part in parts:
        flat = part.reshape(*part.shape[:2], -1)
        if begin == 0:
            before = np.zeros((BAND_COUNT, *flat.shape[1:]))
        result = np.concatenate([before, flat])
        _solve_forward(factors, begin, result)
        yield result[BAND_COUNT:].reshape(part.shape)
        before, begin = result[-BAND_COUNT:], begin + len(part)


@jit
def _solve_forward(factors: Float, begin: int, x: Float) -> None:
    """Solve for the samples of x (5 + N, n, c) in place; the first five are solved already.

    The sixth sample is the one of index `begin` of the factors, shape (n, 6, ...).
    """
    for k in range(5, x.shape[0]):
        t = begin + k - 5
        for j in range(x.shape[1]):
            f1, f2 = factors[j, 1, max(t - 1, 0)], factors[j, 2, max(t - 2, 0)]
            f3, f4 = factors[j, 3, max(t - 3, 0)], factors[j, 4, max(t - 4, 0)]
            f5, scale = factors[j, 5, max(t - 5, 0)], 1.0 / factors[j, 0, t]
            for c in range(x.shape[2]):  # one pass, which the compiler vectorizes
                remaining = x[k, j, c] - f1 * x[k - 1, j, c] - f2 * x[k - 2, j, c]
                remaining = (
                    remaining - f3 * x[k - 3, j, c] - f4 * x[k - 4, j, c] - f5 * x[k - 5, j, c]
                )
                x[k, j, c] = scale * remaining


def factor_of(slopes: Float2D, torque_std: Float1D) -> Float2D:
    """Return the lower bands of the Cholesky factor of ``diag(std^2) + slopes slopes^T``, (6, N).

    Row k of the slopes, shape (N, 6), is the torque by one standard deviation of the positions of
    the samples k - 2 to k + 3; the noise of the torque is positive. The diagonal comes first.
    """
    bands = _products(np.ascontiguousarray(slopes))
    bands[0] += torque_std**2
    return np.asarray(cholesky_banded(bands, lower=True, overwrite_ab=True, check_finite=False))


@jit
def _products(slopes: Float2D) -> Float2D:
    """Return the lower bands of ``slopes slopes^T``, shape (6, N)."""
    samples, points = slopes.shape
    bands = np.zeros((points, samples))
    for d in range(points):
        for k in range(samples - d):
            for i in range(points - d):
                bands[d, k] += slopes[k + d, i] * slopes[k, i + d]
    return bands
