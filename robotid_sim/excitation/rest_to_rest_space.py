"""The families of motions from a rest pose back to it: spaces and options."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.space import ExcitationFamily, JointSpace, LinearGrid
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.homing import HomedTrajectory, add_approach
from robotid_sim.trajectory.motion_basis import (
    BSplineBasis,
    FourierQuinticBasis,
    MotionBasis,
    QuinticBasis,
    RestToRest,
)

MIN_SWING_SHARE = 1e-3
"""Swing of a joint, over half of its position range, below which the period is too short."""


@dataclass(frozen=True, slots=True, eq=False)
class RestToRestSpace(JointSpace):
    """All rest-to-rest motions of one basis for one robot.

    The coordinates of a joint are its rest position, minus the middle of the position range and
    over half of the width, and the coefficients, each over the largest value with which its
    function alone stays within the limits.
    """

    robot: Robot
    basis: MotionBasis
    periods: int = 1
    limit_share: float = 1.0
    """Share of the limits that motions may use."""
    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3], or None."""
    home: tuple[float, ...] | None = None
    """Where the approach starts [rad or m]; None for the home pose of the robot."""
    unit: Float2D = field(init=False)
    """Units of the coordinates, shape (d, n)."""

    def __post_init__(self) -> None:
        limits, tiny = self._limits(), np.finfo(float).tiny
        peaks = [np.abs(self.basis.bounds(m))[:, 1:].max(axis=0) for m in range(len(limits))]
        # The largest coefficient with which each function alone keeps each limit.
        allowed = np.array(
            [
                limit / np.maximum(peak, tiny)[:, None]
                for limit, peak in zip(limits, peaks, strict=True)
            ]
        )
        half = self.robot.limits.half_range
        # By limit and joint: largest swing by one function, over half of the range.
        swings = (allowed * peaks[0][:, None] / half).max(axis=1)
        least, T = swings.min(axis=0), self.basis.duration
        if least.min() < MIN_SWING_SHARE:
            j = int(least.argmin())
            which = ("position", "velocity", "acceleration", "jerk")[int(swings[:, j].argmin())]
            # The swing that a derivative of order m allows grows with the m-th power of the period.
            powers = [
                (MIN_SWING_SHARE / swing) ** (1.0 / m) for m, swing in enumerate(swings[1:, j], 1)
            ]
            raise InfeasibleError(
                f"joint '{self.robot.joint_names[j]}' can swing by {least[j]:.2g} of its range "
                f"at most within its {which} limit; raise 'period' from {T:g} s to "
                f"{1.01 * max(powers) * T:.3g} s or more"
            )
        object.__setattr__(self, "unit", np.vstack([half, allowed.min(axis=0)]))

    def make_grid(self, samples: int) -> LinearGrid:
        """Return the map to the motion at `samples` equidistant times of one motion."""
        t = np.arange(samples) * self.basis.duration / samples
        q, dq, ddq = (self.basis.derivative(t, order) for order in (0, 1, 2))
        return LinearGrid(q, dq, ddq, self.robot.limits.middle, self.unit)

    def trajectory(self, x: Float1D) -> HomedTrajectory:
        """Return the motion with the given coordinates, repeated, with its approach from home.

        Raises `InfeasibleError` if home, or the rest pose, is outside the limits.
        """
        C = x.reshape(self.unit.shape[::-1]).T * self.unit
        C[0] += self.robot.limits.middle
        run = RestToRest(self.robot.joint_names, self.basis, C, self.periods)
        return add_approach(self.robot, run, self.home)

    def coordinates(self, trajectory: HomedTrajectory | RestToRest) -> Float1D:
        """Return the coordinates of a motion of this space."""
        run = trajectory.motion if isinstance(trajectory, HomedTrajectory) else trajectory
        if not isinstance(run, RestToRest) or run.basis != self.basis:
            raise OptionError(f"the trajectory is not a combination of {self.basis}")
        C = np.array(run.coefficients)
        C[0] -= self.robot.limits.middle
        return np.asarray((C / self.unit).T.ravel())

    def _limits(self) -> list[Float1D]:
        """Return the limits of position about its middle and of its derivatives, each (n,)."""
        limits = self.robot.limits
        all_limits = [limits.half_range, limits.velocity, limits.acceleration]
        if self.jerk is not None:
            all_limits.append(np.full(self.robot.dof, self.jerk))
        return all_limits

    def _limit_share_matrices(self) -> list[Float2D]:
        """Return the matrix from coordinates to shares of the limits, for every joint."""
        bounds = [self.basis.bounds(order) for order in range(len(self._limits()))]
        for rows in bounds[1:]:
            rows[:, 0] = 0.0  # derivatives of the rest position, without rounding errors
        return [
            np.vstack([rows / limit[j] for rows, limit in zip(bounds, self._limits(), strict=True)])
            * (self.unit[:, j] / self.limit_share)
            for j in range(self.robot.dof)
        ]


@document_attributes
@dataclass(frozen=True, kw_only=True)
class RestToRestOptions(ExcitationFamily):
    """Options that all families of rest-to-rest motions have in common."""

    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3]; None for no limit."""
    home: tuple[float, ...] | None = None
    """Where the approach starts [rad or m]; None for the home pose of the robot."""

    @abstractmethod
    def basis(self) -> MotionBasis:
        """Return the functions of time of which a motion is a combination."""

    def space(self, robot: Robot) -> RestToRestSpace:
        """Return the space of the family for a robot.

        Raises `InfeasibleError` if the period is too short for a joint to move within its limits.
        """
        return RestToRestSpace(robot, self.basis(), self.periods, self.margin, self.jerk, self.home)


@document_attributes
@dataclass(frozen=True, kw_only=True)
class FourierQuinticOptions(RestToRestOptions):
    """Fourier series with free coefficients, and a quintic that brings it to rest at both ends.

    References
    ----------
    .. [1] Wu, Zhu, Wang, Liu (2012), "Closed-loop dynamic parameter identification of robot
       manipulators using modified Fourier series", Int. J. Advanced Robotic Systems,
       doi:10.5772/45818.
    """

    harmonics: int = 5
    """Number of harmonics."""

    def basis(self) -> FourierQuinticBasis:
        """See `RestToRestOptions.basis`."""
        return FourierQuinticBasis(self.period, _require_positive("harmonics", self.harmonics))


@document_attributes
@dataclass(frozen=True, kw_only=True)
class BSplineOptions(RestToRestOptions):
    """Cubic B-splines, clamped to rest at both ends; the jerk jumps at the knots.

    References
    ----------
    .. [1] Rackl, Lampariello, Hirzinger (2012), "Robot excitation trajectories for dynamic
       parameter identification using optimized B-splines", IEEE ICRA,
       doi:10.1109/ICRA.2012.6225279.
    """

    points: int = 10
    """Number of free control points."""

    def basis(self) -> BSplineBasis:
        """See `RestToRestOptions.basis`."""
        return BSplineBasis(self.period, _require_positive("points", self.points))


@document_attributes
@dataclass(frozen=True, kw_only=True)
class QuinticOptions(RestToRestOptions):
    """Quintics through free poses, at rest in each.

    References
    ----------
    .. [1] Gautier, Khalil (1992), "Exciting trajectories for the identification of base inertial
       parameters of robots", Int. J. Robotics Research, doi:10.1177/027836499201100408.
    """

    poses: int = 7
    """Number of free poses between start and end."""

    def basis(self) -> QuinticBasis:
        """See `RestToRestOptions.basis`."""
        return QuinticBasis(self.period, _require_positive("poses", self.poses))


def _require_positive(name: str, count: int) -> int:
    """Return a number of functions; raise unless it is at least one."""
    if count < 1:
        raise OptionError(f"design option '{name}' must be at least 1, got {count}")
    return count
