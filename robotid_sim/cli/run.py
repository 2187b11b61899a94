"""``robotid run``: the whole study."""

import os
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.model.mesh_files import MeshMode

Figures = Annotated[bool, options.flag("--figures", "Write figures as SVG, PNG and CSV files too.")]


@command(
    *("seed", "plugin", "quick", "full", "nominal", "preset"),
    *("plant_friction", "plant_drive", "engine", "no_clearance"),
)
def run(
    robot: options.RobotArg,
    out: Annotated[
        Path | None,
        options.output_option("Folder for the results.  [default: robotid-NAME-DATE]", "FOLDER"),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        options.item_option(
            "estimators", "Estimator to run in addition to the configured ones, repeatable."
        ),
    ] = None,
    dry_run: Annotated[
        bool, options.flag("--dry-run", "Print the plan of the study; run nothing.")
    ] = False,
    view: options.ShowMotion = False,
    json: options.Json = False,
    workers: options.Workers = None,
    meshes: options.Meshes = MeshMode.COPY,
    no_replay: options.NoReplay = False,
    figures: Figures = False,
    junit: options.JunitFile = None,
    *,
    study: options.Configuration,
) -> int:
    """Run the whole study: excitation, experiment, identification, prediction, control, verdict.

    Writes report.html, result.json, identified.urdf, nominal.urdf, trajectory.json, log.h5,
    estimate.json, parameters.csv, run.log, meshes/ and manifest.json into OUT, all at once at the
    end; until then they are in OUT/incomplete, and the results of an earlier run stay in place.
    Other files in OUT are kept. Exit 0 if the verdict is passed, 1 if not, 2 if the input cannot be
    used.
    """
    from robotid_sim.pipeline.study import plan_study
    from robotid_sim.report.study_report import plan_text, study_details, study_text
    from robotid_sim.report.text import verdict_cases, write_junit
    from robotid_sim.viewer.display import require_display
    from robotid_sim.viewer.sources import show_motion

    output.begin(junit)
    began = time.perf_counter()
    study = study.with_estimators(estimator or ())
    plant = rid.build_robot(robot, study.robot)
    out = out or Path(f"robotid-{Path(plant.name).name}-{datetime.now():%Y-%m-%d-%H%M%S}")
    if dry_run:
        plan = plan_study(plant, out, study, output.command_line())
        output.print_result(plan, plan_text(plan), as_json=json)
        return 0
    if view:
        require_display()
    with output.progress_line() as progress:
        record = rid.run_study(
            plant,
            out,
            study,
            workers=workers or os.cpu_count() or 1,
            meshes=meshes,
            page=True,
            replay=not no_replay,
            figures=figures,
            command=output.command_line(),
            progress=progress,
        )
    write_junit(junit, f"run {plant.name}", verdict_cases(record.result.verdict))
    text = study_text(record, out, time.perf_counter() - began)
    output.print_result(record.result.content(), text, [junit], study_details(record), as_json=json)
    if view:
        show_motion(plant, record.log, models=record.models)
    return 0 if record.result.verdict.passed else 1
