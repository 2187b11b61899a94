"""Words of ``robotid simulate``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


@options.for_study("seed", "plugin", "nominal", "preset", "plant_friction", "plant_drive", "engine")
def simulate(
    robot: options.RobotArg,
    trajectory: Annotated[
        Path,
        typer.Option("--trajectory", metavar="FILE", help="Trajectory file of `robotid design`."),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Log file, .h5 or .csv.")
    ],
    json: options.Json = False,
) -> None:
    """Run the virtual experiment: ROBOT in the engine, driven along a trajectory, with sensors."""
