"""Units in which machines write positions, velocities, torques, currents and time.

The module also parses names of columns: quantity, joint or number, unit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

UNITS: Mapping[str, Mapping[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": {
        **{"rad": 1.0, "mrad": 1e-3, "deg": np.pi / 180.0, "rev": 2.0 * np.pi},
        **{"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6},
    },
    "velocity": {
        **{"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": np.pi / 180.0, "rpm": np.pi / 30.0},
        **{"rev/s": 2.0 * np.pi, "m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3},
    },
    "torque": {
        **{"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "N cm": 1e-2, "cN m": 1e-2, "daN m": 10.0},
        **{"kN m": 1e3, "kgf m": 9.80665, "kgf cm": 0.0980665, "lbf ft": 1.3558179483314},
        **{"lbf in": 0.112984829027617, "ozf in": 0.00706155181422604, "N": 1.0, "kN": 1e3},
        **{"%": 1e-2, "permille": 1e-3},
    },
    "current": {"A": 1.0, "mA": 1e-3},
}
"""Value of each unit in SI units, by quantity."""

SHARE_UNITS = frozenset({"%", "permille"})
"""Units of torque relative to the rated torque."""

LENGTH_UNITS = frozenset({"m", "cm", "mm", "um", "m/s", "cm/s", "mm/s", "N", "kN"})
"""Units of prismatic joints; all other units except time and current are of revolute joints."""

_UNIT_SPELLINGS = {
    **{"radian": "rad", "radians": "rad", "degree": "deg", "degrees": "deg", "°": "deg"},
    **{"revs": "rev", "turns": "rev", "rads": "rad/s", "degs": "deg/s", "°/s": "deg/s"},
    **{"sec": "s", "second": "s", "seconds": "s", "secs": "s", "msec": "ms", "millis": "ms"},
    **{
        "milliseconds": "ms",
        "microseconds": "us",
        "nanoseconds": "ns",
        "nsecs": "ns",
        "msecs": "ms",
    },
    **{
        "usecs": "us",
        "usec": "us",
        "µs": "us",
        "micros": "us",
        "nsec": "ns",
        "nanosec": "ns",
        "nanos": "ns",
    },
    **{"amp": "A", "amps": "A", "ampere": "A", "grad": "deg", "umdr": "rev", "r/min": "rpm"},
    **{
        "u/min": "rpm",
        "1/min": "rpm",
        "min1": "rpm",
        "rps": "rev/s",
        "µm": "um",
        "deg/sec": "deg/s",
    },
    **{"rad/sec": "rad/s", "kgcm": "kgf cm", "kgm": "kgf m", "ftlb": "lbf ft", "lbft": "lbf ft"},
    **{
        "inlb": "lbf in",
        "lbfft": "lbf ft",
        "lbin": "lbf in",
        "ozin": "ozf in",
        "newtonmeter": "N m",
        "newton": "N",
    },
    **{"percent": "%", "pct": "%", "prozent": "%", "‰": "permille", "promille": "permille"},
}
_SEPARATOR_PATTERN = re.compile(r"[\s.*·⋅_-]")


def default_unit(quantity: str, *, prismatic: bool) -> str:
    """Return the SI unit of a quantity of a joint."""
    units = {"position": "m", "velocity": "m/s", "torque": "N"} if prismatic else {}
    return units.get(quantity, next(iter(UNITS[quantity])))


def unit_in(text: str, quantity: str) -> str | None:
    """Return the unit that a text such as ``Nm`` or ``Degrees`` names; None if there is none."""
    plain = _SEPARATOR_PATTERN.sub("", text).lower()
    plain = _SEPARATOR_PATTERN.sub("", _UNIT_SPELLINGS.get(plain, plain)).lower()
    spelled = {_SEPARATOR_PATTERN.sub("", unit).lower(): unit for unit in UNITS[quantity]}
    return spelled.get(plain)


def unit_at_end(words: Sequence[str], quantity: str) -> tuple[str | None, int]:
    """Return the unit that the last words of a name spell, and its number of words.

    A single letter is a unit of time only: ``q_m`` is a motor's position.
    """
    for count in (2, 1):
        tail = words[len(words) - count :]
        for text in ("".join(tail), "/".join(tail)):
            unit = unit_in(text, quantity) if len(tail) == count else None
            if unit is not None and (len(text) > 1 or quantity == "time"):
                return unit, count
    return None, 0


QUANTITIES = ("position", "velocity", "torque", "command", "current")
"""Quantities of every joint in a log; a command is a requested torque."""

_QUANTITY_WORDS = {
    "position": "q pos position positions ang angle angles theta jpos apos winkel lage istposition "
    "位置 角度 关节角 关节角度 关节位置",
    "velocity": "dq qd qdot vel velocity velocities speed omega jvel geschwindigkeit drehzahl "
    "winkelgeschwindigkeit 速度 角速度 转速 关节速度",
    "torque": "tau torque torques effort efforts trq moment momente jtrq force drehmoment "
    "drehmomente kraft 力矩 转矩 扭矩 关节力矩",
    "current": "current currents curr amps strom motorstrom 电流",
}
_QUANTITY_BY_WORD = {
    word: quantity for quantity, words in _QUANTITY_WORDS.items() for word in words.split()
}

_COMMAND_WORDS = frozenset(
    "target cmd command commanded desired des ref reference setpoint d soll sollposition "
    "sollmoment 指令 目标".split()
)
_UNUSED_WORDS = frozenset(
    "ext external hat error err std acc ddq qdd acceleration accelerations jerk gravity residual "
    "limit temperature temp voltage bias".split()
)
"""Words of columns that are not a measured position, velocity, torque or current."""

_TIME_WORDS = (
    *(
        "t",
        "time",
        "timestamp",
        "stamp",
        "sec",
        "secs",
        "seconds",
        "zeit",
        "uhrzeit",
        "zeitstempel",
    ),
    *("时间", "时间戳"),
)
_TIME_PREFIX_WORDS = frozenset(
    "header robot record recording log sample elapsed system controller".split()
)

PREFERRED_WORDS = frozenset("actual act ist measured meas joint joints j state states".split())
"""Words of columns that are preferred where several match."""

_ORDINARY_WORDS = frozenset(
    (*_QUANTITY_BY_WORD, *_COMMAND_WORDS, *_UNUSED_WORDS, *PREFERRED_WORDS, *_TIME_WORDS)
) | {"axis", "raw", "filtered"}
"""Words that are not a unit, also if they are in brackets."""

_BRACKET_PATTERN = re.compile(r"[\[(]([^\])]*)[\])]")
_WORD_PATTERN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE_PATTERN = re.compile(r"(?<=[a-z]{2})(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A parsed name of a column."""

    name: str
    """The name itself."""
    quantity: str | None
    """One of QUANTITIES."""
    joint: str | None
    """Joint that the name contains."""
    number: int | None
    """Number in the name, where it contains no joint."""
    unit: str | None
    """Unit of the quantity that the name ends in."""
    stem: tuple[str, ...]
    """The words without joint, number and unit: the same for all joints."""
    unknown_unit: str | None = None
    """Text in brackets in place of a unit."""


def words_of(name: str) -> list[str]:
    """Return words and numbers of a name, in lower case; separators and brackets are dropped."""

    def inside(match: re.Match[str]) -> str:  # a joint or its number is kept, a unit is not
        is_unit = "/" in match[1] or "^" in match[1] or not any(c.isdecimal() for c in match[1])
        return " " if is_unit else f" {match[1]} "

    plain = _BRACKET_PATTERN.sub(inside, name)
    return [word.lower() for word in _WORD_PATTERN.findall(_CAMEL_CASE_PATTERN.sub(" ", plain))]


def parse_column(name: str, joint_names: Sequence[str]) -> ColumnName:
    """Parse the name of a column: quantity, joint and unit."""
    words = words_of(name)
    joint, remaining = _extract_joint(words, joint_names)
    if joint is not None and _quantity(remaining) is None and _quantity(words) is not None:
        joint, remaining = None, words  # a joint may be called q1
    number = None
    if joint is None:
        places = [k for k, word in enumerate(remaining) if word.isdecimal()]
        if places:
            number = int(remaining[places[-1]])
            remaining = [word for k, word in enumerate(remaining) if k != places[-1]]
    quantity = _quantity(remaining)
    unit = None
    if quantity is not None:
        kind = "torque" if quantity == "command" else quantity
        texts = _BRACKET_PATTERN.findall(name)
        unit = next((u for u in (unit_in(text, kind) for text in texts) if u), None)
        if unit is None:
            unit, count = unit_at_end(remaining, kind)
            remaining = remaining[: len(remaining) - count]
        # A text in brackets may also be a number, a joint or words of a quantity.
        unit_texts = [
            text
            for text in texts
            if text not in joint_names
            and not all(
                word.isdecimal() or word in _ORDINARY_WORDS
                for word in _WORD_PATTERN.findall(text.lower())
            )
        ]
        if unit is None and unit_texts:
            return ColumnName(name, quantity, joint, number, None, tuple(remaining), unit_texts[-1])
    return ColumnName(name, quantity, joint, number, unit, tuple(remaining))


def time_rank(name: str) -> tuple[int, str | None] | None:
    """Return the rank of a name as a time column (lower is better) and its unit, else None."""
    words = words_of(name)
    bracket = _BRACKET_PATTERN.search(name)
    unit = unit_in(bracket.group(1), "time") if bracket else None
    if unit is None and len(words) > 1:
        unit, count = unit_at_end(words, "time")
        words = words[: len(words) - count] if count else words
    ranks = [_TIME_WORDS.index(word) for word in words if word in _TIME_WORDS]
    if not ranks or not all(word in _TIME_WORDS or word in _TIME_PREFIX_WORDS for word in words):
        return None
    return min(ranks) + len(words), unit


def _extract_joint(words: list[str], joint_names: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the joint with the longest name among words, and the other words."""
    by_length = sorted(joint_names, key=lambda name: -len(words_of(name)))
    for joint in by_length:
        full = words_of(joint)
        short = [word for word in full if word != "joint"]
        for parts in (full, short):
            if not any(part.isalpha() for part in parts):
                continue
            for k in range(len(words) - len(parts) + 1):
                if words[k : k + len(parts)] == parts:
                    return joint, words[:k] + words[k + len(parts) :]
    return None, words


def _quantity(words: Sequence[str]) -> str | None:
    if _UNUSED_WORDS.intersection(words):
        return None
    quantities = [_QUANTITY_BY_WORD[word] for word in words if word in _QUANTITY_BY_WORD]
    if not quantities:
        return None
    # "current position" is a position.
    quantity = next((q for q in quantities if q != "current"), "current")
    if _COMMAND_WORDS.intersection(words):
        return "command" if quantity == "torque" else None
    return quantity
