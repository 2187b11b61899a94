"""Words of ``robotid design``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names

COMPARED = ("d-optimality", "condition-number", "normalized-condition-number")
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
    bool, typer.Option("--compare", help=f"Also design by {', '.join(COMPARED)}, side by side.")
]
Processes = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=1024, help="Processes; the result does not depend on it."),
]


def numbered(out: Path, count: int) -> list[Path]:
    """Return the files of the second and further trajectories."""
    return [out.with_name(f"{out.stem}-{k}{out.suffix}") for k in range(2, count + 1)]


@options.for_study(
    *("seed", "plugin", "quick", "nominal", "no_clearance"),
    beside=lambda values: numbered(values["out"], values["count"] or 1),
    needs={"no_replay": "report"},
    excludes={"clearance": "no_clearance", "floor": "no_clearance"},
)
def design(
    robot: options.RobotArg,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Trajectory file (JSON).")
    ],
    family: FamilyName = None,
    criterion: CriterionName = None,
    solver: Solver = None,
    count: Count = None,
    prior: PriorFiles = None,
    clearance: LinkClearance = None,
    floor: FloorHeight = None,
    csv: CsvFile = None,
    explain: Explain = False,
    compare: Compare = False,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    view: options.ShowMotion = False,
    json: options.Json = False,
    workers: Processes = 1,
) -> None:
    """Design an optimal excitation: a Fourier series, by D-optimality unless configured otherwise.

    Only the nominal model is used. The solver starts from the best of many random feasible motions;
    at Ctrl-C the best so far is written, without a report. The constraints are checked on a grid
    ten times finer than the solver's, and violations are printed. Exit 1 then, and if no excitation
    satisfies the limits.
    """
