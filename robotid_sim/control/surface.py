"""What the sliding-mode laws share: the surface, the model behind it, and smoothed switching."""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import check_gains
from robotid_sim.dynamics import kernels
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Compensation:
    r"""Torque that makes a robot follow a reference velocity v, up to the sliding variable.

    .. math:: \hat\tau = \hat M a + \hat C v + \hat g + \hat f(v)

    With :math:`v = \dot q + s`, :math:`a = \dot v`, the torque :math:`\tau = \hat\tau + u` and the
    right model, what is left is [1]_, sec. 9.2

    .. math:: M \dot s + C s + f(\dot q + s) - f(\dot q) = -u - d ,

    and :math:`V = s^T M s / 2` falls as long as every :math:`u_j` has the sign of :math:`s_j` and
    outweighs the disturbance :math:`d_j`: no joint has to know of the others. Friction is
    compensated at v: friction that grows with velocity then only helps V to fall, and holds at
    standstill too, where compensation at the measured velocity chatters and at the reference
    velocity leaves the joint stuck.

    References
    ----------
    .. [1] Slotine, Li (1991), "Applied Nonlinear Control", Prentice Hall, sec. 9.2.
    """

    model: Robot
    _phi: Float1D = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_phi", self.model.parameters())

    def __call__(self, q: Float1D, dq: Float1D, v: Float1D, a: Float1D) -> Float1D:
        """Return the torque [N m], shape (n,), at state `q`, `dq`, for `v` and `a`."""
        model = self.model
        return kernels.reference_torque(
            model.geometry, model.gravity, self._phi, model.eps, q, dq, v, a
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingLaw(ModelController):
    """A law of the sliding variable: `Compensation` and a torque that drives s to zero."""

    model: Robot
    bandwidth: float
    """Decay rate of the error on the surface, lambda [rad/s]."""
    _modelled: Compensation = field(init=False, repr=False)
    _state: Float1D = field(init=False, repr=False)
    """What a law with memory remembers, shape (n,); set by its `reset`."""

    def __post_init__(self) -> None:
        check_gains(self)
        object.__setattr__(self, "_modelled", Compensation(self.model))
        object.__setattr__(self, "_state", np.zeros(self.model.dof))
        self.reset()


def sliding(
    bandwidth: float, q: Float1D, dq: Float1D, setpoint: Setpoint
) -> tuple[Float1D, Float1D, Float1D]:
    r"""Return the sliding variable, and the velocity and acceleration that keep it at zero.

    .. math:: s = \dot e + \lambda e, \quad v = \dot q_d + \lambda e, \quad
        a = \ddot q_d + \lambda \dot e, \qquad e = q_d - q

    The state q, dq has shape (n,); the error decays at the bandwidth lambda [rad/s] on the
    surface.
    """
    e, de = setpoint.q - q, setpoint.dq - dq
    lag = bandwidth * e
    return de + lag, setpoint.dq + lag, setpoint.ddq + bandwidth * de


def clipped(value: Float1D, bound: Float1D) -> Float1D:
    """Return `value` within plus and minus `bound`; faster than numpy's clip on a few joints."""
    return np.asarray(np.minimum(np.maximum(value, -bound), bound))


def unwound(step: Float1D, command: Float1D, effort: Float1D) -> Float1D:
    """Return the step of an integral, without the joints that it would drive further into a limit.

    Conditional integration [1]_: while a command is beyond what the drive can give, its
    integral may only come back. What a sample adds to the integral is the `step`, shape (n,),
    and the `command` is the torque that the integral raises [N m].

    References
    ----------
    .. [1] Astrom, Hagglund (1995), "PID Controllers: Theory, Design, and Tuning", 2nd ed.,
       Instrument Society of America, ch. 3.
    """
    beyond = np.abs(command) > effort
    if not beyond.any():
        return step
    return np.where(beyond & (step * command > 0.0), 0.0, step)
