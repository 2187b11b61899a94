"""Sliding-mode control with the exponential reaching law."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, per_joint, positive, require_size
from robotid_sim.control.surface import Compensation, clipped, sliding
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExponentialReaching(ModelController):
    r"""Sliding-mode control with the exponential (constant plus proportional) reaching law.

    .. math:: \tau = \hat\tau(v, a) + I \left( \varepsilon\, \mathrm{sat}(s / \Phi)
        + k s \right), \qquad \text{one joint: } \dot s = -\varepsilon\, \mathrm{sgn}\, s - k s

    with the compensation :math:`\hat\tau` of `Compensation` and the smoothed sign of `SlidingMode`.
    From afar s falls exponentially, and reaches zero after :math:`\ln(1 + k |s_0| / \varepsilon) /
    k` [1]_. Instead of through the mass matrix, as there, the law acts through a constant diagonal
    inertia I: then no joint has to outweigh the disturbances of the others.

    Stable if :math:`I_j \varepsilon_j` outweighs disturbance and model error of joint j, for any
    k > 0: the proportional term only helps :math:`V = s^T M s / 2` to fall. `from_gains` takes
    :math:`I \varepsilon = K`, and shares the decay rate that the control rate admits between both
    terms, :math:`k = \varepsilon / \Phi`; the error bound of the gains then holds with room.

    References
    ----------
    .. [1] Gao, Hung (1993), "Variable structure control of nonlinear systems: a new approach",
       IEEE Trans. Industrial Electronics 40(1), doi:10.1109/41.184820.
    """

    model: Robot
    bandwidth: float
    """Decay rate of the error on the surface, lambda [rad/s]."""
    inertia: Float1D
    """Inertia I of the joints [kg m^2 or kg], shape (n,)."""
    reaching: Float1D
    """Constant part of the reaching rate, epsilon [rad/s^2], shape (n,)."""
    decay: float
    """Proportional part of it, k [1/s]."""
    layer: Float1D
    """Boundary layer Phi, in which the constant part fades out [rad/s], shape (n,)."""
    _modelled: Compensation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        positive("bandwidth", self.bandwidth)
        positive("decay", self.decay)
        for name in ("inertia", "reaching", "layer"):
            object.__setattr__(self, name, per_joint(name, getattr(self, name), self.model))
        object.__setattr__(self, "_modelled", Compensation(self.model))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with ``I epsilon = K``, half the steepest decay for either term."""
        require_size(gains, model)
        decay = 0.5 * gains.steepest
        reaching = gains.gain / gains.inertia
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            inertia=gains.inertia,
            reaching=reaching,
            decay=decay,
            layer=reaching / decay,
        )

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        s, v, a = sliding(self.bandwidth, q, dq, setpoint)
        fall = clipped(self.reaching / self.layer * s, self.reaching) + self.decay * s
        return np.asarray(self._modelled(q, dq, v, a) + self.inertia * fall)
