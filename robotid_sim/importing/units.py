"""Units in which machines write positions, velocities, torques, currents and time."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

UNITS: Mapping[str, Mapping[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": {
        **{"rad": 1.0, "mrad": 1e-3, "deg": np.pi / 180.0, "rev": 2.0 * np.pi},
        **{"m": 1.0, "mm": 1e-3},
    },
    "velocity": {
        **{"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": np.pi / 180.0, "rpm": np.pi / 30.0},
        **{"m/s": 1.0, "mm/s": 1e-3},
    },
    "torque": {"N m": 1.0, "mN m": 1e-3, "N mm": 1e-3, "kN m": 1e3, "N": 1.0, "kN": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
}
"""SI units in one unit, by quantity."""

OF_LENGTH = frozenset({"m", "mm", "m/s", "mm/s", "N", "kN"})
"""Units of prismatic joints; others of UNITS, but for time and current, are of revolute ones."""

_SPELLINGS = {
    **{"radian": "rad", "radians": "rad", "degree": "deg", "degrees": "deg", "°": "deg"},
    **{"revs": "rev", "turns": "rev", "rads": "rad/s", "degs": "deg/s", "°/s": "deg/s"},
    **{"sec": "s", "second": "s", "seconds": "s", "secs": "s", "msec": "ms", "millis": "ms"},
    **{"usec": "us", "µs": "us", "micros": "us", "nsec": "ns", "nanosec": "ns", "nanos": "ns"},
    **{"amp": "A", "amps": "A", "ampere": "A"},
}
_SEPARATORS = re.compile(r"[\s.*·_]")


def default_unit(quantity: str, *, prismatic: bool) -> str:
    """Return the SI unit of a quantity of a joint."""
    units = {"position": "m", "velocity": "m/s", "torque": "N"} if prismatic else {}
    return units.get(quantity, next(iter(UNITS[quantity])))


def unit_in(text: str, quantity: str) -> str | None:
    """Return the unit of a quantity that a text such as ``Nm`` or ``Degrees`` spells, if any."""
    plain = _SEPARATORS.sub("", text).lower()
    plain = _SPELLINGS.get(plain, plain)
    spelled = {_SEPARATORS.sub("", unit).lower(): unit for unit in UNITS[quantity]}
    return spelled.get(plain.lower())


def unit_at_end(words: Sequence[str], quantity: str) -> tuple[str | None, int]:
    """Return the unit that the last words of a name spell, and of how many words it is.

    A letter alone is no unit but of time: ``q_m`` is a motor's position.
    """
    for count in (2, 1):
        tail = words[len(words) - count :]
        for text in ("".join(tail), "/".join(tail)):
            unit = unit_in(text, quantity) if len(tail) == count else None
            if unit is not None and (len(text) > 1 or quantity == "time"):
                return unit, count
    return None, 0
