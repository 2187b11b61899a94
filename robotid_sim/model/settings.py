"""``robot.toml``: settings of a robot beside its URDF, and the sources of its numbers.

Terms of joints in it are springs, counterbalances, and motors that two joints share.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robotid_sim.errors import OptionError, suggestion
from robotid_sim.files import check_schema
from robotid_sim.model.catalog_files import read_robot_toml
from robotid_sim.model.joint import Joint
from robotid_sim.model.joint_terms import (
    COUNTERBALANCE,
    COUPLED,
    SPRING,
    JointTerm,
    require_terms_of,
)

TERM_KEYS = (SPRING, COUNTERBALANCE, COUPLED)
"""Keys of ``[joints.NAME]`` that state a term."""

PARTNER_KEY = "partner"
"""Key of the joint that shares a motor."""

RANGE_TOLERANCE = 1e-6
"""Tolerance of a range of positions [rad or m]."""

TERM_FORMS: Mapping[str, tuple[Mapping[str, float | None], str]] = {
    SPRING: ({"stiffness": None, "rest": 0.0}, "{ stiffness = 120.0, rest = 0.3 }"),
    COUPLED: (
        {PARTNER_KEY: None, "Im": None, "Fvm": 0.0, "Fcm": 0.0, "side": 1.0},
        '{ partner = "joint_5", Im = 0.02, Fvm = 0.1, Fcm = 0.3, side = 1 }',
    ),
}
"""Keys of a term that is a table with their defaults, None if they must be given, and a sample."""

SAMPLE_ROWS = "[[-1.6, 40.0], [0.0, 0.0], [1.6, -40.0]]"
"""A sample of the rows of a counterbalance."""


def split_terms(
    joints: Mapping[str, Any], where: str
) -> tuple[dict[str, Any], tuple[JointTerm, ...]]:
    """Split the settings of joints into settings without terms, and terms.

    A spring holds its joint at ``rest``: the drive gives ``stiffness (q - rest)`` against it. The
    torques of a counterbalance are its torques on the joint. Raises `OptionError`, which names file
    and key, if a term is not in a valid form.
    """
    others: dict[str, Any] = {}
    terms = []
    for joint, values in joints.items():
        others[joint] = values
        if not isinstance(values, Mapping):
            continue
        others[joint] = {key: value for key, value in values.items() if key not in TERM_KEYS}
        for key in TERM_KEYS:
            if key in values:
                terms.append(_term(key, joint, values[key], f"{where}: joints.{joint}.{key}"))
    return others, tuple(terms)


def _term(key: str, joint: str, value: object, place: str) -> JointTerm:
    if key == COUNTERBALANCE:
        rows = value if isinstance(value, list) else []
        if not rows or not all(isinstance(row, list) and len(row) == 2 for row in rows):
            raise OptionError(
                f"{place} must be rows of position and torque, as in {COUNTERBALANCE} = "
                f"{SAMPLE_ROWS}"
            )
        numbers = tuple(_number(part, place) for row in rows for part in row)
        try:
            return JointTerm(COUNTERBALANCE, joint, numbers)
        except OptionError as error:
            raise OptionError(f"{place}: {error}") from error
    form, sample = TERM_FORMS[key]
    if not isinstance(value, Mapping):
        raise OptionError(f"{place} must be a table, as in {key} = {sample}")
    for name in value:
        if name not in form:
            raise OptionError(
                f"{place}: unknown key '{name}'{suggestion(name, form)}; known: {', '.join(form)}"
            )
    missing = [name for name, default in form.items() if default is None and name not in value]
    if missing:
        raise OptionError(f"{place} has no {', '.join(missing)}, as in {key} = {sample}")
    number = {
        name: _number(value.get(name, default), f"{place}.{name}")
        for name, default in form.items()
        if name != PARTNER_KEY
    }
    if key == SPRING:
        stiffness = number["stiffness"]
        return JointTerm(key, joint, (stiffness, -stiffness * number["rest"]))
    side, partner = number["side"], str(value[PARTNER_KEY])
    if side not in (1.0, -1.0) or partner == joint:
        raise OptionError(f"{place}: side must be 1 or -1, and {PARTNER_KEY} another joint")
    return JointTerm(key, joint, (number["Im"], number["Fvm"], number["Fcm"]), side, partner)


def as_float(value: float) -> float:
    """Return a number of a file as a float; infinite if an integer is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(value: object, place: str) -> float:
    """Return a number of a file; raise `OptionError` if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"{place} = {value!r} is not a finite number")
    if not math.isfinite(number := as_float(value)):
        raise OptionError(f"{place} = {number!r} is not a finite number")
    return number


def terms_of_chain(
    in_file: Sequence[JointTerm],
    stated: Sequence[JointTerm],
    names: Sequence[str],
    joints: Sequence[Joint],
) -> tuple[JointTerm, ...]:
    """Return the terms whose joints all are on the chain; robot.toml has precedence over the file.

    `names` are the names of all joints of the file.
    """
    require_terms_of(stated, names, "robot.toml: the robot")
    stated_keys = {(term.kind, term.joint) for term in stated}
    terms = [t for t in in_file if (t.kind, t.joint) not in stated_keys] + [*stated]
    on_chain = {None, *(joint.name for joint in joints)}
    chain_terms = [t for t in terms if {t.joint, t.partner} <= on_chain]
    ranges = {joint.name: (joint.lower, joint.upper) for joint in joints}
    for term in chain_terms:
        if term not in stated or term.kind != COUNTERBALANCE:
            continue
        first, last, (lower, upper) = term.values[0], term.values[-2], ranges[term.joint]
        if first > lower + RANGE_TOLERANCE or last < upper - RANGE_TOLERANCE:
            raise OptionError(
                f"robot.toml: joints.{term.joint}.{COUNTERBALANCE} goes from {first:g} to "
                f"{last:g}, and the joint from {lower:.6g} to {upper:.6g}; add rows"
            )
    return tuple(chain_terms)


JOINT_KEYS = (
    *("lower", "upper", "velocity", "acceleration", "effort"),
    *("Fv", "Fc", "Fo", "Ia", "eps"),
)
STATUSES = ("published", "corrected", "computed", "assumed")
_KEY_TYPES: dict[str, type] = {
    **dict.fromkeys(("urdf", "summary", "source", "base", "tip"), str),
    **dict.fromkeys(("joints", "provenance"), dict),
}
_KEYS = ("schema", *_KEY_TYPES)


@dataclass(frozen=True, slots=True)
class RobotSettings:
    """Content of a robot.toml; all fields have neutral defaults."""

    summary: str = ""
    source: str = ""
    """Description of the robot and the sources of its numbers, for `robotid list robots`."""
    base: str | None = None
    tip: str | None = None
    """Ends of the chain."""
    joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Overrides by joint: limits (`lower, upper, velocity, acceleration, effort`), friction (`Fv,
    Fc, Fo, eps`) and reflected rotor inertia (`Ia`), in SI units."""
    terms: tuple[JointTerm, ...] = ()
    """Springs, counterbalances and shared motors, which are stated by joint too; see
    `robotid_sim.model.settings`."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """For every quantity ``published:``, ``corrected:``, ``computed:`` or ``assumed:`` and a
    note."""


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
    for key, kind in _KEY_TYPES.items():
        if not isinstance(content.get(key, kind()), kind):
            expected = "a table" if kind is dict else "a text"
            raise OptionError(f"{path}: '{key}' must be {expected}, not {content[key]!r}")
    for key, text in content.get("provenance", {}).items():
        if str(text).partition(":")[0] not in STATUSES:
            raise OptionError(f"{path}: provenance '{key}' must start with one of {STATUSES}")
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


POSITIVE_KEYS = ("velocity", "acceleration", "effort", "eps")
"""Values of a joint that must not be negative; `Joint` also refuses zero."""


def check_overrides(
    joints: Mapping[str, Any], where: str, valid_keys: Sequence[str] = JOINT_KEYS
) -> dict[str, dict[str, float]]:
    """Return joint overrides as floats; raise `OptionError` for an unknown key or invalid value.

    Values must be finite, and those of `POSITIVE_KEYS` not negative. `valid_keys` are the keys that
    a message lists, including those of joint terms.
    """
    checked: dict[str, dict[str, float]] = {}
    for joint, values in joints.items():
        if not isinstance(values, Mapping):
            raise OptionError(f"{where}: joints.{joint} is not a table of values")
        for key, value in values.items():
            if key not in JOINT_KEYS:
                names = ", ".join(valid_keys)
                raise OptionError(
                    f"{where}: unknown key '{key}'{suggestion(key, valid_keys)} of joint "
                    f"'{joint}'; known: {names}"
                )
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise OptionError(f"{where}: joints.{joint}.{key} = {value!r} is not a number")
            if not math.isfinite(number := as_float(value)):
                raise OptionError(f"{where}: joints.{joint}.{key} = {number!r} is not finite")
            if value < 0.0 and key in POSITIVE_KEYS:
                raise OptionError(f"{where}: joints.{joint}.{key} = {value!r} is negative")
        checked[joint] = {key: float(value) for key, value in values.items()}
    return checked
