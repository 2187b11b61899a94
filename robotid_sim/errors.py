"""Exceptions of the package: all derive from one root and from a matching builtin exception."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Self


def suggestion(name: object, names: Iterable[str]) -> str:
    """Suggest the name most similar to a wrong one, as a question in brackets; empty if none is."""
    close = get_close_matches(str(name).lower(), [str(word) for word in names], n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def install_command(extra: str) -> str:
    """Return the install command of an extra, from a clone, because the package is in no index."""
    return f"pip install -e '.[{extra}]' in the folder of robotid_sim's pyproject.toml"


class RobotIdError(Exception):
    """Base class of all errors that robotid_sim raises on purpose; its text is one plain line."""


class ShapeError(RobotIdError, ValueError):
    """An array has the wrong shape or contains values that are not finite."""


class UrdfError(RobotIdError, ValueError):
    """A URDF cannot be read as a serial robot; the text names file, line and element."""


class InconsistentInertiaError(RobotIdError, ValueError):
    """A body has inertial parameters that are not physically consistent."""


class UnknownNameError(RobotIdError, LookupError):
    """A name is in no registry, catalog or robot; the text lists the known names."""

    @classmethod
    def from_names(cls, noun: str, name: str, candidates: Iterable[str]) -> Self:
        """Make the error for an unknown name of a kind (noun), with the nearest known name."""
        names = list(candidates)
        return cls(f"unknown {noun} '{name}'{suggestion(name, names)}; known: {', '.join(names)}")


class OptionError(RobotIdError, ValueError):
    """An option, a configuration key or a value is not accepted."""


class ArgumentTypeError(RobotIdError, TypeError):
    """An argument has the wrong type; the text names it and the remedy."""


def require_type(value: object, kind: type, name: str, remedy: str) -> None:
    """Raise `ArgumentTypeError` for a value of another type; the message ends with the remedy."""
    if not isinstance(value, kind):
        type_name = type(value).__name__
        raise ArgumentTypeError(
            f"{name} is of type {type_name}, expected {kind.__name__}: {remedy}"
        )


class PathError(OptionError):
    """A path cannot be followed; the text names the first bad point and its fault."""


class FileFormatError(RobotIdError, ValueError):
    """A file is missing, truncated, of another kind, or of a newer schema."""


class LogError(RobotIdError, ValueError):
    """A log cannot be used: channels missing, not finite, or of another robot."""


class InfeasibleError(RobotIdError, ValueError):
    """No trajectory satisfies the limits; the text names the joint and the limit."""


class RankDeficientError(RobotIdError, ValueError):
    """The data do not determine the requested parameters."""


class CallOrderError(RobotIdError, RuntimeError):
    """Methods of an object were called in an order that has no meaning."""


class MissingExtraError(RobotIdError, ImportError):
    """An optional package is not installed; the text gives the install command."""

    @classmethod
    def from_extra(cls, need: str, extra: str) -> Self:
        """Return the error for a missing extra; `need` says what requires it, as a clause."""
        return cls(f"{need}: {install_command(extra)}")


@contextmanager
def require_extra(need: str, extra: str) -> Iterator[None]:
    """Import packages of an extra in the block; raise `MissingExtraError` if one is missing."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError.from_extra(need, extra) from error


class ControllerError(RobotIdError, ValueError):
    """A controller returned an invalid torque; the text names controller, time and joint.

    Attributes
    ----------
    log : object or None
        The Log up to there, if the loop ran long enough to have one.
    """

    log: object | None = None


class SimulationDiverged(RobotIdError, ArithmeticError):
    """The simulation diverged.

    Attributes
    ----------
    t : float
        Time of the last good sample [s].
    joint : str
        Joint that diverged first.
    log : object or None
        The Log up to there, if the loop ran long enough to have one.
    """

    def __init__(self, message: str, t: float, joint: str) -> None:
        super().__init__(message, t, joint)
        self.t = t
        self.joint = joint
        self.log: object | None = None

    def __str__(self) -> str:
        return str(self.args[0])


class PluginError(RobotIdError, ValueError):
    """A user-defined part cannot be imported, shadows a name, or violates the contract."""
