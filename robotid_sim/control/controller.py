"""Controllers: laws from time, state and setpoint to joint torque."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

from robotid_sim.arrays import Float1D
from robotid_sim.control.gains import LoopGains
from robotid_sim.model.robot import Robot


class Setpoint(NamedTuple):
    """Reference of one control step, each of shape (n,)."""

    q: Float1D
    """Position [rad or m]."""
    dq: Float1D
    """Velocity [rad/s or m/s]."""
    ddq: Float1D
    """Acceleration [rad/s^2 or m/s^2]."""


class Controller(ABC):
    """Anything that turns states into commands, once per control step.

    Commands are not clipped: the drive clips them, and the log shows how often.
    """

    @abstractmethod
    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the joint torque [N m], shape (n,), at time `t` [s] and state `q`, `dq`."""

    def reset(self) -> None:
        """Reset the internal state before a new run; stateless controllers have none."""
        return


class ModelController(Controller):
    """A control law; built from a nominal model, never from the plant."""

    uses_feedforward: ClassVar[bool] = True
    """Whether the torque without error is that of the motion."""

    @classmethod
    @abstractmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law for a model, with all its gains from the common specification.

        Parameters
        ----------
        model : Robot
            The robot as far as it is known, which the law compensates.
        gains : LoopGains
            From the nominal model, whatever `model` is.

        Returns
        -------
        law : ModelController
            With one gain per joint.
        """


ControllerFactory = Callable[[Robot, LoopGains], Controller]
"""From the model that a law compensates and the specification to the law."""


@dataclass(frozen=True, slots=True, eq=False)
class DelayedController(Controller):
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
