"""Words of ``robotid run``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names
from robotid_sim.model.mesh_files import MeshMode


@options.for_study(
    "seed",
    "plugin",
    "quick",
    "nominal",
    "preset",
    "plant_friction",
    "plant_drive",
    "engine",
    "no_clearance",
)
def run(
    robot: options.RobotArg,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the results.")
    ],
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Estimator to run beside the configured ones, repeatable.",
            autocompletion=names("estimators"),
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done; do nothing.")
    ] = False,
    view: options.ShowMotion = False,
    json: options.Json = False,
    workers: options.Workers = None,
    meshes: options.Meshes = MeshMode.COPY,
    no_replay: options.NoReplay = False,
) -> None:
    """Run the whole study: excitation, experiment, identification, prediction, control, verdict.

    Writes report.html, result.json, identified.urdf, nominal.urdf, trajectory.json, log.h5,
    estimate.json, parameters.csv, run.log, figures/, meshes/ and manifest.json into OUT, all at
    once at the end; until then they are in OUT/incomplete, and an earlier run of the robot stays.
    Other files in OUT are kept. Exit 0 if the verdict is passed, 1 if not, 2 if the input cannot be
    used.
    """
