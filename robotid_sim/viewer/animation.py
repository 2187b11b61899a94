"""Animations: motions with velocities and torques, at the rate of a display.

The module also finds contacts of the links with one another or the floor during a motion.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D, freeze
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.engines import ENGINES, is_installed
from robotid_sim.engine.free_space import assume_floor
from robotid_sim.engine.proximity import FLOOR_NAME, Proximity
from robotid_sim.errors import OptionError, RobotIdError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import PointToPoint, Trajectory, approach_duration
from robotid_sim.viewer import colors
from robotid_sim.viewer.colors import Rgb

SAMPLE_RATE = 60.0
"""Samples per second: two per frame of a film, so that half speed is smooth, too."""

MAX_ANIMATIONS = len(colors.ANIMATION_COLORS)
"""Largest number of motions in one view; more ghosts and colors are hard to distinguish."""

SWEEP_LIMIT_SHARE = 0.5
"""Share of the velocity and acceleration limits in a joint sweep."""


class JointState(NamedTuple):
    """The state at one time; arrays of shape (n,), `tau` is None if no torque is known."""

    t: float
    q: Float1D
    dq: Float1D
    tau: Float1D | None = None


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Animation:
    """A motion of a robot for display."""

    name: str
    """Short name, such as that of a log."""
    robot: Robot
    t: Float1D
    """Time [s], shape (N,), N >= 2, increasing."""
    q: Float2D
    """Position [rad or m], shape (N, n)."""
    dq: Float2D
    """Velocity [rad/s or m/s], shape (N, n)."""
    tau: Float2D | None = None
    """Torque [N m] or force [N], shape (N, n)."""
    error: Float2D | None = None
    """Tracking error [rad or m], shape (N, n), if the motion follows a reference."""
    color: Rgb | None = None
    """Color of its path and its ghost; None for a color by its index."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "t")
        if self.t.size < 2 or not (np.diff(self.t) > 0.0).all():
            raise OptionError("an animation needs at least two samples with increasing times")
        freeze(self, (self.t.size, self.robot.dof), "q", "dq", "tau", "error", optional=True)

    @classmethod
    def from_log(cls, robot: Robot, log: Log, name: str = "log") -> Self:
        """Make the animation of a log.

        Velocities are the measured ones, else differences of the resampled positions. Raises
        `LogError` if the log is of another robot.
        """
        log.require_robot(robot)
        t = reduce_times(log.t)
        q, tau = (interpolate(t, log.t, channel) for channel in (log.q, log.tau_meas))
        dq = np.gradient(q, t, axis=0) if log.dq is None else interpolate(t, log.t, log.dq)
        return cls(name, robot, t, q, dq, tau)

    @classmethod
    def from_trajectory(
        cls, robot: Robot, trajectory: Trajectory, name: str = "trajectory"
    ) -> Self:
        """Make the animation of a reference with the torques that the robot needs for it.

        Raises `OptionError` if the trajectory is of another robot.
        """
        if trajectory.joint_names != robot.joint_names:
            raise OptionError(
                f"the trajectory is for joints {', '.join(trajectory.joint_names)}; robot "
                f"'{robot.name}' has {', '.join(robot.joint_names)}"
            )
        t = reduce_times(np.array([trajectory.start, trajectory.duration]), dense=True)
        reference = trajectory(t)
        tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
        return cls(name, robot, t, reference.q, reference.dq, tau)

    @classmethod
    def sweep(cls, robot: Robot) -> Self:
        """Make a motion that moves one joint after the other through its whole range.

        Every joint moves from home to the lower limit, to the upper limit and back, by quintics
        within a share of the velocity and acceleration limits.
        """
        home, limits = robot.home, robot.limits
        parts: list[tuple[Float2D, ...]] = []
        start = 0.0
        for j in range(robot.dof):
            low, high = home.copy(), home.copy()
            low[j], high[j] = limits.lower[j], limits.upper[j]
            for a, b in ((home, low), (low, high), (high, home)):
                length = approach_duration(limits, a, b, SWEEP_LIMIT_SHARE)
                leg = PointToPoint(robot.joint_names, a, b, start, start + length)
                t = start + np.arange(round(length * SAMPLE_RATE)) / SAMPLE_RATE
                reference = leg(t)
                parts.append((t, reference.q, reference.dq, reference.ddq))
                start += length
        zero = np.zeros((1, robot.dof))
        parts.append((np.array([start]), home[None], zero, zero))
        t, q, dq, ddq = (np.concatenate(channel) for channel in zip(*parts, strict=True))
        return cls("joint sweep", robot, t, q, dq, joint_torque(robot, q, dq, ddq))

    @property
    def start(self) -> float:
        """First time [s]."""
        return float(self.t[0])

    @property
    def end(self) -> float:
        """Last time [s]."""
        return float(self.t[-1])

    def state_at(self, time: float) -> JointState:
        """Interpolate the state at a time [s]; outside the motion, the first or last state."""
        t = float(np.clip(time, self.start, self.end))
        k = min(int(np.searchsorted(self.t, t, side="right")) - 1, self.t.size - 2)
        share = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
        channels = (self.q, self.dq) if self.tau is None else (self.q, self.dq, self.tau)
        return JointState(t, *((1.0 - share) * c[k] + share * c[k + 1] for c in channels))

    def share_of(self, time: float) -> float:
        """Compute the elapsed share of the motion at a time [s]."""
        return (time - self.start) / (self.end - self.start)

    def tool_path(self) -> Float2D:
        """Compute the tip position at every sample in the root frame [m], shape (N, 3)."""
        return np.array([tip_pose(self.robot, sample)[:3, 3] for sample in self.q])


def require_showable(count: int) -> None:
    """Raise `OptionError` if `count` motions are too many for one view."""
    if count > MAX_ANIMATIONS:
        raise OptionError(f"at most {MAX_ANIMATIONS} motions can be shown together, got {count}")


def animation_colors(animations: Sequence[Animation]) -> list[Rgb]:
    """Choose the colors of animations in one view: their own, else by their index.

    Raises `OptionError` if there are too many.
    """
    require_showable(len(animations))
    return [a.color or color for a, color in zip(animations, colors.ANIMATION_COLORS, strict=False)]


def position_share(robot: Robot, q: Float) -> Float:
    """Convert positions to shares of the range: -1 at the lower, 1 at the upper limit."""
    return np.asarray((q - robot.limits.middle) / robot.limits.half_range)


def velocity_share(robot: Robot, dq: Float) -> Float:
    """Convert velocities to signed shares of their limits."""
    return np.asarray(dq / robot.limits.velocity)


def torque_share(robot: Robot, tau: Float) -> Float:
    """Convert torques to signed shares of their limits; zero if a joint has no limit."""
    return np.asarray(tau / robot.limits.effort)  # a missing limit is infinite


def reduce_times(t: Float1D, *, dense: bool = False) -> Float1D:
    """Reduce times to those for display: a grid of `SAMPLE_RATE` if they are denser."""
    count = int(np.ceil((t[-1] - t[0]) * SAMPLE_RATE)) + 1
    return np.linspace(t[0], t[-1], count) if dense or t.size > count else t


def interpolate(t: Float1D, times: Float1D, channel: Float2D) -> Float2D:
    """Interpolate a channel sampled at `times` to other times `t`; both in [s]."""
    return np.column_stack([np.interp(t, times, column) for column in channel.T])


CONTACT_CUTOFF = 0.01
"""Largest distance to measure [m]."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class ContactTimes:
    """The bodies in contact at every sample of an animation."""

    t: Float1D
    """Time [s], shape (N,)."""
    touching: Bool2D
    """Whether a body is in contact, shape (N, n + 1); the last is the base."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "t")

    @classmethod
    def from_animation(cls, animation: Animation) -> Self:
        """Find the contacts of an animation by the convex hulls of the links.

        Pairs of links that touch at home are ignored. The floor is below the base. Without an
        engine, or if it cannot read the geometry of the robot, there are no contacts.
        """
        robot = animation.robot
        touching = np.zeros((animation.t.size, robot.dof + 1), dtype=bool)
        if not any(map(is_installed, ENGINES)):
            return cls(animation.t, touching)
        bodies = {link.name: k for k, link in enumerate(robot.links)} | {robot.base: robot.dof}
        try:
            floor, _ = assume_floor(robot, robot.home)
            with Proximity(robot, floor=floor, cutoff=CONTACT_CUTOFF) as proximity:
                is_free = proximity(robot.home)[0] > 0.0
                inside = (proximity.measure(animation.q)[0] < 0.0) & is_free
                pairs = proximity.pairs
        except RobotIdError as error:
            _log.warning("contacts are not shown: %s", error)
            return cls(animation.t, touching)
        for pair, samples in zip(pairs, inside.T, strict=True):
            for name in (pair.first, pair.second):
                if name != FLOOR_NAME:
                    touching[:, bodies[name]] |= samples
        return cls(animation.t, touching)

    def contacts_at(self, time: float) -> frozenset[int]:
        """Find the bodies in contact at a time [s]; -1 is the base."""
        k = int(np.clip(np.searchsorted(self.t, time), 0, self.t.size - 1))
        return self._body_indices(self.touching[k])

    @property
    def bodies_ever_in_contact(self) -> frozenset[int]:
        """The bodies in contact at any time; -1 is the base."""
        return self._body_indices(self.touching.any(axis=0))

    def spans(self) -> list[tuple[float, float]]:
        """List start and end of every contact [s]."""
        edges = np.diff(np.r_[0, self.touching.any(axis=1).astype(int), 0])
        starts, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0) - 1
        return list(zip(self.t[starts].tolist(), self.t[ends].tolist(), strict=True))

    def _body_indices(self, row: Any) -> frozenset[int]:
        base = self.touching.shape[1] - 1
        return frozenset(k if k < base else -1 for k in np.flatnonzero(row).tolist())
