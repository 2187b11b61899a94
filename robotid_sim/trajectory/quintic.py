"""Point-to-point motion by a quintic polynomial, at rest at both ends."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D, freeze
from robotid_sim.errors import OptionError
from robotid_sim.model.joint import Limits
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import Reference

PEAK_VELOCITY = 15.0 / 8.0
"""Largest slope of the unit quintic 10 s^3 - 15 s^4 + 6 s^5."""

APPROACH_STEP = 0.5
"""Durations of approaches are multiples of this [s]."""

PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)
"""Largest second derivative of the unit quintic."""

PEAK_JERK = 60.0
"""Largest third derivative of the unit quintic."""


APPROACH_SHARE = 0.5
"""Share of velocity and acceleration limits that the approach uses."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class PointToPoint:
    """Quintic motion from one pose to another; velocity and acceleration vanish at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> way = rid.PointToPoint(robot.joint_names, [0.0, 0.0], [1.0, 0.5], 0.0, 2.0)
    >>> way(np.array([0.0, 1.0, 2.0])).q
    array([[0.  , 0.  ],
           [0.5 , 0.25],
           [1.  , 0.5 ]])
    """

    joint_names: tuple[str, ...]
    q_start: Float1D
    """Pose at `start` [rad or m], shape (n,)."""
    q_end: Float1D
    """Pose at `duration`, shape (n,)."""
    start: float
    duration: float
    period: float | None = None

    def __post_init__(self) -> None:
        freeze(self, (len(self.joint_names),), "q_start", "q_end")
        if not self.duration > self.start:
            raise OptionError(f"duration {self.duration} s does not come after {self.start} s")

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference; before and after the motion the robot rests."""
        T = self.duration - self.start
        s = np.clip((np.asarray(t)[:, None] - self.start) / T, 0.0, 1.0)
        delta = self.q_end - self.q_start
        position = unit_quintic(s)
        velocity = unit_quintic(s, 1) / T
        acceleration = unit_quintic(s, 2) / T**2
        return Reference(
            q=self.q_start + delta * position, dq=delta * velocity, ddq=delta * acceleration
        )


def unit_quintic(s: Float, order: int = 0) -> Float:
    """Return the derivative of order 0 to 3 of the unit quintic 10 s^3 - 15 s^4 + 6 s^5."""
    if order == 0:
        value = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    elif order == 1:
        value = 30.0 * s**2 * (1.0 - s) ** 2
    elif order == 2:
        value = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    else:
        value = 60.0 - 360.0 * s + 360.0 * s**2
    return np.asarray(value)


def approach_duration(limits: Limits, q_start: Float1D, q_end: Float1D, share: float) -> float:
    """Return a duration that keeps a quintic within a share of velocity and acceleration limits.

    At least one second, rounded up to a multiple of `APPROACH_STEP` [s]; the ends have shape (n,).
    """
    delta = np.abs(q_end - q_start)
    by_velocity = PEAK_VELOCITY * delta / (share * limits.velocity)
    by_acceleration = np.sqrt(PEAK_ACCELERATION * delta / (share * limits.acceleration))
    need = max(1.0, float(by_velocity.max()), float(by_acceleration.max()))
    return float(np.ceil(need / APPROACH_STEP) * APPROACH_STEP)
