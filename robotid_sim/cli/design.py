"""``robotid design``: excitation trajectories."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.cli.completion import names
from robotid_sim.signals import let_signals_raise

if TYPE_CHECKING:
    from robotid_sim.pipeline.config import StudyConfig

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


def _further(values: Mapping[str, Any]) -> list[Path]:
    """Return the files of the second and further trajectories."""
    from robotid_sim.pipeline.design import numbered

    return numbered(values["out"], values["count"] or 1)


@command(
    *("seed", "plugin", "quick", "nominal", "no_clearance"),
    beside=_further,
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
    *,
    study: "StudyConfig",
) -> int:
    """Design an optimal excitation: a Fourier series, by D-optimality unless configured otherwise.

    Only the nominal model is used. The solver starts from the best of many random feasible motions;
    at Ctrl-C the best so far is written, without a report. The constraints are checked on a grid
    ten times finer than the solver's, and violations are printed. Exit 1 then, and if no excitation
    satisfies the limits.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.pipeline.design import design as design_motions
    from robotid_sim.progress_display import progress_line
    from robotid_sim.report.design_report import design_report
    from robotid_sim.report.page import write_page
    from robotid_sim.report.text.design import design_text
    from robotid_sim.signals import interrupted_code
    from robotid_sim.viewer.animation import Animation
    from robotid_sim.viewer.display import require_display
    from robotid_sim.viewer.sources import show_motion

    let_signals_raise()
    output.require_writable(out, report, csv)
    if view:
        require_display()
    chosen = {"family": family, "criterion": criterion, "solver": solver, "count": count}
    space = {"clearance": clearance, "floor": floor}
    study = study.with_design({**chosen, "prior": None if prior is None else tuple(prior)}, space)
    with progress_line(enabled=not json) as progress:
        done = design_motions(
            robot, study, compare=compare, explain=explain, workers=workers, progress=progress
        )
    files = done.write(out, csv)
    if report is not None and not done.designs.interrupted:
        write_page(design_report(done, recipe(study)), report, replay=not no_replay)
    text = [*design_text(done)]
    if csv is not None and study.nominal.file is None:  # it is for a machine
        text.append(
            f"The motion is for a nominal model drawn about that of {robot}, as in a virtual "
            f"study: if {robot} is the best model of a machine, give --nominal {robot}."
        )
    written = [*files, csv, None if done.designs.interrupted else report]
    output.print_result(done.content(files), text, written, as_json=json)
    if view:
        show_motion(Animation.of_trajectory(done.nominal, done.trajectories[0], out.stem))
    if done.designs.interrupted:
        return interrupted_code()
    return 0 if done.passed else 1
