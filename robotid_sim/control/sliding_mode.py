"""Sliding-mode control with a boundary layer."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, require_size
from robotid_sim.control.surface import Compensation, sliding
from robotid_sim.model.robot import Robot


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
