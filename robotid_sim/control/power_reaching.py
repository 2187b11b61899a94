"""Sliding-mode control with the power-rate reaching law."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, per_joint, positive, require_size
from robotid_sim.control.surface import Compensation, sliding
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot

EXPONENT = 0.5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PowerReaching(ModelController):
    r"""Sliding-mode control with the power-rate reaching law.

    .. math:: \tau = \hat\tau(v, a) + I k\, |s|^\alpha\, \mathrm{sgn}\, s, \qquad
        \text{one joint: } \dot s = -k |s|^\alpha\, \mathrm{sgn}\, s, \qquad 0 < \alpha < 1

    with the compensation :math:`\hat\tau` of `Compensation`. Fast from afar and gentle near zero,
    which s reaches after :math:`|s_0|^{1-\alpha} / ((1 - \alpha) k)` [1]_. The slope of the power
    is infinite at zero, which a sampled loop cannot hold: below `layer` the law is linear,
    :math:`k \Phi^{\alpha - 1} s`. As in `ExponentialReaching` it acts through a constant diagonal
    inertia I.

    There is no switching torque: a disturbance D of a joint leaves :math:`|s| \le (D / (I
    k))^{1/\alpha}`. `from_gains` makes k such that the torque is the switching gain K where
    `SlidingMode` has its layer, so that disturbance and model error end within it, and the linear
    part as steep as the control rate admits.

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
    """Reaching rate at s = 1, k [(rad/s)^(1 - alpha)/s], shape (n,)."""
    layer: Float1D
    """Sliding variable below which the law is linear, Phi [rad/s], shape (n,)."""
    exponent: float = EXPONENT
    """Exponent alpha."""
    _modelled: Compensation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        positive("bandwidth", self.bandwidth)
        if not 0.0 < self.exponent < 1.0:
            raise OptionError(f"exponent is {self.exponent}; give a number between 0 and 1")
        for name in ("inertia", "reaching", "layer"):
            object.__setattr__(self, name, per_joint(name, getattr(self, name), self.model))
        object.__setattr__(self, "_modelled", Compensation(self.model))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with ``I k layer^alpha = K``, linear where it would be steeper."""
        require_size(gains, model)
        # k |s|^(alpha - 1) is the bandwidth at the layer of the gains, and steepest here.
        thinner = (gains.bandwidth / gains.steepest) ** (1.0 / (1.0 - EXPONENT))
        return cls(
            model=model,
            bandwidth=gains.bandwidth,
            inertia=gains.inertia,
            reaching=gains.gain / (gains.inertia * gains.layer**EXPONENT),
            layer=gains.layer * thinner,
        )

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        s, v, a = sliding(self.bandwidth, q, dq, setpoint)
        slope = self.reaching * np.maximum(np.abs(s), self.layer) ** (self.exponent - 1.0)
        return np.asarray(self._modelled(q, dq, v, a) + self.inertia * slope * s)
