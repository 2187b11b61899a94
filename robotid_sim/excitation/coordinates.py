"""Coordinates of excitations: where a robot rests, how far a motion may grow, chain rules."""

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.excitation.space import (
    ExcitationGrid,
    ExcitationSpace,
    LinearGrid,
    LinearSpace,
    NonlinearSpace,
)

SHRINKS = 40
SMALLEST_STEP, LARGEST_STEP = 0.6, 0.98
"""A motion of a nonlinear family is shrunk by steps between these, at most so often."""


def resting(space: ExcitationSpace, pose: Float1D, margin: float) -> Float1D:
    """Return the coordinates at which a robot rests in a pose, or as near as its limits admit."""
    x = np.zeros(space.size)
    if isinstance(space, LinearSpace):
        limits = space.robot.limits
        offset = np.clip((pose - limits.middle) / limits.half_range, -margin, margin)
        x.reshape(space.robot.dof, -1)[:, 0] = offset
    return x


def start_rows(space: ExcitationSpace, pose: Float1D) -> tuple[Float2D, Float1D]:
    """Return A and b such that ``A x = b`` lets a run of a linear space start in a pose."""
    grid = space.on_grid(1)
    assert isinstance(grid, LinearGrid)
    d, n = grid.unit.shape
    rows = np.zeros((n, n, d))
    for j in range(n):
        rows[j, j] = grid.position[0] * grid.unit[:, j]
    return rows.reshape(n, n * d), np.asarray(pose - grid.middle)


def largest_motion(space: ExcitationSpace, x: Float1D) -> Float1D:
    """Return x, shrunk toward rest until a nonlinear space's limits hold.

    Rates grow with the motion about as its size, so that a few steps by the use of the limits find
    a size that just keeps them.
    """
    assert isinstance(space, NonlinearSpace)
    size = 1.0
    for _ in range(SHRINKS):
        use = float(space.limit_values(size * x).max())
        if use <= 1.0:
            return np.asarray(size * x)
        size *= min(LARGEST_STEP, max(SMALLEST_STEP, 1.0 / use))
    return np.zeros_like(x)


def chained(grid: ExcitationGrid, x: Float1D, slopes: tuple[Float, Float, Float]) -> Float2D:
    """Return derivatives by the coordinates, (N m, d), from those by the motion, each (N, m, n)."""
    if isinstance(grid, LinearGrid):
        parts = zip(slopes, (grid.position, grid.velocity, grid.acceleration), strict=True)
        by_x = sum(np.einsum("tmj,td->tmjd", slope, part) for slope, part in parts)
        return np.asarray((by_x * grid.unit.T).reshape(-1, x.size))
    parts = zip(slopes, grid.jacobian(x), strict=True)
    total = sum(np.einsum("tmj,tjd->tmd", slope, part) for slope, part in parts)
    return np.asarray(total).reshape(-1, x.size)
