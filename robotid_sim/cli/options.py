"""From the parameters of a command to its options and arguments, by the texts that they have."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from robotid_sim.cli.commands import COMMANDS, SHARED

if TYPE_CHECKING:
    from robotid_sim.pipeline.config import StudyConfig

Configuration: TypeAlias = "StudyConfig"
"""What a command takes as `study`."""

Words = list[tuple[str, str]]
"""Words that a shell offers, with their help."""

FLAGS = ("verbose", "quiet", "debug")
"""What every command has and the top level reads."""

SCHEMA_NAMES = ("result", "estimate", "log", "study", "map")

OF_THE_ROBOT = (
    *("config", "trust_plugins", "base", "tip", "payload", "assume_limits", "repair"),
    "no_urdf_friction",
)
"""Fields of `SharedOptions` that every command has that reads a robot for a study."""


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options that make the configuration of a study, as they are given."""

    config: Path | None = None
    trust_plugins: bool = False
    plugin: list[str] | None = None
    seed: int | None = None
    quick: bool = False
    base: str | None = None
    tip: str | None = None
    payload: str | None = None
    assume_limits: bool = False
    repair: bool = False
    nominal: Path | None = None
    no_urdf_friction: bool = False
    preset: str | None = None
    plant_friction: str | None = None
    plant_drive: str | None = None
    engine: str | None = None
    no_clearance: bool = False


def declared(command: str, name: str, kind: Any) -> Any:
    """Declare the option or argument of a parameter of some type, as Typer takes it."""
    text = dict(COMMANDS[command].options.get(name) or SHARED[name])
    if "{" in text["help"]:
        text["help"] = text["help"].format(**_constants())
    if complete := text.pop("complete", None):
        text["autocompletion"] = names(complete)
        text.setdefault("metavar", "NAME")
    if check := text.pop("check", None):
        text["callback"] = {"finite": finite, "positive": positive}[check]
    flags = text.pop("flags", [f"--{name.replace('_', '-')}"] if kind is bool else [])
    if kind is not bool:
        text.setdefault("metavar", "FILE")
    if text.pop("argument", False):
        return Annotated[kind, typer.Argument(**text)]
    return Annotated[kind, typer.Option(*flags, **text)]


def _constants() -> dict[str, Any]:
    """Return what texts name of the choices that a view and a schema have."""
    from robotid_sim.viewer import view_settings as view

    lists = {name: ", ".join(words) for name, words in _choices().items()}
    layers = "; ".join(f"{name}: {what}" for name, what in view.LAYERS.items())
    return {**vars(view), **lists, "layers": layers, "window_layers": ", ".join(view.WINDOW_LAYERS)}


def _choices() -> Mapping[str, Sequence[str]]:
    """Return words that are items of no kind of `robotid list`."""
    from robotid_sim.viewer.view_settings import DIRECTIONS, RENDERERS

    return {"directions": [*DIRECTIONS], "renderers": [*RENDERERS], "schemas": SCHEMA_NAMES}


def names(kind: str) -> Callable[[str], Words]:
    """Return a function that gives the items of a kind that begin like a word; reads them then."""

    def matching(incomplete: str) -> Words:
        from robotid_sim.part_kinds import KINDS

        if kind in KINDS:
            words = [(row["name"], row["summary"]) for row in KINDS[kind].rows()]
        else:
            words = [(word, "") for word in _choices()[kind]]
        return [word for word in words if word[0].startswith(incomplete)]

    return matching


def finite(value: float | None) -> float | None:
    """Return a number of the command line; raise if it is none or infinite."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"a finite number is needed, got {value}")
    return value


def positive(value: float | None) -> float | None:
    """Return a number of the command line; raise unless it is finite and positive."""
    if value is not None and not 0.0 < value < math.inf:
        raise typer.BadParameter(f"a finite number is needed, which must be positive, got {value}")
    return value
