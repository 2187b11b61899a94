"""Options that several commands share, and from them to a configuration."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from robotid_sim.cli.command_line import command_line
from robotid_sim.cli.completion import names
from robotid_sim.cli.file_roles import require_safe_files
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.files import require_writable
from robotid_sim.model.catalog import find_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.plugins import load_plugins
from robotid_sim.report.closing import Recipe
from robotid_sim.study.build import require_buildable
from robotid_sim.study.config import StudyConfig, load_config
from robotid_sim.study.study import versions

LOAD = "M[,X,Y,Z[,I,I,I,I,I,I]]"
"""How a load is given."""

RobotArg = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="Catalog name (see `robotid list robots`) or file: URDF, MJCF.",
        autocompletion=names("robots"),
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE",
        help="Module or .py file that registers your own parts, repeatable.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Seed of all randomness.  [default: 0]", min=0)
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Study configuration (TOML); see README."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
BaseLink = Annotated[
    str | None,
    typer.Option(
        metavar="LINK",
        help="Link where the chain starts.  [default: the root; with --tip what carries the arm]",
    ),
]
TipLink = Annotated[
    str | None,
    typer.Option(metavar="LINK", help="Link where the chain ends.  [default: the longest chain's]"),
]
PayloadText = Annotated[
    str | None,
    typer.Option(
        metavar=LOAD,
        help="Load at the tip: mass [kg], COM [m] in the tip frame, and Ixx,Ixy,Iyy,Ixz,Iyz,Izz "
        "about the COM [kg m^2].",
    ),
]
AssumeLimits = Annotated[
    bool,
    typer.Option(
        "--assume-limits", help="Take 3.14 rad(/s) or 1 m(/s) for limits that the file lacks."
    ),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Replace impossible inertia by the nearest possible one.")
]
Nominal = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="URDF or MJCF of the nominal model.  [default: ROBOT, wrong by some 20 %]",
    ),
]
NoFriction = Annotated[
    bool, typer.Option("--no-urdf-friction", help="Drop the URDF's <dynamics> damping, friction.")
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Sensors of a typical cell: ideal, lab, industrial, harsh.",
        autocompletion=names("presets"),
    ),
]
PlantFriction = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Friction law of the simulated plant, see `robotid list friction-laws`.",
        autocompletion=names("friction-laws"),
    ),
]
PlantDriveName = Annotated[
    str | None,
    typer.Option(
        "--plant-drive",
        metavar="NAME",
        help="Elastic joints or play of the simulated plant, see `robotid list plant-drives`.",
        autocompletion=names("plant-drives"),
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="Engine of the plant: pybullet or mujoco.  [default: pybullet where installed]",
        autocompletion=names("engines"),
    ),
]
NoClearance = Annotated[
    bool, typer.Option("--no-clearance", help="Let links pass through one another and the floor.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Less work: fewer candidates, periods and loops.")
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Processes for independent work.  [default: all cores]"),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page with figures here (HTML)."),
]
ShowMotion = Annotated[bool, typer.Option("--view", help="Then show the motion in a window.")]
Meshes = Annotated[
    MeshMode,
    typer.Option(
        metavar="NAME",
        help="Mesh files: copied beside the robot (copy), left (keep), or as a ROS package "
        "(package).",
    ),
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Report every step on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

OF_THE_ROBOT = ("config", "base", "tip", "payload", "assume_limits", "repair", "no_urdf_friction")
"""Parameters of `study_config` that every command has that reads a robot for a study."""


def recipe(study: StudyConfig) -> Recipe:
    """Return how a reader gets the page of the command that is running."""
    return Recipe(
        command=command_line(), seed=study.seed, settings=study.changes(), versions=versions()
    )


def for_study(
    *uses: str,
    beside: Callable[[Mapping[str, Any]], Iterable[Path]] | None = None,
    needs: Mapping[str, str | tuple[str, ...]] = MappingProxyType({}),
    excludes: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of a study's configuration that it uses.

    The command declares its own parameters and a keyword `study`; the shared options stand behind
    its own in the help, and `study` receives the configuration that they make. What the command
    writes must be none of the files that it reads, see `require_safe_files`; here those that the
    configuration names.

    Parameters
    ----------
    *uses : str
        Parameters of `study_config` that the command has beside those of the robot.
    beside : callable
        Returns from the command's parameters what it writes beside the file of ``--out``.
    needs, excludes : mapping of str to str
        Parameters that act only with another one (or one of several), or only without it; otherwise
        they are refused.
    """
    every = inspect.signature(study_config, eval_str=True).parameters
    shared = [p for name, p in every.items() if name in (*OF_THE_ROBOT, *uses)]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("verbose", Verbose), ("debug", Debug))  # read by the top level
    ]

    def with_options(command: Callable[..., int]) -> Callable[..., int]:
        declared = inspect.signature(command, eval_str=True).parameters.values()

        @functools.wraps(command)
        def run(**values: Any) -> int:
            _require_effect(values, needs, excludes)
            given = dict(values)
            options = {parameter.name: values.pop(parameter.name) for parameter in shared}
            for flag in flags:
                del values[flag.name]
            study = study_config(**options)
            if beside is not None:
                require_writable(given["out"])
            written = () if beside is None else beside(given)
            require_safe_files(given, _files_of(study), written)
            return command(**values, study=study)

        keyword = inspect.Parameter.KEYWORD_ONLY
        particular = [p.replace(kind=keyword) for p in declared if p.name != "study"]
        signature = inspect.Signature([*particular, *shared, *flags], return_annotation=int)
        # Typer reads the options from here; type checkers do not know that functions carry it.
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        del run.__wrapped__
        return run

    return with_options


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


def _files_of(study: StudyConfig) -> list[Path]:
    """Return the files that a configuration names."""
    tasks = study.control.tasks.values()
    points = [Path(task["path"]) for task in tasks if isinstance(task.get("path"), str | Path)]
    nominal = [] if study.nominal.file is None else [Path(study.nominal.file)]
    return [*nominal, *map(Path, study.design.prior), *points]


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


Terms = Annotated[
    list[str] | None,
    typer.Option(
        "--terms",
        metavar="KIND",
        help="Choose terms of joints by evidence: all, or kinds of `robotid list terms`, "
        "repeatable.",
        autocompletion=names("terms"),
    ),
]
GainStd = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        callback=finite,
        min=0.0,
        max=0.9,
        help="Relative standard deviation of the torque constants, which no log shows.",
    ),
]


def study_config(
    *,
    config: Config = None,
    plugin: Plugins = None,
    seed: Seed = None,
    quick: Quick = False,
    base: BaseLink = None,
    tip: TipLink = None,
    payload: PayloadText = None,
    assume_limits: AssumeLimits = False,
    repair: Repair = False,
    nominal: Nominal = None,
    no_urdf_friction: NoFriction = False,
    preset: Preset = None,
    plant_friction: PlantFriction = None,
    plant_drive: PlantDriveName = None,
    engine: EngineName = None,
    no_clearance: NoClearance = False,
) -> StudyConfig:
    """Return the configuration file's content with the command line's options on top."""
    robot: dict[str, Any] = {"base": base, "tip": tip}
    robot["payload"] = None if payload is None else parse_payload(payload)
    robot["assume_limits"] = assume_limits or None
    robot["repair"] = repair or None
    robot["urdf_friction"] = False if no_urdf_friction else None
    overrides: dict[str, Any] = {
        "robot": {key: value for key, value in robot.items() if value is not None}
    }
    if seed is not None:
        overrides["seed"] = seed
    if nominal is not None:
        overrides["nominal"] = {"file": str(nominal)}
    if preset is not None:
        overrides["preset"] = preset
    overrides["experiment"] = {}
    if plant_friction is not None:
        overrides["experiment"]["friction"] = {"law": plant_friction}
    if plant_drive is not None:
        overrides["experiment"]["drive"] = {"kind": plant_drive}
    if engine is not None:
        overrides["experiment"]["engine"] = engine
    load_plugins(plugin or ())
    study = load_config(config, overrides)
    require_buildable(study)
    if study.nominal.file is not None:
        _require_urdf(study.nominal.file)
    if no_clearance:
        study = study.with_design({}, {"contact": True})
    return study.quick() if quick else study


def _require_urdf(nominal: Path) -> None:
    """Raise unless the nominal robot exists, also for commands that do without it."""
    try:
        find_urdf(nominal)
    except UnknownNameError as error:
        raise UnknownNameError(f"nominal model: {error}") from error


def parse_payload(text: str, flag: str = "--payload") -> dict[str, Any]:
    """Return the payload section for ``M[,X,Y,Z[,IXX,IXY,IYY,IXZ,IYZ,IZZ]]``."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (1, 4, 10):
        raise OptionError(
            f"{flag} '{text}' needs 1, 4 or 10 numbers separated by commas: mass, COM, inertia"
        )
    section: dict[str, Any] = {"mass": values[0]}
    if len(values) >= 4:
        section["com"] = values[1:4]
    if len(values) == 10:
        section["inertia"] = values[4:]
    return section
