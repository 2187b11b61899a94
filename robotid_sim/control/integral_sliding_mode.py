"""Integral sliding-mode control: on the surface from the first sample on."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.surface import SlidingLaw, clipped, unwound
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegralSlidingMode(SlidingLaw):
    r"""Integral sliding-mode control: a nominal law, and switching that keeps the robot on it.

    The nominal law is that of `ComputedTorque`, :math:`\ddot e + 2 \lambda \dot e + \lambda^2 e =
    0`. How far the robot has left it is

    .. math:: s = \dot e + 2 \lambda e + z, \quad \dot z = \lambda^2 e, \quad
        z(0) = -\dot e(0) - 2 \lambda e(0), \qquad
        \tau = \hat\tau(\dot q + s,\ \ddot q_d + 2 \lambda \dot e + \lambda^2 e)
        + K\, \mathrm{sat}(s / \Phi)

    with the compensation :math:`\hat\tau` of `Compensation`. As s starts at zero there is no
    reaching phase, in which the disturbance would act unopposed [1]_. Stable as `SlidingMode` is:
    K outweighs disturbance and model error. A steady disturbance leaves a steady s within the
    layer, and therefore no error. `from_gains` takes K and the steepest layer, ``Phi = K / (I
    steepest)``. While a drive is at its limit, z of its joint stands still: see `unwound`.

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
        """Return the law with the switching gain K and the steepest layer."""
        require_size(gains, model)
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            gain=gains.gain,
            layer=gains.gain / (gains.inertia * gains.steepest),
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Start on the surface at the next sample, wherever the robot then is."""
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
        tau = self._modelled(q, dq, dq + s, a) + clipped(self.gain / self.layer * s, self.gain)
        self._state[:] += unwound(pull / self.rate, tau, self.model.limits.effort)
        return np.asarray(tau)
