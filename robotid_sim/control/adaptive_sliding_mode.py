"""Sliding-mode control whose switching gain is no larger than it has to be."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.surface import SlidingLaw, clipped, sliding, unwound
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot

RESERVE = 2.0
"""The gain falls while it is more than this many times the torque that s asks for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveSlidingMode(SlidingLaw):
    r"""Sliding-mode control with a gain that grows outside of the layer and falls inside.

    .. math:: \tau = \hat\tau(v, a) + K(t)\, \mathrm{sat}(s / \Phi(t)), \qquad
        \dot K = \gamma |s|\, \mathrm{sgn}(|s| - \Phi / 2), \qquad
        \underline K \le K \le \overline K

    with the compensation :math:`\hat\tau` of `Compensation`. As in [1]_ the layer goes with the
    gain, :math:`\Phi = K / c`, so that the sampled loop is never steeper than the stiffness c. The
    gain turns at half the layer, where [1]_ has its edge: the torque then is half of K, and a
    disturbance that still grows finds a reserve.

    For any :math:`\gamma > 0` the gain reaches what disturbance and model error need in finite
    time, and s the layer [1]_, if the upper limit outweighs them. `from_gains` takes c = I
    steepest, :math:`\gamma = \lambda c`, and limits of a quarter of the switching gain K of the
    specification and of twice that. While a drive is at its limit the gain does not grow: see
    `unwound`.

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
    """Lower limit of the gain, and its start [N m or N], shape (n,)."""
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
        """Return the law with limits of a quarter of the switching gain, and of twice that."""
        require_size(gains, model)
        stiffness = gains.inertia * gains.steepest
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
        """The switching gain as it is now [N m or N], shape (n,)."""
        return self._state.copy()

    def reset(self) -> None:
        """Let the gain start over."""
        self._state[:] = self.smallest

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and adapt over one control step; `t` is not used."""
        del t
        s, v, a = sliding(self.bandwidth, q, dq, setpoint)
        asked = self.stiffness * s
        tau = self._modelled(q, dq, v, a) + clipped(asked, self._state)
        size = np.abs(s)
        step = self.growth / self.rate * size
        step = np.where(RESERVE * self.stiffness * size > self._state, step, -step)
        step = unwound(step, np.abs(tau), self.model.limits.effort)
        self._state[:] = np.minimum(np.maximum(self._state + step, self.smallest), self.largest)
        return np.asarray(tau)
