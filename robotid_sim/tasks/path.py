"""Closed-loop tasks: a path in joint space, driven at a chosen lap time with smooth ends."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.interpolate import BSpline

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError, PathError, ShapeError
from robotid_sim.kinematics.following import MIN_POINTS, make_rest_to_rest_spline, phase_spline
from robotid_sim.kinematics.inverse import beyond_limits, singularity_index
from robotid_sim.kinematics.workspace import tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.tasks.placement import (
    CIRCLE_SHAPE,
    CONTACT_MESSAGE,
    Keeps,
    PlaneName,
    PlaneShape,
    place,
)
from robotid_sim.trajectory.reference import Reference

JOINT_SWING = 0.25
"""Swing of a task in joint space, over half of the range of every joint."""

SWING_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of that swing that are tried until links keep apart."""

FURTHER_POSES = 50
"""Poses about which a task in joint space is tried after home and the middle of the limits."""

SPACE_REMEDY = "give a smaller clearance, or let links touch (design.constraints)"
"""Remedy where links cannot keep apart."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class JointPath:
    """A path in joint space over the phase from 0 to 2 pi, closed or open."""

    joint_names: tuple[str, ...]
    task: str
    """Name of the shape: ``circle``, ``joint-ellipse``, ..."""
    points: Float2D
    """Positions at equal steps of the phase, both ends included, shape (M, n)."""
    singularity_index: Float1D
    """Singularity index at the points, shape (M,); infinite in a singularity."""

    def __post_init__(self) -> None:
        freeze(self, (None, len(self.joint_names)), "points")
        index = np.array(self.singularity_index, dtype=float)  # it may be infinite
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
    """One lap of a path, or one way along an open one, from rest to rest.

    The phase speeds up over `ramp` seconds, runs evenly, and slows down.
    """

    path: JointPath
    duration: float
    """Time of the lap [s]."""
    ramp: float = 1.0
    """Time of speeding up, and of slowing down [s]."""
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
        """Return the reference at times `t`; the chain rule through the phase is exact."""
        t = np.asarray(t, dtype=float)
        T, r = self.duration, self.ramp
        even = 2.0 * np.pi / (T - r)

        def ramped(u: Float1D) -> tuple[Float1D, Float1D, Float1D]:
            """Return phase and two derivatives on a ramp, whose rate follows the unit quintic."""
            s = np.clip(u / r, 0.0, 1.0)
            area = even * r * s**4 * (2.5 - 3.0 * s + s**2)
            return (
                area,
                even * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
                even * 30.0 * s**2 * (1.0 - s) ** 2 / r,
            )

        area, rate, change = ramped(t)
        back, back_rate, back_change = ramped(T - t)
        late = t > T - r
        phase = np.where(t <= r, area, even * (t - 0.5 * r))
        phase = np.clip(np.where(late, 2.0 * np.pi - back, phase), 0.0, 2.0 * np.pi)
        rate, change = np.where(late, back_rate, rate), np.where(late, -back_change, change)
        by_phase = [self._spline(phase, nu) for nu in (0, 1, 2)]
        rate, change = rate[:, None], change[:, None]
        return Reference(
            q=by_phase[0], dq=by_phase[1] * rate, ddq=by_phase[2] * rate**2 + by_phase[1] * change
        )


@dataclass(frozen=True, slots=True, eq=False)
class TimedPath:
    """A path whose phase is the time: at rest at both ends, in between as fast as it was given."""

    path: JointPath
    """Its points are at equal steps of the time."""
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
        """Return the reference at times `t`; before and after the motion the robot rests."""
        times = np.asarray(t, dtype=float)
        inside = ((times > 0.0) & (times < self.duration))[:, None]
        q, dq, ddq = (self._spline(np.clip(times, 0.0, self.duration), nu) for nu in (0, 1, 2))
        return Reference(q=q, dq=np.where(inside, dq, 0.0), ddq=np.where(inside, ddq, 0.0))


def joint_space_path(robot: Robot, task: str, points: Float2D) -> JointPath:
    """Return a path through joint positions, shape (N, n), with the singularity index along it."""
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
    keeps: Keeps | None = None,
) -> JointPath:
    """Return a path along which the tip draws a shape, or the joints swing through its analog.

    With six joints or more the orientation is held, and a redundant arm keeps near the middle of
    its ranges; with fewer, only the position of the tip counts. Without a center, the home pose and
    random configurations are tried as centers, the best conditioned first, until the path is within
    the limits and has a singularity index below LARGEST_INDEX all along; with one, it may reach
    NEAR_SINGULAR if need be. Where nothing is asked for and no place fits, the joints swing.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    shape : PlaneShape
        What to draw.
    center : tuple of float, optional
        Center in the root frame [m]; by default it is searched.
    plane : str, optional
        Plane of the root frame: ``xy``, ``yz`` or ``xz``; by default any, or that of a planar arm.
    size : float, optional
        Size of the shape [m]; by default 15, 10 or 5 % of the reach, whichever works.
    keeps : callable, optional
        Whether links keep apart along positions of shape (N, n); by default they need not.

    Returns
    -------
    path : JointPath
        With the singularity index along it.

    Raises
    ------
    PathError
        If a center, plane or size is given and no shape of it works, or nothing keeps links apart.
    """
    solution = place(robot, shape, center, plane, size, keeps)
    if solution is not None:
        return JointPath(robot.joint_names, shape.name, solution.q, solution.singularity_index)
    swing = shape.swing(np.linspace(0.0, 2.0 * np.pi, MIN_POINTS), robot.dof)
    wide = JOINT_SWING * robot.limits.half_range * swing
    # Poses within the limits, always the same for a robot.
    random = np.random.default_rng(0).uniform(-1.0, 1.0, (FURTHER_POSES, robot.dof))
    further = robot.limits.middle + random * robot.limits.half_range
    for middle, share in product((robot.limits.middle, robot.home, *further), SWING_SHARES):
        points = middle + share * wide
        inside = beyond_limits(robot, points.min(axis=0)) or beyond_limits(
            robot, points.max(axis=0)
        )
        if inside is None and (keeps is None or keeps(points)):
            return joint_space_path(robot, shape.joint_name, points)
    raise PathError(
        f"'{robot.name}' has no place for a {shape.name}: {CONTACT_MESSAGE}; {SPACE_REMEDY}"
    )


def make_tracking_path(robot: Robot, radius: float | None = None) -> JointPath:
    """Return the path of the default study: a circle of the tip, or an ellipse of the joints.

    See `shape_path` for how it is placed.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    radius : float, optional
        Radius [m]; by default 15, 10 or 5 % of the reach, whichever works.

    Returns
    -------
    path : JointPath
        The path of the tip and of the joints.

    Raises
    ------
    PathError
        If a radius is given and no circle of it works.
    """
    return shape_path(robot, CIRCLE_SHAPE, size=radius)


def fastest_lap(robot: Robot, path: JointPath, share: float, longest: float) -> Lap:
    """Return the shortest lap within a share of velocity, acceleration and torque limits.

    Where gravity alone takes more than the share of a torque limit, that limit does not count.

    Parameters
    ----------
    robot : Robot
        Whose limits count.
    path : JointPath
        The path.
    share : float
        Share of the limits.
    longest : float
        Time that is returned if even that is too fast [s].

    Returns
    -------
    lap : Lap
        The timed path.
    """
    still = joint_torque(robot, path.points, 0.0 * path.points, 0.0 * path.points)
    counts = np.abs(still).max(axis=0) < share * robot.limits.effort

    def use(duration: float) -> float:
        lap = Lap(path, duration)
        reference = lap(np.linspace(0.0, duration, 400))
        tau = np.abs(joint_torque(robot, reference.q, reference.dq, reference.ddq))
        limits = robot.limits
        return max(
            float((np.abs(reference.dq) / limits.velocity).max()),
            float((np.abs(reference.ddq) / limits.acceleration).max()),
            float((tau / limits.effort)[:, counts].max(initial=0.0)),
        )

    low, high = 2.5, longest
    if use(low) <= share:
        return Lap(path, low)
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if use(middle) <= share else (middle, high)
    return Lap(path, round(float(np.ceil(high * 100.0)) / 100.0, 2))
