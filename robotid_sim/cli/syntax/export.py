"""Words of ``robotid export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.model.mesh_files import MeshMode


class Format(StrEnum):
    """Formats that a robot can be written in."""

    URDF = "urdf"
    MJCF = "mjcf"
    SDF = "sdf"
    PYTHON = "python"
    C = "c"


@options.for_study(beside=lambda values: [values["out"].with_suffix(".toml")])
def export(
    robot: options.RobotArg,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File to write.")],
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"File format: {', '.join(Format)}.  [default: by the suffix]",
        ),
    ] = None,
    meshes: options.Meshes = MeshMode.COPY,
    json: options.Json = False,
) -> None:
    """Write a robot for other tools, as URDF, MJCF (MuJoCo), SDF (Gazebo), or source code.

    The suffix of the file says which: .urdf, .xml, .sdf, .py, .c. A TOML file beside a model holds
    what the format has no place for: rotor inertia (not of MJCF), friction offset and constant,
    acceleration limits. Source code computes inverse dynamics, mass matrix, gravity and friction,
    and needs numpy alone, or nothing.
    """
