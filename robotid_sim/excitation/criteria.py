r"""Criteria of an excitation: functions of the information with their exact gradients.

Every criterion is a function of the information matrix :math:`M = Z^T Z` of weighted rows Z, passed
as its triangular root. This module has the weights of the rows, prior data and D-optimality.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.registry import INTERNAL_FIELD

SOFT_POWER = 3.0
"""Exponent of the p-norm that is minimized before a criterion with kinks; 8 and more end in worse
local minima."""

NOISE_SHARE = 0.01
"""Assumed torque noise over the RMS torque."""

NOISE_FLOOR = 1.0
"""Default of `Criterion.floor`: noise of a joint at zero torque over its noise at its torque
scale."""


class Slope(NamedTuple):
    r"""Value and derivative, :math:`\partial f / \partial M = F \operatorname{diag}(a) F^T`.

    Stored as factors, because their product would lose half of the digits.
    """

    value: float
    F: Float2D
    """Shape (b, m)."""
    a: Float1D
    """Shape (m,)."""


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class Criterion(ABC):
    r"""A function of the information about the base parameters; smaller is better.

    The rows of a joint are weighted by its inverse noise. The noise of torque sensors grows with
    the torque: without it, motions with large torque would appear better than they are. So the
    variance of a joint is its mean squared nominal torque on the motion itself, above a floor,

    .. math:: s_j^2 = \tfrac1N \sum_k (W_{kj} \beta_0)^2 + (\rho\, \tau_j)^2,

    and gradients have a second term through it. Without nominal parameters it is the square of the
    torque scale; `noise_std` replaces it. Existing data add rows that do not depend on the motion.
    """

    symbol: ClassVar[str]
    """The function, as tables show it."""

    floor: float | None = NOISE_FLOOR
    """Noise of a joint at zero torque over its noise at its torque scale, rho; a small one would
    reward motions that load a joint so little that its encoder noise dominates. None: all rows
    count alike."""
    noise_std: Float1D | None = field(default=None, repr=False)
    """Torque noise of every joint [N m], shape (n,); None for noise that grows with the torque."""
    beta: Float1D | None = field(default=None, repr=False)
    """Nominal base parameters, shape (b,); None for noise that does not depend on the motion."""
    prior: Float2D | None = field(default=None, repr=False)
    """Root of the prior information per new sample, shape (b, b); see `set_data`."""
    motions: int = field(default=1, repr=False, metadata=INTERNAL_FIELD)
    """Number of motions of equal length that W holds one after the other, each with its noise."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "noise_std", "beta", optional=True)
        freeze(self, (None, None), "prior", optional=True)
        if self.noise_std is not None and not (self.noise_std > 0.0).all():
            raise OptionError(f"noise_std must be positive for every joint, got {self.noise_std}")
        if self.floor is not None and not self.floor > 0.0:
            raise OptionError(f"the criterion's floor must be positive, got {self.floor}")

    @abstractmethod
    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return the value and its derivative with respect to the information ``R' R``.

        Parameters
        ----------
        R : ndarray, shape (b, b)
            Upper triangular, without a zero on its diagonal.
        count : int
            Number of samples N that W has.

        Returns
        -------
        slope : Slope
            Value and factors of the derivative.
        """

    def __call__(self, W: Float, torque_scale: Float1D) -> tuple[float, Float]:
        """Return the value and its gradient with respect to W; W and gradient have shape (N, n, b).

        Joints are weighted by their torque scale [N m], shape (n,). The value is infinite if W, the
        base regressor of N samples, and the prior are rank-deficient.
        """
        variance, tau = self._variance(W, torque_scale)
        samples_per_motion = len(W) // self.motions
        deviation = np.repeat(np.sqrt(variance), samples_per_motion, axis=0)[:, :, None]
        flat = (W / deviation).reshape(-1, W.shape[-1])
        prior = [] if self.prior is None else [np.sqrt(len(W)) * self.prior]
        R = np.asarray(np.linalg.qr(np.vstack([flat, *prior]), mode="r"))
        if not np.abs(np.diag(R)).min() > 0.0:
            return np.inf, np.zeros_like(W)
        value, F, a = self.differentiate(R, len(W))
        projected = (flat @ F).reshape(*W.shape[:2], -1)
        gradient = 2.0 * ((projected * a) @ F.T) / deviation
        if tau is not None and self.beta is not None:
            # Minus half the derivative by the log scale of a joint's rows, which the variance
            # brings in through tau = W beta.
            parts = (projected**2 * -a).reshape(
                self.motions, samples_per_motion, *projected.shape[1:]
            )
            share = 2.0 / samples_per_motion * parts.sum(axis=(1, 3)) / variance
            gradient += (np.repeat(share, samples_per_motion, axis=0) * tau)[:, :, None] * self.beta
        return float(value), gradient

    def stages(self) -> tuple["Criterion", ...]:
        """Return the functions to minimize one after the other; the last is the criterion."""
        return (self,)

    def set_nominal(self, beta: Float1D) -> Self:
        """Return the criterion for a model with nominal base parameters `beta`, shape (b,)."""
        return replace(self, beta=beta)

    def set_data(
        self,
        *,
        noise_std: Float1D | None = None,
        prior: Float2D | None = None,
        samples: float = 1.0,
        motions: int = 1,
    ) -> Self:
        r"""Return the criterion for known noise, or for motions that add to existing data.

        The information per new sample is then :math:`M = \tfrac1N W^T S^{-1} W +
        \tfrac1m R_0^T R_0`. The rows of the prior are divided by their noise; so are the new
        rows then, even if the criterion by itself does not weight joints.

        Parameters
        ----------
        noise_std : ndarray, shape (n,), optional
            Noise of the joints [N m or N]; by default that of the criterion.
        prior : ndarray, shape (b, b), optional
            Root R0 of the information of existing data, in inverse units of the base parameters.
        samples : float
            Number m of samples that the logs of the new motions will have.
        motions : int
            Number of new motions.

        Returns
        -------
        criterion : Criterion
            The criterion with these data, otherwise unchanged.
        """
        noise = self.noise_std if noise_std is None else noise_std
        root, floor = None, self.floor
        if prior is not None:
            floor = floor or NOISE_FLOOR
            root = prior * ((NOISE_SHARE if noise is None else 1.0) / np.sqrt(samples))
        return replace(self, noise_std=noise, prior=root, floor=floor, motions=motions)

    def _variance(self, W: Float, torque_scale: Float1D) -> tuple[Float2D, Float2D | None]:
        """Return noise variances, (motions, n), and the torques if the variances depend on them."""
        shape = (self.motions, W.shape[1])
        if self.noise_std is not None:
            return np.broadcast_to(self.noise_std**2, shape), None
        if self.floor is None:
            return np.ones(shape), None
        variance = torque_scale**2
        if self.beta is None:
            return np.broadcast_to(variance, shape), None
        tau = W @ self.beta
        by_motion = tau.reshape(self.motions, -1, W.shape[1])
        return (by_motion**2).mean(axis=1) + self.floor**2 * variance, tau


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class SpectralCriterion(Criterion):
    """A function of extreme singular values, which has kinks where they cross.

    A p-norm over the spectrum is minimized before this function itself.
    """

    p: float = np.inf
    """Exponent of the norm over the eigenvalues of the information; infinite for the extremes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.p >= 1.0:
            raise OptionError(f"the exponent of a norm must be at least 1, got p = {self.p}")

    def stages(self) -> tuple[Criterion, ...]:
        """Return the p-norm, then the criterion."""
        return (self,) if np.isfinite(self.p) else (replace(self, p=SOFT_POWER), self)


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class DOptimality(Criterion):
    r"""Negative log determinant of the information per sample: the confidence ellipsoid's volume.

    .. math:: f = -\log\det \tfrac1N W^T S^{-1} W, \qquad
        \frac{\partial f}{\partial W} = -2\, S^{-1} W (W^T S^{-1} W)^{-1} + \dots

    with the noise variances of the joints on the diagonal of S. It does not depend on the choice of
    base parameters, their units or their scaling, except for a constant.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234.
    """

    symbol: ClassVar[str] = "-log det(W' S^-1 W / N)"

    def differentiate(self, R: Float2D, count: int) -> Slope:
        """Return value and derivative; see `Criterion`."""
        value = -2.0 * np.log(np.abs(np.diag(R))).sum() + len(R) * np.log(count)
        return Slope(float(value), np.linalg.inv(R), np.full(len(R), -1.0))
