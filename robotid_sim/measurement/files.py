"""Reading and writing of log files: HDF5, which holds all data, and CSV for spreadsheets."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.files import atomic_path, check_schema, schema_tag
from robotid_sim.inputs import require_file
from robotid_sim.measurement.hdf5_files import open_hdf5
from robotid_sim.measurement.log import Log, Truth

SCHEMA_VERSION = 3
"""Version 1 marks virtual logs by a seed; 2 states the origin; 3 allows separate torque times."""

CHANNELS = {
    "q": "position",
    "dq": "velocity",
    "tau_cmd": "torque",
    "tau_meas": "torque",
    "current": "current",
    "torque_constant": "torque constant",
}
TRUTH_CHANNELS = {
    "q": "position",
    "dq": "velocity",
    "ddq": "acceleration",
    "tau": "torque",
    "friction": "torque",
    "link_q": "position",
    "link_dq": "velocity",
    "link_ddq": "acceleration",
}
_OPTIONAL_TRUTH_CHANNELS = ("friction", "link_q", "link_dq", "link_ddq")
SAMPLE_CHANNELS = ("torque_times", *(name for name in CHANNELS if name != "torque_constant"))
"""Channels per sample besides the time; all but `q` and `tau_meas` are optional."""
RECORDED_CHANNELS = ("recorded_times", "recorded_torques")
"""Samples of a resampled log before resampling; their number differs from that of the log."""
CHANNEL_UNITS = {
    "position": {"rad": "rad", "m": "m"},
    "velocity": {"rad": "rad/s", "m": "m/s"},
    "acceleration": {"rad": "rad/s^2", "m": "m/s^2"},
    "torque": {"rad": "N m", "m": "N"},
    "current": {"rad": "A", "m": "A"},
    "torque constant": {"rad": "N m/A", "m": "N/A"},
}
_COLUMNS = {"q": "q", "dq": "dq", "tau_cmd": "tau_cmd", "tau_meas": "tau", "current": "current"}
"""Prefixes of column names in a CSV, by the channel of a log."""
_HEADER_FIELDS = ("torque_time_offset", "period", "seed")
CSV_KEYS = ("schema", "joint_units", "origin", "torque_constant", *_HEADER_FIELDS)
"""Keys of the comment lines of a CSV."""


def save_log(log: Log, path: str | Path) -> None:
    """Write a log: HDF5, or CSV if the path ends in ``.csv`` (without truth and provenance).

    A CSV also omits the samples before resampling, see `RECORDED_CHANNELS`.

    Parameters
    ----------
    log : Log
    path : str or Path
        File to write; its folder exists.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import robotid_sim as rid
    >>> file, t = mkdtemp() + "/log.csv", [k / 1000 for k in range(20)]
    >>> log = rid.Log(t, [[x] for x in t], [[x] for x in t], joint_names=("a",), joint_units=("m",))
    >>> rid.save_log(log, file)
    """
    with atomic_path(path) as temporary:
        if Path(path).suffix.lower() == ".csv":
            _write_csv(log, temporary)
        else:
            with h5py.File(temporary, "w") as file:
                file.attrs["schema"] = _schema(log)
                file.attrs["joint_names"] = list(log.joint_names)
                file.attrs["joint_units"] = list(log.joint_units)
                file.attrs["origin"] = log.origin
                for key in _HEADER_FIELDS:
                    value = getattr(log, key)
                    if value is not None:
                        file.attrs[key] = value
                file.attrs["provenance"] = json.dumps(dict(log.provenance), sort_keys=True)
                for name in ("t", "torque_times", "recorded_times"):
                    if getattr(log, name) is not None:
                        file.create_dataset(name, data=getattr(log, name)).attrs["unit"] = "s"
                channels = CHANNELS | {"recorded_torques": "torque"}
                _write_channels(file, log, channels, log.joint_units)
                if log.truth is not None:
                    _write_channels(
                        file.create_group("truth"), log.truth, TRUTH_CHANNELS, log.joint_units
                    )


def load_log(path: str | Path) -> Log:
    """Read a log from HDF5 or, if the path ends in ``.csv``, from CSV.

    A CSV has a header line with ``t`` [s], and for every joint ``q.<joint>`` and ``tau.<joint>``
    (optionally ``dq.<joint>``, ``tau_cmd.<joint>``, ``current.<joint>`` [A], and ``torque_time``
    [s], if torques have times other than ``t``). Lines ``# key: value`` above it may have the keys
    ``joint_units`` (``rad rad m``), ``torque_constant`` [N m/A], one per joint,
    ``torque_time_offset`` and ``period`` [s]. Torques may be absent if there are currents.

    Raises
    ------
    FileFormatError
        If the file is missing, truncated, of a different kind or of a newer schema.
    LogError
        If the channels are incomplete, not finite or not uniform in time.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import robotid_sim as rid
    >>> file, t = mkdtemp() + "/log.h5", [k / 1000 for k in range(20)]
    >>> log = rid.Log(t, [[x] for x in t], [[x] for x in t], joint_names=("a",), joint_units=("m",))
    >>> rid.save_log(log, file)
    >>> bool((rid.load_log(file).q == log.q).all())
    True
    """
    file = Path(path)
    require_file(file)
    if not file.is_file():
        raise FileFormatError(f"cannot read log {file}: no such file")
    try:
        is_csv = file.suffix.lower() == ".csv"
        log = _read_csv(file) if is_csv else read_rows(file, slice(None))
        return log.require_plausible_times()
    except LogError as error:
        raise LogError(f"{file}: {error}") from error


def _schema(log: Log) -> str:
    """Return the tag of the oldest schema that can represent a log."""
    return schema_tag("log", SCHEMA_VERSION if log.torque_times is not None else SCHEMA_VERSION - 1)


def _write_channels(
    group: Any, source: object, channels: Mapping[str, str], joint_units: tuple[str, ...]
) -> None:
    for name, quantity in channels.items():
        value = getattr(source, name)
        if value is not None:
            dataset = group.create_dataset(name, data=value)
            dataset.attrs["units"] = [CHANNEL_UNITS[quantity][unit] for unit in joint_units]
            dataset.attrs["quantity"] = quantity


def read_rows(path: Path, rows: slice) -> Log:
    """Read a slice of the samples of a log in HDF5.

    The period is kept if the slice starts at the first sample. Raises `FileFormatError` if the file
    is not a complete HDF5 file; see also `load_log`.
    """
    if not h5py.is_hdf5(path):
        raise FileFormatError(
            f"{path} is not a complete HDF5 file; the name of a CSV log must end in .csv"
        )
    with open_hdf5(path) as file:
        version = check_schema(file.attrs.get("schema"), "log", SCHEMA_VERSION, path)
        channels = {name: file[name][rows] for name in SAMPLE_CHANNELS if name in file}
        if rows == slice(None):
            channels |= {name: file[name][()] for name in RECORDED_CHANNELS if name in file}
        truth = None
        if "truth" in file:
            truth_names = [
                n for n in TRUTH_CHANNELS if n not in _OPTIONAL_TRUTH_CHANNELS or n in file["truth"]
            ]
            truth = Truth(**{name: file["truth"][name][rows] for name in truth_names})
        header = {key: file.attrs[key].item() for key in _HEADER_FIELDS if key in file.attrs}
        if rows.start:
            header.pop("period", None)
        return Log(
            t=file["t"][rows],
            torque_constant=file["torque_constant"][()] if "torque_constant" in file else None,
            joint_names=tuple(str(name) for name in file.attrs["joint_names"]),
            joint_units=tuple(str(unit) for unit in file.attrs["joint_units"]),
            origin=_origin(version, file.attrs),
            truth=truth,
            provenance=json.loads(file.attrs.get("provenance", "{}")),
            **channels,
            **header,
        )


def _origin(version: int, header: Mapping[str, Any]) -> Any:
    """Read the origin of a log, machine or virtual, from a file header; `Log` checks it."""
    if version == 1:
        return "virtual" if "seed" in header else "machine"
    return str(header.get("origin", "machine"))


def _write_csv(log: Log, path: Path) -> None:
    columns, names = [log.t[:, None]], ["t"]
    if log.torque_times is not None:
        columns, names = [*columns, log.torque_times[:, None]], [*names, "torque_time"]
    for channel, prefix in _COLUMNS.items():
        value = getattr(log, channel)
        if value is not None:
            columns.append(value)
            names += [f"{prefix}.{joint}" for joint in log.joint_names]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# schema: {_schema(log)}\n")
        file.write(f"# joint_units: {' '.join(log.joint_units)}\n")
        file.write(f"# origin: {log.origin}\n")
        if log.torque_constant is not None:
            constants = " ".join(repr(value) for value in log.torque_constant.tolist())
            file.write(f"# torque_constant: {constants}\n")
        for key in _HEADER_FIELDS:
            if getattr(log, key) is not None:
                file.write(f"# {key}: {getattr(log, key)!r}\n")
        csv.writer(file).writerow(names)
        np.savetxt(file, np.hstack(columns), delimiter=",", fmt="%.17g")


def _read_csv(path: Path) -> Log:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"cannot read log {path}: {error}") from error
    comments = list(takewhile(lambda line: line.startswith("#"), lines))
    header = csv_header(comments, path)
    try:
        rows = list(csv.reader(lines[len(comments) :]))
    except csv.Error as error:
        raise FileFormatError(f"{path}: a line cannot be split into cells: {error}") from error
    if len(rows) < 2:
        raise FileFormatError(f"{path} has no samples below its header line")
    return log_of_columns(header, rows[0], numbers_of(rows[1:], path, rows[0]), path)


def log_of_columns(header: Mapping[str, str], names: list[str], values: Float2D, path: Path) -> Log:
    """Build a log from the columns of a CSV.

    `header` has the values of the comment lines, by the keys `CSV_KEYS`. The values of the columns,
    in SI units, have shape (N, k), one column per name. Raises `LogError` if a required column is
    missing.
    """
    names = [name.strip() for name in names]
    joints = tuple(name.removeprefix("q.") for name in names if name.startswith("q."))
    if "t" not in names or not joints:
        raise LogError(f"the header line needs 't' and 'q.<joint>' columns; it has {names}")

    def channel(prefix: str) -> Float2D | None:
        columns = [f"{prefix}.{joint}" for joint in joints]
        if not set(columns) & set(names):
            return None
        for name in columns:
            if name not in names:
                raise LogError(f"column '{name}' is missing")
        return values[:, [names.index(name) for name in columns]]

    channels: dict[str, Any] = {name: channel(prefix) for name, prefix in _COLUMNS.items()}
    constants = _header_numbers(header, "torque_constant", len(joints))
    if channels["tau_meas"] is None and channels["current"] is not None:
        scale = 1.0 if constants is None else constants
        channels["tau_meas"] = channels["current"] * scale
    if channels["tau_meas"] is None:
        raise LogError("columns 'tau.<joint>' are missing; the measured torque is needed")
    return Log(
        t=values[:, names.index("t")],
        torque_times=values[:, names.index("torque_time")] if "torque_time" in names else None,
        joint_names=joints,
        joint_units=tuple(header.get("joint_units", "rad " * len(joints)).split()),
        torque_constant=constants,
        torque_time_offset=_header_number(header, "torque_time_offset") or 0.0,
        period=_header_number(header, "period"),
        origin=_origin(SCHEMA_VERSION, header),
        seed=int(header["seed"]) if header.get("seed", "").isdecimal() else None,
        provenance={"file": path.name},
        **channels,
    )


def csv_header(comments: Sequence[str], path: Path) -> dict[str, str]:
    """Parse the comment lines ``# key: value`` of a CSV to values by key."""
    header: dict[str, str] = {}
    for line in comments:
        key, _, value = line.removeprefix("#").partition(":")
        header[key.strip()] = value.strip()
    if "schema" in header:
        version = check_schema(header["schema"], "log", SCHEMA_VERSION, path)
        header["origin"] = _origin(version, header)
    return header


def _header_numbers(header: Mapping[str, str], key: str, count: int) -> Float1D | None:
    """Parse one number per joint; None if the key is absent."""
    if key not in header:
        return None
    try:
        numbers = [float(word) for word in header[key].split()]
    except ValueError as error:
        raise LogError(f"'# {key}: {header[key]}' is not a list of numbers") from error
    if len(numbers) != count:
        raise LogError(f"'# {key}' has {len(numbers)} numbers for {count} joints")
    return np.array(numbers)


def _header_number(header: Mapping[str, str], key: str) -> float | None:
    try:
        return float(header[key]) if key in header else None
    except ValueError as error:
        raise LogError(f"'# {key}: {header[key]}' is not a number") from error


def numbers_of(rows: list[list[str]], path: Path, names: list[str], first: int = 1) -> Float2D:
    """Parse the numbers in the cells of a CSV, shape (N, k), one column per name.

    `first` is the number of the first row, for messages. Raises `FileFormatError` if a row does not
    have one cell per name, and `LogError` if a cell is not a number.
    """
    for k, row in enumerate(rows, start=first):
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}: sample {k} has {len(row)} values instead of {len(names)}; is the file"
                " truncated?"
            )
    try:
        return np.array(rows, dtype=float)
    except ValueError:
        k, name, cell = next(_find_non_numeric_cells(rows, names, first))
        raise LogError(f"row {k}, column '{name}': {cell!r} is not a number; correct it") from None


def _find_non_numeric_cells(
    rows: list[list[str]], names: list[str], first: int
) -> Iterator[tuple[int, str, str]]:
    """Yield row, column and text of cells that are not numbers."""
    for k, row in enumerate(rows, start=first):
        for name, cell in zip(names, row, strict=True):
            try:
                float(cell)
            except ValueError:
                yield k, name.strip(), cell.strip()
