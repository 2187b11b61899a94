"""``robotid identify``: from a log to parameters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.model.mesh_files import MeshMode


def _list_tables(values: Mapping[str, Any]) -> list[Path]:
    """Return the default file of the parameter table, unless the user names a file."""
    from robotid_sim.pipeline.identification import default_table_path

    return [] if values["parameters"] else [default_table_path(values["out"])]


@command(*("seed", "plugin", "nominal"), further_files=_list_tables, needs={"no_replay": "report"})
def identify(
    robot: options.RobotArg,
    log: options.SeveralLogs,
    out: Annotated[Path, options.output_option("Estimate file (JSON).")],
    estimator: options.EstimatorNames = None,
    drive_gain_std: options.GainStd = None,
    terms: options.Terms = None,
    mapping: options.MapFile = None,
    hold_out: options.HoldOutText = None,
    urdf: options.UrdfFile = None,
    posterior_samples: options.PosteriorSamples = None,
    meshes: options.Meshes = MeshMode.COPY,
    parameters: options.ParameterFile = None,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    force: options.Force = False,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Identify parameters from logs, of the virtual experiment or of a machine.

    Several logs of one robot are fitted together, each weighted by its noise. For a machine's log
    ROBOT is the nominal model. A log with a wrong sign, unit or column, or with clipped torques, is
    refused. Exit 1 if the fit failed or is untrusted; all files are still written, with a warning.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.pipeline.build_robot import build_nominal_of_log
    from robotid_sim.pipeline.export import list_sample_files, write_samples
    from robotid_sim.pipeline.fit_plan import build_fit
    from robotid_sim.pipeline.identification import default_table_path
    from robotid_sim.report.identification_report import identify_details, identify_text

    table = parameters or default_table_path(out)
    output.begin(out, table, urdf, report)
    study = study.with_estimation(estimator, drive_gain_std, terms)
    model, plan = rid.build_robot(robot, study.robot), build_fit(study)
    data = rid.read_logs(log, model, mapping)
    is_log = hold_out is not None and Path(hold_out).exists()
    files = list_sample_files(*posterior_samples) if posterior_samples else []
    with output.progress_line() as progress:
        fit = rid.identify(
            data,
            build_nominal_of_log(model, data[0], study),
            joint_parameters=study.estimation.joint_parameters,
            hold_out=rid.read_logs(str(hold_out), model, mapping) if is_log else hold_out,
            model_error=bool(files),
            force=force,
            plan=plan,
            rng=study.seed,
            progress=progress,
        )
        robots = fit.sample_robots(len(files), study.seed, progress=progress) if files else []
    written = fit.write_files(out, table, urdf, meshes=meshes, require_robot=True)
    write_samples(robots, files, meshes)
    assessment = rid.assess(fit, data)
    if report is not None:
        written.append(assessment.report(report, replay=not no_replay, recipe=recipe(study)))
    content = {"robot": model.name, **fit.content()}
    texts = (identify_text(assessment, data), written, identify_details(assessment))
    output.print_result(content, *texts, as_json=json)
    if files and not json:
        output.print_line(
            f"{len(files)} robots are written to {files[0].parent}, the first as {files[0].name}"
        )
    return 0 if fit.passed else 1
