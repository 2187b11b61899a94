"""Approach from home to a motion and return: quintics within half of the limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, freeze, readonly
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.files import write_json
from robotid_sim.kinematics.inverse import find_exceeded_limit
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.fourier import SCHEMA_VERSION
from robotid_sim.trajectory.reference import (
    APPROACH_SHARE,
    Excitation,
    PointToPoint,
    Reference,
    approach_duration,
    require_number,
)


@dataclass(frozen=True, slots=True, eq=False)
class HomedTrajectory:
    """A motion with an approach from home, a return to home, or both.

    The time of the motion is unchanged, so that the approach precedes its start.
    """

    motion: Excitation
    home: Float1D
    """Pose at the start of the approach and the end of the return [rad or m], shape (n,)."""
    approach: float = 0.0
    """Duration of the approach [s]; zero for none."""
    back: float = 0.0
    """Duration of the return [s]; zero for none."""

    def __post_init__(self) -> None:
        freeze(self, (len(self.motion.joint_names),), "home")
        if isinstance(self.motion, HomedTrajectory):
            raise OptionError(
                "the motion of a homed trajectory is homed itself; give its own motion, with the "
                "ways from home and back"
            )
        for name in ("approach", "back"):
            require_number(name, getattr(self, name))
        if min(self.approach, self.back) < 0.0:
            raise OptionError(
                f"ways from home and back must take no negative time, got {self.approach} s and "
                f"{self.back} s"
            )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return self.motion.joint_names

    @property
    def start(self) -> float:
        """First time [s]."""
        return self.motion.start - self.approach

    @property
    def duration(self) -> float:
        """Last time [s]."""
        return self.motion.duration + self.back

    @property
    def period(self) -> float | None:
        """Period [s] of the motion, or None."""
        return self.motion.period

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t` [s]; before and after it the robot rests."""
        times = np.asarray(t, dtype=float)
        first, last = self.motion.start, self.motion.duration
        reference = self.motion(np.clip(times, first, last))
        parts = [np.array(part) for part in (reference.q, reference.dq, reference.ddq)]
        ends = self.motion(np.array([first, last])).q
        for outside, way in (
            (times < first, self._way(self.home, ends[0], self.start, first)),
            (times > last, self._way(ends[1], self.home, last, self.duration)),
        ):
            if not outside.any():
                continue
            state = way(times[outside])
            for part, values in zip(parts, (state.q, state.dq, state.ddq), strict=True):
                part[outside] = values
        return Reference(*parts)

    def _way(self, q_start: Float1D, q_end: Float1D, start: float, end: float) -> PointToPoint:
        if end > start:
            return PointToPoint(self.joint_names, q_start, q_end, start, end)
        pose = q_end if start == self.motion.start else q_start
        return PointToPoint(self.joint_names, pose, pose, start, start + 1.0)

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON form."""
        return {
            "family": "homed",
            "home": self.home.tolist(),
            "approach": self.approach,
            "back": self.back,
            "motion": self.motion.content(),
        }

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        write_json(path, "trajectory", SCHEMA_VERSION, self.content())


def add_approach(
    robot: Robot, motion: Excitation, home: Sequence[float] | Float1D | None = None
) -> HomedTrajectory:
    """Add an approach from home, by default the home pose of the robot, to a motion.

    Raises `InfeasibleError` if home, or the start pose of the motion, is outside the limits.
    """
    pose = robot.home if home is None else readonly(home, shape=(robot.dof,), name="home")
    _require_inside(robot, pose, "the pose 'home'", "choose another one")
    first = motion(np.array([motion.start])).q[0]
    _require_inside(robot, first, "the start of the motion", "choose smaller coordinates")
    time = approach_duration(robot.limits, pose, first, APPROACH_SHARE)
    return HomedTrajectory(motion, pose, approach=time)


def add_return(robot: Robot, trajectory: Excitation) -> HomedTrajectory:
    """Add a return after the motion, so that the trajectory ends at its start pose.

    Raises `InfeasibleError` if the motion ends outside the limits.
    """
    ends = trajectory(np.array([trajectory.start, trajectory.duration])).q
    _require_inside(robot, ends[1], "the end of the motion", "choose smaller coordinates")
    time = approach_duration(robot.limits, ends[1], ends[0], APPROACH_SHARE)
    if isinstance(trajectory, HomedTrajectory):
        return trajectory if trajectory.back > 0.0 else replace(trajectory, back=time)
    return HomedTrajectory(trajectory, ends[0], back=time)


def add_ways(robot: Robot, trajectory: Excitation) -> HomedTrajectory:
    """Add an approach from home, unless there is one, and a return to the start.

    Raises `InfeasibleError` if the motion starts or ends outside the limits.
    """
    approached = add_approach(robot, trajectory) if trajectory.start == 0.0 else trajectory
    return add_return(robot, approached)


def _require_inside(robot: Robot, q: Float1D, what: str, remedy: str) -> None:
    reason = find_exceeded_limit(robot, q)
    if reason is not None:
        raise InfeasibleError(f"{what} of '{robot.name}' {reason}; {remedy}")
