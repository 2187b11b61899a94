"""Write a log in the format of a controller or of its recorder."""

import csv
import json
from importlib import import_module
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.deployment.target import Target
from robotid_sim.errors import require_extra
from robotid_sim.measurement.log import Log

STAMP_UNITS = {"IPOC": 1e-3}
"""Unit of time stamps [s] by the name of their column; other columns are in seconds."""

STATES_TOPIC = "/joint_states"


def require_writer(target: Target) -> None:
    """Raise `MissingExtraError` if the writer of the logs of a target is not installed."""
    packages = {"bag": "rosbags.rosbag2", "parquet": "pyarrow.parquet"}
    if target.log.form in packages:
        with require_extra(f"Logs of {target.name} need {packages[target.log.form]}", "logs"):
            import_module(packages[target.log.form])


def write_vendor_log(log: Log, target: Target, folder: Path, constants: Float1D) -> Path:
    """Write a log in the form of a target; return the file, or the folder of a bag or data set.

    Currents are torques over `constants` [N m/A], shape (n,). See also `require_writer`.
    """
    form = target.log
    if form.form == "bag":
        return _write_bag(log, folder / "bag")
    unit = np.where(np.array(log.joint_units) == "rad", np.pi / 180.0, 1.0)
    channels = {
        "position": log.q / (unit if target.unit == "deg" else 1.0),
        "torque": log.tau_meas,
        "current": log.tau_meas / constants,
    }
    if log.dq is not None:
        channels["velocity"] = log.dq
    t = (log.t - log.t[0]) / STAMP_UNITS.get(form.time, 1.0)
    columns = {name: channels[q] for q, name in form.columns.items() if q in channels}
    if form.form == "parquet":
        return _write_dataset({form.time: t, **columns}, folder)
    names = [name.format(k=k + form.first) for name in columns for k in range(log.dof)]
    path = folder / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([form.time, *names])
        writer.writerows(np.column_stack([t, *columns.values()]).tolist())
    return path


def _write_dataset(columns: dict[str, np.ndarray], folder: Path) -> Path:
    """Write a data set of LeRobot with one episode."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "meta").mkdir()
    (folder / "meta" / "info.json").write_text(json.dumps({"codebase_version": "v2.1"}))
    (folder / "data").mkdir()
    table = pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
    pq.write_table(table, folder / "data" / "episode_000000.parquet")
    return folder


def _write_bag(log: Log, path: Path) -> Path:
    """Write the joint states of a bag of ROS 2."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    header, stamp, state = (
        store.types[name]
        for name in (
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "sensor_msgs/msg/JointState",
        )
    )
    velocities = np.zeros((log.t.size, 0)) if log.dq is None else log.dq
    with Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection(STATES_TOPIC, state.__msgtype__, typestore=store)
        for t, q, dq, tau in zip(log.t - log.t[0], log.q, velocities, log.tau_meas, strict=True):
            time = round(1e9 * t)
            message = state(
                header=header(stamp=stamp(*divmod(time, 10**9)), frame_id=""),
                name=list(log.joint_names),
                position=q,
                velocity=dq,
                effort=tau,
            )
            writer.write(connection, time, store.serialize_cdr(message, state.__msgtype__))
    return path
