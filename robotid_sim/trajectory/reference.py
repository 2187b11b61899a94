"""What a trajectory is: a reference motion as a function of time."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.errors import OptionError

SHORTEST = 1e-9
"""Least duration of a run [s]."""


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
    """A smooth motion from `start` (at most zero: an approach) to `duration`."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        ...

    @property
    def start(self) -> float:
        """First time [s]; negative where an approach precedes the motion proper."""
        ...

    @property
    def duration(self) -> float:
        """Last time [s]."""
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
        """Return what the JSON form holds; `robotid_sim.trajectory.trajectory_files` writes it."""
        ...

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        ...


def require_number(name: str, value: object) -> None:
    """Raise `OptionError` unless a field of a trajectory is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise OptionError(f"'{name}' of a trajectory is {value!r}; give a finite number")


def require_duration(name: str, value: float) -> None:
    """Raise `OptionError` unless a run takes a time whose powers are numbers."""
    require_number(name, value)
    if not value >= SHORTEST:
        raise OptionError(
            f"a run needs a positive duration of at least {SHORTEST:g} s, got {value} s"
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
    """Return the time of one run [s], without the ways from home and back."""
    if trajectory.period is not None:
        return trajectory.period
    return float(getattr(trajectory, "motion", trajectory).duration)
