"""Controllers: control laws from time, state and setpoint to joint torque."""

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
    """Conversion of states to commands, once per control step.

    Commands are not clipped: the drive clips them, and the log records it.
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
    """Whether the torque without tracking error is the model torque of the motion."""

    @classmethod
    @abstractmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Make the control law for a model, with all gains from the common specification.

        Parameters
        ----------
        model : Robot
            Known model of the robot, which the law compensates.
        gains : LoopGains
            Gains from the nominal model, independent of `model`.

        Returns
        -------
        law : ModelController
            Control law with one gain per joint.
        """


ControllerFactory = Callable[[Robot, LoopGains], Controller]
"""Function from compensated model and gains to the control law."""


@dataclass(frozen=True, slots=True, eq=False)
class DelayedController(Controller):
    """Controller with one sample of computation delay.

    The command computed from sample k acts from sample k + 1 on. The first command also acts
    immediately: a drive is not released before its loop is closed, and holds the robot at the
    start.
    """

    controller: Controller
    _waiting: list[Float1D] = field(init=False, repr=False, default_factory=list)
    """Command of the last sample; empty before the first sample."""

    def reset(self) -> None:
        """Reset the waiting command and the state of the controller."""
        self._waiting.clear()
        self.controller.reset()

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the command of the last sample."""
        # A copy: the caller's controller may reuse its array.
        self._waiting.append(self.controller(t, q, dq, setpoint).copy())
        return self._waiting.pop(0) if len(self._waiting) > 1 else self._waiting[0]
