r"""Essential parameters: base parameters that remain after insignificant ones are dropped.

References
----------
.. [1] Pham, Gautier (1991), "Essential parameters of robots", Proc. 30th IEEE Conf. on Decision and
   Control, 2769-2774.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from robotid_sim.arrays import Float1D, relative_std
from robotid_sim.diagnostics.residuals import residual_whiteness
from robotid_sim.errors import OptionError
from robotid_sim.estimation.block_sandwich import block_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, select_columns, weights_of
from robotid_sim.estimation.reduction import reduce_rows

MAX_STD_RATIO = 1e4
"""Ratio of relative standard deviations above which a parameter is zero up to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class EssentialParameters:
    """The essential parameters of a robot that are identifiable from one log."""

    estimate: Estimate
    """Fit of the essential parameters alone."""
    essential: tuple[int, ...]
    """Indices of the essential parameters among the base parameters."""
    dropped: tuple[str, ...]
    """Names of the dropped parameters, the first one first."""
    beta: Float1D
    """All base parameters, zero if dropped, shape (b,)."""
    std_ratio: tuple[float, float]
    """Largest over smallest relative standard deviation, before and after the elimination."""
    p_value: float
    """Probability of F or a larger value if all dropped parameters are zero."""
    reason: str
    """Reason for the end of the elimination: ``ratio``, ``significant`` or ``last``."""

    def sentences(self) -> list[str]:
        """Describe the elimination."""
        total = len(self.essential) + len(self.dropped)
        sentences = [
            f"{len(self.essential)} of {total} base parameters are essential; the largest relative "
            f"standard deviation over the smallest fell from {_format_ratio(self.std_ratio[0])} to "
            f"{_format_ratio(self.std_ratio[1])}."
        ]
        if self.dropped:
            sentences.append(
                f"Dropped, the least certain first: {', '.join(self.dropped)}; the residual does "
                f"not grow significantly (p {self.p_value:.2g})."
            )
        if self.reason == "significant":
            sentences.append("The next one would make the residual grow significantly.")
        return sentences


def _format_ratio(ratio: float) -> str:
    """Format a ratio, bounded: it is meaningless for a parameter that is zero."""
    return f"{ratio:.3g}" if ratio < MAX_STD_RATIO else f"more than {MAX_STD_RATIO:g}"


def essential_parameters(
    problem: LinearProblem, estimate: Estimate, *, ratio: float = 10.0, significance: float = 0.05
) -> EssentialParameters:
    r"""Drop the parameter of largest relative standard deviation repeatedly [1]_.

    It ends when the largest relative standard deviation is less than `ratio` times the smallest, or
    when the residual would grow significantly over that of all parameters: when

    .. math:: F = \beta_d^T C_{dd}^{-1} \beta_d / |d|

    of the dropped parameters d is improbable for a variable F(\|d\|, N - b). For white residuals
    this is the F-test on the sum of squares; with the block covariance C it also holds for colored
    ones, with N the number of effective rows. The remaining parameters are fitted again by the
    normal equations in each step, and finally by weighted least squares from the rows.

    The estimate is a least-squares fit of all base parameters of the problem, with covariance; the
    ratio is above 1, and a growth is significant below the probability `significance`. Raises
    `OptionError` if an option is out of range or the estimate has failed.
    """
    if not (ratio > 1.0 and 0.0 < significance < 1.0):
        raise OptionError("the ratio must lie above 1, the significance between 0 and 1")
    if not estimate.success or estimate.cov is None:
        raise OptionError("essential parameters need an estimate that succeeded")
    beta = estimate.beta
    dropped, spread, p_value, reason = _eliminate(problem, estimate, ratio, significance)
    essential = np.setdiff1d(np.arange(len(beta)), dropped)
    wls = WeightedLeastSquares(block=block_of(estimate))
    fitted = wls.fit(select_columns(problem, essential), np.random.default_rng(0))
    full_beta = np.zeros_like(beta)
    full_beta[essential] = fitted.beta
    return EssentialParameters(
        estimate=fitted,
        essential=tuple(essential.tolist()),
        dropped=tuple(estimate.names[k] for k in dropped),
        beta=full_beta,
        std_ratio=(_compute_std_ratio(relative_std(beta, estimate.std)), spread),
        p_value=p_value,
        reason=reason,
    )


def _eliminate(
    problem: LinearProblem, estimate: Estimate, ratio: float, significance: float
) -> tuple[list[int], float, float, str]:
    """Return the dropped parameters, the remaining ratio, the last p-value and the reason."""
    assert estimate.cov is not None
    inverse = np.linalg.inv(reduce_rows(problem).solve(weights_of(estimate))[1])
    A, C, beta = inverse @ inverse.T, estimate.cov, estimate.beta
    rows = float(residual_whiteness(problem, estimate).effective_rows.sum())
    dof = max(rows - len(beta), 1.0)
    dropped: list[int] = []
    p_value = 1.0
    while True:
        # With dropped parameters at zero the normal equations map the others by
        # P = [1, -A_kd A_dd^-1], and the covariance becomes P C P^T.
        essential = np.setdiff1d(np.arange(len(beta)), dropped)
        P = np.zeros((len(essential), len(beta)))
        P[np.arange(len(essential)), essential] = 1.0
        if dropped:
            inner = np.linalg.inv(A[dropped][:, dropped])
            P[:, dropped] = -A[essential][:, dropped] @ inner
        relative = relative_std(P @ beta, np.sqrt(np.einsum("ki,ij,kj->k", P, C, P)))
        spread = _compute_std_ratio(relative)
        if len(essential) == 1:
            return dropped, spread, p_value, "last"
        if spread < ratio:
            return dropped, spread, p_value, "ratio"
        trial = [*dropped, int(essential[relative.argmax()])]
        F = beta[trial] @ np.linalg.solve(C[trial][:, trial], beta[trial]) / len(trial)
        p = float(fdtrc(len(trial), dof, F))
        if p < significance:
            return dropped, spread, p_value, "significant"
        dropped, p_value = trial, p


def _compute_std_ratio(relative: Float1D) -> float:
    return float(relative.max() / max(relative.min(), np.finfo(float).tiny))
