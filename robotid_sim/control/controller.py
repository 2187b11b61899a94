"""What a controller is: a law from time, state and setpoint to joint torque."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from robotid_sim.arrays import Float1D


class Setpoint(NamedTuple):
    """Reference of one control step, each of shape (n,)."""

    q: Float1D
    """Position [rad or m]."""
    dq: Float1D
    """Velocity."""
    ddq: Float1D
    """Acceleration."""


class Controller(ABC):
    """A control law; built from a nominal model, never from the plant."""

    @abstractmethod
    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the joint torque [N m], shape (n,), at time `t` [s] and state `q`, `dq`."""

    def reset(self) -> None:
        """Forget internal state before a new run; stateless controllers have none."""
        return
