"""From a command line to the call: shared options and checks before the work."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from robotid_sim.cli.file_roles import require_safe_files
from robotid_sim.cli.options import COMMON_FLAGS, ROBOT_FIELDS, SharedOptions
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.files import require_writable
from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.part_kinds import PART_KINDS

FileNaming = Callable[[Mapping[str, Any]], Iterable[Path]]

NAMED_PARAMETERS = {
    "preset": ("sensor preset", "presets"),
    "plant_friction": ("friction law", "friction-laws"),
    "plant_drive": ("plant drive", "plant-drives"),
    "engine": ("engine", "engines"),
}
"""Parameters that are names, with noun and kind in `robotid list`."""

EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})


def command(
    *uses: str,
    further_files: FileNaming | None = None,
    needs: Mapping[str, str | tuple[str, ...]] = EMPTY_MAPPING,
    excludes: Mapping[str, str] = EMPTY_MAPPING,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function a command: its parameters are the options, its docstring is the help.

    A function with a parameter `study` also has the options `ROBOT_FIELDS` and `uses`, and receives
    the configuration that they make. Wrong arguments are refused before the function loads its
    imports, which takes a while. Until it calls `output.begin` a signal ends the process.

    `further_files` computes, from the arguments, the files that the command writes in addition to
    ``--out``. An option in `needs` acts only with the other option, or with one of several; an
    option in `excludes` acts only without the other option.
    """

    def decorate(work: Callable[..., int]) -> Callable[..., int]:
        keyword = inspect.Parameter.KEYWORD_ONLY
        declared = inspect.signature(work).parameters
        command_parameters = [
            p.replace(kind=keyword) for name, p in declared.items() if name != "study"
        ]
        shared = inspect.signature(SharedOptions).parameters if "study" in declared else {}
        study_parameters = [p for name, p in shared.items() if name in (*ROBOT_FIELDS, *uses)]
        flags = [
            inspect.Parameter(name, keyword, default=False, annotation=kind)
            for name, kind in COMMON_FLAGS.items()
        ]
        required = dict(needs) | ({"trust_plugins": "config"} if study_parameters else {})

        def run(**values: Any) -> int:
            arguments = {name: value for name, value in values.items() if name not in COMMON_FLAGS}
            _require_effect(arguments, required, excludes)
            require_safe_files(arguments)
            _require_known(arguments)
            chosen = {p.name: arguments.pop(p.name) for p in study_parameters}
            if not study_parameters:
                return work(**arguments)
            from robotid_sim.cli.study_options import files_of, study_config

            study = study_config(SharedOptions(**chosen))
            if further_files is not None:
                require_writable(arguments["out"])
            written = () if further_files is None else further_files(arguments)
            require_safe_files(arguments, files_of(study), written)
            return work(**arguments, study=study)

        # Typer reads the options from the signature, an attribute that type checkers do not know.
        parameters = [*command_parameters, *study_parameters, *flags]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__, run.__name__ = work.__doc__, work.__name__
        return run

    return decorate


def _require_known(values: Mapping[str, Any]) -> None:
    """Raise if a robot or part is unknown; names that a plugin may add are checked later."""
    robot = values.get("robot")
    if robot is not None and not Path(robot).is_dir():
        find_urdf(robot)
    if values.get("plugin") or values.get("config"):
        return
    for key, (noun, kind) in NAMED_PARAMETERS.items():
        if (name := values.get(key)) is not None:
            names = [row["name"] for row in PART_KINDS[kind].rows()]
            if name not in names:
                raise UnknownNameError.from_names(noun, name, names)


def _require_effect(
    values: Mapping[str, Any],
    needs: Mapping[str, str | tuple[str, ...]],
    excludes: Mapping[str, str],
) -> None:
    """Raise if an option has no effect in combination with the others."""
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
