"""Sensors in the loop: what the controller sees of the robot when it is not the true state."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Encoders with white noise that lose samples; an observer makes the velocity of them."""

    revolute: float = 1e-4
    """Standard deviation of revolute joints [rad]."""
    prismatic: float = 1e-5
    """Standard deviation of prismatic joints [m]."""
    lost: float = 0.0
    """Probability that a sample of all encoders is lost."""

    def __post_init__(self) -> None:
        if not (0.0 <= self.revolute < np.inf and 0.0 <= self.prismatic < np.inf):
            raise OptionError("encoder noise must not be negative")
        if not 0.0 <= self.lost < 1.0:
            raise OptionError(f"the share of lost samples must lie in [0, 1), got {self.lost}")

    def __str__(self) -> str:
        text = f"observer, encoder noise {self.revolute:g} rad, {self.prismatic:g} m"
        return f"{text}, {self.lost:.3g} of samples lost" if self.lost else text


class StateSource(Protocol):
    """Where the loop has the state from."""

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Return what the controller sees at sample `k` when the true state is `q`, `dq`."""

    def applied(self, tau: Float1D) -> None:
        """Take note of the torque that the drives apply until the next sample."""


class TrueState:
    """The true state, as a loop on clean feedback sees it."""

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Return the state itself."""
        del k
        return q, dq

    def applied(self, tau: Float1D) -> None:
        """Do nothing."""


class ObservedState:
    """The state that an observer makes of encoder samples.

    `noise` is that of every encoder sample [rad or m], shape (N, n); `lost`, shape (N,), says which
    do not arrive. The observer is reset to the start (q, dq), which a robot at rest knows.
    """

    def __init__(
        self, observer: VelocityObserver, noise: Float2D, lost: Bool1D, q: Float1D, dq: Float1D
    ) -> None:
        self._observer, self._noise, self._lost = observer, noise, lost
        observer.reset(q, dq)

    @classmethod
    def draw(
        cls,
        feedback: Feedback,
        observer: VelocityObserver,
        rng: np.random.Generator,
        count: int,
        q: Float1D,
        dq: Float1D,
    ) -> "ObservedState":
        """Return the source for a run of `count` samples, all its noise drawn beforehand."""
        prismatic = np.array(observer.model.prismatic)
        std = np.where(prismatic, feedback.prismatic, feedback.revolute)
        noise = std * rng.standard_normal((count, q.size))
        return cls(observer, noise, rng.random(count) < feedback.lost, q, dq)

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Return the observer's state."""
        del dq
        return self._observer.correct(None if self._lost[k] else q + self._noise[k])

    def applied(self, tau: Float1D) -> None:
        """Let the observer predict."""
        self._observer.predict(tau)
