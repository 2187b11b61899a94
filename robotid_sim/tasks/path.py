"""Closed-loop tasks: a path in joint space, followed in a chosen lap time with smooth ends."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.interpolate import BSpline

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError, PathError, ShapeError
from robotid_sim.kinematics.following import MIN_POINTS, make_rest_to_rest_spline, phase_spline
from robotid_sim.kinematics.inverse import find_exceeded_limit, singularity_index
from robotid_sim.kinematics.workspace import tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.tasks.placement import (
    CIRCLE_SHAPE,
    CONTACT_MESSAGE,
    ContactCheck,
    PlaneName,
    PlaneShape,
    place,
)
from robotid_sim.trajectory.reference import Reference

JOINT_SWING = 0.25
"""Amplitude of a task in joint space, over half of the range of every joint."""

SWING_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of `JOINT_SWING` that are tried until there are no contacts."""

FURTHER_POSES = 50
"""Number of additional poses for a task in joint space, after home and the middle of the limits."""

SPACE_REMEDY = "give a smaller clearance, or let links touch (design.constraints)"
"""Remedy for a task with contacts in all poses."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class JointPath:
    """A path in joint space over the phase from 0 to 2 pi, closed or open."""

    joint_names: tuple[str, ...]
    task: str
    """Name of the task: ``circle``, ``joint-ellipse``, ..."""
    points: Float2D
    """Positions at equal steps of the phase, both ends included, shape (M, n)."""
    singularity_index: Float1D
    """Singularity index at the points, shape (M,); infinite at a singularity."""

    def __post_init__(self) -> None:
        freeze(self, (None, len(self.joint_names)), "points")
        index = np.array(self.singularity_index, dtype=float)  # the index may be infinite
        if index.shape != (len(self.points),) or not (index > 0.0).all():
            raise ShapeError(
                f"a path of {len(self.points)} points needs as many singularity indices"
            )
        index.setflags(write=False)
        object.__setattr__(self, "singularity_index", index)

    @property
    def largest_index(self) -> float:
        """Largest singularity index at the points."""
        return float(self.singularity_index.max())


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Lap:
    """One lap of a closed path, or one pass along an open one, from rest to rest.

    The phase accelerates over `ramp` seconds, has a constant rate, and decelerates.
    """

    path: JointPath
    duration: float
    """Time of the lap [s]."""
    ramp: float = 1.0
    """Time of acceleration, and of deceleration [s]."""
    period: float | None = None
    start: float = 0.0
    _spline: BSpline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.duration > 2.0 * self.ramp > 0.0:
            raise OptionError(
                f"a lap of {self.duration:g} s is too short for two ramps of {self.ramp:g} s"
            )
        object.__setattr__(self, "_spline", phase_spline(self.path.points))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return self.path.joint_names

    def __call__(self, t: Float1D) -> Reference:
        """Compute the reference at times `t`, by the exact chain rule through the phase."""
        t = np.asarray(t, dtype=float)
        T, r = self.duration, self.ramp
        plateau_rate = 2.0 * np.pi / (T - r)

        def compute_ramp(u: Float1D) -> tuple[Float1D, Float1D, Float1D]:
            """Compute phase and two derivatives on a ramp, whose rate follows the unit quintic."""
            s = np.clip(u / r, 0.0, 1.0)
            return (
                plateau_rate * r * s**4 * (2.5 - 3.0 * s + s**2),
                plateau_rate * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
                plateau_rate * 30.0 * s**2 * (1.0 - s) ** 2 / r,
            )

        phase, rate, acceleration = compute_ramp(t)
        end_phase, end_rate, end_acceleration = compute_ramp(T - t)
        is_slowing = t > T - r
        phase = np.where(t <= r, phase, plateau_rate * (t - 0.5 * r))
        phase = np.clip(np.where(is_slowing, 2.0 * np.pi - end_phase, phase), 0.0, 2.0 * np.pi)
        rate = np.where(is_slowing, end_rate, rate)
        acceleration = np.where(is_slowing, -end_acceleration, acceleration)
        by_phase = [self._spline(phase, nu) for nu in (0, 1, 2)]
        rate, acceleration = rate[:, None], acceleration[:, None]
        ddq = by_phase[2] * rate**2 + by_phase[1] * acceleration
        return Reference(q=by_phase[0], dq=by_phase[1] * rate, ddq=ddq)


@dataclass(frozen=True, slots=True, eq=False)
class TimedPath:
    """Path whose phase is time: at rest at both ends, at the speed of its points between them."""

    path: JointPath
    """Path with points at equal time steps."""
    duration: float
    """Time [s]."""
    period: float | None = None
    start: float = 0.0
    _spline: BSpline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.duration > 0.0:
            raise OptionError(f"a timed path needs a duration above zero, got {self.duration} s")
        t = np.linspace(0.0, self.duration, len(self.path.points))
        object.__setattr__(self, "_spline", make_rest_to_rest_spline(t, self.path.points))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return self.path.joint_names

    def __call__(self, t: Float1D) -> Reference:
        """Compute the reference at times `t`; before and after the motion the robot rests."""
        times = np.asarray(t, dtype=float)
        inside = ((times > 0.0) & (times < self.duration))[:, None]
        q, dq, ddq = (self._spline(np.clip(times, 0.0, self.duration), nu) for nu in (0, 1, 2))
        return Reference(q=q, dq=np.where(inside, dq, 0.0), ddq=np.where(inside, ddq, 0.0))


def joint_space_path(robot: Robot, task: str, points: Float2D) -> JointPath:
    """Make a path through joint positions, shape (N, n), with the singularity index along it."""
    demand = tip_demand(robot)
    index = [singularity_index(robot, q, demand) for q in points]
    return JointPath(robot.joint_names, task, points, np.array(index))


def shape_path(
    robot: Robot,
    shape: PlaneShape,
    *,
    center: tuple[float, float, float] | None = None,
    plane: PlaneName | None = None,
    size: float | None = None,
    is_clear: ContactCheck | None = None,
) -> JointPath:
    """Find a path along which the tip draws a shape, or the joints follow its analog.

    With six joints or more the orientation is constant, and a redundant arm stays near the middle
    of its ranges; with fewer, only the position of the tip counts. Without a center, the home pose
    and random configurations are tried as centers, the best conditioned first, until the path is
    within the limits and everywhere has a singularity index below `MAX_PLACED_SINGULARITY_INDEX`;
    with a given center, up to `MAX_SINGULARITY_INDEX`. If no center, plane or size is given and
    there is no solution, the joints follow the analog.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    shape : PlaneShape
        The shape.
    center : tuple of float, optional
        Center in the root frame [m]; searched by default.
    plane : str, optional
        Plane of the root frame: ``xy``, ``yz`` or ``xz``; by default any, or the plane of a planar
        arm.
    size : float, optional
        Size of the shape [m]; by default the first of 15, 10 and 5 % of the reach that works.
    is_clear : callable, optional
        Checks that positions, shape (N, n), have no contacts; by default contacts are allowed.

    Returns
    -------
    path : JointPath
        Path with its singularity index.

    Raises
    ------
    PathError
        If no shape with the given center, plane or size works, or all paths have contacts.
    """
    solution = place(robot, shape, center, plane, size, is_clear)
    if solution is not None:
        return JointPath(robot.joint_names, shape.name, solution.q, solution.singularity_index)
    swing = shape.swing(np.linspace(0.0, 2.0 * np.pi, MIN_POINTS), robot.dof)
    amplitude = JOINT_SWING * robot.limits.half_range * swing
    # Poses within the limits, the same in every call.
    random = np.random.default_rng(0).uniform(-1.0, 1.0, (FURTHER_POSES, robot.dof))
    further_poses = robot.limits.middle + random * robot.limits.half_range
    for middle, share in product((robot.limits.middle, robot.home, *further_poses), SWING_SHARES):
        points = middle + share * amplitude
        extremes = (points.min(axis=0), points.max(axis=0))
        exceeds = any(find_exceeded_limit(robot, q) is not None for q in extremes)
        if not exceeds and (is_clear is None or is_clear(points)):
            return joint_space_path(robot, shape.joint_name, points)
    raise PathError(
        f"a {shape.name} does not fit '{robot.name}': {CONTACT_MESSAGE}; {SPACE_REMEDY}"
    )


def make_tracking_path(robot: Robot, radius: float | None = None) -> JointPath:
    """Find the path of the default study: a circle of the tip, or an ellipse of the joints.

    See `shape_path` for its position.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    radius : float, optional
        Radius [m]; by default the first of 15, 10 and 5 % of the reach that works.

    Returns
    -------
    path : JointPath
        The path of the tip and of the joints.

    Raises
    ------
    PathError
        If no circle with the given radius works.
    """
    return shape_path(robot, CIRCLE_SHAPE, size=radius)


def fastest_lap(robot: Robot, path: JointPath, share: float, longest: float) -> Lap:
    """Find the shortest lap within a share of velocity, acceleration and torque limits.

    A torque limit is ignored if gravity alone exceeds its share.

    Parameters
    ----------
    robot : Robot
        Robot with the limits.
    path : JointPath
        The path.
    share : float
        Share of the limits.
    longest : float
        Largest lap time, also used if this lap is still too fast [s].

    Returns
    -------
    lap : Lap
        The timed path.
    """
    gravity = joint_torque(robot, path.points, 0.0 * path.points, 0.0 * path.points)
    has_torque_limit = np.abs(gravity).max(axis=0) < share * robot.limits.effort

    def compute_limit_share(duration: float) -> float:
        lap = Lap(path, duration)
        reference = lap(np.linspace(0.0, duration, 400))
        tau = np.abs(joint_torque(robot, reference.q, reference.dq, reference.ddq))
        limits = robot.limits
        return max(
            float((np.abs(reference.dq) / limits.velocity).max()),
            float((np.abs(reference.ddq) / limits.acceleration).max()),
            float((tau / limits.effort)[:, has_torque_limit].max(initial=0.0)),
        )

    low, high = 2.5, longest
    if compute_limit_share(low) <= share:
        return Lap(path, low)
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if compute_limit_share(middle) <= share else (middle, high)
    return Lap(path, round(float(np.ceil(high * 100.0)) / 100.0, 2))
