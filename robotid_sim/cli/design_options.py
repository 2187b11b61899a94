"""Options of ``robotid design``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names

FamilyName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Family of motions.  [default: fourier]",
        autocompletion=names("families"),
    ),
]
CriterionName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What to minimize.  [default: d-optimality]",
        autocompletion=names("criteria"),
    ),
]
Solver = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="slsqp, random or an optimizer.  [default: slsqp]",
        autocompletion=names("optimizers"),
    ),
]
Count = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Trajectories, each given those before; OUT-2.json and so on.",
    ),
]
PriorFiles = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Trajectory (JSON) or log that exists already, repeatable."),
]
LinkClearance = Annotated[
    float | None,
    typer.Option(
        metavar="METERS",
        callback=options.finite,
        min=0.0,
        help="Distance that links keep to one another and the floor [m].  [default: 0.005]",
    ),
]
FloorHeight = Annotated[
    float | None,
    typer.Option(
        metavar="METERS",
        help="Height of the floor in the root frame [m].  [default: where the base is]",
    ),
]
CsvFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also write the (first) motion for a robot controller, way back added."
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Name the parameters that stay poorly excited, and why.")
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Also design by d-optimality, condition-number, normalized-condition-number, side by "
        "side.",
    ),
]
Processes = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=1024, help="Processes; the result does not depend on it."),
]
