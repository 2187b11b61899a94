"""``map.toml``: quantity, unit and side of the gear of every column of a machine's log."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from robotid_sim.config_section import ConfigSection
from robotid_sim.errors import OptionError, suggestion
from robotid_sim.files import check_schema, schema_tag, write_text
from robotid_sim.importing.units import UNITS, unit_in
from robotid_sim.inputs import read_toml

SCHEMA_VERSION = 1

MatrixRows = tuple[tuple[float, ...], ...]

Spring = str | tuple[tuple[float, float], ...]
"""An expression, or rows of position and torque."""


def _unit_validator(quantity: str) -> AfterValidator:
    def check(unit: str) -> str:
        unit_name = unit if unit in UNITS[quantity] else unit_in(unit, quantity)
        if unit_name is None:
            raise ValueError(f"unknown unit; known: {', '.join(UNITS[quantity])}")
        return unit_name

    return AfterValidator(check)


def _require_two_rows(spring: Spring) -> Spring:
    if not isinstance(spring, str) and len(spring) < 2:
        raise ValueError("a table needs two rows of position and torque or more")
    return spring


def _nonzero(value: float) -> float:
    if value == 0.0:
        raise ValueError("must not be zero")
    return value


class JointMap(ConfigSection):
    """Columns of one joint, or of its motor, and their conversion to SI units of the joint.

    With x a column in SI units: ``q = sign x / gear_ratio + offset``, ``dq = sign x / gear_ratio``,
    ``tau = torque_sign x gear_ratio``.
    """

    position: str | None = None
    """Column of the position."""
    velocity: str | None = None
    """Column of the velocity."""
    torque: str | None = None
    """Column of the measured torque."""
    command: str | None = None
    """Column of the commanded torque."""
    current: str | None = None
    """Column of the motor current."""
    position_unit: Annotated[str, _unit_validator("position")] | None = None
    """rad, mrad, deg, rev, m, cm, mm or um."""
    velocity_unit: Annotated[str, _unit_validator("velocity")] | None = None
    """rad/s, mrad/s, deg/s, rpm, rev/s, m/s, cm/s or mm/s."""
    torque_unit: Annotated[str, _unit_validator("torque")] | None = None
    """Unit of torques and commands, such as N m, N cm, N, or % and permille of the rated torque."""
    current_unit: Annotated[str, _unit_validator("current")] | None = None
    """A or mA."""
    sign: Literal[-1, 1] = 1
    """Direction of positions and velocities relative to the joint's."""
    torque_sign: Literal[-1, 1] = 1
    """Direction of torques and currents relative to the joint's."""
    offset: float = 0.0
    """Joint position where the column is zero [rad or m]."""
    gear_ratio: Annotated[float, AfterValidator(_nonzero)] = 1.0
    """Turns of the motor per turn of the joint, where the columns are of the motor."""
    torque_gear_ratio: Annotated[float, AfterValidator(_nonzero)] | None = None
    """The same for torques and currents, where these are not on the side of the positions."""
    torque_constant: float | None = Field(default=None, gt=0.0)
    """Torque per current, on the side of the gear where the columns are [N m/A]."""
    rated_torque: float | None = Field(default=None, gt=0.0)
    """Torque of 100 % for a torque in % or permille [N m or N]."""
    spring: Annotated[Spring, AfterValidator(_require_two_rows)] | None = None
    """Torque of a known spring or counterbalance on the joint [N m or N]: an expression of q, the
    position of the joint, and q1, q2, ... of all, or a table of positions and torques. It is added
    to the measured torque."""


class Coupling(ConfigSection):
    """Motors that drive several joints: row k is motor k, in the order of the robot's joints."""

    position: MatrixRows
    """R of q_motor = R (q - offset): turns of each motor per turn of each joint."""
    torque: MatrixRows | None = None
    """Matrix from motor to joint torques.  [default: the transpose of R, which conserves power]"""


class ImportMap(ConfigSection):
    """Content of a map.toml; missing entries are inferred from names and numbers."""

    schema_: str = Field(default=schema_tag("import-map", SCHEMA_VERSION), alias="schema")
    """Kind and version of the file."""
    profile: str | None = None
    """Profile of a vendor's recorder, or ``none``; by default chosen by the names of columns."""
    time: str | None = None
    """Column of the time stamps."""
    time_unit: Annotated[str, _unit_validator("time")] | None = None
    """s, ms, us or ns."""
    rate: float | None = Field(default=None, gt=0.0)
    """Sample rate [Hz], where no column has the time."""
    windows: tuple[tuple[float, float], ...] = ()
    """Start and stop of the times to import [s], on the time axis of the imported log."""
    period: float | None = Field(default=None, gt=0.0)
    """Period of the excitation [s]."""
    torque_time_offset: float | None = None
    """Time by which the torque acts after the position sample [s]."""
    joints: dict[str, JointMap] = Field(default_factory=dict)
    coupling: Coupling | None = None

    @property
    def has_gears(self) -> bool:
        """Whether a gear between column and joint is given, so that the columns are of motors."""
        return any(joint.gear_ratio != 1.0 for joint in self.joints.values())


_SECTIONS: Mapping[str, type[BaseModel]] = {"joints": JointMap, "coupling": Coupling}


def load_map(path: str | Path) -> ImportMap:
    """Return the map in a TOML file.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is not TOML or of another schema.
    OptionError
        If a key is unknown or a value is invalid; names the key.
    """
    content = read_toml(path, "map")
    if "schema" in content:
        check_schema(content["schema"], "import-map", SCHEMA_VERSION, path)
    try:
        return ImportMap.model_validate(content)
    except ValidationError as error:
        # Unknown keys come first: a key that is missing may be one that is misspelt.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            inside = str(first["loc"][0]) if len(first["loc"]) > 1 else ""
            section: type[BaseModel] = _SECTIONS.get(inside, ImportMap)
            keys = [field.alias or name for name, field in section.model_fields.items()]
            name = str(first["loc"][-1])
            reason = f"unknown key '{key}'{suggestion(name, keys)}; known here: {', '.join(keys)}"
        elif first["type"] == "missing":
            reason = f"'{key}': is required"
        else:
            text = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
            reason = f"'{key}': {text}, got {first['input']!r}"
        raise OptionError(f"{path}: {reason}") from error


def save_map(mapping: ImportMap, path: str | Path, comment: str = "") -> None:
    """Write a map as TOML; `load_map` returns the same one.

    Parameters
    ----------
    mapping : ImportMap
        The map.
    path : str or Path
        Its file.
    comment : str
        First line of the file.
    """
    content = mapping.model_dump(by_alias=True, exclude_defaults=True, mode="json")
    joints, coupling = content.pop("joints", {}), content.pop("coupling", {})
    lines = [f'schema = "{mapping.schema_}"', *_lines(content)]
    if comment:
        lines.insert(0, "# " + "".join(c if c.isprintable() else " " for c in comment))
    if coupling:
        lines += ["", "[coupling]", *_lines(coupling)]
    for name, joint in joints.items():
        lines += ["", f"[joints.{json.dumps(name)}]", *_lines(joint)]
    write_text(path, "\n".join(lines) + "\n")


def _lines(section: Mapping[str, Any]) -> list[str]:
    # JSON's texts, numbers and lists are those of TOML.
    values = {key: value for key, value in section.items() if value is not None}
    return [f"{key} = {json.dumps(v, ensure_ascii=False)}" for key, v in values.items()]
