"""Closed-loop tasks: a path in joint space, driven at a chosen lap time with smooth ends."""

from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from robotid_sim.arrays import Float1D, Float2D, readonly
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.inverse_kinematics import singularity_index, solve_path
from robotid_sim.dynamics.kinematics import tip_pose
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Reference

POINTS = 121
"""Poses that a circle is solved at; between them a quintic spline."""

LARGEST_INDEX = 100.0
"""Largest singularity index along a circle."""

CENTRES = 40
"""Random configurations that a circle is tried around, beside the home pose."""

RADII = (0.15, 0.10, 0.05)
"""Radii tried, over the reach of the arm."""


@dataclass(frozen=True, slots=True, eq=False)
class JointPath:
    """A closed path in joint space, over the phase from 0 to 2 pi."""

    joint_names: tuple[str, ...]
    task: str
    """``circle`` or ``joint-ellipse``."""
    points: Float2D
    """Positions at equal steps of the phase, both ends included, shape (M, n)."""

    def __post_init__(self) -> None:
        shape = (None, len(self.joint_names))
        object.__setattr__(self, "points", readonly(self.points, shape=shape, name="points"))


@dataclass(frozen=True, slots=True, eq=False)
class Lap:
    """One lap of a path: the phase speeds up over `ramp` seconds, runs evenly, and slows down."""

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
        phase = np.linspace(0.0, 2.0 * np.pi, len(self.path.points))
        object.__setattr__(self, "_spline", make_interp_spline(phase, self.path.points, k=5))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return self.path.joint_names

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t`; the chain rule through the phase is exact."""
        phase, rate, change = self._phase(np.asarray(t, dtype=float))
        by_phase = [self._spline(phase, nu) for nu in (0, 1, 2)]
        rate, change = rate[:, None], change[:, None]
        return Reference(
            q=by_phase[0],
            dq=by_phase[1] * rate,
            ddq=by_phase[2] * rate**2 + by_phase[1] * change,
        )

    def _phase(self, t: Float1D) -> tuple[Float1D, Float1D, Float1D]:
        """Return phase and its two derivatives; the rate follows the unit quintic on the ramps."""
        T, r = self.duration, self.ramp
        even = 2.0 * np.pi / (T - r)

        def ramped(u: Float1D) -> tuple[Float1D, Float1D, Float1D]:
            s = np.clip(u / r, 0.0, 1.0)
            area = even * r * s**4 * (2.5 - 3.0 * s + s**2)
            return (
                area,
                even * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
                even * 30.0 * s**2 * (1.0 - s) ** 2 / r,
            )

        area, rate, change = ramped(t)
        phase = np.where(t <= r, area, even * (t - 0.5 * r))
        back, back_rate, back_change = ramped(T - t)
        late = t > T - r
        return (
            np.clip(np.where(late, 2.0 * np.pi - back, phase), 0.0, 2.0 * np.pi),
            np.where(late, back_rate, rate),
            np.where(late, -back_change, change),
        )


def tracking_path(robot: Robot, radius: float | None = None) -> JointPath:
    """Return the path of the closed-loop task: a circle of the tip, or an ellipse of the joints.

    A circle needs six joints at least; its orientation is held, and a redundant arm keeps near the
    middle of its ranges. Centres are the home pose and random configurations, the best conditioned
    first; planes are those of the root frame. Where no circle is within the limits and has a
    singularity index below LARGEST_INDEX all along, the joints run through an ellipse instead. The
    choice depends on kinematics and limits alone.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    radius : float, optional
        Radius of the circle [m]; by default 15, 10 or 5 % of the reach, whichever works.

    Raises
    ------
    OptionError
        If a radius is given and no circle of it works.
    """
    radii = [share * _reach(robot) for share in RADII] if radius is None else [radius]
    if robot.dof >= 6:
        for q in _centres(robot):
            for size in radii:
                points = _circle(robot, q, size)
                if points is not None:
                    return JointPath(robot.joint_names, "circle", points)
    if radius is not None:
        raise OptionError(
            f"'{robot.name}' reaches no circle of radius {radius:g} m with its orientation held, "
            f"within its limits and with a singularity index below {LARGEST_INDEX:g}; choose a "
            "smaller radius or leave it to the study"
        )
    phase = np.linspace(0.0, 2.0 * np.pi, POINTS)[:, None]
    swing = np.cos(phase + np.pi / 3.0 * np.arange(robot.dof))
    points = robot.limits.middle + 0.25 * robot.limits.half_range * swing
    return JointPath(robot.joint_names, "joint-ellipse", points)


def fastest_lap(robot: Robot, path: JointPath, share: float, longest: float) -> Lap:
    """Return the shortest lap within a share of velocity, acceleration and torque limits.

    Where gravity alone takes more than the share of a torque limit, that limit does not count.

    Parameters
    ----------
    robot : Robot
        Model that gives limits and torques.
    path : JointPath
        The path.
    share : float
        Share of the limits.
    longest : float
        Longest time [s]; returned if even that is too fast.
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


def _centres(robot: Robot) -> list[Float1D]:
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    limits = robot.limits
    room = 0.6 * np.minimum(limits.half_range, np.pi)
    drawn = limits.middle + room * rng.uniform(-1.0, 1.0, (CENTRES, robot.dof))
    configurations = [robot.home, *drawn]
    return sorted(configurations, key=lambda q: singularity_index(robot, q))


def _reach(robot: Robot) -> float:
    lengths = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints[1:]]
    return sum(lengths) + float(np.linalg.norm(robot.T_last_tip[:3, 3]))


def _circle(robot: Robot, centre: Float1D, radius: float) -> Float2D | None:
    """Return positions along a circle around the tip at `centre`, in the first plane that works."""
    phase = np.linspace(0.0, 2.0 * np.pi, POINTS)
    middle = tip_pose(robot, centre)
    for first, second in ((0, 1), (1, 2), (0, 2)):
        poses = np.repeat(middle[None], POINTS, axis=0)
        poses[:, first, 3] += radius * np.cos(phase)
        poses[:, second, 3] += radius * np.sin(phase)
        points = solve_path(robot, poses, centre)
        if points is None:
            continue
        if max(singularity_index(robot, q) for q in points[::5]) < LARGEST_INDEX:
            return points
    return None
