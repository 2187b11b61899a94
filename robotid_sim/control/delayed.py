"""Computation delay: a controller whose commands come one sample late."""

from dataclasses import dataclass, field

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Controller, Setpoint


@dataclass(frozen=True, slots=True, eq=False)
class Delayed(Controller):
    """A controller with one sample of computation delay.

    What is computed from sample k acts from sample k + 1 on. The first command acts at once too:
    a drive is not released before its loop is closed, and holds the robot at the start.
    """

    controller: Controller
    _waiting: list[Float1D] = field(init=False, repr=False, default_factory=list)
    """The command of the last sample; empty before the first."""

    def reset(self) -> None:
        """Forget the waiting command, and the state of the controller."""
        self._waiting.clear()
        self.controller.reset()

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the command of the last sample."""
        # A copy: the caller's controller may reuse its array.
        self._waiting.append(self.controller(t, q, dq, setpoint).copy())
        return self._waiting.pop(0) if len(self._waiting) > 1 else self._waiting[0]
