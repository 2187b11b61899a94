"""The motion of a controller through the set points of a file."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.interpolate import BPoly, BSpline, CubicSpline, PPoly

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.trajectory.reference import Reference

Interpolation = Literal["linear", "cubic", "quintic"]


@dataclass(frozen=True, slots=True, eq=False)
class PlayedMotion:
    """Motion through set points at a uniform rate, at rest before and after it.

    Linear interpolation is averaged over the time between two set points, as the fine interpolators
    of drives do; this gives a quadratic B-spline. The constant delay is omitted.
    """

    joint_names: tuple[str, ...]
    dt: float
    """Time between two set points [s]."""
    q: Float2D
    """Set points [rad or m], shape (N, n)."""
    curve: PPoly | BPoly | BSpline
    """Position as a function of time [s]."""
    period: None = None

    @classmethod
    def from_set_points(
        cls,
        joint_names: tuple[str, ...],
        dt: float,
        points: Reference,
        interpolation: Interpolation,
    ) -> "PlayedMotion":
        """Interpolate set points; only quintics use their velocities and accelerations."""
        q = points.q
        t = dt * np.arange(len(q))
        curve: PPoly | BPoly | BSpline
        if interpolation == "cubic":
            curve = CubicSpline(t, q, bc_type="clamped")
        elif interpolation == "linear":
            knots = dt * (np.arange(len(q) + 7) - 3.5)
            curve = BSpline(knots, np.concatenate([q[:1], q[:1], q, q[-1:], q[-1:]]), 2)
        else:
            curve = BPoly.from_derivatives(t, np.stack([q, points.dq, points.ddq], axis=1))
        return cls(joint_names, dt, q, curve)

    @property
    def start(self) -> float:
        """Time of the start [s]."""
        return 0.0

    @property
    def duration(self) -> float:
        """Time of the end [s]."""
        return self.dt * (len(self.q) - 1)

    def __call__(self, t: Float1D) -> Reference:
        """Evaluate the motion at times `t` [s], shape (N,)."""
        times = np.clip(t, 0.0, self.duration)
        is_moving = (times == t)[:, None]
        dq, ddq = (self.curve.derivative(order)(times) * is_moving for order in (1, 2))
        return Reference(self.curve(times), dq, ddq)
