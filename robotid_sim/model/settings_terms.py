"""Terms of joints in a ``robot.toml``: springs, counterbalances, motors that two joints share."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from robotid_sim.errors import OptionError, suggestion
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

PARTNER = "partner"
"""Key of the joint that shares a motor."""

REACH = 1e-6
"""Rounding of a range of positions [rad or m]."""

FORMS: Mapping[str, tuple[Mapping[str, float | None], str]] = {
    SPRING: ({"stiffness": None, "rest": 0.0}, "{ stiffness = 120.0, rest = 0.3 }"),
    COUPLED: (
        {PARTNER: None, "Im": None, "Fvm": 0.0, "Fcm": 0.0, "side": 1.0},
        '{ partner = "joint_5", Im = 0.02, Fvm = 0.1, Fcm = 0.3, side = 1 }',
    ),
}
"""Keys of a term that is a table with their defaults, None if they must be given, and a sample."""

ROWS = "[[-1.6, 40.0], [0.0, 0.0], [1.6, -40.0]]"
"""A sample of the rows of a counterbalance."""


def split_terms(
    joints: Mapping[str, Any], where: str
) -> tuple[dict[str, Any], tuple[JointTerm, ...]]:
    """Return the settings of joints without those of terms, and the terms that these state.

    A spring holds its joint at ``rest``: the drive gives ``stiffness (q - rest)`` against it. The
    torques of a counterbalance are those that it gives the joint. Raises `OptionError`, which names
    file and key, if a term is not stated as it should be.
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


def require_reach(terms: Sequence[JointTerm], joints: Sequence[Joint]) -> None:
    """Raise `OptionError` if the table of a counterbalance does not hold the range of its joint."""
    ranges = {joint.name: (joint.lower, joint.upper) for joint in joints}
    for term in terms:
        if term.kind != COUNTERBALANCE:
            continue
        first, last, (lower, upper) = term.values[0], term.values[-2], ranges[term.joint]
        if first > lower + REACH or last < upper - REACH:
            raise OptionError(
                f"robot.toml: joints.{term.joint}.{COUNTERBALANCE} goes from {first:g} to "
                f"{last:g}, and the joint from {lower:.6g} to {upper:.6g}; add rows"
            )


def _term(key: str, joint: str, value: object, what: str) -> JointTerm:
    if key == COUNTERBALANCE:
        return _table(joint, value, what)
    form, sample = FORMS[key]
    if not isinstance(value, Mapping):
        raise OptionError(f"{what} must be a table, as in {key} = {sample}")
    for name in value:
        if name not in form:
            raise OptionError(
                f"{what}: unknown key '{name}'{suggestion(name, form)}; known: {', '.join(form)}"
            )
    missing = [name for name, usual in form.items() if usual is None and name not in value]
    if missing:
        raise OptionError(f"{what} lacks {', '.join(missing)}, as in {key} = {sample}")
    number = {
        name: _number(value.get(name, usual), f"{what}.{name}")
        for name, usual in form.items()
        if name != PARTNER
    }
    if key == SPRING:
        stiffness = number["stiffness"]
        return JointTerm(key, joint, (stiffness, -stiffness * number["rest"]))
    side, partner = number["side"], str(value[PARTNER])
    if side not in (1.0, -1.0) or partner == joint:
        raise OptionError(f"{what}: side must be 1 or -1, and {PARTNER} another joint")
    return JointTerm(key, joint, (number["Im"], number["Fvm"], number["Fcm"]), side, partner)


def _table(joint: str, value: object, what: str) -> JointTerm:
    rows = value if isinstance(value, list) else []
    if not rows or not all(isinstance(row, list) and len(row) == 2 for row in rows):
        raise OptionError(
            f"{what} must be rows of position and torque, as in {COUNTERBALANCE} = {ROWS}"
        )
    numbers = tuple(_number(part, what) for row in rows for part in row)
    try:
        return JointTerm(COUNTERBALANCE, joint, numbers)
    except OptionError as error:
        raise OptionError(f"{what}: {error}") from error


def as_float(value: float) -> float:
    """Return a number of a file as a float, infinite if a whole number is beyond any float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number(value: object, what: str) -> float:
    """Return a number of a file; raise if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"{what} = {value!r} is not a finite number")
    if not math.isfinite(number := as_float(value)):
        raise OptionError(f"{what} = {number!r} is not a finite number")
    return number


def terms_of_chain(
    in_file: Sequence[JointTerm],
    stated: Sequence[JointTerm],
    names: Sequence[str],
    joints: Sequence[Joint],
) -> tuple[JointTerm, ...]:
    """Return the terms whose joints all are on the chain; robot.toml is stronger than the file.

    `names` are those of all joints of the file.
    """
    require_terms_of(stated, names, "robot.toml: the robot")
    known = {(term.kind, term.joint) for term in stated}
    terms = [t for t in in_file if (t.kind, t.joint) not in known] + [*stated]
    on_chain = {None, *(joint.name for joint in joints)}
    kept = [t for t in terms if {t.joint, t.partner} <= on_chain]
    require_reach([term for term in kept if term in stated], joints)
    return tuple(kept)
