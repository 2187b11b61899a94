r"""Criteria of the covariance :math:`C = (W^T S^{-1} W)^{-1}`: its trace, its largest eigenvalue.

Unlike its determinant they depend on the units of the parameters, so that these are measured in
sizes d: :math:`C_d = D^{-1} C D^{-1}`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.excitation.criteria import Criterion, Slope, SpectralCriterion
from robotid_sim.optim import checks

ParameterScale = Literal["nominal", "unit"]

SIZE_FLOOR = 0.1
"""Smallest size of a parameter over the median of the nominal ones that are not zero."""


def parameter_sizes(beta: Float1D) -> Float1D:
    """Return what errors of base parameters are measured in, shape (b,), above zero.

    A parameter's nominal magnitude, but at least a tenth of the median magnitude: the accuracy of
    a parameter that is zero by symmetry must not outweigh all others.
    """
    size = np.abs(beta)
    if not size.any():
        return np.ones_like(size)
    return np.asarray(np.maximum(size, SIZE_FLOOR * np.median(size[size > 0.0])))


@dataclass(frozen=True, eq=False, kw_only=True)
class AOptimality(Criterion):
    r"""Logarithm of the trace of the covariance per sample: the mean squared parameter error.

    .. math:: f = \log \operatorname{tr} D^{-1} M^{-1} D^{-1}, \qquad
        \frac{\partial f}{\partial M} = -\frac{M^{-1} D^{-2} M^{-1}}{e^f}, \qquad
        M = \tfrac1N W^T S^{-1} W

    with the weighing of joints S that D-optimality has. The sizes D make the errors relative ones;
    with ``scaling="unit"``, or without nominal parameters, they are the SI units, and the result
    depends on the choice of base parameters.

    References
    ----------
    .. [1] Pukelsheim (2006), "Optimal Design of Experiments", SIAM,
       doi:10.1137/1.9780898719109, section 6.
    """

    symbol: ClassVar[str] = "log tr((W' S^-1 W / N)^-1)"

    scaling: ParameterScale = "nominal"
    """What parameters are measured in: ``nominal`` magnitudes (see `parameter_sizes`) or ``unit``,
    their SI units."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("scaling", self.scaling, ParameterScale)

    def of_root(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        inverse = np.linalg.inv(R)
        scaled = inverse.T / _sizes(self.beta, self.scaling, len(R))
        trace = (scaled**2).sum()
        return Slope(float(np.log(count * trace)), inverse @ scaled, np.full(len(R), -1.0 / trace))


@dataclass(frozen=True, eq=False, kw_only=True)
class EOptimality(SpectralCriterion):
    r"""Logarithm of the largest eigenvalue of the covariance per sample: the worst direction.

    .. math:: f = -\log \lambda_{\min}(D M D), \qquad
        \frac{\partial f}{\partial M} = -\frac{D v v^T D}{\lambda_{\min}}, \qquad
        M = \tfrac1N W^T S^{-1} W

    with its unit eigenvector v, the weighing of joints S that D-optimality has and the sizes D that
    A-optimality has. Where eigenvalues cross it has a kink, so that the p-norm of those of the
    covariance is minimized before; p = 1 would be A-optimality.

    References
    ----------
    .. [1] Pukelsheim (2006), "Optimal Design of Experiments", SIAM,
       doi:10.1137/1.9780898719109, section 6.
    """

    symbol: ClassVar[str] = "log max eig((W' S^-1 W / N)^-1)"

    scaling: ParameterScale = "nominal"
    """As that of `AOptimality`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("scaling", self.scaling, ParameterScale)

    def of_root(self, R: Float2D, count: int) -> Slope:
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
