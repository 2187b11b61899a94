r"""Correlation of residuals in time, and the blocks of a covariance that allows for it.

The mean of N correlated residuals is as uncertain as that of :math:`N / (1 + 2 \sum_k \rho_k)`
independent ones, with the autocorrelations :math:`\rho_k`, whose sums over pairs of neighbors
are taken to fall, down to the first that is not positive [1]_.

References
----------
.. [1] Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7,
   doi:10.1214/ss/1177011137 (initial monotone sequence).
"""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.estimate import Estimate

SHORTEST_BLOCK = 0.2
"""Length of the blocks of a covariance where residuals are not correlated for long [s]."""

CORRELATION_TIMES = 2.0
"""Length of a block over the correlation time of the residuals.

Of exponentially correlated residuals such blocks see three quarters of the variance. Longer ones
are too few, and their covariance scatters.
"""

FEWEST_BLOCKS = 20
"""Blocks of every joint that a log, or a period of it, is cut into, at least."""


def autocorrelation(x: Float2D) -> Float2D:
    """Return the autocorrelation of every column of x (N, n) at all lags, shape (N, n)."""
    centered = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(centered, 2 * len(x), axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[: len(x)]
    return np.asarray(covariance / np.maximum(covariance[0], np.finfo(float).tiny))


def effective_rows(rho: Float2D) -> Float1D:
    """Return how many independent rows autocorrelated ones are worth, at most all, shape (n,).

    The autocorrelations rho, shape (N, n), begin at lag 0.
    """
    N, even = len(rho), len(rho) // 2 * 2
    pairs = rho[:even].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    falling = np.maximum(np.minimum.accumulate(pairs, axis=0), 0.0)  # [1]
    inflation = 2.0 * falling.sum(axis=0) - 1.0
    return np.asarray(N / np.maximum(inflation, 1.0))


def block_length(residual: Float2D, dt: float, period: float | None = None) -> float:
    """Return how long the blocks of a covariance are to be for residuals (N, n), `dt` apart [s].

    That of the joint whose residuals are correlated longest; `period` [s] if they repeat.
    """
    N = len(residual)
    correlated = dt * N / float(effective_rows(autocorrelation(residual)).min())
    longest = min(dt * N, period or np.inf) / FEWEST_BLOCKS
    return max(SHORTEST_BLOCK, min(CORRELATION_TIMES * correlated, longest))


def block_of(estimate: Estimate) -> float:
    """Return the length of the blocks of an estimate's covariance [s]."""
    return estimate.block or SHORTEST_BLOCK
