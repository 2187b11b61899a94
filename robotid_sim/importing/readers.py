"""Which reader a file gets, by its content, and those of arrays: NPZ, MAT, HDF5, Parquet."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from robotid_sim.errors import FileFormatError, MissingExtraError, OptionError, RobotIdError
from robotid_sim.importing.bags import read_bag
from robotid_sim.importing.foreign_log import ForeignLog, joined, log_of_arrays
from robotid_sim.importing.text_files import read_text
from robotid_sim.inputs import (
    bound_unpacked_size,
    open_file,
    require_warranted,
    require_warranted_zip,
)
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.hdf5_files import reading_hdf5

PACKED_ELEMENT = 15
"""Kind of an element of a MAT file that is compressed."""


def read_npz(path: Path) -> ForeignLog:
    """Read the arrays of an NPZ file."""
    require_warranted_zip(path)
    # NumPy leaves a file open that it opened and cannot read.
    with open_file(path) as stream, np.load(stream, allow_pickle=False) as file:
        return log_of_arrays({k: value for k, value in file.items() if hasattr(value, "dtype")})


def read_mat(path: Path) -> ForeignLog:
    """Read the variables of a MAT file of version 5, and the fields of structures."""
    require_warranted(_mat_size(path), path)
    content = scipy.io.loadmat(path, simplify_cells=True)
    variables = {name: value for name, value in content.items() if not name.startswith("__")}
    return log_of_arrays(_flat(variables))


def _mat_size(path: Path) -> int:
    """Measure the unpacked elements of a MAT file, up to what they may be [bytes]."""
    with open_file(path) as file:
        order: Literal["little", "big"] = "little" if file.read(128)[126:] == b"IM" else "big"
        size, most = 0, bound_unpacked_size(path) + 1
        while len(head := file.read(8)) == 8 and size < most:
            kind, length = (int.from_bytes(head[k : k + 4], order) for k in (0, 4))
            content = file.read(length)
            if kind == PACKED_ELEMENT:
                content = zlib.decompressobj().decompress(content, most - size)
            size += len(content)
    return size


def _flat(variables: Mapping[str, Any], prefix: str = "") -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in variables.items():
        if isinstance(value, Mapping):
            arrays |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, np.ndarray):
            arrays[f"{prefix}{name}"] = value
    return arrays


def read_hdf5(path: Path) -> ForeignLog:
    """Read every dataset of an HDF5 file, also a MAT file of version 7.3, wherever it stands."""
    arrays: dict[str, NDArray[Any]] = {}

    def collect(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("#"):  # MATLAB's own
            arrays[name.replace("/", ".")] = np.asarray(item[()])

    with reading_hdf5(path) as file:
        file.visititems(collect)
    return log_of_arrays(arrays)


def read_parquet(path: Path) -> ForeignLog:
    """Read the columns of a Parquet file; lists of equal length give several columns."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError.of("Parquet files need pyarrow", "logs") from error
    with open_file(path) as stream, pq.ParquetFile(stream) as file:
        require_warranted(8 * file.metadata.num_rows * file.metadata.num_columns, path)
        table = file.read()
    arrays = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
            arrays[name] = _rows(column.to_pylist())
        elif pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            times = column.to_numpy(zero_copy_only=False)
            kind = "datetime64[ns]" if times.dtype.kind == "M" else "timedelta64[ns]"
            arrays[f"{name}_ns"] = times.astype(kind).astype(np.int64)
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    return log_of_arrays(arrays)


def _rows(rows: list[Any]) -> NDArray[Any]:
    """Return lists as rows of an array, or an array of no numbers if they differ in length."""
    try:
        return np.array(rows, dtype=float)
    except (TypeError, ValueError):
        return np.array([], dtype=str)


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
