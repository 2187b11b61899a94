"""``robotid validate``: an estimate on unseen data and in the closed loop."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

UnseenLog = Annotated[Path | None, options.file("Log to predict, preferably not used in the fit.")]
Controllers = Annotated[
    list[str] | None,
    options.item_option("controllers", "Controller to run with every model, repeatable."),
]
TaskNames = Annotated[
    list[str] | None,
    options.item_option("tasks", "Task to run, or csv:FILE for a path of your own, repeatable."),
]
Scenarios = Annotated[
    list[str] | None,
    options.item_option(
        "scenarios", "Scenario, conditions joined by '+' (payload+sinusoidal), repeatable."
    ),
]
MODEL_TEXT = "Another model: an estimator of ESTIMATE or published:SET, repeatable."
ModelNames = Annotated[list[str] | None, options.value("NAME", MODEL_TEXT)]
Repetitions = Annotated[
    int | None,
    options.value(
        "N", "Repetitions with different random numbers.  [default: 1]", min=1, max=10_000
    ),
]


@command(
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
    *,
    study: options.Configuration,
) -> int:
    """Validate an estimate: predict a log, and run the closed loop on ROBOT in the engine.

    The loop compares the true, the nominal, the identified and other models, for the controllers,
    tasks and scenarios that `robotid list` knows; section [control] of the configuration has their
    options. Exit 1 if a check fails. A machine's log is refused, because the engine does not have
    the machine: use `robotid predict`.
    """
    import os

    from robotid_sim.cli.study_options import recipe
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.validate import validate as validate_estimate
    from robotid_sim.report.loop_section import validate_text, validation_report
    from robotid_sim.report.page import write_page

    output.begin(out, report)
    stem = out or estimate
    with output.progress_line() as progress:
        validation = validate_estimate(
            estimate,
            robot,
            study,
            log=log,
            controllers=controller,
            tasks=task,
            scenarios=scenario,
            models=model,
            runs=runs,
            force=force,
            failures=stem.with_name(stem.stem),
            workers=workers or os.cpu_count() or 1,
            progress=progress,
        )
    content = validation.content()
    if out is not None:
        write_json(out, "validation", 1, content)
    if report is not None:
        write_page(validation_report(validation, recipe(study)), report, replay=not no_replay)
    output.print_result(content, validate_text(validation), [out, report], as_json=json)
    return 0 if validation.passed else 1
