"""Independent-joint PID control: what needs no model at all."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, check_gains, require_size
from robotid_sim.control.surface import unwound
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pid(ModelController):
    r"""Independent-joint PID control with anti-windup.

    .. math:: \tau = K_p e + K_i \int e\, dt + K_d \dot e, \qquad e = q_d - q

    Gravity, friction and the other joints are disturbances to it, and steady ones leave no error.
    A joint alone, of inertia I, is stable if :math:`K_i I < K_p K_d` (Routh). `from_gains` puts
    the three poles of such a joint at one rate :math:`\beta`: :math:`K_p = 3 I \beta^2`,
    :math:`K_i = I \beta^3`, :math:`K_d = 3 I \beta`, a factor of nine inside. Coupled joints with I
    on the diagonal of their mass matrix feel at most n times I, which up to eight joints bear. The
    rate is the bandwidth, or less where the damping :math:`3 \beta` is more than the control rate
    admits. While a drive is at its limit, the integral of its joint stands still [1]_: see
    `unwound`.

    References
    ----------
    .. [1] Astrom, Hagglund (1995), "PID Controllers: Theory, Design, and Tuning", 2nd ed.,
       Instrument Society of America, ch. 3.
    """

    uses_feedforward: ClassVar[bool] = False

    model: Robot
    """The robot; only its number of joints and its torque limits are used."""
    kp: Float1D
    """Position gains [N m/rad or N/m], shape (n,)."""
    ki: Float1D
    """Integral gains [N m/(rad s) or N/(m s)], shape (n,)."""
    kd: Float1D
    """Velocity gains [N m s/rad or N s/m], shape (n,)."""
    rate: float
    """Control rate [Hz]."""
    _integral: Float1D = field(init=False, repr=False)
    """Torque of the integral [N m]."""

    def __post_init__(self) -> None:
        check_gains(self, zero=True)
        object.__setattr__(self, "_integral", np.zeros(self.model.dof))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with the three poles of a joint alone at the bandwidth."""
        require_size(gains, model)
        pole = min(gains.bandwidth, gains.fastest / 3.0)
        return cls(
            model=model,
            kp=3.0 * gains.inertia * pole**2,
            ki=gains.inertia * pole**3,
            kd=3.0 * gains.inertia * pole,
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Forget the integral."""
        self._integral[:] = 0.0

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and integrate over one control step; `t` is not used."""
        del t
        e = setpoint.q - q
        tau = self._integral + self.kp * e + self.kd * (setpoint.dq - dq)
        step = unwound(self.ki / self.rate * e, tau, self.model.limits.effort)
        self._integral[:] += step
        return np.asarray(tau)
