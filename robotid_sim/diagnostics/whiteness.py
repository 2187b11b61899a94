r"""Whether residuals are white, and how many independent rows coloured ones are worth.

The statistic of a joint's residuals with the autocorrelations :math:`\rho_k` [1]_,

.. math:: Q = N (N + 2) \sum_{k=1}^{h} \frac{\rho_k^2}{N - k},

is chi-squared with h degrees of freedom for white ones. Their mean is as uncertain as that of
:math:`N / (1 + 2 \sum_k \rho_k)` independent rows, the sum ended where pairs of neighbours turn
negative [2]_.

References
----------
.. [1] Ljung, Box (1978), "On a measure of lack of fit in time series models", Biometrika 65,
   doi:10.1093/biomet/65.2.297.
.. [2] Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7,
   doi:10.1214/ss/1177011137 (initial positive sequence).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem

SIGNIFICANT = 0.01
"""Probability below which residuals count as coloured."""


@dataclass(frozen=True, slots=True, eq=False)
class Whiteness:
    """Test of every joint's residuals, arrays of shape (n,)."""

    joint_names: tuple[str, ...]
    statistic: Float1D
    """Ljung and Box's Q."""
    lags: int
    """Autocorrelations in it, its degrees of freedom."""
    p_value: Float1D
    """Probability of such a Q, or a larger one, for white residuals."""
    first: Float1D
    """Autocorrelation of neighbouring rows."""
    rows: int
    """Rows of every joint."""
    effective_rows: Float1D
    """Independent rows that they are worth."""

    @property
    def white(self) -> np.ndarray:
        """Which joints have residuals that pass for white, shape (n,)."""
        return np.asarray(self.p_value >= SIGNIFICANT)

    def sentences(self) -> list[str]:
        """Return the test in words."""
        coloured = np.flatnonzero(~self.white)
        if not coloured.size:
            return [
                f"The residuals of all joints pass for white (Ljung-Box, {self.lags} lags, "
                f"smallest p {self.p_value.min():.2g})."
            ]
        return [
            f"The residuals of {self.joint_names[j]} are coloured (Ljung-Box, {self.lags} lags, "
            f"p {self.p_value[j]:.2g}): neighbours correlate by {self.first[j]:+.2f}, and "
            f"{self.rows} rows are worth {self.effective_rows[j]:.0f}."
            for j in coloured
        ]


def residual_whiteness(
    problem: LinearProblem, estimate: Estimate, *, lags: int | None = None
) -> Whiteness:
    """Return the whiteness of an estimate's residuals, joint by joint.

    Parameters
    ----------
    problem : LinearProblem
        What the estimate was fitted to.
    estimate : Estimate
        Its parameters.
    lags : int, optional
        Autocorrelations in the statistic; by default 20, or a fifth of the rows if that is less.

    Raises
    ------
    OptionError
        If there are not more rows than lags.
    """
    residual = problem.by_joint(problem.y - problem.W @ estimate.beta)
    N = len(residual)
    h = min(20, max(1, N // 5)) if lags is None else lags
    if not 0 < h < N:
        raise OptionError(f"{h} lags need more than {N} rows")
    rho = autocorrelation(residual)
    terms = rho[1 : h + 1] ** 2 / (N - np.arange(1, h + 1))[:, None]
    statistic = N * (N + 2) * terms.sum(axis=0)  # [1]
    return Whiteness(
        joint_names=problem.joint_names,
        statistic=statistic,
        lags=h,
        p_value=np.asarray(chdtrc(h, statistic)),
        first=rho[1],
        rows=N,
        effective_rows=effective_rows(rho),
    )


def autocorrelation(x: Float2D) -> Float2D:
    """Return the autocorrelation of every column of x (N, n) at all lags, shape (N, n)."""
    centred = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, 2 * len(x), axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[: len(x)]
    return np.asarray(covariance / np.maximum(covariance[0], np.finfo(float).tiny))


def effective_rows(rho: Float2D) -> Float1D:
    """Return how many independent rows autocorrelated ones are worth, at most all, shape (n,).

    Parameters
    ----------
    rho : ndarray, shape (N, n)
        Autocorrelations from lag 0 on.
    """
    N, even = len(rho), len(rho) // 2 * 2
    pairs = rho[:even].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    positive = np.minimum.accumulate(pairs > 0.0, axis=0)  # [2]: until the first that is not
    inflation = 2.0 * (pairs * positive).sum(axis=0) - 1.0
    return np.asarray(N / np.maximum(inflation, 1.0))
