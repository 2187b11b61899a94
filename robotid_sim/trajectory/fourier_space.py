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
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.design import FourierOptions, with_approach
from robotid_sim.trajectory.fourier import FourierTrajectory, fourier_basis, rest_basis
from robotid_sim.trajectory.sensitivity import Motion

LIMIT_SAMPLES = 16
"""Grid points per harmonic on which limits are imposed; the tightening is then 2 %."""


@dataclass(frozen=True, slots=True, eq=False)
class FourierGrid:
    """The linear map from coordinates to the motion on a grid of equidistant times."""

    position: Float2D
    """Shape (N, d), with d coordinates a joint."""
    velocity: Float2D
    acceleration: Float2D
    middle: Float1D
    """Middle of the position range, shape (n,)."""
    unit: Float2D
    """Units of the coordinates, shape (d, n)."""

    def motion(self, x: Float1D) -> Motion:
        """Return position, velocity and acceleration, each of shape (N, n)."""
        X = x.reshape(self.unit.shape[::-1]).T * self.unit
        return self.middle + self.position @ X, self.velocity @ X, self.acceleration @ X

    def pull_back(self, by_q: Float2D, by_dq: Float2D, by_ddq: Float2D) -> Float1D:
        """Return a gradient with respect to the coordinates from that to the motion, (N, n)."""
        X = self.position.T @ by_q + self.velocity.T @ by_dq + self.acceleration.T @ by_ddq
        return np.asarray((X * self.unit).T.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class FourierSpace:
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

    def on_grid(self, samples: int) -> FourierGrid:
        """Return the map to the motion at `samples` equidistant times of one period."""
        H, T = self.options.harmonics, self.options.period
        t = np.arange(samples) * T / samples
        parts = [part @ rest_basis(H) for part in fourier_basis(t, H, T)]
        offset, nothing = np.ones((samples, 1)), np.zeros((samples, 1))
        return FourierGrid(
            position=np.hstack([offset, parts[0]]),
            velocity=np.hstack([nothing, parts[1]]),
            acceleration=np.hstack([nothing, parts[2]]),
            middle=self.robot.limits.middle,
            unit=self.unit,
        )

    def limit_matrix(self) -> Float2D:
        """Return A such that ``|A x| <= 1`` keeps all kinematic limits at all times."""
        H, options, limits = self.options.harmonics, self.options, self.robot.limits
        samples = LIMIT_SAMPLES * H
        grid = self.on_grid(samples)
        share = options.margin * np.cos(np.pi * H / samples)
        bernstein = 2.0 * np.pi / options.period * H  # |p'| <= H omega max |p|
        d, n = self.unit.shape
        blocks = []
        for j in range(n):
            swing = options.amplitude * limits.velocity[j]
            rows = [grid.position / limits.half_range[j], grid.velocity / swing]
            if bernstein * limits.velocity[j] > limits.acceleration[j]:
                rows.append(grid.acceleration / (options.amplitude * limits.acceleration[j]))
            if options.amplitude < 1.0:
                centred = grid.position - np.eye(1, d)
                rows.append(centred / (options.amplitude * limits.half_range[j]))
            block = np.zeros((samples * len(rows), n, d))
            block[:, j] = np.vstack(rows) * self.unit[:, j] / share
            blocks.append(block.reshape(-1, n * d))
        return np.vstack(blocks)

    def trajectory(self, x: Float1D) -> FourierTrajectory:
        """Return the series with the given coordinates, with its approach from home."""
        X = x.reshape(self.unit.shape[::-1]).T * self.unit
        a, b = np.split((rest_basis(self.options.harmonics) @ X[1:]).T, 2, axis=1)
        return with_approach(self.robot, self.robot.limits.middle + X[0], a, b, self.options)

    def coordinates(self, trajectory: FourierTrajectory) -> Float1D:
        """Return the coordinates of a series."""
        series = np.hstack([trajectory.a, trajectory.b]) @ rest_basis(self.options.harmonics)
        offset = trajectory.q0 - self.robot.limits.middle
        X = np.vstack([offset, series.T])
        return np.asarray((X / self.unit).T.ravel())
