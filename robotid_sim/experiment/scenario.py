"""What acts on the robot beside its controller."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, readonly
from robotid_sim.errors import OptionError, ShapeError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scenario:
    r"""Disturbance torques and a start away from the trajectory; by default neither.

    The disturbance of joint j (from 0) is
    :math:`d_j(t) = A_j \sin(2 \pi f t + (j + 1) \pi / 3)`, the sinusoidal one of [1]_ with
    frequency and phases of our own, which the paper does not give.

    References
    ----------
    .. [1] Fazilat, Zioui (2025), "Quantum particle swarm optimization (QPSO)-based enhanced dynamic
       model parameters identification for an industrial robotic arm", Mathematics 13(16), 2631,
       doi:10.3390/math13162631.
    """

    name: str = "undisturbed"
    amplitude: Float1D | None = None
    """Amplitude A of the disturbance [N m], shape (n,)."""
    frequency: float = 1.0
    """Frequency f of the disturbance [Hz]."""
    offset: Float1D | None = None
    """Start pose minus that of the trajectory [rad or m], shape (n,)."""

    def __post_init__(self) -> None:
        for name in ("amplitude", "offset"):
            if getattr(self, name) is not None:
                value = readonly(getattr(self, name), shape=(None,), name=name)
                object.__setattr__(self, name, value)
        if not self.frequency > 0.0:
            raise OptionError(f"disturbance frequency must be positive, got {self.frequency}")

    def disturbance(self, t: Float1D, dof: int) -> Float2D | None:
        """Return the torques from outside at times `t`, shape (N, n), or None."""
        if self.amplitude is None:
            return None
        self._require(self.amplitude, "amplitude", dof)
        phase = np.pi / 3.0 * np.arange(1, dof + 1)
        return np.asarray(
            self.amplitude * np.sin(2.0 * np.pi * self.frequency * t[:, None] + phase)
        )

    def start_offset(self, dof: int) -> Float1D:
        """Return the start pose minus that of the trajectory, shape (n,)."""
        if self.offset is None:
            return np.zeros(dof)
        self._require(self.offset, "offset", dof)
        return self.offset

    @staticmethod
    def _require(value: Float1D, name: str, dof: int) -> None:
        if value.size != dof:
            raise ShapeError(f"scenario {name} has {value.size} entries for {dof} joints")
