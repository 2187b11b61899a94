"""Joint friction: viscous, smoothed Coulomb, and offset."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError

DEFAULT_EPS_REVOLUTE = 0.03  # [rad/s]
DEFAULT_EPS_PRISMATIC = 0.01  # [m/s]


@documented
@dataclass(frozen=True, slots=True)
class Friction:
    """Friction torque of one joint, ``Fv dq + Fc tanh(dq / eps) + Fo``.

    The smooth sign makes the law linear in `Fv`, `Fc` and `Fo` and lets an explicit integrator
    follow it; `eps` is a constant of the model and is not identified.
    """

    Fv: float = 0.0
    """Viscous coefficient [N m s/rad or N s/m], not negative."""
    Fc: float = 0.0
    """Coulomb torque [N m] or force [N], not negative."""
    Fo: float = 0.0
    """Offset torque [N m] or force [N]."""
    eps: float = DEFAULT_EPS_REVOLUTE
    """Velocity at which the Coulomb part reaches 76 % [rad/s or m/s], positive."""

    def __post_init__(self) -> None:
        for name in ("Fv", "Fc", "Fo", "eps"):
            if not np.isfinite(getattr(self, name)):
                raise OptionError(f"friction {name} is {getattr(self, name)}; give a finite number")
        if self.eps <= 0.0:
            raise OptionError(f"friction eps is {self.eps}; give a positive velocity")

    def torque(self, dq: Float) -> Float:
        """Return the friction torque [N m] at joint velocity `dq` [rad/s], any shape."""
        return np.asarray(self.Fv * dq + self.Fc * np.tanh(dq / self.eps) + self.Fo)
