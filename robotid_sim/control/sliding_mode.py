"""Sliding-mode control: surface and compensation, boundary layer, and reaching laws."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, check_gains, require_size
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.running_terms import RunningTerms
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

EXPONENT = 0.5


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class Compensation:
    r"""Torque that makes a robot follow a reference velocity v, up to the sliding variable.

    .. math:: \hat\tau = \hat M a + \hat C v + \hat g + \hat f(v)

    With :math:`v = \dot q + s`, :math:`a = \dot v`, the torque :math:`\tau = \hat\tau + u` and an
    exact model, the remaining error is [1]_, sec. 9.2

    .. math:: M \dot s + C s + f(\dot q + s) - f(\dot q) = -u - d ,

    and :math:`V = s^T M s / 2` decreases as long as every :math:`u_j` has the sign of :math:`s_j`
    and exceeds the disturbance :math:`d_j`: the joints are decoupled. Friction is compensated at v:
    friction that increases with velocity then only accelerates the decrease of V. This also works
    at standstill, where compensation at the measured velocity chatters and compensation at the
    reference velocity leaves the joint stuck.

    References
    ----------
    .. [1] Slotine, Li (1991), "Applied Nonlinear Control", Prentice Hall, sec. 9.2.
    """

    model: Robot
    _phi: Float1D = field(init=False, repr=False)
    _terms: RunningTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_phi", self.model.parameters())
        object.__setattr__(self, "_terms", RunningTerms(self.model, self.model.terms))

    def reset(self) -> None:
        """Reset the state of friction."""
        self._terms.reset()

    def __call__(self, q: Float1D, dq: Float1D, v: Float1D, a: Float1D) -> Float1D:
        """Return the torque [N m], shape (n,), at state `q`, `dq`, for `v` and `a`."""
        model = self.model
        torque = kernels.reference_torque(
            model.geometry, model.gravity, self._phi, model.eps, q, dq, v, a
        )
        return torque + self._terms(q, v, a) if self._terms else torque


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingLaw(ModelController):
    """Control law for the sliding variable: `Compensation` and a torque that drives s to zero."""

    model: Robot
    bandwidth: float
    """Decay rate of the error on the surface, lambda [rad/s]."""
    _modeled: Compensation = field(init=False, repr=False)
    _state: Float1D = field(init=False, repr=False)
    """Internal state of a control law with memory, shape (n,); set by its `reset`."""

    def __post_init__(self) -> None:
        check_gains(self)
        object.__setattr__(self, "_modeled", Compensation(self.model))
        object.__setattr__(self, "_state", np.zeros(self.model.dof))
        self.reset()

    def reset(self) -> None:
        """Reset the state of the previous run."""
        self._modeled.reset()


def compute_sliding_variable(
    bandwidth: float, q: Float1D, dq: Float1D, setpoint: Setpoint
) -> tuple[Float1D, Float1D, Float1D]:
    r"""Return the sliding variable, and the velocity and acceleration that keep it at zero.

    .. math:: s = \dot e + \lambda e, \quad v = \dot q_d + \lambda e, \quad
        a = \ddot q_d + \lambda \dot e, \qquad e = q_d - q

    The bandwidth is lambda, the rate at which the error decays on the surface [rad/s]. All have
    shape (n,).
    """
    e, de = setpoint.q - q, setpoint.dq - dq
    lag = bandwidth * e
    return de + lag, setpoint.dq + lag, setpoint.ddq + bandwidth * de


def clip(value: Float1D, bound: Float1D) -> Float1D:
    """Return `value` within plus and minus `bound`; faster than numpy's clip on a few joints."""
    return np.asarray(np.minimum(np.maximum(value, -bound), bound))


def limit_windup(step: Float1D, command: Float1D, effort: Float1D) -> Float1D:
    """Return the step of an integral, zero for joints that it would drive further into saturation.

    Conditional integration [1]_: while a command exceeds the torque limit, its integral may only
    decrease in magnitude. The step is the increment of the integral per sample, the command the
    commanded torque, the effort the torque limit [N m or N], all of shape (n,).

    References
    ----------
    .. [1] Astrom, Hagglund (1995), "PID Controllers: Theory, Design, and Tuning", 2nd ed.,
       Instrument Society of America, ch. 3.
    """
    exceeds = np.abs(command) > effort
    if not exceeds.any():
        return step
    return np.where(exceeds & (step * command > 0.0), 0.0, step)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class SlidingMode(ModelController):
    r"""Sliding-mode control with a boundary layer.

    .. math:: e = q_d - q, \quad s = \dot e + \lambda e, \quad
        \tau = \hat M (\ddot q_d + \lambda \dot e) + \hat C (\dot q_d + \lambda e) + \hat g
        + \hat f(\dot q_d + \lambda e) + K\, \mathrm{sat}(s / \Phi)

    With C of the Christoffel symbols, :math:`V = s^T M s / 2` decreases outside the layer as long
    as K exceeds disturbance and model error on every joint [1]_, sec. 9.2: see `Compensation`. The
    gains are designed for this law: see `LoopGains.from_specification`.

    References
    ----------
    .. [1] Slotine, Li (1991), "Applied Nonlinear Control", Prentice Hall, sec. 7.2 and 9.2.
    """

    model: Robot
    gains: LoopGains
    _modeled: Compensation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_size(self.gains, self.model)
        object.__setattr__(self, "_modeled", Compensation(self.model))

    def reset(self) -> None:
        """Reset the state of the previous run."""
        self._modeled.reset()

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with the gains unchanged."""
        return cls(model, gains)

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        s, v, a = compute_sliding_variable(self.gains.bandwidth, q, dq, setpoint)
        sat = np.minimum(np.maximum(s / self.gains.layer, -1.0), 1.0)
        return np.asarray(self._modeled(q, dq, v, a) + self.gains.gain * sat)


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class ExponentialReaching(SlidingLaw):
    r"""Sliding-mode control with the exponential (constant plus proportional) reaching law.

    .. math:: \tau = \hat\tau(v, a) + I \left( \varepsilon\, \mathrm{sat}(s / \Phi)
        + k s \right), \qquad \text{one joint: } \dot s = -\varepsilon\, \mathrm{sgn}\, s - k s

    with the compensation :math:`\hat\tau` of `Compensation` and the smoothed sign of `SlidingMode`.
    Far from zero s decays exponentially; it reaches zero after :math:`\ln(1 + k |s_0| /
    \varepsilon) / k` [1]_. Instead of the mass matrix of [1]_, the law uses a constant diagonal
    inertia I: then no joint must overcome disturbances of the others. It is stable if :math:`I_j
    \varepsilon_j` exceeds disturbance and model error of joint j, for any k > 0: the proportional
    term only helps :math:`V = s^T M s / 2` to decrease. `from_gains` sets :math:`I \varepsilon =
    K`, and divides the decay rate that the control rate permits between both terms, :math:`k =
    \varepsilon / \Phi`; the error bound of the gains then holds with a margin.

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
    """Proportional part of the reaching rate, k [1/s]."""
    layer: Float1D
    """Boundary layer Phi, in which the constant part decreases to zero [rad/s], shape (n,)."""

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with ``I epsilon = K``, half of the fastest decay for each term."""
        require_size(gains, model)
        decay = 0.5 * gains.default_decay_rate
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
        s, v, a = compute_sliding_variable(self.bandwidth, q, dq, setpoint)
        fall = clip(self.reaching / self.layer * s, self.reaching) + self.decay * s
        return np.asarray(self._modeled(q, dq, v, a) + self.inertia * fall)


@document_attributes
@dataclass(frozen=True, eq=False, kw_only=True)
class PowerReaching(SlidingLaw):
    r"""Sliding-mode control with the power-rate reaching law.

    .. math:: \tau = \hat\tau(v, a) + I k\, |s|^\alpha\, \mathrm{sgn}\, s, \qquad
        \text{one joint: } \dot s = -k |s|^\alpha\, \mathrm{sgn}\, s, \qquad 0 < \alpha < 1

    with the compensation :math:`\hat\tau` of `Compensation`. Reaching is fast far from zero and
    slow near it; s reaches zero after :math:`|s_0|^{1-\alpha} / ((1 - \alpha) k)` [1]_. The slope
    of the power is infinite at zero, which is unstable in a sampled loop: below `layer` the law is
    linear, :math:`k \Phi^{\alpha - 1} s`. As in `ExponentialReaching` it acts through a constant
    diagonal inertia I.

    There is no switching torque: a disturbance D of a joint leaves :math:`|s| \le (D / (I
    k))^{1/\alpha}`. `from_gains` chooses k such that the torque equals the switching gain K at the
    layer of `SlidingMode`, so that disturbance and model error keep s within it, and the linear
    part as steep as the control rate permits.

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
        """Return the law with ``I k layer^alpha = K``, linear where a power is too steep."""
        require_size(gains, model)
        # k |s|^(alpha - 1) is the bandwidth at the layer of the gains, and largest here.
        thinner = (gains.bandwidth / gains.default_decay_rate) ** (1.0 / (1.0 - EXPONENT))
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
        s, v, a = compute_sliding_variable(self.bandwidth, q, dq, setpoint)
        slope = self.reaching * np.maximum(np.abs(s), self.layer) ** (self.exponent - 1.0)
        return np.asarray(self._modeled(q, dq, v, a) + self.inertia * slope * s)
