"""``robot.toml``: what a robot needs beside its URDF, and where its numbers come from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robotid_sim.errors import OptionError, suggestion
from robotid_sim.files import check_schema
from robotid_sim.model.catalog_files import read_robot_toml
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.settings_terms import TERM_KEYS, as_float, split_terms

JOINT_KEYS = (
    *("lower", "upper", "velocity", "acceleration", "effort"),
    *("Fv", "Fc", "Fo", "Ia", "eps"),
)
STATUSES = ("published", "corrected", "computed", "assumed")
_TYPES: dict[str, type] = {
    **dict.fromkeys(("urdf", "summary", "source", "base", "tip"), str),
    **dict.fromkeys(("joints", "provenance"), dict),
}
_KEYS = ("schema", *_TYPES)


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """Content of a robot.toml; all fields have neutral defaults.

    Attributes
    ----------
    summary, source : str
        What the robot is and where its numbers come from, for `robotid list robots`.
    base, tip : str or None
        Ends of the chain.
    joints : mapping of str to mapping of str to float
        Overrides by joint: limits (`lower, upper, velocity, acceleration, effort`), friction
        (`Fv, Fc, Fo, eps`) and reflected rotor inertia (`Ia`), in SI units.
    terms : tuple of JointTerm
        Springs, counterbalances and shared motors, which are stated by joint too; see
        `robotid_sim.model.settings_terms`.
    provenance : mapping of str to str
        For every quantity ``published:``, ``corrected:``, ``computed:`` or ``assumed:`` and a note.
    """

    summary: str = ""
    source: str = ""
    base: str | None = None
    tip: str | None = None
    joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    terms: tuple[JointTerm, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def read_settings(urdf: Path) -> RobotSettings:
    """Return the robot.toml beside a URDF that names it, else neutral settings.

    Raises `FileFormatError` if the file is not TOML or of another schema, `OptionError` if it has
    an unknown key or a value of the wrong type.
    """
    path, content = urdf.parent / "robot.toml", read_robot_toml(urdf)
    if not content:
        return RobotSettings()
    check_schema(content.get("schema"), "robot", 1, path)
    for key in content:
        if key not in _KEYS:
            raise OptionError(
                f"{path}: unknown key '{key}'{suggestion(key, _KEYS)}; known: {', '.join(_KEYS)}"
            )
    for key, kind in _TYPES.items():
        if not isinstance(content.get(key, kind()), kind):
            expected = "a table" if kind is dict else "a text"
            raise OptionError(f"{path}: '{key}' must be {expected}, not {content[key]!r}")
    for key, text in content.get("provenance", {}).items():
        if str(text).partition(":")[0] not in STATUSES:
            raise OptionError(f"{path}: provenance '{key}' starts with none of {STATUSES}")
    joints, terms = split_terms(content.get("joints", {}), str(path))
    return RobotSettings(
        summary=content.get("summary", ""),
        source=content.get("source", ""),
        base=content.get("base"),
        tip=content.get("tip"),
        joints=check_overrides(joints, str(path), (*JOINT_KEYS, *TERM_KEYS)),
        terms=terms,
        provenance=content.get("provenance", {}),
    )


POSITIVE = ("velocity", "acceleration", "effort", "eps")
"""Values of a joint that are sizes."""


def check_overrides(
    joints: Mapping[str, Any], where: str, known: Sequence[str] = JOINT_KEYS
) -> dict[str, dict[str, float]]:
    """Return joint overrides as floats; raise OptionError on an unknown key or a non-number.

    The keys that a message calls `known` may be more than those of numbers.
    """
    checked: dict[str, dict[str, float]] = {}
    for joint, values in joints.items():
        if not isinstance(values, Mapping):
            raise OptionError(f"{where}: joints.{joint} is not a table of values")
        for key, value in values.items():
            if key not in JOINT_KEYS:
                names = ", ".join(known)
                raise OptionError(
                    f"{where}: unknown key '{key}'{suggestion(key, known)} of joint "
                    f"'{joint}'; known: {names}"
                )
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise OptionError(f"{where}: joints.{joint}.{key} = {value!r} is not a number")
            if not math.isfinite(number := as_float(value)):
                raise OptionError(f"{where}: joints.{joint}.{key} = {number!r} is not finite")
            if value < 0.0 and key in POSITIVE:
                raise OptionError(f"{where}: joints.{joint}.{key} = {value!r} is negative")
        checked[joint] = {key: float(value) for key, value in values.items()}
    return checked
