"""The families of rest-to-rest excitations, by their options."""

from abc import abstractmethod
from dataclasses import dataclass

from robotid_sim.errors import OptionError
from robotid_sim.excitation.rest_to_rest_space import RestToRestSpace
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.motion_basis import (
    BSplineBasis,
    FourierQuinticBasis,
    MotionBasis,
    QuinticBasis,
)


@dataclass(frozen=True, kw_only=True)
class RestToRestOptions(ExcitationFamily):
    """What all families of runs from rest to rest have in common."""

    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3]; None for no limit."""
    home: tuple[float, ...] | None = None
    """Where the approach starts [rad or m]; None for the home pose of the robot."""

    @abstractmethod
    def basis(self) -> MotionBasis:
        """Return the functions of time of which a run is a combination."""

    def space(self, robot: Robot) -> RestToRestSpace:
        """Return the space of the family for a robot.

        Raises
        ------
        InfeasibleError
            If the period is too short for a joint to move within its limits.
        """
        return RestToRestSpace(robot, self.basis(), self.periods, self.margin, self.jerk, self.home)


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
        return FourierQuinticBasis(self.period, _at_least("harmonics", self.harmonics))


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
        return BSplineBasis(self.period, _at_least("points", self.points))


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
        return QuinticBasis(self.period, _at_least("poses", self.poses))


def _at_least(name: str, count: int) -> int:
    """Return a number of functions that is at least one.

    Raises
    ------
    OptionError
        If it is less.
    """
    if count < 1:
        raise OptionError(f"design option '{name}' must be at least 1, got {count}")
    return count
