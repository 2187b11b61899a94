"""A log in our own form, or in any foreign one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py

from robotid_sim.errors import LogError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log, import_segments
from robotid_sim.inputs import require_file
from robotid_sim.measurement.files import CSV_KEYS, load_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.long_log import LONG, LongLog, copy_of_csv, positions_of
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ReadLog:
    """A log and how it was read."""

    log: Log
    name: str
    """Name of the file."""
    notes: tuple[str, ...] = ()
    """What was concluded, dropped and resampled; nothing for a log in our form."""


def read_log(path: str | Path, robot: Robot, mapping: ImportMap | None = None) -> ReadLog:
    """Return a log that `save_log` wrote or that follows its columns, or import a foreign one.

    With a map every file is imported, the longest part of one with gaps. Raises as `load_log` and
    `import_log` do, and `LogError` if the log is of another robot or has no torque.
    """
    file = Path(path)
    if mapping is None and (not file.exists() or is_own(file)):
        return _sound(ReadLog(load_log(file), file.name), file, robot)
    imported = import_log([file], robot, mapping)
    return _sound(ReadLog(imported.log, file.name, imported.notes), file, robot)


@contextmanager
def long_log(paths: Sequence[str | Path], robot: Robot) -> Iterator[LongLog | None]:
    """Give a log of ours that is too long for memory, to be read in parts; None if it is not.

    A CSV is copied to HDF5 in a temporary folder, for as long as the log is used. Raises as
    `read_log` does.
    """
    file = Path(paths[0])
    if len(paths) > 1 or not file.is_file() or not is_own(file) or positions_of(file) <= LONG:
        yield None
    elif file.suffix.lower() != ".csv":
        yield LongLog.open(file, str(file), robot)
    else:
        with TemporaryDirectory(prefix="robotid-") as folder:
            yield LongLog.open(copy_of_csv(file, Path(folder)), str(file), robot)


def read_logs(
    paths: Sequence[str | Path], robot: Robot, mapping: ImportMap | None = None
) -> list[ReadLog]:
    """Return all logs of several files, each part of one with gaps by itself; see `read_log`."""
    return [log for path in paths for log in _read_parts(Path(path), robot, mapping)]


def _read_parts(file: Path, robot: Robot, mapping: ImportMap | None) -> list[ReadLog]:
    if mapping is None and (not file.exists() or is_own(file)):
        return [read_log(file, robot)]
    parts = import_segments([file], robot, mapping)
    first = parts[0].notes
    logs = [ReadLog(parts[0].log, file.name, first)]
    for k, part in enumerate(parts[1:], start=2):
        own = tuple(note for note in part.notes if note not in first)
        logs.append(ReadLog(part.log, f"{file.name}, part {k}", own))
    return [_sound(log, file, robot) for log in logs]


def _sound(read: ReadLog, file: Path, robot: Robot) -> ReadLog:
    """Return what was read; raise `LogError` if it is of another robot or has no torque."""
    try:
        read.log.require_robot(robot).require_torques()
    except LogError as error:
        raise LogError(f"{file}: {error}") from error
    return read


def is_own(file: Path) -> bool:
    """Return whether a file is meant to be a log in our form, sound or not."""
    require_file(file)
    if file.suffix.lower() == ".csv":
        return _has_own_comments(file)
    if file.suffix.lower() not in (".h5", ".hdf5"):
        return False
    if not h5py.is_hdf5(file):
        return True
    try:
        with h5py.File(file, "r") as content:
            return "schema" in content.attrs
    except OSError:  # truncated: `load_log` says so
        return True


def _has_own_comments(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as stream:
        comments = takewhile(lambda line: line.startswith("#"), stream)
        return any(line.strip("# ").partition(":")[0] in CSV_KEYS for line in comments)
