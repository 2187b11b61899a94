"""Torques from outside that act on the robot beside its drives."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, ShapeError


class Disturbance(ABC):
    """Torques over time that no model knows of."""

    @abstractmethod
    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Return the torques [N m or N] at times `t` [s], shape (N, n)."""


@documented
@dataclass(frozen=True, slots=True, eq=False)
class Sinusoidal(Disturbance):
    r"""Sinusoidal torque, :math:`d_j(t) = A_j \sin(2 \pi f t + \varphi_j)`.

    The disturbance of [1]_, which gives an amplitude of 40 % and neither frequency nor phases; the
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
        """Return the torques; see `Disturbance`."""
        _require(self.amplitude, "amplitude", dof)
        assert self.phase is not None
        angle = 2.0 * np.pi * self.frequency * np.asarray(t)[:, None] + self.phase
        return np.asarray(self.amplitude * np.sin(angle))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Disturbance):
    """Constant torque, as of a cable or a wrong gravity."""

    torque: Float1D
    """Torque [N m or N], shape (n,)."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "torque")

    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Return the torques; see `Disturbance`."""
        _require(self.torque, "torque", dof)
        return np.tile(self.torque, (np.asarray(t).size, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Impulses(Disturbance):
    """Short blows: half-sine pulses at given times."""

    times: Float1D
    """When each pulse begins [s], shape (k,)."""
    peaks: Float2D
    """Largest torque of each pulse [N m or N], shape (k, n)."""
    width: float = 0.02
    """Length of a pulse [s]."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "times")
        freeze(self, (self.times.size, None), "peaks")
        if not 0.0 < self.width < np.inf:
            raise OptionError(f"the width of an impulse must be positive, got {self.width}")

    def __call__(self, t: Float1D, dof: int) -> Float2D:
        """Return the torques; see `Disturbance`."""
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
