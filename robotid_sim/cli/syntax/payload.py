"""Words of ``robotid payload``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


@options.for_study("seed", "plugin", "nominal", excludes={"seed": "nominal"})
def payload(
    robot: options.RobotArg,
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log without the load, ours or foreign.")
    ],
    loaded: Annotated[
        Path, typer.Argument(metavar="LOADED", help="Log with the load, ours or foreign.")
    ],
    load: Annotated[
        str | None,
        typer.Option(
            metavar=options.LOAD,
            help="The load, if it is known: then the torque constants are estimated. Of its mass "
            "alone, the rest is unknown.",
        ),
    ] = None,
    torque_gain_std: options.GainStd = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="File for the result (JSON).")
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Estimate a load at the tip from two logs, or by a known load the torque constants.

    Both logs must be of the same cell; the motions need not be the same. Exit 1 if the fit failed,
    if it is the first log that has the load, or if --load cannot be right.
    """
