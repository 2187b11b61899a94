"""Matching columns to time, and to positions, velocities, torques and currents of joints.

Units of columns come from the map, the name, or the plausible range of the numbers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robotid_sim.errors import LogError, UnknownNameError
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.locked_joints import joints_of_tree, require_at_rest
from robotid_sim.importing.profiles import complete_by_profile
from robotid_sim.importing.raw_log import RawLog, seconds
from robotid_sim.importing.units import (
    LENGTH_UNITS,
    PREFERRED_WORDS,
    QUANTITIES,
    SHARE_UNITS,
    UNITS,
    ColumnName,
    default_unit,
    parse_column,
    time_rank,
)
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot

NAME_REASON = "by joint name"
"""Reason for columns that are matched by joint name."""

MAP_REASON = "by the map"

MAX_RANK = 10
"""Rank of a time column whose name does not contain time."""

MAX_STEP = 0.5
"""Longest plausible step between samples [s]; a longer one is in ms, us or ns."""

_POSITION_STEMS = frozenset(
    {(), ("a",), ("j",), ("axis",), ("joint",), ("joints",), ("achse",), ("关节",)}
)
"""Stems of columns that are positions if no other column names one."""


@dataclass(frozen=True, slots=True)
class Match:
    """A complete map of a recording, and the reasons for it."""

    mapping: ImportMap
    """Every column that is used, with its unit."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Explanation of the matched columns, by quantity."""
    notes: tuple[str, ...] = ()
    """Notes, such as on inferred units."""


def match(recording: RawLog, robot: Robot, import_map: ImportMap | None = None) -> Match:
    """Return the map of a recording to a robot; entries of `import_map` are not inferred.

    Raises `UnknownNameError` if the map names a joint that the robot or a column that the recording
    does not have, `LogError` if there is no time, or a joint has no position, or neither torque nor
    current.
    """
    import_map, quantities, profile_notes = complete_by_profile(
        recording, robot, import_map or ImportMap()
    )
    for joint in import_map.joints:
        if joint not in robot.joint_names:
            what = f"joint in the map of '{robot.name}'"
            raise UnknownNameError.from_names(what, joint, robot.joint_names)
    for column in [
        import_map.time,
        *(getattr(j, q) for j in import_map.joints.values() for q in QUANTITIES),
    ]:
        if column is not None and column not in recording.columns:
            raise UnknownNameError.from_names("column in the map", column, recording.columns)
    rest_notes = require_at_rest(recording, robot)
    chosen, reasons = _choose_columns(recording, robot, import_map, quantities)
    for quantity, columns in chosen.items():
        by_map = [joint for joint in columns if _find_mapped_column(import_map, joint, quantity)]
        missing = [joint for joint in robot.joint_names if joint not in columns]
        may_be_partial = quantity == "torque" and import_map.coupling is None
        if by_map and missing and not may_be_partial:
            raise LogError(
                f"the map has no {quantity} column for {', '.join(missing)}, and no column name "
                f"identifies it; columns: {', '.join(recording.columns)}"
            )
    _require_channels(chosen, import_map, recording, robot)
    time, unit, note = _find_time(recording, import_map)
    map_with_time = import_map.model_copy(update={"time": time, "time_unit": unit})
    units, unit_notes = choose_units(chosen, recording, robot, map_with_time)
    joints = {}
    for name in robot.joint_names:
        columns_of = {q: columns[name].name for q, columns in chosen.items() if name in columns}
        joint_map = import_map.joints.get(name, JointMap())
        joints[name] = joint_map.model_copy(update={**columns_of, **units[name]})
    update: dict[str, Any] = {"joints": joints}
    keys = ("period", "torque_time_offset")
    update |= {k: recording.attributes.get(k) for k in keys if getattr(import_map, k) is None}
    return Match(
        map_with_time.model_copy(update=update),
        reasons,
        (*profile_notes, *rest_notes, *([note] if note else []), *unit_notes),
    )


def draft_map(recording: RawLog, robot: Robot, import_map: ImportMap | None = None) -> ImportMap:
    """Return the matched columns of every joint, complete or not.

    Every joint has a section with its columns, as far as names identify them.
    """
    import_map = import_map or ImportMap()
    chosen, _ = _choose_columns(recording, robot, import_map)
    joints = {
        name: import_map.joints.get(name, JointMap()).model_copy(
            update={q: columns[name].name for q, columns in chosen.items() if name in columns}
        )
        for name in robot.joint_names
    }
    return import_map.model_copy(update={"joints": joints})


def _choose_columns(
    recording: RawLog, robot: Robot, import_map: ImportMap, quantities: Sequence[str] = QUANTITIES
) -> tuple[dict[str, dict[str, ColumnName]], dict[str, str]]:
    """Return the columns of every quantity by joint, and the reasons."""
    names = [
        name
        for name in (parse_column(name, joints_of_tree(robot)) for name in recording.columns)
        if name.joint is None or name.joint in robot.joint_names
    ]
    chosen: dict[str, dict[str, ColumnName]] = {}
    reasons: dict[str, str] = {}
    by_currents = any(j.current and j.torque_constant for j in import_map.joints.values())
    for quantity in quantities:
        by_map = {
            joint: _find_mapped_column(import_map, joint, quantity) for joint in import_map.joints
        }
        if quantity == "torque" and by_currents and not any(by_map.values()):
            continue  # a torque column may be in amperes
        named = {j: parse_column(name, robot.joint_names) for j, name in by_map.items() if name}
        columns, reason = (
            ({}, "") if len(named) == robot.dof else _match_quantity(names, quantity, robot)
        )
        if columns or named:
            chosen[quantity] = columns | named
            mapped = f"{', '.join(named)} {MAP_REASON}" if named else ""
            both = "; ".join(filter(None, (reason, mapped)))
            reasons[quantity] = MAP_REASON if len(named) == robot.dof else both
    return chosen, reasons


def _find_mapped_column(import_map: ImportMap, joint: str, quantity: str) -> str | None:
    """Return the column that a map names, if any."""
    column: str | None = getattr(import_map.joints.get(joint, JointMap()), quantity)
    return column


def _match_quantity(
    names: Sequence[ColumnName], quantity: str, robot: Robot
) -> tuple[dict[str, ColumnName], str]:
    """Return the columns of a quantity by joint, and the reason; empty if there are none."""
    stems: dict[tuple[str, ...], list[ColumnName]] = defaultdict(list)
    prismatic = {joint.name for joint in robot.joints if joint.prismatic}
    for name in names:
        if name.quantity == quantity and (name.joint is not None or name.number is not None):
            # The torque of a prismatic joint is a force, and its column may be named so.
            is_force = name.joint in prismatic or (bool(prismatic) and name.number is not None)
            is_force = is_force and quantity == "torque"
            words = ("torque" if is_force and w == "force" else w for w in name.stem)
            stems[tuple(words)].append(name)
    if not stems and quantity == "position":
        for name in names:
            if name.quantity is None and name.stem in _POSITION_STEMS:
                stems[name.stem].append(name)
    candidates = []
    for stem, group in stems.items():
        by_joint = {name.joint: name for name in group if name.joint is not None}
        if set(by_joint) == set(robot.joint_names):
            candidates.append((0, stem, {joint: by_joint[joint] for joint in robot.joint_names}))
        numbered = sorted((n.number, n.name, n) for n in group if n.number is not None)
        if len(numbered) == robot.dof and len({n[0] for n in numbered}) == robot.dof:
            columns = [name for _, _, name in numbered]
            candidates.append((1, stem, dict(zip(robot.joint_names, columns, strict=True))))
        elif quantity == "torque" and by_joint and len(by_joint) == len(group):
            candidates.append((2, stem, by_joint))
    if not candidates:
        return {}, ""
    candidates.sort(key=lambda c: (c[0], -len(PREFERRED_WORDS.intersection(c[1])), len(c[1])))
    rank, stem, chosen = candidates[0]
    others = [" ".join(other) for _, other, _ in candidates[1:] if other != stem]
    reason = "by order" if rank == 1 else NAME_REASON
    return chosen, f"{reason}; not {', '.join(others)}" if others else reason


def _require_channels(
    chosen: Mapping[str, Mapping[str, ColumnName]],
    import_map: ImportMap,
    recording: RawLog,
    robot: Robot,
) -> None:
    constants = [name for name, j in import_map.joints.items() if j.torque_constant is not None]
    without = [name for name in robot.joint_names if name not in constants]
    if constants and without:
        raise LogError(f"the map has no torque_constant for {', '.join(without)}; give all or none")
    if "position" not in chosen:
        raise _make_missing_error("position", recording, robot)
    if "torque" not in chosen and "current" not in chosen:
        raise _make_missing_error("torque", recording, robot)


def _make_missing_error(quantity: str, recording: RawLog, robot: Robot) -> LogError:
    """Return the error for a quantity with missing, too many or too few columns."""
    columns = [
        name
        for name in recording.columns
        if parse_column(name, robot.joint_names).quantity == quantity
    ]
    others = f" (found: {', '.join(columns)})" if columns else ""
    return LogError(
        f"found no {quantity} columns for the joints {', '.join(robot.joint_names)}{others}; "
        f'name them in a map, as [joints."{robot.joint_names[0]}"] {quantity} = "..."; columns: '
        f"{', '.join(recording.columns)}"
    )


def _find_time(recording: RawLog, import_map: ImportMap) -> tuple[str | None, str | None, str]:
    """Return column and unit of the time, and a note on the source of the unit."""
    if import_map.rate is not None:
        if import_map.time is not None:
            raise LogError("the map has a time column and a rate; leave one of them out")
        return None, None, f"time: from the rate of the map, {import_map.rate:g} Hz"
    ranks = {name: time_rank(name) for name in recording.columns}
    ranks |= {name: ((ranks[name] or (MAX_RANK,))[0], "s") for name in recording.clocks}
    named = {name: rank for name, rank in ranks.items() if rank is not None}
    name = import_map.time or min(named, key=lambda n: named[n][0], default=None)
    if name is None:
        raise LogError(
            'no column is the time; name it in a map as time = "...", or give rate = ... [Hz]; '
            f"columns: {', '.join(recording.columns)}"
        )
    rank = ranks[name]
    unit = import_map.time_unit or (rank[1] if rank else None)
    if unit is not None:
        return name, unit, f"time: column '{name}' [{unit}]"
    steps = np.diff(recording.columns[name])
    steps = steps[steps > 0.0]
    step = float(np.median(steps)) if steps.size else 0.0
    unit = next((u for u, size in UNITS["time"].items() if step * size <= MAX_STEP), "ns")
    note = f"time: column '{name}', taken as {unit} by its usual step of {step:g}"
    return name, unit, note


def list_unused_columns(recording: RawLog, mapping: ImportMap) -> tuple[str, ...]:
    """Return the columns of a recording that a map does not use."""
    used = {mapping.time}
    for joint in mapping.joints.values():
        used |= {joint.position, joint.velocity, joint.torque, joint.command, joint.current}
    return tuple(name for name in recording.columns if name not in used)


SUSPECT_POSITION_RATIO = 1.2
"""Smallest ratio of position to joint limit that is reported."""

MAX_LIMIT_RATIO = 3.0
"""Ratio above which another unit is assumed; a continuous joint may turn a few times."""

MAX_CONVERTED_RATIO = 1.1
"""Largest ratio of position to joint limit after conversion from another unit."""

MAX_VELOCITY_RATIO = 10.0
"""Ratio of velocity to change of position above which velocities are in degrees."""

MatchedColumns = Mapping[str, Mapping[str, ColumnName]]
"""Names of columns by quantity and joint."""


def choose_units(
    columns: MatchedColumns, recording: RawLog, robot: Robot, mapping: ImportMap
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the unit of every quantity of every joint, and notes on units inferred from numbers.

    Units are by joint and key of a `JointMap`; there is a note for every unit that no name states.
    The limits of the robot tell radians from degrees; the map has the time column, and the units
    that are given. Raises `LogError` if a unit of length is that of a revolute joint, or the
    other way round.
    """
    units: dict[str, dict[str, str]] = {joint: {} for joint in robot.joint_names}
    notes: list[str] = []
    for quantity, names in columns.items():
        kind = "torque" if quantity == "command" else quantity
        key = f"{kind}_unit"
        without_unit = []
        for joint in (joint for joint in robot.joints if joint.name in names):
            joint_map = mapping.joints.get(joint.name, JointMap())
            column = names[joint.name]
            unit = getattr(joint_map, key) or column.unit
            if unit is None and column.unknown_unit is None:
                without_unit.append(joint)
                unit = default_unit(kind, prismatic=joint.prismatic)
            if unit is None or unit not in UNITS[kind]:
                raise LogError(
                    f"column '{column.name}' of {joint.name}: '{unit or column.unknown_unit}' is "
                    f"not a known unit of a {kind}; give {key} in a map: {', '.join(UNITS[kind])}"
                )
            if unit in SHARE_UNITS and joint_map.rated_torque is None:
                raise LogError(
                    f"column '{column.name}' is a share of a rated torque [{unit}]; give "
                    "rated_torque [N m] of every such joint in a map"
                )
            if (
                kind != "current"
                and unit not in SHARE_UNITS
                and (unit in LENGTH_UNITS) != joint.prismatic
            ):
                joint_kind = "prismatic" if joint.prismatic else "revolute"
                raise LogError(
                    f"joint '{joint.name}' is {joint_kind}, and '{unit}' is not a unit of its "
                    f"{quantity}; "
                    "give the right one in a map"
                )
            units[joint.name].setdefault(key, unit)
        if quantity == "position" and mapping.coupling is None:
            for prismatic in (False, True):
                alike = [joint for joint in without_unit if joint.prismatic == prismatic]
                unit, note = _unit_by_limits(alike, names, recording, mapping)
                units |= {j.name: {**units[j.name], key: unit} for j in alike}
                notes += [note] if note else []
        if quantity == "velocity":
            revolute = [joint.name for joint in without_unit if not joint.prismatic]
            if revolute and _are_degrees(revolute, columns, recording, units, mapping):
                units |= {joint: {**units[joint], key: "deg/s"} for joint in revolute}
                notes.append("velocities fit the change of the positions in deg/s")
    return units, tuple(notes)


def _unit_by_limits(
    joints: list[Joint], names: Mapping[str, ColumnName], recording: RawLog, mapping: ImportMap
) -> tuple[str, str]:
    """Return the unit of positions whose names have none, by the limits, and a note.

    One unit for all joints, because a wrist that hardly moves would appear to be in radians.
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
    if not reach or reach[worst] <= SUSPECT_POSITION_RATIO:
        return usual, ""
    reason = f"positions of {worst} reach {reach[worst]:.3g} times its limit in {usual}"
    if mapping.joints.get(worst, JointMap()).gear_ratio == 1.0:
        advice = "if they are the motor's, give gear_ratio in a map"
    else:
        reason, advice = f"{reason}, behind its gear", "give another position_unit in the map"
    of_motors = not mapping.has_gears and any("motor" in names[j.name].stem for j in joints)
    fits = (
        reach[worst] > MAX_LIMIT_RATIO
        and reach[worst] * UNITS["position"][smaller] <= MAX_CONVERTED_RATIO
    )
    if fits and not of_motors:
        return smaller, f"{reason}: taken as {smaller}; {advice}"
    return usual, f"WARNING: {reason}; {advice}"


def _are_degrees(
    joints: list[str],
    columns: MatchedColumns,
    recording: RawLog,
    units: Mapping[str, Mapping[str, str]],
    mapping: ImportMap,
) -> bool:
    """Return whether velocities are far larger than the rate of the positions [rad]."""
    t = seconds(recording, mapping)
    distance = integral = 0.0
    for joint in joints:
        x = recording.columns[columns["position"][joint].name]
        x = x * UNITS["position"][units[joint]["position_unit"]]
        v = recording.columns[columns["velocity"][joint].name]
        distance += float(np.nansum(np.abs(np.diff(x))))
        integral += float(np.nansum(np.abs(v[1:]) * np.abs(np.diff(t))))
    return integral > MAX_VELOCITY_RATIO * distance > 0.0
