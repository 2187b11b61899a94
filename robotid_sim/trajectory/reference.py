"""Trajectories: reference motions as functions of time.

Point-to-point motion by a quintic polynomial, at rest at both ends.

Check of a trajectory for a robot: use of the limits and number of samples.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.joint import Limits
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

MIN_DURATION = 1e-9
"""Minimum duration of a run [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Reference motion at N times."""

    q: Float2D
    """Position [rad or m], shape (N, n)."""
    dq: Float2D
    """Velocity [rad/s or m/s], shape (N, n)."""
    ddq: Float2D
    """Acceleration [rad/s^2 or m/s^2], shape (N, n)."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "q", "dq", "ddq")


class Trajectory(Protocol):
    """A smooth motion from time `start` to time `duration`, with an approach before time zero."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        ...

    @property
    def start(self) -> float:
        """First time [s]; negative if an approach precedes the motion."""
        ...

    @property
    def duration(self) -> float:
        """Time of the end [s]; the trajectory lasts from `start` to this time."""
        ...

    @property
    def period(self) -> float | None:
        """Period [s] of the part after time zero, or None."""
        ...

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t` [s], shape (N,); derivatives are analytic."""
        ...


class Excitation(Trajectory, Protocol):
    """A trajectory that can be written to a file."""

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON form, for `robotid_sim.trajectory.trajectory_files`."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        ...


def require_number(name: str, value: object) -> None:
    """Raise `OptionError` unless a field of a trajectory is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise OptionError(f"'{name}' of a trajectory is {value!r}; give a finite number")


def require_duration(name: str, value: float) -> None:
    """Raise `OptionError` unless the duration of a run is a number of at least `MIN_DURATION`.

    Powers of its inverse are then finite.
    """
    require_number(name, value)
    if not value >= MIN_DURATION:
        raise OptionError(
            f"a run needs a positive duration of at least {MIN_DURATION:g} s, got {value} s"
        )


def require_count(name: str, value: object) -> None:
    """Raise `OptionError` unless a field of a trajectory is a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"'{name}' of a trajectory is {value!r}; give a whole number above zero")


def require_start(value: float) -> None:
    """Raise `OptionError` unless a trajectory starts at a time of at most zero."""
    require_number("start", value)
    if value > 0.0:
        raise OptionError(f"'start' of a trajectory is {value:g} s; give at most zero")


def run_time(trajectory: Trajectory) -> float:
    """Return the time of one run [s], without approach and return."""
    if trajectory.period is not None:
        return trajectory.period
    return float(getattr(trajectory, "motion", trajectory).duration)


PEAK_VELOCITY = 15.0 / 8.0
"""Largest slope of the unit quintic 10 s^3 - 15 s^4 + 6 s^5."""

APPROACH_STEP = 0.5
"""Step of which the durations of approaches are multiples [s]."""

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
    """Pose at `duration` [rad or m], shape (n,)."""
    start: float
    """Time of the start [s]."""
    duration: float
    """Time of the end [s]; the motion lasts from `start` to this time."""
    period: float | None = None

    def __post_init__(self) -> None:
        freeze(self, (len(self.joint_names),), "q_start", "q_end")
        if not self.duration > self.start:
            raise OptionError(f"end {self.duration} s does not come after start {self.start} s")

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
    """Compute a duration that keeps a quintic within a share of velocity and acceleration limits.

    At least one second, rounded up to a multiple of `APPROACH_STEP` [s]; the ends have shape (n,).
    """
    delta = np.abs(q_end - q_start)
    by_velocity = PEAK_VELOCITY * delta / (share * limits.velocity)
    by_acceleration = np.sqrt(PEAK_ACCELERATION * delta / (share * limits.acceleration))
    duration = max(1.0, float(by_velocity.max()), float(by_acceleration.max()))
    return float(np.ceil(duration / APPROACH_STEP) * APPROACH_STEP)


MAX_SAMPLES = 1e7
"""Largest number of samples of a run, limited by the memory of a typical computer."""

TIME_COUNT = 2000
"""Number of times at which the use of limits is evaluated."""

MAX_USE = 1.01
"""Maximum use of a limit that counts as within the limit, for rounding."""

MAX_PERCENT_RATIO = 1e4
"""Use of a limit above which messages do not state a percentage."""


def limit_use(
    robot: Robot, path: Trajectory, span: tuple[float, float] | None = None
) -> dict[str, list[float]]:
    """Compute the use of the limits by a trajectory, joint by joint; overall or in a time span."""
    motion = path(np.linspace(*(span or (path.start, path.duration)), TIME_COUNT))
    limits = robot.limits
    uses = {
        "of_position": np.abs(motion.q - limits.middle) / limits.half_range,
        "of_velocity": np.abs(motion.dq) / limits.velocity,
        "of_acceleration": np.abs(motion.ddq) / limits.acceleration,
    }
    return {name: shares.max(axis=0).tolist() for name, shares in uses.items()}


def require_samples(
    seconds: float, rate: float, what: str, remedy: str = "give fewer periods"
) -> None:
    """Raise `OptionError` if a run has too many samples; the message names the cause."""
    if not seconds * rate <= MAX_SAMPLES:
        raise OptionError(
            f"{what} runs for {seconds:.3g} s, which are {seconds * rate:.3g} samples at {rate:g} "
            f"Hz; {remedy} or a lower rate, at most {MAX_SAMPLES:.0e} samples"
        )


def require_runnable(path: Excitation, robot: Robot, rate: float, where: str) -> None:
    """Raise `OptionError` unless a robot can run a trajectory; it names joint, limit and file.

    The size is checked first, because the other checks take time and memory.
    """
    require_samples(path.duration - path.start, rate, where)
    end = float(getattr(path, "motion", path).duration)
    # The motion is checked alone too: times spread over a long path may miss a short motion.
    for span in ((path.start, path.duration), (0.0, end)):
        try:
            with np.errstate(all="ignore"):
                uses = limit_use(robot, path, span)
        except ShapeError as error:
            raise OptionError(
                f"{where}: the motion is not finite ({error}); correct its times, which are in s"
            ) from error
        _require_within(uses, robot, where)


def _require_within(uses: dict[str, list[float]], robot: Robot, where: str) -> None:
    for name, shares in uses.items():
        j = int(np.argmax(shares))
        if not shares[j] <= MAX_USE:
            share = shares[j]
            size = f"{share:.0%} of" if share < MAX_PERCENT_RATIO else f"{share:.1e} times"
            raise OptionError(
                f"{where}: the motion uses {size} the {name.removeprefix('of_')} "
                f"limit of joint '{robot.joint_names[j]}'; design a trajectory for this robot "
                f"or correct its limits (rad, m, s)"
            )
