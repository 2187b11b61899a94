r"""Confidence intervals of estimated parameters, with their degrees of freedom.

`robotid_sim.estimation.block_sandwich` estimates the variance.

The module also computes how the information on every parameter is distributed over a motion.
Without the rows of a stretch the variance of a parameter grows from :math:`\sigma^2` to
:math:`\sigma_s^2`; the share of its information that only the stretch provides is
:math:`1 - \sigma^2 / \sigma_s^2`: 0 if other rows suffice, 1 if no other row depends on the
parameter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D, relative_std
from robotid_sim.errors import OptionError
from robotid_sim.estimation.block_sandwich import block_of, block_variance, check_block
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import random_errors
from robotid_sim.estimation.problem import LinearProblem, weights_of
from robotid_sim.estimation.reduction import reduce_rows, triangular_factor
from robotid_sim.representation import public_value

Residuals = Literal["blocks", "white"]

MAX_RELATIVE_STD = 0.1
"""Maximum relative standard deviation of a well-determined parameter."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Confidence intervals of parameters, all arrays of shape (b,)."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Float1D
    std: Float1D
    """Standard deviation from which the intervals follow."""
    lower: Float1D
    upper: Float1D
    dof: Float1D
    """Degrees of freedom of Student's distribution."""
    level: float
    """Probability that an interval covers the true value."""
    unbiased: bool = True
    """False where constraints or a search changed the estimate: the intervals are approximate."""

    @property
    def relative_std(self) -> Float1D:
        """Standard deviation over the absolute value; infinite at zero."""
        return relative_std(self.values, self.std)

    def covers(self, beta: Float1D) -> np.ndarray:
        """Return which intervals contain the values `beta`, shape (b,)."""
        return np.asarray((self.lower <= beta) & (beta <= self.upper))

    def sentences(self) -> list[str]:
        """Describe the intervals, the least determined parameters first."""
        relative = self.relative_std
        weak = [
            int(k) for k in np.argsort(-relative, kind="stable") if relative[k] > MAX_RELATIVE_STD
        ]
        sentences = [
            f"{self.level:.0%} intervals by Student's distribution with {self.dof.min():.0f} to "
            f"{self.dof.max():.0f} degrees of freedom; {len(weak)} of {len(self.names)} "
            f"parameters have a standard deviation above {MAX_RELATIVE_STD:.0%} of their value."
        ]
        sentences += [
            f"{self.names[k]} = {self.values[k]:.4g} {self.units[k]}, between {self.lower[k]:.4g} "
            f"and {self.upper[k]:.4g}."
            for k in weak
        ]
        if not self.unbiased:
            sentences.append(
                "Constraints or a search changed this estimate; its intervals are approximate."
            )
        return sentences


def correlation(cov: Float2D) -> Float2D:
    """Compute the correlation matrix of a covariance, shape (b, b)."""
    std = np.sqrt(np.diag(cov))
    return np.asarray(cov / np.outer(std, std))


def confidence_intervals(
    problem: LinearProblem,
    estimate: Estimate,
    *,
    level: float = 0.95,
    residuals: Residuals = "blocks",
    block: float | None = None,
) -> Intervals:
    """Compute intervals that contain the true values with probability `level`.

    Residuals are assumed correlated within ``blocks`` of time, or ``white`` with N n - b degrees of
    freedom. A parameter at its bound of zero has a one-sided interval. An estimate with its own
    degrees of freedom, whose covariance is not from a fit of these rows, keeps both.

    The estimate is by (weighted) least squares; `block` is a length [s], by default that of its
    covariance. Raises `OptionError` if `level` is not a probability, or the estimate has failed.
    """
    if not 0.0 < level < 1.0:
        raise OptionError(f"the confidence level must lie between 0 and 1, got {level}")
    if not estimate.success or estimate.cov_white is None:
        raise OptionError("only a least-squares estimate that succeeded has intervals")
    if estimate.pseudo is not None:
        problem = replace(problem, y=estimate.pseudo)
    if residuals == "white":
        variance = np.diag(estimate.cov_white)
        dof = np.full(len(variance), float(max(len(problem.y) - len(variance), 1)))
    elif estimate.dof is not None and estimate.cov is not None:
        variance, dof = np.diag(estimate.cov), estimate.dof
    else:
        variance, dof = _estimate_variance_by_block(
            problem, estimate, block_of(estimate) if block is None else block
        )
    std = np.sqrt(variance)
    half = std * stdtrit(dof, 0.5 + 0.5 * level)
    at_zero = estimate.is_at_bound
    upper = np.where(at_zero, std * stdtrit(dof, level), estimate.beta + half)
    return Intervals(
        names=estimate.names,
        units=estimate.units,
        values=estimate.beta,
        std=std,
        lower=np.where(at_zero, 0.0, estimate.beta - half),
        upper=upper,
        dof=dof,
        level=level,
        unbiased=estimate.unbiased,
    )


def _estimate_variance_by_block(
    problem: LinearProblem, estimate: Estimate, block: float
) -> tuple[Float1D, Float1D]:
    """Estimate variances, random effects included, and degrees of freedom, both of shape (b,)."""
    check_block(block)
    weights = weights_of(estimate)
    variance, dof = block_variance(problem, estimate.beta, weights, block)
    if problem.random is None:
        return variance, dof
    inverse = np.linalg.inv(reduce_rows(problem).solve(weights)[1])
    return variance + (random_errors(problem, weights, inverse) ** 2).sum(axis=1), dof


MIN_COLUMN_LENGTH = 1e-8
"""Length of the row that is added for every column of unit length to make columns independent."""


def information_shares(
    problem: LinearProblem, weights: Float1D, stretches: Sequence[Bool1D]
) -> Float2D:
    """Compute the share of information on each parameter that stretches of a motion provide.

    The weight of a row is one over the noise of its joint; a stretch is a mask of samples, shape
    (N,). Shares have shape (stretches, b), between 0 and 1; the shares of one parameter need not
    sum to 1.
    """
    factors = np.array([reduce_rows(problem, use).whole(weights)[:-1, :-1] for use in stretches])
    size = np.linalg.norm(factors, axis=(0, 1))
    factors = factors / np.where(size > 0.0, size, 1.0)
    with_all = _variances(factors)
    without = [_variances(np.delete(factors, k, axis=0)) for k in range(len(factors))]
    return np.asarray(1.0 - with_all / np.array(without)).clip(0.0, 1.0)


def _variances(factors: Float) -> Float1D:
    """Compute the variances of the parameters from triangular factors of parts of the rows."""
    count = factors.shape[2]
    rows = np.vstack([factors.reshape(-1, count), MIN_COLUMN_LENGTH * np.eye(count)])
    inverse = np.linalg.inv(triangular_factor(rows))
    return np.asarray((inverse**2).sum(axis=1))
