"""From the words of a command to its call: shared options, and what is refused beforehand."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_origin

from robotid_sim.campaign.shipped_plans import shipped_plans
from robotid_sim.cli.options import FLAGS, OF_THE_ROBOT, SharedOptions, declared
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.files import require_distinct, require_output, require_writable
from robotid_sim.inputs import require_file
from robotid_sim.model.catalog_files import catalog, find_urdf
from robotid_sim.part_kinds import KINDS
from robotid_sim.result_folder import is_replaced, owner_of, require_of_run

OUTPUTS = ("out", "urdf", "parameters", "report", "record", "csv", "write_map", "draws", "junit")
"""Parameters of commands that name files or folders to write; every other path is read."""


def require_safe_files(
    values: Mapping[str, Any], read: Iterable[Path] = (), written: Iterable[Path] = ()
) -> None:
    """Raise if a command would destroy what it reads, or mix the results of runs.

    `values` are the parameters of the command, `read` and `written` further files. Raises
    `OptionError` if an output is an input, is written twice, or is of a run, or if a run replaces
    an input; `FileFormatError` if an input or output is a device or a pipe, or an input in a result
    folder is not as its run wrote it.
    """
    inputs = [*_inputs(values), *read]
    named = [(v if isinstance(v, list | tuple) else (v,)) for v in map(values.get, OUTPUTS)]
    outputs = [*(path for v in named for path in v if isinstance(path, Path)), *written]
    for path in inputs:
        require_file(path)
    require_distinct(outputs, inputs)
    for path in outputs:
        require_output(path, folder=True)
        for source in inputs:
            if is_replaced(source, path):
                raise OptionError(
                    f"{source} is read by this command, whose results replace those in {path}; "
                    "choose another --out"
                )
        if run := owner_of(path):
            raise OptionError(
                f"cannot write {path}: it is of the {run.kind} of {run.subject} in its folder; "
                "give the output another name"
            )
    for path in inputs:
        require_of_run(path)


def _inputs(values: Mapping[str, Any]) -> Iterator[Path]:
    for name, value in values.items():
        for each in value if isinstance(value, list | tuple) else (value,):
            if name in OUTPUTS:
                continue
            if name == "robot" and isinstance(each, str):
                model = catalog().get(each, Path(each))
                if model.exists() and not model.is_dir():  # else no robot has this name
                    yield from (model, model.parent / "robot.toml")
            elif isinstance(each, Path):
                plans = shipped_plans() if name == "where" else {}
                yield plans.get(str(each), each)
            elif isinstance(each, str) and name in ("hold_out", "plugin", "task"):
                yield Path(each.removeprefix("csv:"))


Beside = Callable[[Mapping[str, Any]], Iterable[Path]]

NAMED = {
    "preset": ("sensor preset", "presets"),
    "plant_friction": ("friction law", "friction-laws"),
    "plant_drive": ("plant drive", "plant-drives"),
    "engine": ("engine", "engines"),
}
"""Parameters that are a name, with what it is a name of and its kind in `robotid list`."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


def command(
    *uses: str,
    beside: Beside | None = None,
    needs: Mapping[str, str | tuple[str, ...]] = NOTHING,
    excludes: Mapping[str, str] = NOTHING,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a command of a function: its parameters are the options, its text is the help.

    A function that takes `study` has the options of a study's configuration behind its own, and
    receives the configuration that they make. What is wrong with the words is said before the
    function loads what it needs, which takes a while. Until it calls `output.begin` a signal ends
    the process.

    It `uses` fields of `SharedOptions` beside those of the robot. `beside` returns from the
    command's parameters what it writes beside the file of ``--out``. Parameters that act only with
    another one (or one of several), or only without it, are in `needs` or `excludes`.
    """

    def decorate(work: Callable[..., int]) -> Callable[..., int]:
        keyword = inspect.Parameter.KEYWORD_ONLY
        taken = inspect.signature(work).parameters
        own = [p.replace(kind=keyword) for name, p in taken.items() if name != "study"]
        shared = inspect.signature(SharedOptions).parameters if "study" in taken else {}
        of_study = [p for name, p in shared.items() if name in (*OF_THE_ROBOT, *uses)]
        flags = [inspect.Parameter(f, keyword, default=False, annotation=bool) for f in FLAGS]
        required = dict(needs) | ({"trust_plugins": "config"} if of_study else {})

        def run(**values: Any) -> int:
            given = {name: value for name, value in values.items() if name not in FLAGS}
            for name, needed in required.items():
                others = (needed,) if isinstance(needed, str) else needed
                if _is_given(given[name]) and not any(_is_given(given[o]) for o in others):
                    beside_it = " or ".join(map(_flag, others))
                    text = f"{_flag(name)} acts only with {beside_it}; give both or neither"
                    raise OptionError(text)
            for name, other in excludes.items():
                if _is_given(given[name]) and _is_given(given[other]):
                    text = f"{_flag(name)} has no effect with {_flag(other)}; leave one out"
                    raise OptionError(text)
            require_safe_files(given)
            _require_known(given)
            chosen = {p.name: given.pop(p.name) for p in of_study}
            if not of_study:
                return work(**given)
            from robotid_sim.cli.study_options import files_of, study_config

            study = study_config(SharedOptions(**chosen))
            if beside is not None:
                require_writable(given["out"])
            written = () if beside is None else beside(given)
            require_safe_files(given, files_of(study), written)
            return work(**given, study=study)

        # Typer reads the options from here; type checkers do not know that functions carry it.
        called = work.__name__.rstrip("_")
        parameters = [
            p
            if get_origin(p.annotation) is Annotated  # declared by the command itself
            else p.replace(annotation=declared(called, p.name, p.annotation))
            for p in (*own, *of_study, *flags)
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__, run.__name__ = work.__doc__, work.__name__
        return run

    return decorate


def _require_known(values: Mapping[str, Any]) -> None:
    """Raise if there is no robot or part of a name; what a plugin may add is left to the work."""
    robot = values.get("robot")
    if robot is not None and not Path(robot).is_dir():
        find_urdf(robot)
    if values.get("plugin") or values.get("config"):
        return
    for key, (noun, kind) in NAMED.items():
        if (name := values.get(key)) is not None:
            known = [row["name"] for row in KINDS[kind].rows()]
            if name not in known:
                raise UnknownNameError.of(noun, name, known)


def _is_given(value: object) -> bool:
    return value is not None and value is not False


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
