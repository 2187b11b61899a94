"""Columns of a machine's file before they are assigned to joints and quantities.

This module also makes the times of the samples: in seconds, increasing, split at gaps, and on a
uniform grid without extrapolation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.units import UNITS, unit_in, words_of
from robotid_sim.representation import public_value

MAX_EXACT_INTEGER = 2**53
"""Maximum integer; floats represent it and all smaller integers exactly."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class RawLog:
    """Columns of numbers of equal length; missing samples are NaN."""

    columns: Mapping[str, Float1D]
    """Samples by the name of the column in the file, each of shape (N,)."""
    notes: tuple[str, ...] = ()
    """Notes of the reader, one sentence each."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Values of fields of `Log` that the file contains."""
    clocks: tuple[str, ...] = ()
    """Columns that are times in seconds, whatever their name."""

    def __post_init__(self) -> None:
        if not self.columns:
            raise FileFormatError("there are no columns of numbers in it")
        arrays = {name: np.array(column, dtype=float) for name, column in self.columns.items()}
        for array in arrays.values():
            array.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(arrays))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return next(iter(self.columns.values())).size


def log_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> RawLog:
    """Return arrays of equal length as columns; arrays of other lengths are omitted.

    An array (N, k) or (k, N) gives the columns ``name.1`` to ``name.k``. N is the length that most
    columns have. Arrays without real numbers are ignored.
    """
    flat = {name: np.squeeze(a) for name, a in arrays.items() if a.dtype.kind in "biuf"}
    flat = {name: a for name, a in flat.items() if a.ndim in (1, 2) and a.size > 1}
    weights: Counter[int] = Counter()
    for array in flat.values():
        weights[max(array.shape)] += min(array.shape) if array.ndim == 2 else 1
    if not weights:
        raise FileFormatError("there are no columns of numbers in it")
    length = max(weights, key=lambda size: (weights[size], size))
    columns: dict[str, Float1D] = {}
    others = []
    for name, array in flat.items():
        if max(array.shape) != length:
            others.append(name)
        elif array.ndim == 1:
            columns[name] = _floats(array)
        else:
            tall = array if array.shape[0] == length else array.T
            columns |= {f"{name}.{k + 1}": _floats(tall[:, k]) for k in range(tall.shape[1])}
    notes = (f"arrays without {length} samples are omitted: {', '.join(others)}",)
    return RawLog(columns, notes if others else ())


def join_recordings(recordings: Sequence[RawLog], paths: Iterable[Path]) -> RawLog:
    """Return the columns of several files as one recording.

    Equal time stamps with one name in several files are kept once; any other column with such a
    name gets the stem of its file as a prefix. Raises `FileFormatError` if the files differ in
    length.
    """
    stems = [path.name.partition(".")[0] for path in paths]
    sizes = {stem: r.samples for stem, r in zip(stems, recordings, strict=True)}
    if len(set(sizes.values())) > 1:
        text = ", ".join(f"{stem} {size}" for stem, size in sizes.items())
        raise FileFormatError(
            f"the files are not columns of one log: their samples are {text}; import them "
            f"separately"
        )
    columns: dict[str, Float1D] = {}
    for stem, recording in zip(stems, recordings, strict=True):
        for name, column in recording.columns.items():
            sharing = [r.columns[name] for r in recordings if name in r.columns]
            steps = np.diff(column)  # steps of stamps, which files may round
            tolerance = (
                STAMP_TOLERANCE * float(np.median(steps))
                if steps.size and (steps > 0.0).all()
                else 0.0
            )
            same = all(np.allclose(column, other, rtol=0.0, atol=tolerance) for other in sharing)
            keeps_name = len(sharing) == 1 or (same and tolerance > 0.0)
            columns[name if keeps_name else f"{stem}.{name}"] = column
    clocks = tuple(dict.fromkeys(name for r in recordings for name in r.clocks if name in columns))
    return RawLog(columns, tuple(note for r in recordings for note in r.notes), clocks=clocks)


def join_stamps(recording: RawLog) -> RawLog:
    """Join stamps in two columns, seconds and fractions, as in ROS."""
    names = {name: words_of(name) for name in recording.columns}
    for name, words in names.items():
        seconds = recording.columns[name]
        if not words or unit_in(words[-1], "time") != "s" or not _are_whole(seconds, np.inf):
            continue
        for other, other_words in names.items():
            is_pair = other_words and other_words[:-1] == words[:-1]
            unit = unit_in(other_words[-1], "time") if is_pair else None
            if unit in (None, "s"):
                continue
            fraction = recording.columns[other]
            if _are_whole(fraction, 1.0 / UNITS["time"][unit]):
                stem = ".".join(words[:-1]) or "time"
                stem = stem if stem not in recording.columns else f"{stem} joined"
                first = float(np.nanmin(seconds))  # subtracted before the sum, which would round
                stamps = (seconds - first) + fraction * UNITS["time"][unit]
                stamps = stamps - np.nanmin(stamps) if first > MIN_CLOCK_TIME else stamps + first
                remaining = {k: c for k, c in recording.columns.items() if k not in (name, other)}
                note = f"time: '{name}' and '{other}' are one stamp; the first is {first:.0f} s"
                return replace(
                    recording,
                    columns={stem: stamps, **remaining},
                    notes=(*recording.notes, note),
                    clocks=(stem, *recording.clocks),
                )
    return recording


def _are_whole(column: Float1D, limit: float) -> bool:
    """Return whether a column has only whole numbers from zero to `limit`."""
    values = column[np.isfinite(column)]
    within = (values >= 0.0) & (values < limit) & (values == np.floor(values))
    return bool(values.size and within.all())


def _floats(array: NDArray[Any]) -> Float1D:
    """Return integers as floats; large ones, such as stamps in ns, count from the first."""
    if array.dtype.kind in "iu" and array.size and int(array.max()) > MAX_EXACT_INTEGER:
        array = array - array[0]
    return array.astype(float)


MIN_CLOCK_TIME = 1e6
"""Minimum first stamp of a clock whose time counts from an epoch [s]."""

MIN_SPLIT_STEPS = 5.0
MIN_SPLIT_GAP = 0.05  # [s]
"""A gap splits a log if it is longer than both this number of median steps and this time."""

STAMP_TOLERANCE = 0.1
"""Maximum difference of equal stamps in two files, over the median step."""

MIN_STEP_RATIO = 0.1
"""Step, over the median step, below which a sample counts as a copy of the previous sample."""


class Segment(NamedTuple):
    """Samples without a gap, as a range of rows."""

    start: int
    stop: int

    def text(self, t: Float1D) -> str:
        """Return the interval of the samples as text."""
        return f"{t[self.start]:.6g} to {t[self.stop - 1]:.6g} s"


def seconds(recording: RawLog, mapping: ImportMap) -> Float1D:
    """Return the times of all samples [s]; times since an epoch are counted from the first one."""
    if mapping.time is None:
        return np.arange(recording.samples) / (mapping.rate or 1.0)
    column = recording.columns[mapping.time]
    scale = UNITS["time"][mapping.time_unit or "s"]
    finite = column[np.isfinite(column)]
    if finite.size and abs(finite[0]) * scale > MIN_CLOCK_TIME:
        column = column - finite[0]  # subtracted before the scaling, which would round
    # Stamps in decimal units are divided: 3 ms is 3 / 1000 s, and 3 * 0.001 s is another float.
    return column if scale == 1.0 else column / round(1.0 / scale)


def select_ordered_rows(t: Float1D) -> tuple[Bool1D, list[str]]:
    """Return the rows with a new time, and notes on the others.

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
    median_step = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 0.0
    if median_step == 0.0:
        raise LogError("the time is the same in all samples; choose another time column in a map")
    keep = np.ones(t.size, dtype=bool)
    last = t[0]
    for k in (np.flatnonzero(steps < MIN_STEP_RATIO * median_step) + 1).tolist():
        last = t[k - 1] if keep[k - 1] else last
        keep[k] = t[k] - last >= MIN_STEP_RATIO * median_step
    dropped = int(np.count_nonzero(~keep))
    if 2 * dropped > t.size:
        raise LogError(
            f"{dropped} of {t.size} samples repeat the previous time; choose another time column "
            "in a map, or give rate = ... [Hz]"
        )
    note = f"{dropped} samples with the time of the sample before are dropped"
    return keep, [note] if dropped else []


def segments(t: Float1D, windows: tuple[tuple[float, float], ...]) -> list[Segment]:
    """Return the parts of a log without gaps, and within the windows, if there are any.

    Raises `LogError` if no sample is within the windows.
    """
    median_step = float(np.median(np.diff(t)))
    longest = max(MIN_SPLIT_STEPS * median_step, MIN_SPLIT_GAP)
    cuts = [0, *(np.flatnonzero(np.diff(t) > longest) + 1).tolist(), t.size]
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

    The step is the mean step, where a longer one counts as several median steps: stamps in whole ms
    of a clock of 300 Hz have a median step of 3 ms, and a mean one of 3.33 ms.
    """
    steps = np.diff(t)
    intervals = int(np.rint(steps / np.median(steps)).clip(1).sum())
    return np.linspace(t[0], t[-1], intervals + 1)


def interpolate_spline(grid: Float1D, t: Float1D, x: Float2D) -> Float2D:
    """Interpolate samples at other times by a cubic spline, for positions and velocities."""
    return np.asarray(CubicSpline(t, x, axis=0)(grid))


def nearest_times(grid: Float1D, t: Float1D) -> Float1D:
    """Return the stamp nearest to each time of a grid, or the time itself if none is near."""
    k = np.searchsorted(t, grid).clip(1, t.size - 1)
    nearest = np.where(grid - t[k - 1] <= t[k] - grid, t[k - 1], t[k])
    return np.where(np.abs(nearest - grid) <= grid[1] - grid[0], nearest, grid)
