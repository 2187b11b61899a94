"""Proportional-derivative control with gravity compensation."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, check_gains, require_size
from robotid_sim.dynamics import kernels
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class GravityPd(ModelController):
    r"""Proportional-derivative control with gravity compensation.

    .. math:: \tau = \hat g(q) + K_p (q_d - q) + K_d (\dot q_d - \dot q)

    Stable for setpoints with any positive gains [1]_; on a moving reference it lags.

    References
    ----------
    .. [1] Takegaki, Arimoto (1981), "A new feedback method for dynamic control of manipulators",
       J. Dynamic Systems, Measurement, and Control, doi:10.1115/1.3139651.
    """

    uses_feedforward: ClassVar[bool] = False

    model: Robot
    kp: Float1D
    """Position gains [N m/rad or N/m], shape (n,)."""
    kd: Float1D
    """Velocity gains [N m s/rad or N s/m], shape (n,)."""

    def __post_init__(self) -> None:
        check_gains(self, zero=True)

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with both poles of a joint alone at the bandwidth."""
        require_size(gains, model)
        stiffness = gains.inertia * gains.bandwidth**2
        return cls(model, stiffness, 2.0 * gains.inertia * gains.bandwidth)

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        model, still = self.model, np.zeros((1, self.model.dof))
        held = kernels.inverse_dynamics(
            model.geometry, model.gravity, model.parameters(), q[None], still, still
        )[0]
        return np.asarray(held + self.kp * (setpoint.q - q) + self.kd * (setpoint.dq - dq))
