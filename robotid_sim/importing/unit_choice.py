"""The units of matched columns: by the map, by name, or by what the numbers can be."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.errors import LogError
from robotid_sim.importing.column_names import ColumnName
from robotid_sim.importing.foreign_log import ForeignLog, seconds
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.units import OF_LENGTH, UNITS, default_unit
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot

DOUBTFUL = 1.2
"""Largest position over the joint's limit from which this is told."""

BEYOND = 3.0
"""The same from which another unit is supposed; a joint without end may turn a few times."""

WITHIN = 1.1
"""Largest position over the joint's limit that another unit may leave."""

FASTER = 10.0
"""Velocity over change of position from which velocities are in degrees."""

MatchedColumns = Mapping[str, Mapping[str, ColumnName]]
"""Names of columns by quantity and joint."""


def chosen_units(
    columns: MatchedColumns, recording: ForeignLog, robot: Robot, mapping: ImportMap
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the unit of every quantity of every joint, and what was concluded from numbers.

    Units are by joint and key of a `JointMap`; there is a sentence for every unit that no name
    told. The limits of the robot tell radians from degrees, the map has the column of the time, and
    units that are given. Raises `LogError` if a unit of length is that of a revolute joint, or the
    other way round.
    """
    units: dict[str, dict[str, str]] = {joint: {} for joint in robot.joint_names}
    notes: list[str] = []
    for quantity, names in columns.items():
        kind = "torque" if quantity == "command" else quantity
        key = f"{kind}_unit"
        silent = []
        for joint in (joint for joint in robot.joints if joint.name in names):
            own = mapping.joints.get(joint.name, JointMap())
            unit = getattr(own, key) or names[joint.name].unit
            if unit is None:
                silent.append(joint)
                unit = default_unit(kind, prismatic=joint.prismatic)
            if quantity != "current" and (unit in OF_LENGTH) != joint.prismatic:
                shape = "prismatic" if joint.prismatic else "revolute"
                raise LogError(
                    f"joint '{joint.name}' is {shape}, and '{unit}' is no unit of its {quantity}; "
                    "give the right one in a map"
                )
            units[joint.name].setdefault(key, unit)
        if quantity == "position" and mapping.coupling is None:
            for prismatic in (False, True):
                alike = [joint for joint in silent if joint.prismatic == prismatic]
                unit, note = _unit_by_limits(alike, names, recording, mapping)
                units |= {j.name: {**units[j.name], key: unit} for j in alike}
                notes += [note] if note else []
        if quantity == "velocity":
            revolute = [joint.name for joint in silent if not joint.prismatic]
            if revolute and _are_degrees(revolute, columns, recording, units, mapping):
                units |= {joint: {**units[joint], key: "deg/s"} for joint in revolute}
                notes.append("velocities are those of the positions in deg/s")
    return units, tuple(notes)


def _unit_by_limits(
    joints: list[Joint], names: Mapping[str, ColumnName], recording: ForeignLog, mapping: ImportMap
) -> tuple[str, str]:
    """Return the unit of positions whose names have none, by the limits, and a note.

    One unit for all: a wrist that hardly moves would pass for radians.
    """
    prismatic = any(joint.prismatic for joint in joints)
    usual, smaller = ("m", "mm") if prismatic else ("rad", "deg")
    reach = {}
    for joint in joints:
        farthest = max(abs(joint.lower), abs(joint.upper))
        ratio = abs(mapping.joints.get(joint.name, JointMap()).gear_ratio)
        column = recording.columns[names[joint.name].name]
        reach[joint.name] = float(np.nanmax(np.abs(column), initial=0.0)) / ratio / farthest
    worst = max(reach, key=reach.__getitem__, default="")
    if not reach or reach[worst] <= DOUBTFUL:
        return usual, ""
    said = f"positions of {worst} reach {reach[worst]:.3g} times its limit in {usual}"
    if mapping.joints.get(worst, JointMap()).gear_ratio == 1.0:
        advice = "if they are the motor's, give gear_ratio in a map"
    else:
        said, advice = f"{said}, behind its gear", "position_unit in the map tells another unit"
    of_motors = not mapping.has_gears and any("motor" in names[j.name].stem for j in joints)
    fits = reach[worst] > BEYOND and reach[worst] * UNITS["position"][smaller] <= WITHIN
    if fits and not of_motors:
        return smaller, f"{said}: taken as {smaller}; {advice}"
    return usual, f"WARNING: {said}; {advice}"


def _are_degrees(
    joints: list[str],
    columns: MatchedColumns,
    recording: ForeignLog,
    units: Mapping[str, Mapping[str, str]],
    mapping: ImportMap,
) -> bool:
    """Return whether velocities are far faster than the positions [rad] change."""
    t = seconds(recording, mapping)
    way = integral = 0.0
    for joint in joints:
        x = recording.columns[columns["position"][joint].name]
        x = x * UNITS["position"][units[joint]["position_unit"]]
        v = recording.columns[columns["velocity"][joint].name]
        way += float(np.nansum(np.abs(np.diff(x))))
        integral += float(np.nansum(np.abs(v[1:]) * np.abs(np.diff(t))))
    return integral > FASTER * way > 0.0
