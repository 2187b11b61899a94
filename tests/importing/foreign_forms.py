"""One log in the forms in which machines and tools write it."""

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from robots import DATA
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from robotid_sim.importing.readers import (
    DYNAMIC_JOINT_STATE_TYPE,
    INTERFACE_VALUE_TYPE,
    JOINT_STATE_TYPE,
)
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot

RATE = 200.0
DEGREE = np.pi / 180.0
EXTRA = ("gripper", 0.04)
"""A joint that is no one of the robot's, and where it stands."""


def original(robot, samples=400):
    """Return a log of smooth motions; torques are smooth too, and need no dynamics here."""
    t = np.arange(samples) / RATE
    phase = np.arange(robot.dof)
    amplitude = 0.7 * np.minimum(robot.limits.upper, 2.0)
    q = amplitude * np.sin(2.0 * t[:, None] + phase)
    dq = 2.0 * amplitude * np.cos(2.0 * t[:, None] + phase)
    tau = 30.0 * np.cos(3.0 * t[:, None] - phase) + 5.0 * phase
    names, units = robot.joint_names, robot.joint_units
    return Log(t=t, q=q, dq=dq, tau_meas=tau, joint_names=names, joint_units=units)


def arm():
    """Return the planar arm with the joints shoulder and elbow."""
    return load_robot(DATA / "2r.urdf")


@dataclass
class Form:
    """Names and numbers of a table, before they are written."""

    t: np.ndarray
    q: np.ndarray
    dq: np.ndarray
    tau: np.ndarray
    joints: tuple[str, ...]
    names: tuple[str, str, str, str] = ("t", "q.{joint}", "dq.{joint}", "tau.{joint}")
    more: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, log, **changes):
        return cls(log.t, log.q, log.dq, log.tau_meas, log.joint_names, **changes)

    def columns(self):
        time, *channels = self.names
        columns = {time: self.t}
        arrays = zip(channels, (self.q, self.dq, self.tau), strict=True)
        for pattern, array in ((p, a) for p, a in arrays if p):
            for k, joint in enumerate(self.joints):
                columns[pattern.format(joint=joint, k=k, k1=k + 1)] = array[:, k]
        return columns | self.more


def text(columns, *, delimiter=",", comma=False, header="", names=True):
    """Return columns as text."""
    rows = [delimiter.join(columns)] if names else []
    for values in zip(*columns.values(), strict=True):
        line = delimiter.join("" if v != v else repr(float(v)) for v in values)
        rows.append(line.replace(".", ",") if comma else line)
    return header + "\n".join(rows) + "\n"


def write(path: Path, content: str) -> Path:
    """Write text, compressed if the name says so."""
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return path


def write_mat(path, log):
    state = {"position": log.q, "velocity": log.dq, "effort": log.tau_meas}
    scipy.io.savemat(path, {"log": {"time": log.t, **state}, "note": "of a machine"})
    return path


def write_hdf5(path, log, *, transposed=False):
    head = 512 if path.suffix == ".mat" else 0
    with h5py.File(path, "w", userblock_size=head) as file:
        for name, array in {"q": log.q, "dq": log.dq, "tau": log.tau_meas}.items():
            file[f"joints/{name}"] = array.T if transposed else array
        file["time"] = log.t[None, :] if transposed else log.t
        file["comment"] = "of a machine"
        file["gains"] = np.ones(3)
    if head:
        with path.open("r+b") as raw:
            raw.write(b"MATLAB 7.3 MAT-file".ljust(head))
    return path


def joint_state(store, log, k, *, stamped=True, effort=True, joints=None):
    """Return a message with the joints in reverse order and one of no interest."""
    kinds = store.types
    ns = round(1e9 * log.t[k]) if stamped else 0
    first = 1_700_000_000 if stamped else 0
    stamp = kinds["builtin_interfaces/msg/Time"](sec=first + ns // 10**9, nanosec=ns % 10**9)
    extra = {"seq": k} if "seq" in kinds["std_msgs/msg/Header"].__dataclass_fields__ else {}
    header = kinds["std_msgs/msg/Header"](stamp=stamp, frame_id="", **extra)
    names = [*reversed(log.joint_names), EXTRA[0]]
    return kinds[JOINT_STATE_TYPE](
        header=header,
        name=names,
        position=np.append(log.q[k, ::-1], EXTRA[1]),
        velocity=np.append(log.dq[k, ::-1], 0.0),
        effort=np.append(log.tau_meas[k, ::-1], 0.0) if effort else np.array([]),
    )


def write_bag2(folder, log, plugin, *, topics=("/joint_states",), **options):
    """Write a ROS 2 bag with metadata."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(folder, version=9, storage_plugin=plugin) as writer:
        for topic in topics:
            connection = writer.add_connection(topic, JOINT_STATE_TYPE, typestore=store)
            for k, t in enumerate(log.t):
                raw = store.serialize_cdr(joint_state(store, log, k, **options), JOINT_STATE_TYPE)
                writer.write(connection, round(1e9 * t) + 1_700_000_000 * 10**9, raw)
    return folder


def write_bag1(path, log):
    """Write a ROS 1 bag."""
    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer1(path) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE_TYPE, typestore=store)
        for k, t in enumerate(log.t):
            raw = store.serialize_ros1(joint_state(store, log, k), JOINT_STATE_TYPE)
            writer.write(connection, round(1e9 * t), raw)
    return path


def write_dynamic(folder, log):
    """Write a ROS 2 bag of DynamicJointState, as ros2_control publishes them."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    store.register(
        get_types_from_msg("string[] interface_names\nfloat64[] values\n", INTERFACE_VALUE_TYPE)
    )
    lines = "std_msgs/Header header\nstring[] joint_names\n"
    lines += "control_msgs/InterfaceValue[] interface_values\n"
    store.register(get_types_from_msg(lines, DYNAMIC_JOINT_STATE_TYPE))
    kinds = store.types
    with Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection(
            "/dynamic_joint_states", DYNAMIC_JOINT_STATE_TYPE, typestore=store
        )
        for k in range(log.t.size):
            values = [
                kinds[INTERFACE_VALUE_TYPE](
                    interface_names=["position", "velocity", "effort"],
                    values=np.array([log.q[k, j], log.dq[k, j], log.tau_meas[k, j]]),
                )
                for j in range(log.dof)
            ]
            message = kinds[DYNAMIC_JOINT_STATE_TYPE](
                header=joint_state(store, log, k).header,
                joint_names=list(log.joint_names),
                interface_values=values,
            )
            raw = store.serialize_cdr(message, DYNAMIC_JOINT_STATE_TYPE)
            writer.write(connection, round(1e9 * log.t[k]), raw)
    return folder


def storage_file(folder, suffix):
    """Return the storage file of a ROS 2 bag, to be read without its metadata."""
    (folder / "metadata.yaml").unlink()
    return next(folder.glob(f"*{suffix}"))
