"""What makes an excitation good: functions of the regressor with their exact gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D

SOFT_POWER = 3.0
"""Exponent of the smooth stage; 8 and more end in worse local minima."""


class Criterion(ABC):
    """A smooth function of the base regressor; smaller is better."""

    symbol: ClassVar[str]
    """The function, as tables show it."""

    @abstractmethod
    def __call__(self, W: Float, torque_scale: Float1D) -> tuple[float, Float]:
        """Return the value and its gradient with respect to W.

        Parameters
        ----------
        W : ndarray, shape (N, n, b)
            Base regressor of N samples.
        torque_scale : ndarray, shape (n,)
            Size of the torques of every joint [N m], to weigh joints by.

        Returns
        -------
        value : float
            Infinite if W lacks rank.
        gradient : ndarray, shape (N, n, b)
        """

    def stages(self) -> tuple["Criterion", ...]:
        """Return the functions to minimize one after the other; the last is the criterion."""
        return (self,)

    def informed(self, beta: Float1D) -> "Criterion":
        """Return the criterion for a model with nominal base parameters `beta`, shape (b,)."""
        del beta
        return self


@dataclass(frozen=True, eq=False)
class DOptimality(Criterion):
    r"""Negative log determinant of the information per sample: the confidence ellipsoid's volume.

    .. math:: f = -\log\det \tfrac1N W^T S^{-1} W, \qquad
        \frac{\partial f}{\partial W} = -2\, S^{-1} W (W^T S^{-1} W)^{-1} + \dots

    with the noise variances of the joints on the diagonal of S. It does not depend on the choice of
    base parameters, their units or their scaling, but for a constant. The noise of torque sensors
    grows with the torque: without that, motions of large torque would look better than they are. So
    the variance of a joint is its mean squared nominal torque on the motion itself, above a floor,

    .. math:: s_j^2 = \tfrac1N \sum_k (W_{kj} \beta_0)^2 + (\rho\, \tau_j)^2,

    and the gradient has a second term through it. Without nominal parameters it is constant.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234.
    """

    symbol: ClassVar[str] = "-log det(W' S^-1 W / N)"

    floor: float = 1.0
    """Noise of a joint without torque over that at its torque scale, rho; a small one would reward
    motions that load a joint so little that its encoder noise dominates."""
    beta: Float1D | None = None
    """Nominal base parameters, shape (b,); None for noise that does not depend on the motion."""

    def informed(self, beta: Float1D) -> "DOptimality":
        """Return the criterion with noise by the nominal torque on the motion."""
        return replace(self, beta=beta)

    def __call__(self, W: Float, torque_scale: Float1D) -> tuple[float, Float]:
        """Return value and gradient; see `Criterion`."""
        count, tau = len(W), None
        variance = torque_scale**2
        if self.beta is not None:
            tau = W @ self.beta
            variance = (tau**2).mean(axis=0) + self.floor**2 * variance
        weighted = W / np.sqrt(variance)[:, None]
        flat = weighted.reshape(-1, W.shape[-1])
        R = np.linalg.qr(flat, mode="r")
        diagonal = np.abs(np.diag(R))
        if not diagonal.min() > 0.0:
            return np.inf, np.zeros_like(W)
        inverse = np.linalg.inv(R)
        half = (flat @ inverse).reshape(W.shape)
        gradient = -2.0 * (half @ inverse.T) / np.sqrt(variance)[:, None]
        if tau is not None:
            share = (half**2).sum(axis=(0, 2))  # of the information that each joint carries
            gradient += (2.0 / count * share / variance * tau)[:, :, None] * self.beta
        value = -2.0 * np.log(diagonal).sum() + W.shape[-1] * np.log(count)
        return float(value), gradient


@dataclass(frozen=True)
class ConditionNumber(Criterion):
    r"""Logarithm of the condition number of the base regressor, raw, in SI units.

    .. math:: f = \log\frac{s_1}{s_b}, \qquad \frac{\partial f}{\partial W}
        = \frac{u_1 v_1^T}{s_1} - \frac{u_b v_b^T}{s_b}

    with the singular values s. It depends on the choice of base parameters and on their units.
    Where singular values cross it has a kink, so that a p-norm is minimized before:
    :math:`f_p = \tfrac1{2p} \log \sum_i s_i^{2p} \sum_i s_i^{-2p}`.

    References
    ----------
    .. [1] Gautier, Khalil (1992), "Exciting trajectories for the identification of base inertial
       parameters of robots", Int. J. Robotics Research, doi:10.1177/027836499201100408.
    """

    symbol: ClassVar[str] = "log cond(W)"

    p: float = np.inf
    """Exponent of the norm over the eigenvalues of the information; infinite for the extremes."""

    def __call__(self, W: Float, torque_scale: Float1D) -> tuple[float, Float]:
        """Return value and gradient; see `Criterion`. The joints are not weighed."""
        del torque_scale
        U, s, Vt = np.linalg.svd(W.reshape(-1, W.shape[-1]), full_matrices=False)
        if not s[-1] > 0.0:
            return np.inf, np.zeros_like(W)
        if np.isinf(self.p):
            slope = np.zeros_like(s)
            slope[0], slope[-1] = 1.0, -1.0
            value = np.log(s[0] / s[-1])
        else:
            large, small = (s / s[0]) ** (2.0 * self.p), (s[-1] / s) ** (2.0 * self.p)
            value = np.log(s[0] / s[-1]) + np.log(large.sum() * small.sum()) / (2.0 * self.p)
            slope = large / large.sum() - small / small.sum()
        return float(value), ((U * (slope / s)) @ Vt).reshape(W.shape)

    def stages(self) -> tuple[Criterion, ...]:
        """Return the p-norm, then the criterion."""
        return (self,) if np.isfinite(self.p) else (replace(self, p=SOFT_POWER), self)
