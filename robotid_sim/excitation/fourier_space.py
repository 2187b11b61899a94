r"""Coordinates of the Fourier series that start from rest, in which kinematic limits are linear.

Per joint the coordinates are the offset from the middle of the position range and 2 H - 2
coefficients of the null space of the rest conditions, all in units of what the limits allow.
Limits hold between the points of a grid too: a trigonometric polynomial p of degree H satisfies

.. math:: \max |p| \le \frac{\max_{\text{grid}} |p|}{\cos(\pi H / M)}

on M equidistant points [1]_.

References
----------
.. [1] Ehlich, Zeller (1964), "Schwankung von Polynomen zwischen Gitterpunkten", Mathematische
   Zeitschrift 86, 41-44.
"""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError
from robotid_sim.excitation.space import ExcitationFamily, JointSpace, LinearGrid
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.fourier import (
    FourierTrajectory,
    fourier_basis,
    fourier_jerk_basis,
    rest_basis,
)
from robotid_sim.trajectory.quintic import APPROACH_SHARE, approach_duration

LIMIT_SAMPLES = 16
"""Grid points per harmonic on which limits are imposed; the tightening is then 2 %."""


@documented
@dataclass(frozen=True, kw_only=True)
class FourierOptions(ExcitationFamily):
    """Finite Fourier series whose coefficients let every period start and end at rest.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, eq. (9).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> rid.FourierOptions(harmonics=3, period=5.0).periods
    3
    """

    harmonics: int = 5
    """Number of harmonics; at least 2."""
    amplitude: float = 1.0
    """Extra scale of the motion about its offsets; below 1 for a robot that must move little."""
    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3]; None for no limit."""

    def __post_init__(self) -> None:
        if self.harmonics < 2 or self.periods < 1:
            raise OptionError("a design needs at least 2 harmonics and 1 period")
        super().__post_init__()

    def space(self, robot: Robot) -> "FourierSpace":
        """Return the space of these series for a robot."""
        return FourierSpace(robot, self)


@dataclass(frozen=True, slots=True, eq=False)
class FourierSpace(JointSpace):
    """All Fourier series of one robot and one choice of options."""

    robot: Robot
    options: FourierOptions
    unit: Float2D = field(init=False)
    """Units of the coordinates, shape (2 H - 1, n)."""

    def __post_init__(self) -> None:
        limits = self.robot.limits
        omega = 2.0 * np.pi / self.options.period
        slope = np.minimum(limits.velocity, omega * limits.half_range)
        count = 2 * self.options.harmonics - 2
        object.__setattr__(self, "unit", np.vstack([limits.half_range, *[slope] * count]))

    def on_grid(self, samples: int) -> LinearGrid:
        """Return the map to the motion at `samples` equidistant times of one period."""
        H, T = self.options.harmonics, self.options.period
        parts = zip((1.0, 0.0, 0.0), fourier_basis(self._times(samples), H, T), strict=True)
        q, dq, ddq = (
            np.hstack([np.full((samples, 1), offset), part @ rest_basis(H)])
            for offset, part in parts
        )
        return LinearGrid(q, dq, ddq, self.robot.limits.middle, self.unit)

    def _joint_limits(self) -> list[Float2D]:
        """Return the matrix of the limits of every joint."""
        H, options, limits = self.options.harmonics, self.options, self.robot.limits
        samples = LIMIT_SAMPLES * H
        grid = self.on_grid(samples)
        share = options.margin * np.cos(np.pi * H / samples)
        bernstein = 2.0 * np.pi / options.period * H  # |p'| <= H omega max |p|
        blocks = []
        for j in range(self.robot.dof):
            swing = options.amplitude * limits.velocity[j]
            rows = [grid.position / limits.half_range[j], grid.velocity / swing]
            if bernstein * limits.velocity[j] > limits.acceleration[j]:
                rows.append(grid.acceleration / (options.amplitude * limits.acceleration[j]))
            if options.amplitude < 1.0:
                centered = grid.position - np.eye(1, len(self.unit))
                rows.append(centered / (options.amplitude * limits.half_range[j]))
            if options.jerk is not None:
                jerk = fourier_jerk_basis(self._times(samples), H, options.period) @ rest_basis(H)
                rows.append(np.hstack([np.zeros((samples, 1)), jerk]) / options.jerk)
            blocks.append(np.vstack(rows) * self.unit[:, j] / share)
        return blocks

    def _times(self, samples: int) -> Float1D:
        return np.asarray(np.arange(samples) * self.options.period / samples)

    def trajectory(self, x: Float1D) -> FourierTrajectory:
        """Return the series with the given coordinates, with its approach from home."""
        X = x.reshape(self.unit.shape[::-1]).T * self.unit
        a, b = np.split((rest_basis(self.options.harmonics) @ X[1:]).T, 2, axis=1)
        return with_approach(self.robot, self.robot.limits.middle + X[0], a, b, self.options)

    def coordinates(self, trajectory: FourierTrajectory) -> Float1D:
        """Return the coordinates of a series."""
        series = np.hstack([trajectory.a, trajectory.b]) @ rest_basis(self.options.harmonics)
        X = np.vstack([trajectory.q0 - self.robot.limits.middle, series.T])
        return np.asarray((X / self.unit).T.ravel())


def with_approach(
    robot: Robot, q0: Float1D, a: Float2D, b: Float2D, options: FourierOptions
) -> FourierTrajectory:
    """Return a Fourier series with an approach from home, before time zero, that is slow enough.

    The middle q0 has shape (n,), coefficients a and b as of `FourierTrajectory` (n, H).
    """
    bare = FourierTrajectory(robot.joint_names, q0, a, b, options.period, options.periods)
    first = bare(np.zeros(1)).q[0]
    lead = approach_duration(robot.limits, robot.home, first, APPROACH_SHARE)
    return FourierTrajectory(
        robot.joint_names, q0, a, b, options.period, options.periods, robot.home, lead
    )
