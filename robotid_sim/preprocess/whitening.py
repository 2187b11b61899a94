"""Whitening of rows by the banded Cholesky factors of their covariance."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky_banded

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.measurement.motion import RowFilter
from robotid_sim.preprocess.stencil import NODES
from robotid_sim.representation import public_value

BANDS = NODES.size - 1
"""Samples before a torque that share positions with it."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class WhiteningRowFilter(RowFilter):
    """Row filter that first takes out, joint by joint, how noise of neighbors belongs together."""

    factors: Float | None = None
    """Lower bands of the Cholesky factor of the covariance over the torque's own variance, shape
    (n, 6, stop - first)."""

    def filtered(self, parts: Iterable[Float]) -> Float:
        """Return the rows of a signal in parts, whitened; see `RowFilter`."""
        assert self.factors is not None
        return RowFilter.filtered(self, whitened(parts, self.factors))


def whitened(parts: Iterable[Float], factors: Float) -> Iterator[Float]:
    """Yield the parts of a signal with the factors of the joints solved for, forward.

    The parts, shape (M, n, ...), are consecutive ones of N samples; factors, shape (n, 6, N), are
    those of `factor_of`.
    """
    before, begin = np.zeros(0), 0
    for part in parts:
        flat = part.reshape(*part.shape[:2], -1)
        if begin == 0:
            before = np.zeros((BANDS, *flat.shape[1:]))
        found = np.concatenate([before, flat])
        _solve_forward(factors, begin, found)
        yield found[BANDS:].reshape(part.shape)
        before, begin = found[-BANDS:], begin + len(part)


@jit
def _solve_forward(factors: Float, begin: int, x: Float) -> None:
    """Solve for the samples of x (5 + N, n, c) after the first five, which are solved, in place.

    The sixth sample is the one of index `begin` of the factors, shape (n, 6, ...).
    """
    for k in range(5, x.shape[0]):
        t = begin + k - 5
        for j in range(x.shape[1]):
            f1, f2 = factors[j, 1, max(t - 1, 0)], factors[j, 2, max(t - 2, 0)]
            f3, f4 = factors[j, 3, max(t - 3, 0)], factors[j, 4, max(t - 4, 0)]
            f5, scale = factors[j, 5, max(t - 5, 0)], 1.0 / factors[j, 0, t]
            for c in range(x.shape[2]):  # one pass, which the compiler makes parallel
                rest = x[k, j, c] - f1 * x[k - 1, j, c] - f2 * x[k - 2, j, c]
                rest = rest - f3 * x[k - 3, j, c] - f4 * x[k - 4, j, c] - f5 * x[k - 5, j, c]
                x[k, j, c] = scale * rest


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
