"""The times of samples: in seconds, in order, and where they stop."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.errors import LogError
from robotid_sim.importing.foreign_log import ForeignLog
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.units import UNITS

CLOCK = 1e6
"""First stamp from which time is that of a clock and not of the log [s]."""

GAP = 5.0
"""Steps without a sample that split a log, in usual steps."""

CLOSE = 0.1
"""Step within which a sample is taken for a copy of the one before, in usual steps."""


class Segment(NamedTuple):
    """Samples without a gap, as a range of rows."""

    start: int
    stop: int

    def text(self, t: Float1D) -> str:
        """Return from when to when the samples are."""
        return f"{t[self.start]:.6g} to {t[self.stop - 1]:.6g} s"


def seconds(recording: ForeignLog, mapping: ImportMap) -> Float1D:
    """Return the times of all samples [s]; those of a clock count from the first one."""
    if mapping.time is None:
        return np.arange(recording.samples) / (mapping.rate or 1.0)
    column = recording.columns[mapping.time]
    scale = UNITS["time"][mapping.time_unit or "s"]
    finite = column[np.isfinite(column)]
    if finite.size and abs(finite[0]) * scale > CLOCK:
        column = column - finite[0]  # before the scaling, which would round
    # Stamps in decimal units are divided: 3 ms is 3 / 1000 s, and 3 * 0.001 s is another float.
    return column if scale == 1.0 else column / round(1.0 / scale)


def ordered(t: Float1D) -> tuple[Bool1D, list[str]]:
    """Return which rows have a new time, and what is said of the others.

    Raises `LogError` if time goes back.
    """
    steps = np.diff(t)
    back = np.flatnonzero(steps < 0.0)
    if back.size:
        k = int(back[0]) + 1
        raise LogError(
            f"time goes back at sample {k + 1}, from {t[k - 1]:.9g} to {t[k]:.9g} s; import the "
            "parts as logs of their own, or repair the stamps"
        )
    usual = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 0.0
    if usual == 0.0:
        raise LogError("the time is the same in all samples; choose another time column in a map")
    keep = np.ones(t.size, dtype=bool)
    last = t[0]
    for k in (np.flatnonzero(steps < CLOSE * usual) + 1).tolist():
        last = t[k - 1] if keep[k - 1] else last
        keep[k] = t[k] - last >= CLOSE * usual
    dropped = int(np.count_nonzero(~keep))
    note = f"{dropped} samples with the time of the sample before are dropped"
    return keep, [note] if dropped else []


def segments(t: Float1D, windows: tuple[tuple[float, float], ...]) -> list[Segment]:
    """Return the parts of a log without gaps, and within the windows, if there are any.

    Raises `LogError` if no sample is within the windows.
    """
    usual = float(np.median(np.diff(t)))
    cuts = [0, *(np.flatnonzero(np.diff(t) > GAP * usual) + 1).tolist(), t.size]
    parts = [Segment(a, b) for a, b in pairwise(cuts)]
    if not windows:
        return parts
    inside = [
        Segment(max(part.start, int(first)), min(part.stop, int(last)))
        for start, stop in windows
        for first, last in [np.searchsorted(t, [start, stop + 1e-9])]
        for part in parts
    ]
    inside = [part for part in inside if part.start < part.stop]
    if not inside:
        raise LogError(
            f"no sample is in the windows of the map; the log is {t[0]:g} to {t[-1]:g} s"
        )
    return inside


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
