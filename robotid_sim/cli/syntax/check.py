"""Words of ``robotid check``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


@options.for_study("nominal")
def check(
    robot: options.RobotArg,
    json: options.Json = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="URDF to write, with --repair."),
    ] = None,
) -> None:
    """Check a robot: consistency link by link, limits, rank, groupings, whether a study can run.

    Masses far from those of a nominal model are told. Exit 0 if every movable body can exist (or
    was repaired) and a study is not refused, 1 if not.
    """
