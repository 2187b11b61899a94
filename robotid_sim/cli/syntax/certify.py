"""Words of ``robotid certify``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


@options.for_study(
    *("seed", "plugin", "quick", "nominal", "preset"),
    *("plant_friction", "plant_drive", "no_clearance"),
)
def certify(
    robot: options.RobotArg,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the results.")
    ],
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=10_000,
            help="Studies, of the seeds from --seed on, judged together.",
        ),
    ] = 1,
    no_replay: options.NoReplay = False,
    json: options.Json = False,
    workers: options.Workers = None,
) -> None:
    """Prove that a study does not depend on the engine: identify in one, prove in the other.

    The same excitation runs in PyBullet and in MuJoCo, with independent sensor noise. Both logs are
    identified; either model predicts the unseen log of either engine and runs the closed loop
    there. The difference of the two estimates is tested against their covariances. Writes
    certificate.html, certificate.json, figures/ and manifest.json into OUT when all is done. Exit 1
    if a check fails.
    """
