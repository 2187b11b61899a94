"""Checks of hyper-parameters, with one line that names the value and the allowed ones."""

import operator
from typing import Any, get_args

from robotid_sim.errors import OptionError, suggestion


def whole(name: str, value: int, smallest: int) -> None:
    """Refuse a value that is not a whole number of at least `smallest`."""
    try:
        too_small = operator.index(value) < smallest
    except TypeError:
        raise OptionError(f"{name} is {value}; give a whole number") from None
    if too_small:
        raise OptionError(f"{name} is {value}; give at least {smallest}")


def positive(name: str, value: float) -> None:
    """Refuse a value that is not above zero; infinity is."""
    if not value > 0.0:
        raise OptionError(f"{name} is {value}; give a positive number")


def require_between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a value outside [low, high]."""
    if not low <= value <= high:
        raise OptionError(f"{name} is {value}; give a number from {low:g} to {high:g}")


def one_of(name: str, value: str, choices: Any) -> None:
    """Refuse a value that is not among the choices of a Literal."""
    if value not in get_args(choices):
        choices_known = get_args(choices)
        raise OptionError(
            f"unknown {name} '{value}'{suggestion(value, choices_known)}; known: "
            f"{', '.join(choices_known)}"
        )
