"""Which reader a file gets, by its content."""

from collections.abc import Sequence
from pathlib import Path

import h5py

from robotid_sim.errors import FileFormatError, OptionError, RobotIdError
from robotid_sim.importing.array_files import read_hdf5, read_mat, read_npz, read_parquet
from robotid_sim.importing.bags import read_bag
from robotid_sim.importing.foreign_log import ForeignLog, joined
from robotid_sim.importing.text_files import read_text
from robotid_sim.inputs import open_file
from robotid_sim.measurement.files import load_log

_BAGS = (b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3")
_BEGINNINGS = {b"PK\x03\x04": read_npz, b"PAR1": read_parquet, b"MATLAB 5.0": read_mat}


def read_foreign_log(paths: Sequence[Path], topic: str | None = None) -> ForeignLog:
    """Return the columns of a file or folder, or of several files that are columns of one log.

    Text, NPZ, MAT, HDF5, Parquet, a ROS bag or MCAP file, told apart by content; the topic is that
    of a bag that has several of joint states. Raises `FileFormatError` if a file is missing, broken
    or of an unknown form, `OptionError` if a topic is given and no file is a bag.
    """
    bags = [path for path in paths if path.is_dir() or _beginning(path).startswith(_BAGS)]
    if topic is not None and not bags:
        raise OptionError(f"--topic {topic}: {paths[0]} is no ROS bag; leave the topic out")
    recordings = [read_bag(p, topic) if p in bags else _read_file(p) for p in paths]
    return recordings[0] if len(recordings) == 1 else joined(recordings, paths)


def _beginning(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(32)
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror}") from error


def _read_file(path: Path) -> ForeignLog:
    beginning = _beginning(path)
    try:
        if beginning.startswith(b"# schema: robotid/log/") or _is_our_hdf5(path):
            return _read_log(path)
        for magic, read in _BEGINNINGS.items():
            if beginning.startswith(magic):
                return read(path)
        return read_hdf5(path) if h5py.is_hdf5(path) else read_text(path)
    except Exception as error:  # readers of other projects share no class of errors
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, FileFormatError):
            raise FileFormatError(text if str(path) in text else f"{path}: {text}") from error
        if isinstance(error, RobotIdError):
            raise
        raise FileFormatError(f"cannot read {path}: {text}") from error


def _is_our_hdf5(path: Path) -> bool:
    if not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return str(file.attrs.get("schema")).startswith("robotid/log/")


def _read_log(path: Path) -> ForeignLog:
    """Return the columns of a log of ours, to be written in another form."""
    log = load_log(path)
    columns = {"t": log.t}
    for prefix, name in (("q", "q"), ("dq", "dq"), ("tau", "tau_meas"), ("tau_cmd", "tau_cmd")):
        channel = getattr(log, name)
        if channel is not None:
            columns |= {f"{prefix}.{j}": channel[:, k] for k, j in enumerate(log.joint_names)}
    keys = ("period", "torque_time_offset", "seed", "origin")
    left = [name for name in ("truth", "current") if getattr(log, name) is not None]
    notes = (f"is a log of robotid already; left out: {', '.join(left)}",) if left else ()
    return ForeignLog(columns, notes, {key: getattr(log, key) for key in keys})
