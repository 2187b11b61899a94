"""Options that several commands share; imports are few, so that shell completion is fast."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from robotid_sim.model.mesh_files import MeshMode

if TYPE_CHECKING:
    from robotid_sim.pipeline.config import StudyConfig

Configuration: TypeAlias = "StudyConfig"
"""Type of the parameter `study` of commands."""

Words = list[tuple[str, str]]
"""Words that a shell proposes for completion, with their help."""

LOAD_FORMAT = "M[,X,Y,Z[,I,I,I,I,I,I]]"
"""Format of a load on the command line."""


def names(kind: str) -> Callable[[str], Words]:
    """Return the completion for items of a kind, a function of the incomplete word."""

    def match_items(incomplete: str) -> Words:
        from robotid_sim.part_kinds import PART_KINDS

        rows = PART_KINDS[kind].rows()
        return [(r["name"], r["summary"]) for r in rows if r["name"].startswith(incomplete)]

    return match_items


def value(metavar: str, text: str, *flags: str, **more: Any) -> Any:
    """Declare an option that takes a value; `more` is Typer's."""
    return typer.Option(*flags, metavar=metavar, help=text, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Declare an argument; `more` is Typer's."""
    return typer.Argument(metavar=metavar, help=text, **more)


def item_option(kind: str, text: str) -> Any:
    """Declare an option that takes an item of `robotid list`."""
    return typer.Option(metavar="NAME", help=text, autocompletion=names(kind))


def file(text: str, *flags: str) -> Any:
    """Declare an option that takes a file."""
    return typer.Option(*flags, metavar="FILE", help=text)


def output_option(text: str, metavar: str = "FILE") -> Any:
    """Declare the option for the main output of a command."""
    return typer.Option("-o", "--out", metavar=metavar, help=text)


def flag(name: str, text: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=text)


RobotArg = Annotated[
    str,
    argument(
        "ROBOT",
        "Catalog name (see `robotid list robots`) or file: URDF, MJCF.",
        autocompletion=names("robots"),
    ),
]
Plugins = Annotated[
    list[str] | None,
    value("MODULE", "Module or .py file that registers your own parts, repeatable."),
]
TrustPlugins = Annotated[
    bool, flag("--trust-plugins", "Run the plugins that the configuration names.")
]
Seed = Annotated[int | None, value("N", "Seed of all randomness.  [default: 0]", min=0)]
Config = Annotated[Path | None, file("Study (TOML); see docs/how-to/configure.md.")]
Json = Annotated[bool, flag("--json", "Print one JSON object and nothing else.")]
BaseLink = Annotated[
    str | None,
    value(
        "LINK", "Link where the chain starts.  [default: the root; with --tip, the base of the arm]"
    ),
]
TipLink = Annotated[
    str | None, value("LINK", "Link where the chain ends.  [default: the longest chain's]")
]
PayloadText = Annotated[
    str | None,
    value(
        LOAD_FORMAT,
        "Load at the tip: mass [kg], COM [m] in the tip frame, and Ixx,Ixy,Iyy,Ixz,Iyz,Izz "
        "about the COM [kg m^2].",
    ),
]
AssumeLimits = Annotated[
    bool, flag("--assume-limits", "Assume 3.14 rad(/s) or 1 m(/s) for missing limits.")
]
Repair = Annotated[
    bool, flag("--repair", "Replace impossible inertia by the nearest possible one.")
]
Nominal = Annotated[
    Path | None,
    file("URDF or MJCF of the nominal model.  [default: ROBOT, perturbed by about 20 %]"),
]
NoFriction = Annotated[
    bool, flag("--no-urdf-friction", "Ignore damping and friction in the <dynamics> of the URDF.")
]
Preset = Annotated[
    str | None, item_option("presets", "Sensors of a typical cell: ideal, lab, industrial, harsh.")
]
PlantFriction = Annotated[
    str | None,
    item_option(
        "friction-laws", "Friction law of the simulated plant, see `robotid list friction-laws`."
    ),
]
PlantDriveName = Annotated[
    str | None,
    item_option(
        "plant-drives",
        "Elastic joints or backlash of the simulated plant, see `robotid list plant-drives`.",
    ),
]
EngineName = Annotated[
    str | None,
    item_option(
        "engines", "Engine of the plant: pybullet or mujoco.  [default: pybullet where installed]"
    ),
]
NoClearance = Annotated[
    bool, flag("--no-clearance", "Let links pass through one another and the floor.")
]
Quick = Annotated[bool, flag("--quick", "Faster: fewer design candidates and periods.")]
Full = Annotated[
    bool, flag("--full", "Also run alternative estimators, torque filters, controllers and tasks.")
]
Workers = Annotated[
    int | None, value("N", "Processes for independent work.  [default: all cores]", min=1, max=1024)
]
ReportFile = Annotated[Path | None, file("Write a page with figures here (HTML).")]
NoReplay = Annotated[bool, flag("--no-replay", "Leave the 3-D robot out of the page.")]
ShowMotion = Annotated[bool, flag("--view", "Then show the motion in PyBullet's window.")]
Meshes = Annotated[
    MeshMode,
    value(
        "NAME",
        "Mesh files: copied beside the robot (copy), left (keep), or as a ROS package (package).",
    ),
]
JunitFile = Annotated[Path | None, file("Write the checks here, as JUnit (XML), for CI.")]
COMMON_FLAGS = {
    "verbose": Annotated[
        bool, typer.Option("-v", "--verbose", help="Print details; report every step on stderr.")
    ],
    "quiet": Annotated[bool, flag("--quiet", "Print only errors and JSON.")],
    "debug": Annotated[bool, flag("--debug", "Show the traceback of an error.")],
}
"""Flags of every command, which `app.main` reads."""

ROBOT_FIELDS = (
    "config",
    "trust_plugins",
    "base",
    "tip",
    "payload",
    "assume_limits",
    "repair",
    "no_urdf_friction",
)
"""Fields of `SharedOptions` that are options of every command with a configuration."""


def finite(value: float | None) -> float | None:
    """Return a number of the command line; raise if it is NaN or infinite."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"a finite number is needed, got {value}")
    return value


def positive(value: float | None) -> float | None:
    """Return a number of the command line; raise unless it is finite and positive."""
    if value is not None and not 0.0 < value < math.inf:
        raise typer.BadParameter(f"a positive, finite number is needed, got {value}")
    return value


Terms = Annotated[
    list[str] | None,
    value(
        "KIND",
        "Joint terms to select by likelihood: all, none, auto or kinds of `robotid list terms`, "
        "repeatable.  [default: auto, where they predict better than functions of the state]",
        autocompletion=names("terms"),
    ),
]
GainStd = Annotated[
    float | None,
    value(
        "SHARE",
        "Relative standard deviation of the drive gains, which a log cannot determine.",
        callback=finite,
        min=0.0,
        max=0.9,
    ),
]
LOG_KINDS_TEXT = "Log: .h5 or .csv of robotid, or what `robotid import` reads."

LogFile = Annotated[Path, argument("LOG", LOG_KINDS_TEXT)]
SeveralLogs = Annotated[list[Path], argument("LOG", LOG_KINDS_TEXT)]
MapFile = Annotated[Path | None, file("Map of columns (TOML); inferred if omitted.", "--map")]
EstimateFile = Annotated[Path, argument("ESTIMATE", "Estimate file of `robotid identify`.")]
Force = Annotated[
    bool,
    flag(
        "--force", "Use the log even if it contradicts the nominal model; the exit code is then 1."
    ),
]
ResultFile = Annotated[Path | None, output_option("File for the result (JSON).")]


EstimatorNames = Annotated[
    list[str] | None,
    item_option(
        "estimators", "Estimator, repeatable; the last one is chosen.  [default: wls, consistent]"
    ),
]
HoldOutText = Annotated[
    str | None,
    value("WHAT", "Data to hold out and predict: last:30%, blocks:4 (each in turn), or a log."),
]
ParameterFile = Annotated[
    Path | None,
    file(
        "Table of the parameters (CSV).  [default: OUT-parameters.csv; of estimate.json "
        "parameters.csv]"
    ),
]
UrdfFile = Annotated[Path | None, file("Write the identified robot here.")]
PosteriorSamples = Annotated[
    tuple[int, Path] | None,
    value("N DIR", "Write N posterior samples of the robot to DIR, as URDF."),
]


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options that make the configuration of a study, with the values of the command line."""

    config: Config = None
    trust_plugins: TrustPlugins = False
    plugin: Plugins = None
    seed: Seed = None
    quick: Quick = False
    full: Full = False
    base: BaseLink = None
    tip: TipLink = None
    payload: PayloadText = None
    assume_limits: AssumeLimits = False
    repair: Repair = False
    nominal: Nominal = None
    no_urdf_friction: NoFriction = False
    preset: Preset = None
    plant_friction: PlantFriction = None
    plant_drive: PlantDriveName = None
    engine: EngineName = None
    no_clearance: NoClearance = False
