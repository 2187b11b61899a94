"""Options that several commands share; what the words of commands import loads fast."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli.completion import names
from robotid_sim.model.mesh_files import MeshMode

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
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Run the plugins that the configuration names.")
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Seed of all randomness.  [default: 0]", min=0)
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Study (TOML); see docs/how-to/configure.md."),
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
    typer.Option(
        metavar="N", min=1, max=1024, help="Processes for independent work.  [default: all cores]"
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page with figures here (HTML)."),
]
NoReplay = Annotated[
    bool, typer.Option("--no-replay", help="Leave the robot in 3-D out of the page.")
]
ShowMotion = Annotated[
    bool, typer.Option("--view", help="Then show the motion in PyBullet's window.")
]
Meshes = Annotated[
    MeshMode,
    typer.Option(
        metavar="NAME",
        help="Mesh files: copied beside the robot (copy), left (keep), or as a ROS package "
        "(package).",
    ),
]
JunitFile = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the checks here, as JUnit (XML), for CI."),
]
FLAGS = {
    "verbose": Annotated[
        bool, typer.Option("-v", "--verbose", help="Report every step on stderr.")
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", help="Print nothing but errors and JSON.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
}
"""What every command has and the top level reads."""

OF_THE_ROBOT = (
    "config",
    "trust_plugins",
    "base",
    "tip",
    "payload",
    "assume_limits",
    "repair",
    "no_urdf_friction",
)
"""Fields of `SharedOptions` that every command has that reads a robot for a study."""


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
KINDS = "Log: .h5 or .csv of ours, or what `robotid import` reads."

LogFile = Annotated[Path, typer.Argument(metavar="LOG", help=KINDS)]
SeveralLogs = Annotated[list[Path], typer.Argument(metavar="LOG", help=KINDS)]
MapFile = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="What the columns are (TOML), else inferred."),
]
EstimateFile = Annotated[
    Path, typer.Argument(metavar="ESTIMATE", help="Estimate file of `robotid identify`.")
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Go on with a log that what is known before contradicts; then exit 1."
    ),
]
ResultFile = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="File for the result (JSON).")
]


EstimatorNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Estimator, repeatable; the last one is chosen.  [default: ols, wls, consistent]",
        autocompletion=names("estimators"),
    ),
]
HoldOutText = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Predict data left out of the fit: last:30%, blocks:4 (each in turn), or a log.",
    ),
]
ParameterFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of the parameters (CSV).  [default: OUT-parameters.csv; of estimate.json "
        "parameters.csv]",
    ),
]
UrdfFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the identified robot here.")
]
Draws = Annotated[
    tuple[int, Path] | None,
    typer.Option(
        metavar="N DIR",
        help="Write N robots that the log and the nominal model leave possible, as URDF.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Options that make the configuration of a study, as they are given."""

    config: Config = None
    trust_plugins: TrustPlugins = False
    plugin: Plugins = None
    seed: Seed = None
    quick: Quick = False
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
