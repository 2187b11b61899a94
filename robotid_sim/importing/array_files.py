"""Columns from files of arrays: NPZ, MAT, HDF5 of any layout, Parquet."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from robotid_sim.errors import FileFormatError, MissingExtraError
from robotid_sim.importing.foreign_log import ForeignLog, log_of_arrays
from robotid_sim.measurement.hdf5_files import reading_hdf5


def read_npz(path: Path) -> ForeignLog:
    """Read the arrays of an NPZ file."""
    try:
        # NumPy leaves a file open that it opened and cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return log_of_arrays(dict(file))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error


def read_mat(path: Path) -> ForeignLog:
    """Read the variables of a MAT file of version 5, and the fields of structures."""
    try:
        content = scipy.io.loadmat(path, simplify_cells=True)
    except (OSError, ValueError, TypeError, scipy.io.matlab.MatReadError) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error
    variables = {name: value for name, value in content.items() if not name.startswith("__")}
    return log_of_arrays(_flat(variables))


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
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error
    arrays = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
            arrays[name] = _rows(column.to_pylist())
        elif pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            arrays[f"{name}_ns"] = _nanoseconds(column.to_numpy(zero_copy_only=False))
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    return log_of_arrays(arrays)


def _rows(rows: list[Any]) -> NDArray[Any]:
    """Return lists as rows of an array, or an array of no numbers if they differ in length."""
    try:
        return np.array(rows, dtype=float)
    except (TypeError, ValueError):
        return np.array([], dtype=str)


def _nanoseconds(times: NDArray[Any]) -> NDArray[Any]:
    kind = "datetime64[ns]" if times.dtype.kind == "M" else "timedelta64[ns]"
    return times.astype(kind).astype(np.int64)
