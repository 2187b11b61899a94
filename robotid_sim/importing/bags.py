"""Joint states from ROS 1 and ROS 2 bags and MCAP files."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotid_sim.errors import (
    FileFormatError,
    LogError,
    MissingExtraError,
    RobotIdError,
    UnknownNameError,
)
from robotid_sim.importing.foreign_log import ForeignLog
from robotid_sim.inputs import require_nameable

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader

JOINT_STATE = "sensor_msgs/msg/JointState"
DYNAMIC_JOINT_STATE = "control_msgs/msg/DynamicJointState"

STORAGE = (".db3", ".mcap")
"""Suffixes of the files that a ROS 2 bag is stored in."""

STORED = ("table", "index")
"""What a database of a bag may have."""

INTERFACE_VALUE = "control_msgs/msg/InterfaceValue"
_DEFINITIONS = {
    INTERFACE_VALUE: "string[] interface_names\nfloat64[] values\n",
    DYNAMIC_JOINT_STATE: "std_msgs/Header header\nstring[] joint_names\n"
    "control_msgs/InterfaceValue[] interface_values\n",
}
"""Messages that ROS 2 itself does not define, for bags without definitions."""

Sample = dict[str, float]
"""Values of one message by ``<quantity>.<joint>``."""


def read_bag(path: Path, topic: str | None = None) -> ForeignLog:
    """Read the joint states of one topic of a bag, or of ROS 2 storage files without metadata.

    Raises `FileFormatError` if the bag is broken, `LogError` if it has no joint states, or several
    topics of them and none is given, `UnknownNameError` if the topic given has none, and
    `MissingExtraError` if the reader of bags is not installed.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise MissingExtraError.of("ROS bags need rosbags", "logs") from error
    try:
        _require_own_files(path)
        store = get_typestore(Stores.ROS2_HUMBLE)
        for name, text in _DEFINITIONS.items():
            store.register(get_types_from_msg(text, name))
        files = [path]
        if path.is_dir() and not (path / "metadata.yaml").exists():  # the bag has lost it
            files = sorted(f for f in path.iterdir() if f.suffix in STORAGE) or files
        with AnyReader(files, default_typestore=store) as reader:
            return _read(reader, topic, path)
    except RobotIdError:
        raise
    except Exception as error:  # the readers' storage libraries share no class of errors
        text = " ".join(str(error).split())
        raise FileFormatError(f"cannot read bag {path}: {text}") from error


def _require_own_files(path: Path) -> None:
    """Raise `FileFormatError` unless a bag is of regular files of its own, databases of tables."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        require_nameable(path / "metadata.yaml" if path.is_dir() else path, file, str(file))
        if file.suffix == ".db3" and file.is_file():
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as rows:
                kinds = rows.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
                computed = [
                    name
                    for kind, name, text in kinds
                    if kind not in STORED or (text or "").upper().startswith("CREATE VIRTUAL")
                ]
                hidden = "SELECT hidden FROM pragma_table_xinfo(?)"  # whether it is an expression
                computed += [
                    name
                    for kind, name, _ in kinds
                    if kind == "table" and any(one for (one,) in rows.execute(hidden, (name,)))
                ]
            if computed:
                raise FileFormatError(f"{file}: '{computed[0]}' is computed, not stored; export it")


def _read(reader: "AnyReader", topic: str | None, path: Path) -> ForeignLog:
    chosen = _topic(reader, topic, path)
    connections = [c for c in reader.connections if c.topic == chosen]
    header, recorded = [], []
    samples: list[Sample] = []
    for connection, time, raw in reader.messages(connections):
        message: Any = reader.deserialize(raw, connection.msgtype)
        stamp = message.header.stamp
        header.append(int(stamp.sec) * 10**9 + int(stamp.nanosec))
        recorded.append(time)
        samples.append(dict(_values(message)))
    if not samples:
        raise LogError(f"{path}: topic {chosen} has no messages; choose another --topic")
    stamped = len(set(header)) > 1
    stamps = np.array(header if stamped else recorded, dtype=np.int64)
    notes = [f"topic {chosen}: {len(samples)} messages"]
    if not stamped:
        notes.append("headers have no stamps; the times of recording are taken")
    if stamps[0] > 10**15:  # a clock, not a count from the start
        notes.append(f"time counts from the first message, at {stamps[0] // 10**9} s")
        stamps = stamps - stamps[0]
    columns = {"t": 1e-9 * stamps}
    names = dict.fromkeys(name for sample in samples for name in sample)
    columns |= {name: np.array([s.get(name, np.nan) for s in samples]) for name in names}
    return ForeignLog(columns, tuple(notes))


def _topic(reader: "AnyReader", topic: str | None, path: Path) -> str:
    kinds = (JOINT_STATE, DYNAMIC_JOINT_STATE)
    by_kind: dict[str, list[str]] = defaultdict(list)
    for connection in reader.connections:
        if connection.topic not in by_kind[connection.msgtype]:
            by_kind[connection.msgtype].append(connection.topic)
    topics = [name for kind in kinds for name in by_kind[kind]]
    if topic is not None:
        if topic not in topics:
            raise UnknownNameError.of(f"topic of joint states in {path}", topic, topics or ["none"])
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
    """Give name and value of all that a message says of joints."""
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
