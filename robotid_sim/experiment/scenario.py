"""Scenarios: disturbances of a run, and the feedback of its controller.

Disturbances are external torques in addition to those of the drives.

Sensors in the loop give the controller a measured state instead of the true one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, freeze
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.robot import Robot


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Encoders with white noise and lost samples, and an observer of the velocity."""

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
    """Source of the state in the loop."""

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Measure the state at sample `k`, with the true state `q`, `dq`."""

    def note_torque(self, tau: Float1D) -> None:
        """Record the torque of the drives until the next sample."""


class TrueState:
    """The true state, for a loop with ideal feedback."""

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Return the true state."""
        del k
        return q, dq

    def note_torque(self, tau: Float1D) -> None:
        """Do nothing."""


class ObservedState:
    """The state of an observer with encoder samples.

    `noise` is that of every encoder sample [rad or m], shape (N, n); `lost`, shape (N,), marks lost
    ones. The observer is reset to the start (q, dq), which is assumed known.
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
        """Make the source for a run of `count` samples, with all noise drawn in advance."""
        prismatic = np.array(observer.model.prismatic)
        std = np.where(prismatic, feedback.prismatic, feedback.revolute)
        noise = std * rng.standard_normal((count, q.size))
        return cls(observer, noise, rng.random(count) < feedback.lost, q, dq)

    def state(self, k: int, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Update the observer, and return its state."""
        del dq
        return self._observer.correct(None if self._lost[k] else q + self._noise[k])

    def note_torque(self, tau: Float1D) -> None:
        """Predict the next state of the observer."""
        self._observer.predict(tau)


class Disturbance(ABC):
    """Torques over time that are in no model."""

    @abstractmethod
    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Compute the torques [N m or N] at times `t` [s], shape (N, n)."""


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class Sinusoidal(Disturbance):
    r"""Sinusoidal torque, :math:`d_j(t) = A_j \sin(2 \pi f t + \varphi_j)`.

    The disturbance of [1]_, which has an amplitude of 40 % and neither frequency nor phases; the
    default phase of joint j (from 0) is :math:`(j + 1) \pi / 3`.

    References
    ----------
    .. [1] Fazilat, Zioui (2025), "Quantum particle swarm optimization (QPSO)-based enhanced dynamic
       model parameters identification for an industrial robotic arm", Mathematics 13(16), 2631,
       doi:10.3390/math13162631.
    """

    amplitude: Float1D
    """Amplitude A [N m or N], shape (n,)."""
    frequency: float = 1.0
    """Frequency f [Hz]."""
    phase: Float1D | None = None
    """Phase at time zero [rad], shape (n,)."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "amplitude")
        if self.phase is None:
            default = np.pi / 3.0 * np.arange(1, self.amplitude.size + 1)
            object.__setattr__(self, "phase", default)
        freeze(self, (self.amplitude.size,), "phase")
        if not 0.0 < self.frequency < np.inf:
            raise OptionError(f"disturbance frequency must be positive, got {self.frequency}")

    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Compute the torques; see `Disturbance`."""
        _require(self.amplitude, "amplitude", dof)
        assert self.phase is not None
        angle = 2.0 * np.pi * self.frequency * np.asarray(t)[:, None] + self.phase
        return np.asarray(self.amplitude * np.sin(angle))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Disturbance):
    """Constant torque, such as from a cable or an error of gravity."""

    torque: Float1D
    """Torque [N m or N], shape (n,)."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "torque")

    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Compute the torques; see `Disturbance`."""
        _require(self.torque, "torque", dof)
        return np.tile(self.torque, (np.asarray(t).size, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Impulses(Disturbance):
    """Short impacts: half-sine pulses at given times."""

    times: Float1D
    """Start of each pulse [s], shape (k,)."""
    peaks: Float2D
    """Largest torque of each pulse [N m or N], shape (k, n)."""
    width: float = 0.02
    """Duration of a pulse [s]."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "times")
        freeze(self, (self.times.size, None), "peaks")
        if not 0.0 < self.width < np.inf:
            raise OptionError(f"the width of an impulse must be positive, got {self.width}")

    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Compute the torques; see `Disturbance`."""
        if self.times.size:
            _require(self.peaks[0], "impulse", dof)
        torque = np.zeros((np.asarray(t).size, dof))
        for begin, peak in zip(self.times, self.peaks, strict=True):
            share = (np.asarray(t) - begin) / self.width
            inside = (share >= 0.0) & (share < 1.0)
            torque[inside] += np.sin(np.pi * share[inside])[:, None] * peak
        return torque


def _require(value: Float1D, name: str, dof: int) -> None:
    if value.size != dof:
        raise ShapeError(f"disturbance {name} has {value.size} entries for {dof} joints")


@dataclass(frozen=True, slots=True)
class TipLoad:
    """A load at the tip that is in no model."""

    mass: float
    """Mass [kg]."""
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Center of mass in the tip frame [m]."""

    def __call__(self, plant: Robot) -> Robot:
        """Add the load to the plant."""
        return plant.with_payload(self.mass, self.com)


@dataclass(frozen=True, slots=True)
class FrictionScale:
    """Friction that has changed since the identification, by temperature or wear."""

    factor: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.factor < np.inf:
            raise OptionError(f"friction factor must not be negative, got {self.factor}")

    def __call__(self, plant: Robot) -> Robot:
        """Scale viscous and Coulomb friction of the plant."""
        joints = []
        for joint in plant.joints:
            law = joint.friction
            changed = replace(law, Fv=self.factor * law.Fv, Fc=self.factor * law.Fc)
            joints.append(replace(joint, friction=changed))
        return replace(plant, joints=tuple(joints))


@document_attributes
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scenario:
    """Conditions of a run; by default no disturbance and a start on the trajectory."""

    name: str = "undisturbed"
    disturbances: tuple[Disturbance, ...] = ()
    """External torques, which are added."""
    offset: Float1D | None = None
    """Start pose minus that of the trajectory [rad or m], shape (n,)."""
    changes: tuple[Callable[[Robot], Robot], ...] = ()
    """Changes of the plant relative to the robot of the models, applied in order."""
    feedback: Feedback | None = None
    """Sensors in the loop; by default the controller sees the true state."""
    delay: int = 0
    """Samples between a measurement and the torque computed from it, 0 or 1."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "offset", optional=True)
        if self.delay not in (0, 1):
            raise OptionError(f"the computation delay is 0 or 1 samples, got {self.delay}")

    def plant(self, robot: Robot) -> Robot:
        """Apply the changes of this scenario to the robot."""
        for change in self.changes:
            robot = change(robot)
        return robot

    def disturbance(self, t: Float1D, dof: int) -> Float2D | None:
        """Sum the external torques.

        Parameters
        ----------
        t : ndarray, shape (N,)
            Times [s].
        dof : int
            Number of joints n.

        Returns
        -------
        tau : ndarray, shape (N, n), or None
            Torque [N m or N]; None without disturbances.
        """
        if not self.disturbances:
            return None
        return np.asarray(sum(part(t, dof) for part in self.disturbances))

    def start_offset(self, dof: int) -> Float1D:
        """Compute the start pose minus that of the trajectory, shape (n,)."""
        if self.offset is None:
            return np.zeros(dof)
        if self.offset.size != dof:
            raise ShapeError(f"scenario offset has {self.offset.size} entries for {dof} joints")
        return self.offset
