"""What a trajectory is: a reference motion as a function of time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from robotid_sim.arrays import Float1D, Float2D, freeze


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


def run_time(trajectory: Trajectory) -> float:
    """Return the time of one run [s], without the ways from home and back."""
    if trajectory.period is not None:
        return trajectory.period
    return float(getattr(trajectory, "motion", trajectory).duration)
