"""Logs that do not fit into memory, read in parts from HDF5 (a CSV from an HDF5 copy)."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Self

import h5py
import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.files import require_space
from robotid_sim.measurement.files import (
    SAMPLE_CHANNELS,
    csv_header,
    log_of_columns,
    numbers_of,
    read_rows,
    save_log,
)
from robotid_sim.measurement.hdf5_files import open_hdf5
from robotid_sim.measurement.log import MIN_SAMPLES, Log, check_period
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

MIN_LONG_SIZE = 1_000_000
"""Number of positions (samples times joints) above which a log is read in parts; an estimate needs
0.5 kB of memory per position."""

PART_SIZE = 250_000
"""Number of positions of a part."""

LINES_PER_READ = 50_000
"""Number of lines of a CSV that are read at a time."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class LongLog:
    """A log in an HDF5 file, read in parts."""

    path: Path
    """The HDF5 file."""
    name: str
    """Name of the log in messages."""
    samples: int
    dt: float
    """Sample time of the whole log [s]."""
    head: Log
    """First two parts of the log, from which options of the estimation are chosen."""

    @classmethod
    def open(cls, path: Path, name: str, robot: Robot) -> Self:
        """Open the log of an HDF5 file and check all samples.

        Raises as `load_log` does, and `LogError` if the log is of a different robot or has no
        torque.
        """
        with open_hdf5(path) as file:
            t = file["t"]
            samples, dt = int(t.size), float((t[-1] - t[0]) / (t.size - 1))
        head = _part(path, name, 0, min(2 * part_samples(robot.dof), samples))
        log = cls(path, name, samples, dt, head)
        try:
            head.require_robot(robot)
            replace(head, period=None).require_plausible_times()
            check_period(head.period, samples * dt, dt)
            log._extremes().require_torques()  # a method of this class
        except LogError as error:
            raise LogError(f"{name}: {error}") from error
        return log

    @property
    def part_samples(self) -> int:
        """Number of samples of a part."""
        return part_samples(self.head.dof)

    def part(self, first: int, stop: int) -> Log:
        """Read the samples from `first` to `stop`, without truth."""
        return _part(self.path, self.name, first, stop)

    def excerpts(self, count: int) -> Iterator[Log]:
        """Yield parts that are spread evenly over the log."""
        for first in np.linspace(0, self.samples - self.part_samples, count).astype(int):
            yield self.part(first, first + self.part_samples)

    def _extremes(self) -> Log:
        """Build a log of the extreme values of all parts; raise unless time is uniform."""
        count = max(1, self.samples // self.part_samples)
        ends = np.linspace(0, self.samples, count + 1).astype(int)
        q, tau = list[Float1D](), list[Float1D]()
        for first, stop in pairwise(ends):
            part = self.part(first, stop)
            if abs(part.t[0] - self.head.t[0] - first * self.dt) > 0.5 * self.dt:
                raise LogError(
                    f"log: time does not advance uniformly before t = {part.t[0]:g} s; "
                    "`robotid import` resamples a log"
                )
            q += [part.q.min(axis=0), part.q.max(axis=0)]
            tau += [part.tau_meas.min(axis=0), part.tau_meas.max(axis=0)]
        count = max(len(q), MIN_SAMPLES)
        return Log(
            t=self.dt * np.arange(count),
            q=np.resize(q, (count, self.head.dof)),
            tau_meas=np.resize(tau, (count, self.head.dof)),
            joint_names=self.head.joint_names,
            joint_units=self.head.joint_units,
        )


def part_samples(dof: int) -> int:
    """Compute the number of samples of a part for a robot of `dof` joints."""
    return max(PART_SIZE // dof, MIN_SAMPLES)


def _part(path: Path, name: str, first: int, stop: int) -> Log:
    try:
        return replace(read_rows(path, slice(first, stop)), truth=None)
    except LogError as error:
        raise LogError(f"{name}, samples {first + 1} to {stop}: {error}") from error


def positions_of(path: Path) -> int:
    """Count the positions (samples times joints) in a robotid_sim log file; 0 if unreadable."""
    try:
        if path.suffix.lower() != ".csv":
            with open_hdf5(path) as file:
                return int(file["q"].size)
        with path.open("rb") as stream:
            names = next(line for line in stream if not line.startswith(b"#")).split(b",")
            joints = sum(name.strip().startswith(b"q.") for name in names)
            blocks = iter(lambda: stream.read(1 << 20), b"")
            return joints * sum(block.count(b"\n") for block in blocks)
    except (FileFormatError, OSError, KeyError, TypeError, AttributeError, StopIteration):
        return 0


def copy_of_csv(path: Path, folder: Path) -> Path:
    """Convert a CSV log to HDF5 in `folder`, a block of lines at a time; return the HDF5 file.

    Raises as `load_log` does.
    """
    require_space(folder, path.stat().st_size)
    target = folder / "log.h5"
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            comments = []
            while (line := stream.readline()).startswith("#"):
                comments.append(line.rstrip("\r\n"))
            header, names = csv_header(comments, path), next(csv.reader([line]))
            for first, lines in _blocks(stream):
                values = _values(lines, path, names, first)
                log = log_of_columns(header, names, values, path)
                if first == 1:
                    save_log(log, target)
                    _make_growing(target)
                else:
                    with h5py.File(target, "r+") as file:
                        for name in ("t", *SAMPLE_CHANNELS):
                            if name in file:
                                more = getattr(log, name)
                                file[name].resize(len(file[name]) + len(more), axis=0)
                                file[name][-len(more) :] = more
    except LogError as error:
        raise LogError(f"{path}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"cannot read log {path}: {error}") from error
    return target


def _blocks(stream: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of lines, each with the number of its first line and long enough for a `Log`."""
    first, lines = 1, list(islice(stream, LINES_PER_READ))
    while lines:
        following = list(islice(stream, LINES_PER_READ))
        if len(following) < MIN_SAMPLES:
            lines, following = lines + following, []
        yield first, lines
        first, lines = first + len(lines), following


def _values(lines: Sequence[str], path: Path, names: list[str], first: int) -> Float2D:
    """Parse the numbers in lines of a CSV quickly; for invalid lines `numbers_of` raises."""
    try:
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
        if values.shape == (len(lines), len(names)):
            return values
    except ValueError:
        pass
    return numbers_of(list(csv.reader(lines)), path, names, first)


def _make_growing(path: Path) -> None:
    """Make the data sets of a log in HDF5 extendable."""
    with h5py.File(path, "r+") as file:
        for name in ("t", *SAMPLE_CHANNELS):
            if name in file:
                attributes, data = dict(file[name].attrs), file[name][()]
                del file[name]
                shape = data.shape[1:]
                options = {"maxshape": (None, *shape), "chunks": (LINES_PER_READ, *shape)}
                file.create_dataset(name, data=data, **options).attrs.update(attributes)
