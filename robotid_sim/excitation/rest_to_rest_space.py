"""Runs from a rest pose back to it that keep the limits."""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.space import JointSpace, LinearGrid
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.homing import HomedTrajectory, approached
from robotid_sim.trajectory.motion_basis import MotionBasis
from robotid_sim.trajectory.rest_to_rest import RestToRest

LEAST_SWING = 1e-3
"""Share of the position range below which a motion is none."""


@dataclass(frozen=True, slots=True, eq=False)
class RestToRestSpace(JointSpace):
    """All runs of one basis for one robot.

    Per joint the coordinates are the rest pose from the middle of the position range, over half of
    it, and the coefficients, each over the largest with which its function alone keeps the limits.
    """

    robot: Robot
    basis: MotionBasis
    periods: int = 1
    margin: float = 1.0
    """Share of the limits that is used."""
    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3], or None."""
    home: tuple[float, ...] | None = None
    """Where the approach starts [rad or m]; None for the home pose of the robot."""
    unit: Float2D = field(init=False)
    """Units of the coordinates, shape (d, n)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", self._units())

    def on_grid(self, samples: int) -> LinearGrid:
        """Return the map to the motion at `samples` equidistant times of one run."""
        t = np.arange(samples) * self.basis.duration / samples
        q, dq, ddq = (self.basis.derivative(t, order) for order in (0, 1, 2))
        return LinearGrid(q, dq, ddq, self.robot.limits.middle, self.unit)

    def trajectory(self, x: Float1D) -> HomedTrajectory:
        """Return the runs with the given coordinates, with their approach from home.

        Raises
        ------
        InfeasibleError
            If home, or the rest pose, is outside the limits.
        """
        C = x.reshape(self.unit.shape[::-1]).T * self.unit
        C[0] += self.robot.limits.middle
        run = RestToRest(self.robot.joint_names, self.basis, C, self.periods)
        return approached(self.robot, run, self.home)

    def coordinates(self, trajectory: HomedTrajectory | RestToRest) -> Float1D:
        """Return the coordinates of runs of this space."""
        run = trajectory.motion if isinstance(trajectory, HomedTrajectory) else trajectory
        if not isinstance(run, RestToRest) or run.basis != self.basis:
            raise OptionError(f"the trajectory is no combination of {self.basis}")
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

    def _joint_limits(self) -> list[Float2D]:
        """Return the matrix of the limits of every joint."""
        bounds = [self.basis.bounds(order) for order in range(len(self._limits()))]
        for rows in bounds[1:]:
            rows[:, 0] = 0.0  # not a rounding of it
        return [
            np.vstack([rows / limit[j] for rows, limit in zip(bounds, self._limits(), strict=True)])
            * (self.unit[:, j] / self.margin)
            for j in range(self.robot.dof)
        ]

    def _units(self) -> Float2D:
        """Return the largest coefficient with which each function alone keeps the limits.

        Raises
        ------
        InfeasibleError
            If no function can move a joint by LEAST_SWING of its range.
        """
        limits, tiny = self._limits(), np.finfo(float).tiny
        peaks = [
            np.abs(self.basis.bounds(order))[:, 1:].max(axis=0) for order in range(len(limits))
        ]
        allowed = np.array(
            [
                limit / np.maximum(peak, tiny)[:, None]
                for limit, peak in zip(limits, peaks, strict=True)
            ]
        )
        half = self.robot.limits.half_range
        # By limit and joint: how far the best function goes, over half of the range.
        swings = (allowed * peaks[0][:, None] / half).max(axis=1)
        self._require_swing(swings)
        return np.vstack([half, allowed.min(axis=0)])

    def _require_swing(self, swings: Float2D) -> None:
        least = swings.min(axis=0)
        if least.min() >= LEAST_SWING:
            return
        j = int(least.argmin())
        which = ("position", "velocity", "acceleration", "jerk")[int(swings[:, j].argmin())]
        # The swing that a derivative of order m allows grows with the m-th power of the period.
        powers = [(LEAST_SWING / swing) ** (1.0 / m) for m, swing in enumerate(swings[1:, j], 1)]
        T = self.basis.duration
        raise InfeasibleError(
            f"joint '{self.robot.joint_names[j]}' can swing by {least[j]:.2g} of its range only "
            f"within its {which} limit; raise 'period' from {T:g} s to "
            f"{1.01 * max(powers) * T:.3g} s or more"
        )
