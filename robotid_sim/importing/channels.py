"""From columns in their units, of joints or motors, to the channels of a log in SI units."""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.importing.foreign_log import ForeignLog
from robotid_sim.importing.import_map import ImportMap, MatrixRows
from robotid_sim.importing.units import UNITS, default_unit
from robotid_sim.model.robot import Robot


class Channels(NamedTuple):
    """Samples on the joint side, each of shape (N, n); None for what is not recorded."""

    q: Float2D
    dq: Float2D | None
    tau: Float2D
    tau_cmd: Float2D | None
    current: Float2D | None
    torque_constant: Float1D | None
    """Joint torque per current [N m/A], shape (n,), with `current`."""


def channels(recording: ForeignLog, mapping: ImportMap, robot: Robot) -> Channels:
    r"""Return the channels that a complete map describes.

    With motors that drive several joints, :math:`q = R^{-1} q_m + q_0` and :math:`\tau = R^T
    \tau_m`, as power is the same on both sides. Raises `OptionError` if a coupling has another
    shape than the robot needs, is singular or stands beside gears.
    """
    position, torque = _transmission(mapping, robot)
    joints = [mapping.joints[name] for name in robot.joint_names]
    side = np.array([joint.torque_sign for joint in joints], dtype=float)
    offset = np.array([joint.offset for joint in joints])

    def column(quantity: str) -> Float2D | None:
        return _samples(recording, mapping, robot, quantity)

    direction = np.array([joint.sign for joint in joints], dtype=float)
    q, dq = column("position"), column("velocity")
    assert q is not None  # a map without positions is no complete one
    measured, command, current = (column(name) for name in ("torque", "command", "current"))
    constants = [joint.torque_constant for joint in joints if joint.torque_constant is not None]
    scale = None
    if current is None or len(constants) < len(joints):
        current = None
    else:
        current, scale = current * side, np.array(constants)
    if measured is None:
        assert current is not None, "`match` requires torques or currents"
        assert scale is not None
        tau = (current * scale) @ torque.T
    else:
        tau = (measured * side) @ torque.T
    if mapping.coupling is not None:
        current = scale = None  # no joint has a constant of its own
    return Channels(
        q=(q * direction) @ position.T + offset,
        dq=None if dq is None else (dq * direction) @ position.T,
        tau=tau,
        tau_cmd=None if command is None else (command * side) @ torque.T,
        current=current,
        torque_constant=None if scale is None else scale * np.diag(torque),
    )


def _samples(
    recording: ForeignLog, mapping: ImportMap, robot: Robot, quantity: str
) -> Float2D | None:
    """Return the columns of a quantity in SI units; torques that are not recorded are zero."""
    kind = "torque" if quantity == "command" else quantity
    columns: list[Float1D] = []
    some = any(mapping.joints[name].torque is not None for name in robot.joint_names)
    for joint in robot.joints:
        own = mapping.joints[joint.name]
        name = getattr(own, quantity)
        if name is None and quantity == "torque" and some:
            columns.append(np.zeros(recording.samples))
            continue
        if name is None:
            return None
        unit = getattr(own, f"{kind}_unit") or default_unit(kind, prismatic=joint.prismatic)
        column: Float1D = recording.columns[name] * UNITS[kind][unit]
        absent = quantity == "torque" and np.isnan(column).all()
        columns.append(np.zeros(column.size) if absent else column)
    return np.column_stack(columns)


def _transmission(mapping: ImportMap, robot: Robot) -> tuple[Float2D, Float2D]:
    """Return the matrices from motor to joint, of positions and of torques."""
    ratios = np.array([mapping.joints[name].gear_ratio for name in robot.joint_names])
    coupling = mapping.coupling
    if coupling is None:
        return np.diag(1.0 / ratios), np.diag(ratios)
    if (ratios != 1.0).any():
        raise OptionError("map: gear_ratio has no effect with [coupling]; put it into the matrix")
    turns = _square(coupling.position, "position", robot)
    if np.linalg.matrix_rank(turns) < robot.dof:
        raise OptionError("map: coupling.position is singular; two motors drive the same motion")
    torque = turns.T if coupling.torque is None else _square(coupling.torque, "torque", robot)
    return np.linalg.inv(turns), torque


def _square(matrix: MatrixRows, name: str, robot: Robot) -> Float2D:
    n = robot.dof
    if len(matrix) != n or any(len(row) != n for row in matrix):
        raise OptionError(f"map: coupling.{name} needs {n} rows of {n} numbers, a row a motor")
    return np.array(matrix, dtype=float)
