"""Readers of log files of machines, chosen by content: NPZ, MAT, HDF5, Parquet, ROS bags.

Joint states from ROS 1 and ROS 2 bags and MCAP files.
"""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from robotid_sim.errors import (
    FileFormatError,
    LogError,
    OptionError,
    RobotIdError,
    UnknownNameError,
    require_extra,
)
from robotid_sim.importing.raw_log import RawLog, join_recordings, join_stamps, log_of_arrays
from robotid_sim.importing.text_files import read_text
from robotid_sim.inputs import (
    estimate_unpacked_size,
    open_file,
    require_plausible_size,
    require_plausible_zip_size,
    require_reference_allowed,
)
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.hdf5_files import open_hdf5

PACKED_ELEMENT_KIND = 15
"""Kind of compressed elements of a MAT file."""


def read_npz(path: Path) -> RawLog:
    """Read the arrays of an NPZ file."""
    require_plausible_zip_size(path)
    # NumPy leaves a file open that it opened and cannot read.
    with open_file(path) as stream, np.load(stream, allow_pickle=False) as file:
        return log_of_arrays({k: value for k, value in file.items() if hasattr(value, "dtype")})


def read_mat(path: Path) -> RawLog:
    """Read the variables of a MAT file of version 5, and the fields of structures."""
    with open_file(path) as file:
        order: Literal["little", "big"] = "little" if file.read(128)[126:] == b"IM" else "big"
        size, most = 0, estimate_unpacked_size(path) + 1
        while len(head := file.read(8)) == 8 and size < most:
            kind, length = (int.from_bytes(head[k : k + 4], order) for k in (0, 4))
            element = file.read(length)
            if kind == PACKED_ELEMENT_KIND:
                element = zlib.decompressobj().decompress(element, most - size)
            size += len(element)
    require_plausible_size(size, path)
    content = scipy.io.loadmat(path, simplify_cells=True)
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


def read_hdf5(path: Path) -> RawLog:
    """Read the datasets of all groups of an HDF5 file, or of a MAT file of version 7.3."""
    arrays: dict[str, NDArray[Any]] = {}

    def collect(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("#"):  # MATLAB's own
            arrays[name.replace("/", ".")] = np.asarray(item[()])

    with open_hdf5(path) as file:
        file.visititems(collect)
    return log_of_arrays(arrays)


def read_parquet(path: Path) -> RawLog:
    """Read the columns of a Parquet file; lists of equal length give several columns."""
    with require_extra("Parquet files need pyarrow", "logs"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    with open_file(path) as stream, pq.ParquetFile(stream) as file:
        require_plausible_size(8 * file.metadata.num_rows * file.metadata.num_columns, path)
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


DATASET_FILE = Path("meta/info.json")
"""File that identifies a folder as a dataset of LeRobot."""

EPISODE_GAP = 10.0
"""Time inserted between two episodes [s], because the stamps of each start again."""


def is_dataset(path: Path) -> bool:
    """Return whether a folder is a dataset of LeRobot, of version 2 or 3."""
    return (path / DATASET_FILE).is_file()


def read_dataset(folder: Path) -> RawLog:
    """Read the episodes of a dataset of LeRobot, one after the other with gaps between.

    Lists of numbers give numbered columns, in the order of the robot's motors.
    """
    files = sorted((folder / "data").rglob("*.parquet"))
    for file in files:
        require_reference_allowed(folder / "data", file, str(file))
    if not files:
        raise FileFormatError(f"{folder} has no episodes in data/; give the folder of a dataset")
    parts = [read_parquet(file).columns for file in files]
    names = [name for name in parts[0] if all(name in part for part in parts)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    if "timestamp" in columns:
        t = columns["timestamp"]
        ends = np.where(np.diff(t, prepend=t[0]) < 0.0, np.roll(t, 1) + EPISODE_GAP, 0.0)
        columns["timestamp"] = t + np.cumsum(ends)
    return RawLog(columns, (f"a dataset of LeRobot with {len(files)} files of episodes",))


def _rows(rows: list[Any]) -> NDArray[Any]:
    """Return lists as rows of an array; empty if they differ in length."""
    try:
        return np.array(rows, dtype=float)
    except (TypeError, ValueError):
        return np.array([], dtype=str)


_BAG_SIGNATURES = (b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3")
_SIGNATURE_READERS = {b"PK\x03\x04": read_npz, b"PAR1": read_parquet, b"MATLAB 5.0": read_mat}


def read_foreign_log(paths: Sequence[Path], topic: str | None = None) -> RawLog:
    """Return the columns of a file or folder, or of several files that are columns of one log.

    Text, NPZ, MAT, HDF5, Parquet, a ROS bag or MCAP file, distinguished by content; the topic
    selects among several topics of joint states in a bag. Raises `FileFormatError` if a file is
    missing, broken or of an unknown form, `OptionError` if a topic is given and no file is a bag.
    """
    bags = [
        p
        for p in paths
        if not is_dataset(p) and (p.is_dir() or _read_beginning(p).startswith(_BAG_SIGNATURES))
    ]
    if topic is not None and not bags:
        raise OptionError(f"--topic {topic}: {paths[0]} is not a ROS bag; leave the topic out")
    recordings = [read_bag(p, topic) if p in bags else _read_file(p) for p in paths]
    return join_stamps(
        recordings[0] if len(recordings) == 1 else join_recordings(recordings, paths)
    )


def _read_beginning(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(32)
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror}") from error


def _read_file(path: Path) -> RawLog:
    beginning = b"" if path.is_dir() else _read_beginning(path)
    try:
        if path.is_dir():
            return read_dataset(path)
        if beginning.startswith(b"# schema: robotid/log/") or _is_our_hdf5(path):
            return _read_log(path)
        for magic, read in _SIGNATURE_READERS.items():
            if beginning.startswith(magic):
                return read(path)
        return read_hdf5(path) if h5py.is_hdf5(path) else read_text(path)
    except Exception as error:  # readers of other projects have no common class of errors
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


def _read_log(path: Path) -> RawLog:
    """Return the columns of a log of robotid, to be written in another form."""
    log = load_log(path)
    columns = {"t": log.t}
    torque = ("current", "current") if log.is_in_amperes else ("tau", "tau_meas")
    for prefix, name in (("q", "q"), ("dq", "dq"), torque, ("tau_cmd", "tau_cmd")):
        channel = getattr(log, name)
        if channel is not None:
            columns |= {f"{prefix}.{j}": channel[:, k] for k, j in enumerate(log.joint_names)}
    keys = ("period", "torque_time_offset", "seed", "origin")
    omitted = [n for n in ("truth", "current") if n not in torque and getattr(log, n) is not None]
    notes = (f"is a log of robotid already; omitted: {', '.join(omitted)}",) if omitted else ()
    return RawLog(columns, notes, {key: getattr(log, key) for key in keys})


if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader

JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
DYNAMIC_JOINT_STATE_TYPE = "control_msgs/msg/DynamicJointState"

STORAGE_SUFFIXES = (".db3", ".mcap")
"""Suffixes of the storage files of a ROS 2 bag."""

DATABASE_KINDS = ("table", "index")
"""Kinds of objects in the database of a bag."""

INTERFACE_VALUE_TYPE = "control_msgs/msg/InterfaceValue"
_MESSAGE_DEFINITIONS = {
    INTERFACE_VALUE_TYPE: "string[] interface_names\nfloat64[] values\n",
    DYNAMIC_JOINT_STATE_TYPE: "std_msgs/Header header\nstring[] joint_names\n"
    "control_msgs/InterfaceValue[] interface_values\n",
}
"""Definitions of messages that are not part of ROS 2, for bags that do not contain them."""

Sample = dict[str, float]
"""Values of one message by ``<quantity>.<joint>``."""


def read_bag(path: Path, topic: str | None = None) -> RawLog:
    """Read the joint states of one topic of a bag, or of ROS 2 storage files without metadata.

    Raises `FileFormatError` if the bag is broken, `LogError` if it has no joint states, or several
    topics with joint states and none is given, `UnknownNameError` if the topic given has none, and
    `MissingExtraError` if the reader of bags is not installed.
    """
    with require_extra("ROS bags need rosbags", "logs"):
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    try:
        _require_own_files(path)
        store = get_typestore(Stores.ROS2_HUMBLE)
        for name, text in _MESSAGE_DEFINITIONS.items():
            store.register(get_types_from_msg(text, name))
        files = [path]
        # The message is lost in the bag.
        if path.is_dir() and not (path / "metadata.yaml").exists():
            files = sorted(f for f in path.iterdir() if f.suffix in STORAGE_SUFFIXES) or files
        with AnyReader(files, default_typestore=store) as reader:
            return _read(reader, topic, path)
    except RobotIdError:
        raise
    except Exception as error:  # the storage libraries have no common class of errors
        text = " ".join(str(error).split())
        raise FileFormatError(f"cannot read bag {path}: {text}") from error


def _require_own_files(path: Path) -> None:
    """Raise `FileFormatError` unless a bag has only its own files, with stored tables."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        owner = path / "metadata.yaml" if path.is_dir() else path
        require_reference_allowed(owner, file, str(file))
        if file.suffix == ".db3" and file.is_file():
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as rows:
                kinds = rows.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
                computed = [
                    name
                    for kind, name, text in kinds
                    if kind not in DATABASE_KINDS
                    or (text or "").upper().startswith("CREATE VIRTUAL")
                ]
                hidden = "SELECT hidden FROM pragma_table_xinfo(?)"  # whether it is an expression
                computed += [
                    name
                    for kind, name, _ in kinds
                    if kind == "table"
                    and any(is_hidden for (is_hidden,) in rows.execute(hidden, (name,)))
                ]
            if computed:
                raise FileFormatError(f"{file}: '{computed[0]}' is computed, not stored; export it")


def _read(reader: "AnyReader", topic: str | None, path: Path) -> RawLog:
    chosen = _topic(reader, topic, path)
    connections = [c for c in reader.connections if c.topic == chosen]
    header, recorded, lists = [], [], []
    samples: list[Sample] = []
    for connection, time, raw in reader.messages(connections):
        message: Any = reader.deserialize(raw, connection.msgtype)
        stamp = message.header.stamp
        header.append(int(stamp.sec) * 10**9 + int(stamp.nanosec))
        recorded.append(time)
        samples.append(dict(_values(message)))
        lists.append(tuple(getattr(message, "name", None) or message.joint_names))
    if not samples:
        raise LogError(f"{path}: topic {chosen} has no messages; choose another --topic")
    keep, others = _select_publisher(samples, lists)
    samples = [samples[k] for k in keep]
    header, recorded = ([stamps[k] for k in keep] for stamps in (header, recorded))
    stamped = len(set(header)) > 1
    stamps = np.array(header if stamped else recorded, dtype=np.int64)
    notes = [f"topic {chosen}: {len(samples)} messages", *others]
    if not stamped:
        notes.append("headers have no stamps; the times of recording are taken")
    if stamps[0] > 10**15:  # a clock, not a count from the start
        notes.append(f"time counts from the first message, at {stamps[0] // 10**9} s")
        stamps = stamps - stamps[0]
    columns = {"t": 1e-9 * stamps}
    names = dict.fromkeys(name for sample in samples for name in sample)
    columns |= {name: np.array([s.get(name, np.nan) for s in samples]) for name in names}
    return RawLog(columns, tuple(notes))


def _select_publisher(
    samples: Sequence[Sample], lists: Sequence[tuple[str, ...]]
) -> tuple[list[int], list[str]]:
    """Choose among publishers of the same joints, distinguished by their lists of names.

    The publisher whose values change most often is taken; publishers of other joints are kept.
    Returns the numbers of the selected messages, and notes on the others.
    """
    by_list: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for k, names in enumerate(lists):
        by_list[names].append(k)
    changes = {
        names: sum(samples[j] != samples[k] for j, k in pairwise(numbers))
        for names, numbers in by_list.items()
    }
    name_lists: list[tuple[str, ...]] = []
    notes = []
    for names in sorted(by_list, key=lambda each: -changes[each]):
        if any(set(names) & set(other) for other in name_lists):
            shown = ", ".join(names)
            notes.append(
                f"{len(by_list[names])} messages of another publisher are omitted: {shown}"
            )
        else:
            name_lists.append(names)
    return sorted(k for names in name_lists for k in by_list[names]), notes


def _topic(reader: "AnyReader", topic: str | None, path: Path) -> str:
    kinds = (JOINT_STATE_TYPE, DYNAMIC_JOINT_STATE_TYPE)
    by_kind: dict[str, list[str]] = defaultdict(list)
    for connection in reader.connections:
        if connection.topic not in by_kind[connection.msgtype]:
            by_kind[connection.msgtype].append(connection.topic)
    topics = [name for kind in kinds for name in by_kind[kind]]
    if topic is not None:
        if topic not in topics:
            raise UnknownNameError.from_names(
                f"topic of joint states in {path}", topic, topics or ["none"]
            )
        return topic
    if not topics:
        others = ", ".join(sorted({c.topic for c in reader.connections})) or "none"
        raise LogError(
            f"{path} has no topic of joint states ({' or '.join(kinds)}); it has {others}"
        )
    if len(topics) > 1:
        raise LogError(
            f"{path} has several topics of joint states; choose a --topic: {', '.join(topics)}"
        )
    return topics[0]


def _values(message: Any) -> Iterator[tuple[str, float]]:
    """Yield names and values of joints in a message."""
    if hasattr(message, "interface_values"):
        for joint, state in zip(message.joint_names, message.interface_values, strict=True):
            for name, value in zip(state.interface_names, state.values, strict=True):
                yield f"{name}.{joint}", float(value)
        return
    for quantity in ("position", "velocity", "effort"):
        values = getattr(message, quantity)
        if len(values):
            for joint, value in zip(message.name, values, strict=True):
                yield f"{quantity}.{joint}", float(value)
