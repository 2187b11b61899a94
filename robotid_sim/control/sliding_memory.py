"""Sliding-mode laws with memory: an integral of the error or of the sign, or an adapted gain."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.sliding_mode import (
    SlidingLaw,
    clip,
    compute_sliding_variable,
    limit_windup,
)
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class IntegralSlidingMode(SlidingLaw):
    r"""Integral sliding-mode control: a nominal law, and switching that keeps the error on it.

    The nominal law is that of `ComputedTorque`, :math:`\ddot e + 2 \lambda \dot e + \lambda^2 e =
    0`. The deviation from it is

    .. math:: s = \dot e + 2 \lambda e + z, \quad \dot z = \lambda^2 e, \quad
        z(0) = -\dot e(0) - 2 \lambda e(0), \qquad
        \tau = \hat\tau(\dot q + s,\ \ddot q_d + 2 \lambda \dot e + \lambda^2 e)
        + K\, \mathrm{sat}(s / \Phi)

    with the compensation :math:`\hat\tau` of `Compensation`. As s starts at zero, there is no
    reaching phase without rejection of disturbances [1]_. It is stable under the condition of
    `SlidingMode`: K exceeds disturbance and model error. A constant disturbance causes a constant s
    within the layer, and therefore no error. `from_gains` uses K and the thinnest layer, ``Phi = K
    / (I steepest)``. While a drive is saturated, z of its joint is constant: see `limit_windup`.

    References
    ----------
    .. [1] Utkin, Shi (1996), "Integral sliding mode in systems operating under uncertainty
       conditions", 35th IEEE Conf. Decision and Control, doi:10.1109/CDC.1996.577594.
    """

    bandwidth: float
    """Both poles of the nominal error dynamics, lambda [rad/s]."""
    gain: Float1D
    """Switching gain K [N m or N], shape (n,)."""
    layer: Float1D
    """Boundary layer Phi [rad/s], shape (n,)."""
    rate: float
    """Control rate [Hz]."""

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with the switching gain K and the thinnest layer."""
        require_size(gains, model)
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            gain=gains.gain,
            layer=gains.gain / (gains.inertia * gains.default_decay_rate),
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Start on the surface at the next sample, at the state of the robot."""
        self._modeled.reset()
        self._state[:] = np.nan

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and integrate over one control step; `t` is not used."""
        del t
        e, de = setpoint.q - q, setpoint.dq - dq
        twice, pull = 2.0 * self.bandwidth, self.bandwidth**2 * e
        without = de + twice * e
        if np.isnan(self._state[0]):
            self._state[:] = -without
        s = without + self._state
        a = setpoint.ddq + twice * de + pull
        tau = self._modeled(q, dq, dq + s, a) + clip(self.gain / self.layer * s, self.gain)
        self._state[:] += limit_windup(pull / self.rate, tau, self.model.limits.effort)
        return np.asarray(tau)


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class SuperTwisting(SlidingLaw):
    r"""Super-twisting control: the sign is integrated, so the torque is continuous.

    .. math:: \tau = \hat\tau(v, a) + I \left( k_1 |s|^{1/2}\, \mathrm{sgn}\, s + w \right),
        \qquad \dot w = k_2\, \mathrm{sgn}\, s

    with the compensation :math:`\hat\tau` of `Compensation`. On one joint, s and its rate vanish in
    finite time [1]_ under any disturbance with :math:`|\dot d| / I \le L` if :math:`k_2 > L` and
    :math:`k_1 > \sqrt{k_2 + L}` [2]_; a Lyapunov function is in [3]_.

    A sampled loop chatters around zero. Below the layer the law is therefore linear, :math:`k_1
    \Phi^{-1/2} s + w` with :math:`\dot w = k_2 s / \Phi`: a disturbance of rate L leaves s at
    :math:`L / k_2` of the layer. As a proportional-integral loop through a positive diagonal I it
    is passive, hence also stable on coupled joints, for which the analysis of one joint is not
    valid outside of the layer. Its damping ratio :math:`k_1 / (2 \sqrt{k_2})` does not depend on
    the layer.

    `from_gains` sets L to the switching gain K built up over ``2 / steepest``, :math:`k_1 = 1.5
    \sqrt L` and :math:`k_2 = 1.1 L` [2]_, a damping of 0.7, and the layer so that s decays at three
    quarters of the steepest rate. A joint's integral never exceeds K, and is constant while its
    drive is saturated: see `limit_windup`.

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
    """Gain of the square root [(rad/s)^(1/2)/s], shape (n,)."""
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
        """Return the law for disturbances that increase to K within ``2 / steepest``."""
        require_size(gains, model)
        largest = gains.gain / gains.inertia
        L = 0.5 * gains.default_decay_rate * largest
        k1 = 1.5 * np.sqrt(L)
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            inertia=gains.inertia,
            k1=k1,
            k2=1.1 * L,
            layer=(k1 / (0.75 * gains.default_decay_rate)) ** 2,
            bound=largest,
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Reset the integral."""
        self._modeled.reset()
        self._state[:] = 0.0

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and integrate over one control step; `t` is not used."""
        del t
        s, v, a = compute_sliding_variable(self.bandwidth, q, dq, setpoint)
        size = np.maximum(np.abs(s), self.layer)
        fall = self.k1 * s / np.sqrt(size) + self._state
        tau = self._modeled(q, dq, v, a) + self.inertia * fall
        step = limit_windup(self.k2 / self.rate * s / size, tau, self.model.limits.effort)
        self._state[:] = clip(self._state + step, self.bound)
        return np.asarray(tau)


GAIN_RESERVE = 2.0
"""Gain over the torque required by s, above which the gain decreases."""


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveSlidingMode(SlidingLaw):
    r"""Sliding-mode control with a gain that increases outside of the layer and decreases inside.

    .. math:: \tau = \hat\tau(v, a) + K(t)\, \mathrm{sat}(s / \Phi(t)), \qquad
        \dot K = \gamma |s|\, \mathrm{sgn}(|s| - \Phi / 2), \qquad
        \underline K \le K \le \overline K

    with the compensation :math:`\hat\tau` of `Compensation`. As in [1]_, the layer is proportional
    to the gain, :math:`\Phi = K / c`, so that the sampled loop is never steeper than the stiffness
    c. The gain changes direction at half of the layer, not at its edge as in [1]_: the torque then
    is half of K, and a reserve remains for an increasing disturbance.

    For any :math:`\gamma > 0` the gain exceeds disturbance and model error and s reaches the layer
    in finite time [1]_, if the upper limit exceeds them. `from_gains` sets c = I steepest,
    :math:`\gamma = \lambda c`, and limits of a quarter of and twice the switching gain K of the
    specification. While a drive is saturated, the gain does not increase: see `limit_windup`.

    References
    ----------
    .. [1] Plestan, Shtessel, Bregeault, Poznyak (2010), "New methodologies for adaptive sliding
       mode control", Int. J. Control 83(9), doi:10.1080/00207179.2010.501385.
    """

    stiffness: Float1D
    """Gain over layer, c [N m s/rad or N s/m], shape (n,)."""
    growth: Float1D
    """Rate of the gain, gamma [N m/rad or N/m], shape (n,)."""
    smallest: Float1D
    """Lower limit and initial value of the gain [N m or N], shape (n,)."""
    largest: Float1D
    """Upper limit of the gain [N m or N], shape (n,)."""
    rate: float
    """Control rate [Hz]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.smallest > self.largest).any():
            raise OptionError(
                f"gains smallest = {self.smallest} must not exceed largest = {self.largest}"
            )

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with limits of a quarter of and twice the switching gain."""
        require_size(gains, model)
        stiffness = gains.inertia * gains.default_decay_rate
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            stiffness=stiffness,
            growth=gains.bandwidth * stiffness,
            smallest=0.25 * gains.gain,
            largest=2.0 * gains.gain,
            rate=gains.rate,
        )

    @property
    def gain(self) -> Float1D:
        """Current switching gain [N m or N], shape (n,)."""
        return self._state.copy()

    def reset(self) -> None:
        """Reset the gain to its lower limit."""
        self._modeled.reset()
        self._state[:] = self.smallest

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and adapt over one control step; `t` is not used."""
        del t
        s, v, a = compute_sliding_variable(self.bandwidth, q, dq, setpoint)
        asked = self.stiffness * s
        tau = self._modeled(q, dq, v, a) + clip(asked, self._state)
        size = np.abs(s)
        step = self.growth / self.rate * size
        step = np.where(GAIN_RESERVE * self.stiffness * size > self._state, step, -step)
        step = limit_windup(step, np.abs(tau), self.model.limits.effort)
        self._state[:] = np.minimum(np.maximum(self._state + step, self.smallest), self.largest)
        return np.asarray(tau)
