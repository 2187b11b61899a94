"""Sliding-mode control: the boundary layer, and the reaching laws that refine it."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.surface import Compensation, SlidingLaw, clipped, sliding
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot

EXPONENT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class SlidingMode(ModelController):
    r"""Sliding-mode control with a boundary layer.

    .. math:: e = q_d - q, \quad s = \dot e + \lambda e, \quad
        \tau = \hat M (\ddot q_d + \lambda \dot e) + \hat C (\dot q_d + \lambda e) + \hat g
        + \hat f(\dot q_d + \lambda e) + K\, \mathrm{sat}(s / \Phi)

    With C of the Christoffel symbols, :math:`V = s^T M s / 2` falls outside the layer as long as K
    outweighs disturbance and model error on every joint [1]_, sec. 9.2: see `Compensation`. The
    gains are made for this law: see `LoopGains.from_specification`.

    References
    ----------
    .. [1] Slotine, Li (1991), "Applied Nonlinear Control", Prentice Hall, sec. 7.2 and 9.2.
    """

    model: Robot
    gains: LoopGains
    _modelled: Compensation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_size(self.gains, self.model)
        object.__setattr__(self, "_modelled", Compensation(self.model))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with the gains as they are: they are made for it."""
        return cls(model, gains)

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        s, v, a = sliding(self.gains.bandwidth, q, dq, setpoint)
        sat = np.minimum(np.maximum(s / self.gains.layer, -1.0), 1.0)
        return np.asarray(self._modelled(q, dq, v, a) + self.gains.gain * sat)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExponentialReaching(SlidingLaw):
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

    inertia: Float1D
    """Inertia I of the joints [kg m^2 or kg], shape (n,)."""
    reaching: Float1D
    """Constant part of the reaching rate, epsilon [rad/s^2], shape (n,)."""
    decay: float
    """Proportional part of it, k [1/s]."""
    layer: Float1D
    """Boundary layer Phi, in which the constant part fades out [rad/s], shape (n,)."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class PowerReaching(SlidingLaw):
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

    inertia: Float1D
    """Inertia I of the joints [kg m^2 or kg], shape (n,)."""
    reaching: Float1D
    """Reaching rate at s = 1, k [(rad/s)^(1 - alpha)/s], shape (n,)."""
    layer: Float1D
    """Sliding variable below which the law is linear, Phi [rad/s], shape (n,)."""
    exponent: float = EXPONENT
    """Exponent alpha."""

    def __post_init__(self) -> None:
        if not 0.0 < self.exponent < 1.0:
            raise OptionError(f"exponent is {self.exponent}; give a number between 0 and 1")
        super().__post_init__()

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
