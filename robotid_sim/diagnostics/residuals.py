r"""Analysis of residuals: cross-validation by periods, plausibility, whiteness.

The statistic of a joint's residuals with the autocorrelations :math:`\rho_k` [1]_,

.. math:: Q = N (N + 2) \sum_{k=1}^{h} \frac{\rho_k^2}{N - k},

is chi-squared with h degrees of freedom for white residuals.

References
----------
.. [1] Ljung, Box (1978), "On a measure of lack of fit in time series models", Biometrika 65,
   doi:10.1093/biomet/65.2.297.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.errors import LogError, OptionError
from robotid_sim.estimation.block_sandwich import autocorrelation, effective_rows
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem

MIN_PERIOD_SHARE = 0.5
"""Minimum share of the last period; a shorter period is added to the previous one."""

MAX_OVERFIT_RATIO = 1.2
"""Ratio of predicted to fitted residuals above which a fit is reported as overfitted."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Residuals of held-out and of fitted periods."""

    joint_names: tuple[str, ...]
    predicted: Float2D
    """RMS residual of every held-out period and joint [N m], shape (periods, n)."""
    fitted: Float2D
    """RMS residual of the same joint in the periods that were fitted [N m], shape (periods, n)."""
    expected: float
    """Ratio of predicted to fitted residual that white residuals would have on average."""

    @property
    def ratio(self) -> Float1D:
        """Predicted over fitted residual of every joint, shape (n,)."""
        predicted, fitted = (np.sqrt((x**2).mean(axis=0)) for x in (self.predicted, self.fitted))
        return np.asarray(predicted / np.maximum(fitted, np.finfo(float).tiny))

    def sentences(self) -> list[str]:
        """Describe the comparison of held-out and fitted periods."""
        j = int(self.ratio.argmax())
        ratio, name = self.ratio[j], self.joint_names[j]
        comparison = (
            f"Held-out periods have {ratio:.2f} times the residual of the fit on the worst "
            f"joint, {name}; the expected ratio is {self.expected:.2f}."
        )
        if ratio < MAX_OVERFIT_RATIO * self.expected:
            return [comparison]
        return [comparison, f"The fit of {name} does not generalize to other periods."]


def cross_validate(
    problem: LinearProblem, period: float, estimator: Estimator | None = None
) -> CrossValidation:
    r"""Fit a log without one of its periods and predict that one, for all periods.

    For white residuals and m fitted rows the ratio of predicted to fitted RMS is
    :math:`\sqrt{(1 + b/m) / (1 - b/m)}` on average.

    `period` is the period of the motion [s]. The estimator, by default weighted least squares, gets
    a fixed seed. Raises `LogError` if the rows hold less than one and a half periods, or the rows
    without one period do not determine the parameters.
    """
    fold = assign_periods(problem, period)
    method = estimator or WeightedLeastSquares()
    W, y = problem.unstack_rows(problem.W), problem.unstack_rows(problem.y)
    predicted, fitted = [], []
    for held_out in range(int(fold.max()) + 1):
        is_used = fold != held_out
        W_fitted = W[is_used].reshape(-1, W.shape[2])
        part = replace(problem, W=W_fitted, y=y[is_used].ravel(), recordings=(), period=None)
        estimate = method.fit(part, np.random.default_rng(0))
        if not estimate.success:
            raise LogError(f"the fit without period {held_out + 1} failed: {estimate.message}")
        residual = y - W @ estimate.beta
        predicted.append(np.sqrt((residual[~is_used] ** 2).mean(axis=0)))
        fitted.append(np.sqrt((residual[is_used] ** 2).mean(axis=0)))
    share = problem.basis.rank / (len(problem.y) * (1.0 - 1.0 / len(predicted)))
    expected = float(np.sqrt((1.0 + share) / max(1.0 - share, 1e-3)))
    return CrossValidation(problem.joint_names, np.array(predicted), np.array(fitted), expected)


def assign_periods(problem: LinearProblem, period: float) -> Int1D:
    """Assign every sample to a period, counted from 0, shape (N,)."""
    if not period > 0.0:
        raise OptionError(f"the period must be positive, got {period} s")
    fold = (np.arange(problem.samples) * problem.dt / period + 1e-9).astype(np.intp)
    last_period = int(fold.max())
    if last_period and (fold == last_period).sum() < MIN_PERIOD_SHARE * period / problem.dt:
        fold[fold == last_period] = last_period - 1
    if not fold.max():
        raise LogError(
            f"the rows last {problem.samples * problem.dt:.3g} s, less than one and a half "
            f"periods of {period:g} s; record more periods"
        )
    return fold


MAX_CONSTRAINED_RATIO = 3.0
"""Ratio of the residual to that of the unconstrained fit above which no consistent robot fits the
log."""

MAX_RESIDUAL_SHARE = 0.4
"""Residual over the RMS torque above which the model does not explain the log."""

RESIDUAL_REMEDY = (
    "check the signs of the torques, the units of the positions, and that the log is of this robot"
)


def describe_misfit(
    estimate: Estimate,
    problem: LinearProblem,
    plain: LinearProblem | None = None,
    *,
    has_terms: bool = False,
) -> str:
    """Describe why an estimate is untrusted, as a sentence; empty if it is trusted.

    A motion in degrees or of a different robot has a large residual. The residual is that of
    `plain`, the problem without the columns of a discrepancy, if `plain` is given. A torque of the
    wrong sign is explained well by negative masses: only constraints reveal it. `has_terms` says
    that joint terms were searched.
    """
    rows = problem if plain is None else plain
    tiny = np.finfo(float).tiny
    ratio = estimate.torque_rms / np.maximum(estimate.noise_std, tiny)
    residual = rows.unstack_rows(rows.y - rows.W @ estimate.beta)
    size = np.sqrt((rows.unstack_rows(rows.y) ** 2).mean(axis=0))
    share = np.sqrt((residual**2).mean(axis=0)) / np.maximum(size, tiny)
    j, k = int(ratio.argmax()), int(share.argmax())
    # Without noise both residuals are rounding errors, and their ratio is meaningless.
    if ratio[j] > MAX_CONSTRAINED_RATIO and share[j] > 1e-6:
        return (
            f"the residual of {problem.joint_names[j]} is {ratio[j]:.3g} times that of the fit "
            f"without constraints: no physically consistent robot has these torques; "
            f"{RESIDUAL_REMEDY}"
        )
    if share[k] > MAX_RESIDUAL_SHARE:
        return (
            f"the residual of {problem.joint_names[k]} is {share[k]:.0%} of its RMS torque: the "
            f"model does not explain the log; "
            f"{RESIDUAL_REMEDY}{'' if has_terms else ', or try --terms all'}"
        )
    return ""


SIGNIFICANCE = 0.01
"""Probability below which residuals count as colored."""


@dataclass(frozen=True, slots=True, eq=False)
class Whiteness:
    """Test of every joint's residuals, arrays of shape (n,)."""

    joint_names: tuple[str, ...]
    statistic: Float1D
    """Ljung and Box's Q."""
    lags: int
    """Number of autocorrelations in the statistic, its degrees of freedom."""
    p_value: Float1D
    """Probability of Q or a larger value for white residuals."""
    first: Float1D
    """Autocorrelation of neighboring rows."""
    rows: int
    """Rows of every joint."""
    effective_rows: Float1D
    """Equivalent number of independent rows."""

    @property
    def is_white(self) -> np.ndarray:
        """Which joints have white residuals, shape (n,)."""
        return np.asarray(self.p_value >= SIGNIFICANCE)

    def sentences(self) -> list[str]:
        """Describe the test."""
        colored_joints = np.flatnonzero(~self.is_white)
        if not colored_joints.size:
            return [
                f"The residuals of all joints are white (Ljung-Box, {self.lags} lags, "
                f"smallest p {self.p_value.min():.2g})."
            ]
        return [
            f"The residuals of {self.joint_names[j]} are colored (Ljung-Box, {self.lags} lags, "
            f"p {self.p_value[j]:.2g}): the correlation of neighbors is {self.first[j]:+.2f}, and "
            f"{self.rows} rows are equivalent to {self.effective_rows[j]:.0f} independent ones."
            for j in colored_joints
        ]


def residual_whiteness(
    problem: LinearProblem, estimate: Estimate, *, lags: int | None = None
) -> Whiteness:
    """Test the residuals of an estimate for whiteness, joint by joint.

    The statistic has `lags` autocorrelations, by default 20, or a fifth of the rows if that is
    less. Raises `OptionError` if there are not more rows than lags.
    """
    residual = problem.unstack_rows(problem.y - problem.W @ estimate.beta)
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
