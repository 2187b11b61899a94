"""Super-twisting control: a second-order sliding mode with a continuous torque."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.surface import SlidingLaw, clipped, sliding, unwound
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class SuperTwisting(SlidingLaw):
    r"""Super-twisting control: the sign is integrated, the torque continuous.

    .. math:: \tau = \hat\tau(v, a) + I \left( k_1 |s|^{1/2}\, \mathrm{sgn}\, s + w \right),
        \qquad \dot w = k_2\, \mathrm{sgn}\, s

    with the compensation :math:`\hat\tau` of `Compensation`. On one joint, s and its rate vanish in
    finite time [1]_ under any disturbance with :math:`|\dot d| / I \le L` if :math:`k_2 > L` and
    :math:`k_1 > \sqrt{k_2 + L}` [2]_; a Lyapunov function is in [3]_.

    A sampled loop chatters around zero. Below the layer the law is therefore linear,
    :math:`k_1 \Phi^{-1/2} s + w` with :math:`\dot w = k_2 s / \Phi`: a disturbance of rate L leaves
    s at :math:`L / k_2` of the layer. As a proportional-integral loop through a positive diagonal I
    it is passive, hence stable on coupled joints too, to which the proof of one joint does not
    extend outside of the layer. Its damping ratio :math:`k_1 / (2 \sqrt{k_2})` does not depend on
    the layer.

    `from_gains` sets L to the switching gain K built up over ``2 / steepest``,
    :math:`k_1 = 1.5 \sqrt L` and :math:`k_2 = 1.1 L` [2]_, a damping of 0.7, and the layer so that
    s decays at three quarters of the steepest rate. A joint's integral never exceeds K, and stands
    still while its drive is at the limit: see `unwound`.

    References
    ----------
    .. [1] Levant (1993), "Sliding order and sliding accuracy in sliding mode control",
       Int. J. Control 58(6), doi:10.1080/00207179308923053.
    .. [2] Seeber, Horn (2017), "Stability proof for a well-established super-twisting parameter
       setting", Automatica 84, doi:10.1016/j.automatica.2017.07.002.
    .. [3] Moreno, Osorio (2012), "Strict Lyapunov functions for the super-twisting algorithm",
       IEEE Trans. Automatic Control 57(4), doi:10.1109/TAC.2012.2186179.
    """

    inertia: Float1D
    """Inertia I of the joints [kg m^2 or kg], shape (n,)."""
    k1: Float1D
    """Gain of the root [(rad/s)^(1/2)/s], shape (n,)."""
    k2: Float1D
    """Gain of the integral [rad/s^3], shape (n,)."""
    layer: Float1D
    """Sliding variable below which the law is linear, Phi [rad/s], shape (n,)."""
    bound: Float1D
    """Largest integral w [rad/s^2], shape (n,)."""
    rate: float
    """Control rate [Hz]."""

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law for disturbances that grow to K within ``2 / steepest``."""
        require_size(gains, model)
        largest = gains.gain / gains.inertia
        L = 0.5 * gains.steepest * largest
        k1 = 1.5 * np.sqrt(L)
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            inertia=gains.inertia,
            k1=k1,
            k2=1.1 * L,
            layer=(k1 / (0.75 * gains.steepest)) ** 2,
            bound=largest,
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Forget the integral."""
        self._state[:] = 0.0

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and integrate over one control step; `t` is not used."""
        del t
        s, v, a = sliding(self.bandwidth, q, dq, setpoint)
        size = np.maximum(np.abs(s), self.layer)
        fall = self.k1 * s / np.sqrt(size) + self._state
        tau = self._modelled(q, dq, v, a) + self.inertia * fall
        step = unwound(self.k2 / self.rate * s / size, tau, self.model.limits.effort)
        self._state[:] = clipped(self._state + step, self.bound)
        return np.asarray(tau)
