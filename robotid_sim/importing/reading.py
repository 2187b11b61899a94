"""Reading of logs in the format of robotid, or in any other format."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import overload

import h5py
import numpy as np

from robotid_sim.errors import LogError
from robotid_sim.importing.import_map import ImportMap, load_map
from robotid_sim.importing.importer import import_log, import_segments
from robotid_sim.inputs import require_file
from robotid_sim.measurement.files import CSV_KEYS, load_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.long_log import MIN_LONG_SIZE, LongLog, copy_of_csv, positions_of
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ReadLog:
    """A log that was read, with notes on the reading."""

    log: Log
    name: str
    """Name of the file."""
    notes: tuple[str, ...] = ()
    """Notes on reading; empty for a log in the form of robotid."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Logs(Sequence[Log]):
    """Logs of one robot, with notes on the reading; of a long log only the head is in memory."""

    read: tuple[ReadLog, ...]
    long: LongLog | None = None
    """A log that is too long for memory; only its head is read."""
    copy: "TemporaryDirectory[str] | None" = None
    """Folder of a copy of the long log, removed with these logs."""

    @classmethod
    def from_logs(cls, logs: "Logs | Log | Sequence[Log]") -> "Logs":
        """Return `Logs` of logs, which need not have been read from files."""
        if isinstance(logs, Logs):
            return logs
        each = (logs,) if isinstance(logs, Log) else tuple(logs)
        names = ["log"] if len(each) == 1 else [f"log {k}" for k in range(1, len(each) + 1)]
        return cls(tuple(ReadLog(log, name) for log, name in zip(each, names, strict=True)))

    @overload
    def __getitem__(self, index: int) -> Log: ...
    @overload
    def __getitem__(self, index: slice) -> list[Log]: ...
    def __getitem__(self, index: int | slice) -> Log | list[Log]:
        return [read.log for read in self.read][index]

    def __len__(self) -> int:
        return len(self.read)

    @property
    def names(self) -> list[str]:
        """Name of the file of every log."""
        return [read.name for read in self.read]

    @property
    def notes(self) -> dict[str, list[str]]:
        """Notes on reading, by the name of the log."""
        return {read.name: list(read.notes) for read in self.read if read.notes}

    def whole(self) -> "Logs":
        """Return the logs with all samples of a long one in memory."""
        if self.long is None:
            return self
        return Logs((ReadLog(load_log(self.long.path), self.read[0].name),))

    def excerpts(self, count: int) -> list[ReadLog]:
        """Return the samples that are checked for faults: parts of a long log, else all."""
        if self.long is None:
            return list(self.read)
        return [ReadLog(part, self.read[0].name) for part in self.long.excerpts(count)]

    def require_distinct(self) -> None:
        """Raise `LogError` if two logs have the same samples."""
        for first, second in combinations(self.read, 2):
            arrays = ("q", "tau_meas")
            if all(np.array_equal(getattr(first.log, x), getattr(second.log, x)) for x in arrays):
                raise LogError(
                    f"{first.name} and {second.name} hold the same samples: give logs of different "
                    "runs"
                )


def read_log(path: str | Path, robot: Robot, mapping: ImportMap | str | Path | None = None) -> Logs:
    """Read one log that `save_log` wrote or that follows its columns, or import another one.

    Parameters
    ----------
    path : str or Path
        A file; with a map it is imported in any case.
    robot : Robot
        The robot of the log.
    mapping : ImportMap, str or Path, optional
        Map of columns, or its file; by default inferred.

    Returns
    -------
    logs : Logs
        A single log; the longest part if it has gaps.

    Raises
    ------
    FileFormatError, LogError
        If the file cannot be read, is of another robot or has no torque.
    """
    file, known_map = Path(path), _map(mapping)
    if known_map is None and (not file.exists() or is_own(file)):
        read = ReadLog(load_log(file), file.name)
    else:
        imported = import_log([file], robot, known_map)
        read = ReadLog(imported.log, file.name, imported.notes)
    return Logs((_require_usable(read, file, robot),))


def read_logs(
    paths: str | Path | Sequence[str | Path],
    robot: Robot,
    mapping: ImportMap | str | Path | None = None,
) -> Logs:
    """Read logs of one robot in any form that ``robotid import`` reads.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files of one robot.
    robot : Robot
        The robot of the logs.
    mapping : ImportMap, str or Path, optional
        Map of columns, or its file; by default inferred, as `Logs.notes` says.

    Returns
    -------
    logs : Logs
        Each part of a log with gaps is a separate log. Of a log of robotid that is too long for
        memory, only the head is read; `identify` reads the rest in parts.

    Raises
    ------
    FileFormatError, LogError
        If a file cannot be read, is of another robot or has no torque.
    """
    files = [Path(p) for p in ((paths,) if isinstance(paths, str | Path) else paths)]
    known_map = _map(mapping)
    if known_map is None and len(files) == 1:
        file = files[0]
        if file.is_file() and is_own(file) and positions_of(file) > MIN_LONG_SIZE:
            # A CSV is copied as HDF5 to a folder that is removed with the returned logs.
            folder = (
                TemporaryDirectory(prefix="robotid-") if file.suffix.lower() == ".csv" else None
            )
            path = file if folder is None else copy_of_csv(file, Path(folder.name))
            long = LongLog.open(path, str(file), robot)
            return Logs((ReadLog(long.head, file.name),), long, folder)
    logs: list[ReadLog] = []
    for file in files:
        if known_map is None and (not file.exists() or is_own(file)):
            logs += read_log(file, robot).read
            continue
        first, *others = import_segments([file], robot, known_map)
        read = [ReadLog(first.log, file.name, first.notes)]
        for k, part in enumerate(others, start=2):
            part_notes = tuple(note for note in part.notes if note not in first.notes)
            read.append(ReadLog(part.log, f"{file.name}, part {k}", part_notes))
        logs += [_require_usable(log, file, robot) for log in read]
    return Logs(tuple(logs))


def _map(mapping: ImportMap | str | Path | None) -> ImportMap | None:
    return load_map(mapping) if isinstance(mapping, str | Path) else mapping


def _require_usable(read: ReadLog, file: Path, robot: Robot) -> ReadLog:
    """Check a log; raise `LogError` if it is of another robot or has no torque."""
    try:
        read.log.require_robot(robot).require_torques()
    except LogError as error:
        raise LogError(f"{file}: {error}") from error
    return read


def is_own(file: Path) -> bool:
    """Return whether a file is a log in the form of robotid, valid or not."""
    require_file(file)
    if file.suffix.lower() == ".csv":
        with file.open(encoding="utf-8", errors="replace") as stream:
            comments = takewhile(lambda line: line.startswith("#"), stream)
            return any(line.strip("# ").partition(":")[0] in CSV_KEYS for line in comments)
    if file.suffix.lower() not in (".h5", ".hdf5"):
        return False
    if not h5py.is_hdf5(file):
        return True
    try:
        with h5py.File(file, "r") as content:
            return "schema" in content.attrs
    except OSError:  # truncated: `load_log` reports it
        return True
