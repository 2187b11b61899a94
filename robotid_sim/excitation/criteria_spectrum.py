r"""Spectral criteria: condition numbers, trace and largest eigenvalue of the covariance.

Condition numbers refer to the base regressor. By definition they do not weight joints: one newton
meter counts the same for every joint. With ``floor`` or ``noise_std`` they weight joints, which
prior data require (see `Criterion.set_data`).

Unlike its determinant, trace and eigenvalues of the covariance :math:`C = (W^T S^{-1} W)^{-1}`
depend on the units of the parameters, which are therefore divided by sizes d:
:math:`C_d = D^{-1} C D^{-1}`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.excitation.criteria import Criterion, Slope, SpectralCriterion
from robotid_sim.optim import checks

ColumnScale = Literal["raw", "unit"]
ParameterScale = Literal["nominal", "unit"]


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionNumber(SpectralCriterion):
    r"""Logarithm of the condition number of the base regressor, raw, in SI units.

    .. math:: f = \log\frac{s_1}{s_b}, \qquad \frac{\partial f}{\partial W}
        = \frac{u_1 v_1^T}{s_1} - \frac{u_b v_b^T}{s_b}

    with the singular values s. It depends on the choice of base parameters and on their units.
    It has a kink where singular values cross; therefore a p-norm is minimized first:
    :math:`f_p = \tfrac1{2p} \log \sum_i s_i^{2p} \sum_i s_i^{-2p}`.

    References
    ----------
    .. [1] Gautier, Khalil (1992), "Exciting trajectories for the identification of base inertial
       parameters of robots", Int. J. Robotics Research, doi:10.1177/027836499201100408.
    """

    symbol: ClassVar[str] = "log cond(W)"

    floor: float | None = None

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        del count
        _, s, Vt = np.linalg.svd(R)
        ends = extremes(s, self.p)
        return Slope(ends.log_large - ends.log_small, Vt.T, (ends.large - ends.small) / (2 * s**2))


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class NormalizedConditionNumber(SpectralCriterion):
    r"""Logarithm of the condition number of the base regressor with columns of unit length.

    .. math:: f = \log \operatorname{cond}(W_n), \quad W_n = W \operatorname{diag}(c)^{-1}, \qquad
        \frac{\partial f}{\partial W} = \bigl(G - W_n \operatorname{diag}(1^T (G \circ W_n))\bigr)
        \operatorname{diag}(c)^{-1}

    with the lengths c of the columns and the gradient G with respect to :math:`W_n`. It does not
    depend on the units of the parameters, and therefore not on the size of the motion: at its
    optimum a joint may be nearly at rest. It is useful to report, but rarely to minimize.

    References
    ----------
    .. [1] van der Sluis (1969), "Condition numbers and equilibration of matrices", Numerische
       Mathematik 14, doi:10.1007/BF02165096: within sqrt(b) of the best scaling of columns.
    """

    symbol: ClassVar[str] = "log cond(W, unit columns)"

    floor: float | None = None

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        del count
        s, V, length = _unit_columns(R)
        ends = extremes(s, self.p)
        F, a = _scale_derivative(s, V, length, ends.large - ends.small)
        return Slope(ends.log_large - ends.log_small, F, a)


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedCondition(SpectralCriterion):
    r"""Logarithm of a condition number plus both ends of the spectrum, weighted.

    .. math:: f = \log\Bigl( \frac{s_1}{s_b} + \frac{y_1}{s_b} + y_2 s_1 \Bigr)

    after [1]_, eq. (44), which prints :math:`\operatorname{cond} + 1/\varphi_{\min}(y) +
    \varphi_{\max} y` and calls y a weighting factor. We read a weight on each of the two terms. The
    singular values are those of :math:`W / \sqrt N`, so that weights do not depend on the number of
    samples; the logarithm changes no minimum. The term :math:`y_2 s_1` penalizes strong excitation.

    References
    ----------
    .. [1] Umar et al. (2021), Nigerian Journal of Technology 40(4), doi:10.4314/njt.v40i4.14.
    """

    symbol: ClassVar[str] = "log(cond(W) + y1/s_min + y2 s_max)"

    floor: float | None = None
    y1: float = 1.0
    """Weight of the inverse of the smallest singular value."""
    y2: float = 1.0
    """Weight of the largest singular value."""
    columns: ColumnScale = "raw"
    """``raw`` in SI units, as in the paper, or ``unit`` for columns of unit length."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("columns", self.columns, ColumnScale)
        if not (0.0 <= self.y1 < np.inf and 0.0 <= self.y2 < np.inf):
            weights = f"y1={self.y1}, y2={self.y2}"
            raise OptionError(f"weights must be finite and not negative, got {weights}")

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        if self.columns == "unit":
            s, V, length = _unit_columns(R)
        else:
            _, s, Vt = np.linalg.svd(R)
            V, length = Vt.T, None
        # the factor sqrt(N) applies to raw singular values; unit columns are already normalized
        root_count = 1.0 if length is not None else np.sqrt(count)
        ends = extremes(s / root_count, self.p)
        top, bottom = np.exp(ends.log_large), np.exp(-ends.log_small)
        total = top * bottom + self.y1 * bottom + self.y2 * top  # [1] eq. (44)
        by_top, by_bottom = top * (bottom + self.y2), bottom * (top + self.y1)
        slope = (by_top * ends.large - by_bottom * ends.small) / total
        if length is None:
            return Slope(float(np.log(total)), V, slope / (2 * s**2))
        return Slope(float(np.log(total)), *_scale_derivative(s, V, length, slope))


class Extremes(NamedTuple):
    """The largest and the smallest singular value, or p-norms instead of them."""

    log_large: float
    """Logarithm of the largest singular value, or of the norm of all."""
    log_small: float
    """Logarithm of the smallest singular value, or of the inverse norm of the inverses."""
    large: Float1D
    """Derivative of `log_large` by the logarithms of the singular values, shape (b,)."""
    small: Float1D
    """Derivative of `log_small` by the same logarithms, shape (b,)."""


def extremes(s: Float1D, p: float) -> Extremes:
    """Return the ends of a spectrum: logarithms and their derivatives.

    Singular values s are in decreasing order; p is the exponent of the norm of their squares,
    infinite for the largest and the smallest value.
    """
    log_large, log_small = float(np.log(s[0])), float(np.log(s[-1]))
    if np.isinf(p):
        unit = np.eye(len(s))
        return Extremes(log_large, log_small, unit[0], unit[-1])
    large, small = (s / s[0]) ** (2.0 * p), (s[-1] / s) ** (2.0 * p)
    log_large += float(np.log(large.sum())) / (2.0 * p)
    log_small -= float(np.log(small.sum())) / (2.0 * p)
    return Extremes(log_large, log_small, large / large.sum(), small / small.sum())


def _unit_columns(R: Float2D) -> tuple[Float1D, Float2D, Float1D]:
    """Return singular values and right vectors of R with unit columns, and their lengths."""
    length = np.linalg.norm(R, axis=0)
    _, s, Vt = np.linalg.svd(R / length)
    return s, Vt.T, length


def _scale_derivative(
    s: Float1D, V: Float2D, length: Float1D, slope: Float1D
) -> tuple[Float2D, Float1D]:
    """Convert the derivative by logarithms of singular values to factors of that by the matrix."""
    by_length = 0.5 * V**2 @ slope  # effect of scaling a column to unit length
    F = np.hstack([V, np.eye(len(V))]) / length[:, None]
    return F, np.concatenate([slope / (2 * s**2), -by_length])


SIZE_FLOOR = 0.1
"""Minimum size by which the error of a parameter is divided, over the median of the nominal
magnitudes above zero."""


def parameter_sizes(beta: Float1D) -> Float1D:
    """Compute the sizes by which errors of base parameters are divided, all positive, shape (b,).

    The size is the nominal magnitude, but at least a tenth of the median magnitude: a parameter
    that is zero by symmetry must not dominate all others.
    """
    size = np.abs(beta)
    if not size.any():
        return np.ones_like(size)
    return np.asarray(np.maximum(size, SIZE_FLOOR * np.median(size[size > 0.0])))


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class AOptimality(Criterion):
    r"""Logarithm of the trace of N times the covariance: the mean squared parameter error.

    .. math:: f = \log \operatorname{tr} D^{-1} M^{-1} D^{-1}, \qquad
        \frac{\partial f}{\partial M} = -\frac{M^{-1} D^{-2} M^{-1}}{e^f}, \qquad
        M = \tfrac1N W^T S^{-1} W

    for N samples, with the joint weights S of D-optimality. The sizes D make the errors relative;
    with ``scaling="unit"``, or without nominal parameters, they are the SI units, and the result
    depends on the choice of base parameters.

    References
    ----------
    .. [1] Pukelsheim (2006), "Optimal Design of Experiments", SIAM,
       doi:10.1137/1.9780898719109, section 6.
    """

    symbol: ClassVar[str] = "log tr((W' S^-1 W / N)^-1)"

    scaling: ParameterScale = "nominal"
    """Units of parameters: ``nominal`` magnitudes (see `parameter_sizes`) or ``unit``, their SI
    units."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("scaling", self.scaling, ParameterScale)

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        inverse = np.linalg.inv(R)
        scaled = inverse.T / _sizes(self.beta, self.scaling, len(R))
        trace = (scaled**2).sum()
        return Slope(float(np.log(count * trace)), inverse @ scaled, np.full(len(R), -1.0 / trace))


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class EOptimality(SpectralCriterion):
    r"""Logarithm of the largest eigenvalue of N times the covariance: the worst direction.

    .. math:: f = -\log \lambda_{\min}(D M D), \qquad
        \frac{\partial f}{\partial M} = -\frac{D v v^T D}{\lambda_{\min}}, \qquad
        M = \tfrac1N W^T S^{-1} W

    for N samples, with the unit eigenvector v of the smallest eigenvalue, the joint weights S of
    D-optimality and the sizes D of A-optimality. It has a kink where eigenvalues cross; therefore
    the p-norm of the eigenvalues of the covariance is minimized first; p = 1 would be A-optimality.

    References
    ----------
    .. [1] Pukelsheim (2006), "Optimal Design of Experiments", SIAM,
       doi:10.1137/1.9780898719109, section 6.
    """

    symbol: ClassVar[str] = "log max eig((W' S^-1 W / N)^-1)"

    scaling: ParameterScale = "nominal"
    """Units of parameters, as in `AOptimality`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("scaling", self.scaling, ParameterScale)

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        size = _sizes(self.beta, self.scaling, len(R))
        _, s, Vt = np.linalg.svd(R * size)
        ratios = (s[-1] / s) ** 2
        if np.isinf(self.p):
            value, shares = 0.0, np.eye(len(R))[-1]
        else:
            powers = ratios**self.p
            value, shares = np.log(powers.sum()) / self.p, powers / powers.sum()
        value += np.log(count) - 2.0 * np.log(s[-1])
        return Slope(float(value), size[:, None] * Vt.T, -shares / s**2)


def _sizes(beta: Float1D | None, scaling: ParameterScale, rank: int) -> Float1D:
    if beta is None or scaling == "unit":
        return np.ones(rank)
    return parameter_sizes(beta)
