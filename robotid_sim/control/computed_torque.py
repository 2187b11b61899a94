"""Computed torque: inverse dynamics of a model plus proportional-derivative feedback."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.dynamics import kernels
from robotid_sim.errors import OptionError
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, eq=False)
class ComputedTorque(ModelController):
    r"""Computed torque with friction feedforward.

    .. math:: \tau = \hat M (\ddot q_d + k_d \dot e + k_p e) + \hat C \dot q + \hat g
        + \hat f(\dot q_d), \qquad e = q_d - q .

    Friction is taken at the reference velocity, which has no noise and no chatter around zero.
    With :math:`k_d = 2 \sqrt{k_p}` the error is critically damped at :math:`\sqrt{k_p}` [rad/s].

    References
    ----------
    .. [1] Siciliano, Sciavicco, Villani, Oriolo (2009), "Robotics: Modelling, Planning and
       Control", Springer, sec. 8.5.2.
    """

    model: Robot
    """Model of the robot, as far as it is known."""
    kp: float = 2500.0
    """Position gain [1/s^2]."""
    kd: float = 100.0
    """Velocity gain [1/s]."""
    _phi: Float1D = field(init=False, repr=False)
    _drive: Float2D = field(init=False, repr=False)
    """Rows Fv, Fc, Fo, Ia of the model."""

    def __post_init__(self) -> None:
        if not (self.kp >= 0.0 and self.kd >= 0.0):
            raise OptionError(f"gains must not be negative: kp = {self.kp:g}, kd = {self.kd:g}")
        phi = self.model.parameters()
        drive = phi[parameters.N_INERTIAL * self.model.dof :].reshape(self.model.dof, -1).T
        object.__setattr__(self, "_phi", phi)
        object.__setattr__(self, "_drive", drive)

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with both poles of the error at the bandwidth."""
        require_size(gains, model)
        return cls(model, gains.bandwidth**2, 2.0 * gains.bandwidth)

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        command = setpoint.ddq + self.kd * (setpoint.dq - dq) + self.kp * (setpoint.q - q)
        model = (self.model.geometry, self.model.gravity, self._phi)
        rigid = kernels.inverse_dynamics(*model, q[None], dq[None], command[None])[0]
        Fv, Fc, Fo, Ia = self._drive
        friction = Fv * setpoint.dq + Fc * np.tanh(setpoint.dq / self.model.eps) + Fo
        return np.asarray(rigid + Ia * command + friction)
