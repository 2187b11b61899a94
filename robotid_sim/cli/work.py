"""From the words of a command to its work."""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.file_roles import require_safe_files
from robotid_sim.cli.items import listed_kinds
from robotid_sim.cli.options import SharedOptions, StudyUse
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.files import require_writable
from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.signals import let_signals_raise

FLAGS = ("verbose", "debug")
"""What the top level reads."""

NAMED = {
    "preset": ("sensor preset", "presets"),
    "plant_friction": ("friction law", "friction-laws"),
    "plant_drive": ("plant drive", "plant-drives"),
    "engine": ("engine", "engines"),
}
"""Parameters that are a name, with what it is a name of and its kind in `robotid list`."""


def words_of(command: str) -> Callable[..., None]:
    """Return the function whose parameters and text are the words of a command."""
    return _function(f"syntax.{_module(command)}", command)


def work_of(command: str) -> Callable[..., int]:
    """Return the function that does the work of a command: load all that it needs."""
    return _function(_module(command), command)


def _module(command: str) -> str:
    return COMMANDS[command].module or command


def _function(module: str, command: str) -> Callable[..., Any]:
    loaded = import_module(f"robotid_sim.cli.{module}")
    function: Callable[..., Any] | None = getattr(loaded, command, None)
    return function or getattr(loaded, f"{command}_")  # of a keyword or a builtin


def at_work(command: str) -> Callable[..., int]:
    """Return a function of the words of a command that does its work.

    What is wrong with the words is said before the modules of the work are loaded, which takes a
    while. Until then a signal ends the process.
    """
    words = words_of(command)
    use: StudyUse | None = getattr(words, "study_use", None)

    def run(**values: Any) -> int:
        given = {name: value for name, value in values.items() if name not in FLAGS}
        if use is not None:
            _require_effect(given, use.needs, use.excludes)
        require_safe_files(given)
        _require_known(given)
        work = work_of(command)
        if use is None:
            let_signals_raise()
            return work(**given)
        from robotid_sim.cli.study_options import files_of, study_config

        let_signals_raise()
        own = {name: value for name, value in given.items() if name not in use.options}
        study = study_config(SharedOptions(**{name: given[name] for name in use.options}))
        if use.beside is not None:
            require_writable(own["out"])
        written = () if use.beside is None else use.beside(own)
        require_safe_files(given, files_of(study), written)
        return work(**own, study=study)

    # Typer reads the options from here; type checkers do not know that functions carry it.
    run.__signature__ = inspect.signature(words)  # type: ignore[attr-defined]
    run.__annotations__, run.__doc__ = words.__annotations__, words.__doc__
    return run


def _require_known(values: Mapping[str, Any]) -> None:
    """Raise if there is no robot or part of a name; what a plugin may add is left to the work."""
    robot = values.get("robot")
    if robot is not None and not Path(robot).is_dir():
        find_urdf(robot)
    chosen = {key: name for key in NAMED if (name := values.get(key)) is not None}
    if chosen and not (values.get("plugin") or values.get("config")):
        kinds = listed_kinds()
        for key, name in chosen.items():
            noun, kind = NAMED[key]
            known = [row["name"] for row in kinds[kind].rows()]
            if name not in known:
                raise UnknownNameError.of(noun, name, known)


def _require_effect(
    values: Mapping[str, Any],
    needs: Mapping[str, str | tuple[str, ...]],
    excludes: Mapping[str, str],
) -> None:
    """Raise if an option is given that does nothing beside the others."""
    for name, needed in needs.items():
        others = (needed,) if isinstance(needed, str) else needed
        if _is_given(values[name]) and not any(_is_given(values[other]) for other in others):
            flags = " or ".join(map(_flag, others))
            raise OptionError(f"{_flag(name)} acts only with {flags}; give both or neither")
    for name, other in excludes.items():
        if _is_given(values[name]) and _is_given(values[other]):
            raise OptionError(f"{_flag(name)} has no effect with {_flag(other)}; leave one out")


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
