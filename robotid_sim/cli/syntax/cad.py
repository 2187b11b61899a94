"""Words of ``robotid cad``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


def cad(
    robot: options.RobotArg,
    total_mass: Annotated[
        float,
        typer.Option(
            metavar="KG",
            callback=options.positive,
            help="Mass of the whole robot, its base included [kg].",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="URDF to write.")],
    convex_hull: Annotated[
        bool, typer.Option("--convex-hull", help="Take the convex hull of meshes that are open.")
    ] = False,
    collision: Annotated[
        bool, typer.Option("--collision", help="Take collision shapes, not visual ones.")
    ] = False,
    base: options.BaseLink = None,
    tip: options.TipLink = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Give a robot the inertia of its geometry, at uniform density.

    Every link takes a share of the mass by the volume of its visual shapes, meshes and primitives.
    Overlaps count once.
    """
