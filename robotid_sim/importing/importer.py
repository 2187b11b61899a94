"""Import of a machine log from files in a foreign format: read, match, convert, resample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, linear_at
from robotid_sim.errors import LogError, OptionError, UnknownNameError
from robotid_sim.importing.channels import Channels, add_spring_torques, channels, unwrap_positions
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.match import Match, list_unused_columns, match
from robotid_sim.importing.raw_log import (
    RawLog,
    Segment,
    interpolate_spline,
    nearest_times,
    seconds,
    segments,
    select_ordered_rows,
    uniform_grid,
)
from robotid_sim.importing.readers import read_foreign_log
from robotid_sim.measurement.log import MIN_SAMPLES, Log, not_uniform_after
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

MIN_SEGMENT_TIME = 2.5
"""Minimum length of a part between gaps that becomes a log [s]; filters need margins."""

STEP_COUNT_TOLERANCE = 1e-6
"""Rounding error of a number of steps."""

MIN_LONG_STEP = 0.015
"""Smallest step at which torques keep their own times [s]; see `bench/uneven_stamps.py`."""

MAX_SAMPLE = 1e9
"""Largest plausible sample in SI units; a larger one is a damaged cell."""

CHANNEL_QUANTITIES = {
    **{"q": "position", "dq": "velocity", "tau": "torque"},
    **{"tau_cmd": "command", "current": "current"},
}
"""Quantity of every channel."""

MIN_REPEATED_SHARE = 0.2
"""Smallest share of repeated positions that is reported."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ImportedLog:
    """An imported log and its conversion."""

    log: Log
    """The imported log."""
    mapping: ImportMap
    """The complete map, with inferred columns and units."""
    reasons: Mapping[str, str]
    """Explanation of the matched columns by quantity."""
    notes: tuple[str, ...]
    """Notes on inferred units and names, dropped and resampled samples, one sentence each."""
    unused: tuple[str, ...]
    """Columns that are not in the log."""

    def content(self) -> dict[str, Any]:
        """Return the import as JSON values."""
        log = self.log
        return {
            "samples": log.t.size,
            "start": float(log.t[0]),
            "dt": log.dt,
            "map": self.mapping.model_dump(by_alias=True, exclude_none=True, mode="json"),
            "matched": dict(self.reasons),
            "notes": list(self.notes),
            "unused": list(self.unused),
        }


def import_log(
    paths: Sequence[str | Path],
    robot: Robot,
    mapping: ImportMap | None = None,
    *,
    topic: str | None = None,
    segment: int | None = None,
) -> ImportedLog:
    """Read files of a machine as a log of a robot.

    Parameters
    ----------
    paths : sequence of str or Path
        One file or bag, or several files that hold columns of one log.
    robot : Robot
        Its joints, their order, units and limits.
    mapping : ImportMap, optional
        Known columns; the rest is inferred.
    topic : str, optional
        Topic of a bag with several topics of joint states.
    segment : int, optional
        Number of the part of a log with gaps, from 1; by default the longest part.

    Returns
    -------
    imported : ImportedLog
        The log and its conversion.

    Raises
    ------
    FileFormatError
        If a file cannot be read.
    LogError
        If columns are missing, time goes back, or too few samples are left.
    OptionError
        If the map, the topic or the segment does not fit.
    """
    source = _Source.read(paths, robot, mapping, topic)
    return source.make_logs([source.part(segment)])[0]


def import_segments(
    paths: Sequence[str | Path],
    robot: Robot,
    mapping: ImportMap | None = None,
    *,
    topic: str | None = None,
) -> list[ImportedLog]:
    """Read files of a machine as logs of a robot, one for each part between gaps.

    Parts of less than `MIN_SEGMENT_TIME` are dropped, except the longest. All have the same step.
    Raises as `import_log` does.

    Parameters
    ----------
    paths : sequence of str or Path
        Files of one recording.
    robot : Robot
        The robot of the log.
    mapping : ImportMap, optional
        Columns that their names do not identify.
    topic : str, optional
        Topic of a bag with several topics of joint states.

    Returns
    -------
    logs : list of ImportedLog
        In the order of time.
    """
    source = _Source.read(paths, robot, mapping, topic)
    # The longest segment and all that are long enough for rows of a fit.
    longest = source.part(None)
    long = [p for p in source.parts if p == longest or source.seconds(p) >= MIN_SEGMENT_TIME]
    return source.make_logs(long)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """Complete samples of the files of one recording, in order of time and matched to joints."""

    files: tuple[Path, ...]
    robot: Robot
    recording: RawLog
    matched: Match
    t: Float1D
    samples: Channels
    notes: tuple[str, ...]
    parts: tuple[Segment, ...]

    @classmethod
    def read(
        cls, paths: Sequence[str | Path], robot: Robot, mapping: ImportMap | None, topic: str | None
    ) -> Self:
        files = tuple(Path(path) for path in paths)
        recording = read_foreign_log(list(files), topic)
        try:
            matched = match(recording, robot, mapping)
            t, samples, more = _complete(recording, matched.mapping, robot)
        except (LogError, UnknownNameError) as error:
            appended = f" ({'; '.join(recording.notes)})" if recording.notes else ""
            raise type(error)(f"{', '.join(map(str, files))}: {error}{appended}") from error
        notes = (*recording.notes, *matched.notes, *more)
        parts = tuple(segments(t, matched.mapping.windows))
        return cls(files, robot, recording, matched, t, samples, notes, parts)

    def seconds(self, part: Segment) -> float:
        return float(self.t[part.stop - 1] - self.t[part.start])

    def part(self, segment: int | None) -> Segment:
        """Return the segment with the number `segment`, or the longest if it is None."""
        parts, t = self.parts, self.t
        if segment is None:
            part = max(parts, key=self.seconds)
        elif 1 <= segment <= len(parts):
            part = parts[segment - 1]
        else:
            listed = ", ".join(f"{k}: {p.text(t)}" for k, p in enumerate(parts, start=1))
            raise OptionError(f"there is no segment {segment}; there are {listed}")
        if part.stop - part.start < MIN_SAMPLES:
            raise LogError(
                f"only {part.stop - part.start} samples without a gap, from {part.text(t)}; an "
                "identification needs seconds of data"
            )
        return part

    def make_logs(self, segments: Sequence[Segment]) -> list[ImportedLog]:
        """Convert segments to logs on uniform grids with one common time step."""
        mapping = self.matched.mapping
        # Common step: that of the grid of the longest segment; None if all stamps are uniform.
        times, step, logs = [self.t[part.start : part.stop] for part in segments], None, []
        if any(not_uniform_after(each) is not None for each in times):
            grid = uniform_grid(max(times, key=np.ptp))
            step = float(grid[-1] - grid[0]) / (grid.size - 1)
        segment_notes = []
        if len(self.parts) > 1:
            texts = {p: f"{k} ({p.text(self.t)})" for k, p in enumerate(self.parts, start=1)}
            others = [p for p in self.parts if p not in segments]
            listed, omitted = (
                ", ".join(texts[p] for p in some[:5]) + (", ..." if len(some) > 5 else "")
                for some in (segments, others)
            )
            segment_notes.append(
                f"gaps or windows leave {len(self.parts)} segments; {listed} "
                f"{'is' if len(segments) == 1 else 'are'} taken"
                f"{f', dropped: {omitted}' if others else ''}"
            )
        for part in segments:
            log, more = _log(self, part, step)
            if len(segments) > 1:
                log = replace(log, period=None)  # a part is not a whole motion that repeats
            notes = (*self.notes, *segment_notes, *more)
            provenance = {"imported": [file.name for file in self.files], "notes": list(notes)}
            logs.append(
                ImportedLog(
                    log=replace(log, provenance=provenance).require_plausible_times(),
                    mapping=mapping,
                    reasons=self.matched.reasons,
                    notes=notes,
                    unused=list_unused_columns(self.recording, mapping),
                )
            )
        return logs


def _complete(
    recording: RawLog, mapping: ImportMap, robot: Robot
) -> tuple[Float1D, Channels, list[str]]:
    """Return times and channels of the samples without missing numbers or repeated times."""
    t = seconds(recording, mapping)
    with np.errstate(over="ignore", invalid="ignore"):  # overflows are reported or dropped below
        joined, turns = unwrap_positions(recording, mapping, robot)
        samples, springs = add_spring_torques(channels(joined, mapping, robot), mapping, robot)
    for name, array in samples._asdict().items():
        if array is None or array.ndim < 2:
            continue
        sizes = np.abs(array, where=np.isfinite(array), out=np.zeros_like(array)).max(axis=0)
        j = int(sizes.argmax())
        if sizes[j] > MAX_SAMPLE:
            raise LogError(
                f"{CHANNEL_QUANTITIES[name]} of {robot.joint_names[j]}: a sample is {sizes[j]:.3g} "
                f"in SI "
                "units; correct it, or leave its cell empty"
            )
    arrays = [array for array in samples if array is not None and array.ndim == 2]
    is_complete = np.isfinite(np.column_stack([t, *arrays])).all(axis=1)
    missing = int(np.count_nonzero(~is_complete))
    notes = [
        *turns,
        *springs,
        *([f"{missing} samples with missing numbers are dropped"] * bool(missing)),
    ]
    if np.count_nonzero(is_complete) < MIN_SAMPLES:
        unused = list_unused_columns(recording, mapping)
        values = {
            name: int(np.isfinite(column).sum())
            for name, column in recording.columns.items()
            if name not in unused
        }
        emptiest = min(values, key=values.__getitem__)
        raise LogError(
            f"only {np.count_nonzero(is_complete)} of {t.size} samples have all of time, position "
            f"and torque, for '{emptiest}' has {values[emptiest]} numbers; an identification needs "
            "seconds of data"
        )
    keep, more = select_ordered_rows(t[is_complete])
    rows = np.flatnonzero(is_complete)[keep]
    return t[rows], _select_rows(samples, rows), notes + more


def _select_rows(samples: Channels, rows: Any) -> Channels:
    arrays: list[Any] = [a[rows] if a is not None and a.ndim == 2 else a for a in samples]
    return Channels(*arrays)


def _log(source: _Source, part: Segment, step: float | None) -> tuple[Log, list[str]]:
    """Return the log of one segment on a uniform grid, and notes on resampling."""
    rows = slice(part.start, part.stop)
    t, here = source.t[rows], _select_rows(source.samples, rows)
    mapping, recording, robot = source.matched.mapping, source.recording, source.robot
    notes = []
    repeated = float(np.mean((np.diff(here.q, axis=0) == 0.0).all(axis=1)))
    if repeated > MIN_REPEATED_SHARE:
        notes.append(
            f"{100 * repeated:.0f} % of the samples repeat the positions of the one before: the "
            "robot rests then, or its controller is slower than the recording"
        )
    torque_times, recorded = None, dict[str, Any]()
    if step is not None:
        steps, recorded = np.diff(t), {"recorded_times": t, "recorded_torques": here.tau}
        t, torque_times, here = _resample(t, here, step)
        notes.append(
            f"steps of {steps.min():.4g} to {steps.max():.4g} s: resampled to {t.size} samples, "
            f"{(t.size - 1) / (t[-1] - t[0]):.6g} Hz; positions by cubic splines, torques "
            + ("linearly" if torque_times is None else "kept, with their times")
        )
    currents = None if here.current is None else here.tau  # at the same times as the torques
    stated = {k: recording.attributes[k] for k in ("origin", "seed") if k in recording.attributes}
    log = Log(
        t=t,
        torque_times=torque_times,
        q=here.q,
        dq=here.dq,
        tau_meas=here.tau,
        tau_cmd=here.tau_cmd,
        current=here.current if here.torque_constant is not None else currents,
        torque_constant=here.torque_constant,
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        period=mapping.period,
        torque_time_offset=mapping.torque_time_offset or 0.0,
        **recorded,
        **stated,
    )
    if log.is_in_amperes:
        notes.append("torques are currents [A], because no torque_constant is given")
    if not log.torque_measured.all():
        names = ", ".join(np.array(robot.joint_names)[~log.torque_measured])
        notes.append(f"no torque of {names} is recorded; a fit leaves its rows out")
    return log, notes


def _resample(
    t: Float1D, samples: Channels, step: float
) -> tuple[Float1D, Float1D | None, Channels]:
    """Return a uniform grid, times of torques, and samples: positions by cubic splines.

    A torque jumps with friction, so that it is not interpolated over long steps: the nearest sample
    is taken with its own time, at which the motion is evaluated later. Over short steps, lines cost
    less than the noise of accelerations at uneven times.
    """
    intervals = (t[-1] - t[0]) / step
    steps = int(intervals + STEP_COUNT_TOLERANCE)
    end = t[-1] if abs(intervals - steps) < STEP_COUNT_TOLERANCE else t[0] + steps * step
    grid = np.linspace(t[0], end, steps + 1)

    stamps = nearest_times(grid, t) if step > MIN_LONG_STEP else None
    times = grid if stamps is None else stamps

    def resample(x: Float2D | None) -> Float2D | None:
        return None if x is None else linear_at(times, t, x)

    return (
        grid,
        stamps,
        samples._replace(
            q=interpolate_spline(grid, t, samples.q),
            dq=None if samples.dq is None else interpolate_spline(grid, t, samples.dq),
            tau=linear_at(times, t, samples.tau),
            tau_cmd=resample(samples.tau_cmd),
            current=resample(samples.current),
        ),
    )
