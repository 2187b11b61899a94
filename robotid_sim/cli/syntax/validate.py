"""Words of ``robotid validate``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names

UnseenLog = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A log to predict, best one that the estimate has not seen."),
]
Controllers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Controller to run with every model, repeatable.",
        autocompletion=names("controllers"),
    ),
]
TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Task to run, or csv:FILE for a path of your own, repeatable.",
        autocompletion=names("tasks"),
    ),
]
Scenarios = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Scenario, conditions joined by '+' (payload+sinusoidal), repeatable.",
        autocompletion=names("scenarios"),
    ),
]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Another model: an estimator of ESTIMATE or published:SET, repeatable."
    ),
]
Repetitions = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=10_000, help="Repetitions of what is drawn.  [default: 1]"
    ),
]


@options.for_study(
    *("seed", "plugin", "quick", "nominal", "plant_friction", "plant_drive", "engine"),
    "no_clearance",
    needs={"force": "log", "no_replay": "report"},
)
def validate(
    robot: options.RobotArg,
    estimate: options.EstimateFile,
    log: UnseenLog = None,
    out: options.ResultFile = None,
    controller: Controllers = None,
    task: TaskNames = None,
    scenario: Scenarios = None,
    model: ModelNames = None,
    runs: Repetitions = None,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    force: options.Force = False,
    json: options.Json = False,
    workers: options.Workers = None,
) -> None:
    """Validate an estimate: predict a log, and run the closed loop on ROBOT in the engine.

    The loop compares the true, the nominal, the identified and other models, for the controllers,
    tasks and scenarios that `robotid list` knows; section [control] of the configuration has their
    options. Exit 1 if a check fails. A machine's log is only predicted, as by `robotid predict`:
    the machine is not in the engine.
    """
