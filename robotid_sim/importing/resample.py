"""From stamps as they came to a uniform time grid, without extrapolation."""

import numpy as np
from scipy.interpolate import CubicSpline

from robotid_sim.arrays import Float1D, Float2D


def uniform_grid(t: Float1D) -> Float1D:
    """Return uniform times from the first to the last one.

    The step is the mean of those between usual neighbors: stamps in whole ms of a clock of 300 Hz
    have a median step of 3 ms, and a mean one of 3.33 ms.
    """
    steps = np.diff(t)
    intervals = int(np.rint(steps / np.median(steps)).clip(1).sum())
    return np.linspace(t[0], t[-1], intervals + 1)


def smooth_at(grid: Float1D, t: Float1D, x: Float2D) -> Float2D:
    """Return a cubic spline through samples at other times, for positions and velocities."""
    return np.asarray(CubicSpline(t, x, axis=0)(grid))


def nearest_times(grid: Float1D, t: Float1D) -> Float1D:
    """Return the stamp next to each time of a grid; where none is within a step, that time."""
    after = np.searchsorted(t, grid).clip(1, t.size - 1)
    near = np.where(grid - t[after - 1] <= t[after] - grid, t[after - 1], t[after])
    return np.where(np.abs(near - grid) <= grid[1] - grid[0], near, grid)


def linear_at(grid: Float1D, t: Float1D, x: Float2D) -> Float2D:
    """Return straight lines between samples at other times, for torques, which may jump."""
    return np.column_stack([np.interp(grid, t, column) for column in x.T])
