"""Profiles of vendors' logs: patterns of columns, units, torque constants.

A profile is a TOML file beside this module. It is chosen by the names of the columns; entries of a
map have precedence.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from robotid_sim.config_section import ConfigSection
from robotid_sim.errors import UnknownNameError
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.raw_log import RawLog
from robotid_sim.importing.units import QUANTITIES, parse_column
from robotid_sim.inputs import read_toml
from robotid_sim.model.robot import Robot
from robotid_sim.section import percent

PROFILE_FOLDER = Path(__file__).with_name("profiles")

NO_PROFILE = "none"
"""Value of `profile` in a map that prevents the use of a profile."""


class PublishedConstants(ConfigSection):
    """Torque per current of the joints of a robot, as published."""

    robot: str
    """Part of the robot's name; empty for any."""
    values: tuple[float, ...]
    """Torque per current of every joint [N m/A]."""
    std: float
    """Relative standard deviation of the constants."""
    source: str
    """Publication."""


class Profile(ConfigSection):
    """Names and units in the logs of a vendor's recorder."""

    name: str
    """The vendor and its recorder."""
    source: str
    """Source of the names."""
    time: str
    """Pattern of the name of the column with time stamps."""
    time_unit: str | None = None
    """Unit of the stamps."""
    columns: dict[str, str]
    """Pattern of column names by quantity; its group is the number of the joint."""
    units: dict[str, str] = Field(default_factory=dict)
    """Units by quantity."""
    notes: tuple[str, ...] = ()
    """Unused contents of the log, one sentence each."""
    torque_constants: tuple[PublishedConstants, ...] = ()
    """Constants of the vendor's robots; the first match is used."""

    def columns_of(self, recording: RawLog, dof: int) -> dict[str, list[str]]:
        """Return the columns of complete quantities, by quantity, in the order of joints."""
        chosen = {}
        for quantity, pattern in self.columns.items():
            matches = ((re.fullmatch(pattern, name), name) for name in recording.columns)
            numbered = sorted((int(match[1]), name) for match, name in matches if match)
            if len({number for number, _ in numbered}) == len(numbered) == dof:
                chosen[quantity] = [name for _, name in numbered]
        return chosen


@cache
def profiles() -> dict[str, Profile]:
    """Return all profiles by the name of their file."""
    files = sorted(PROFILE_FOLDER.glob("*.toml"))
    return {file.stem: Profile.model_validate(read_toml(file, "profile")) for file in files}


def complete_by_profile(
    recording: RawLog, robot: Robot, import_map: ImportMap
) -> tuple[ImportMap, tuple[str, ...], list[str]]:
    """Complete a map by the profile that it names or that matches the columns.

    Returns the map, the quantities to match in addition, and notes on the profile.
    """
    by_key = profiles()
    if import_map.profile not in (None, NO_PROFILE, *by_key):
        raise UnknownNameError.from_names("profile", str(import_map.profile), [NO_PROFILE, *by_key])
    kinds = {parse_column(name, robot.joint_names).quantity for name in recording.columns}
    for key, profile in by_key.items():
        columns = profile.columns_of(recording, robot.dof)
        by_current = "torque" not in columns
        fits = "position" in columns and ("current" in columns or not by_current)
        if import_map.profile is None and by_current and "torque" in kinds:
            fits = False  # prefer measured torques to currents
        if fits and import_map.profile in (None, key):
            update, notes = _complete_map(profile, columns, recording, robot, import_map)
            head = f"profile {profile.name} ({key}); profile = 'none' in a map leaves it out"
            return (
                import_map.model_copy(update=update),
                tuple(columns),
                [head, *profile.notes, *notes],
            )
    return import_map, QUANTITIES, []


def _complete_map(
    profile: Profile,
    columns: dict[str, list[str]],
    recording: RawLog,
    robot: Robot,
    import_map: ImportMap,
) -> tuple[dict[str, Any], list[str]]:
    """Return the entries that a profile adds to a map, and notes on its torque constants."""
    fitting = [c for c in profile.torque_constants if c.robot in robot.name.lower()]
    stated = any(joint.torque_constant or joint.torque for joint in import_map.joints.values())
    constants = None if "torque" in columns or stated or not fitting else fitting[0]
    joints = {}
    for j, name in enumerate(robot.joint_names):
        values: dict[str, Any] = {q: names[j] for q, names in columns.items()}
        values |= {f"{q}_unit": unit for q, unit in profile.units.items() if q in columns}
        values |= {} if constants is None else {"torque_constant": constants.values[j]}
        stated_keys = import_map.joints.get(name, JointMap()).model_dump(exclude_unset=True)
        joints[name] = JointMap.model_validate(values | stated_keys)
    times = [name for name in recording.columns if re.fullmatch(profile.time, name)]
    time = import_map.time or (times[0] if times and import_map.rate is None else None)
    update = {
        "joints": joints,
        "time": time,
        "time_unit": import_map.time_unit or profile.time_unit,
    }
    if constants is None:
        return update, []
    shown = " ".join(f"{value:g}" for value in constants.values)
    note = (
        f"WARNING: torques are currents times {shown} N m/A ± {percent(constants.std)} "
        f"({constants.source}); all parameters scale with them: give torque_constant in a map, or "
        f"--drive-gain-std {constants.std:g}"
    )
    return update, [note]
