"""``robotid predict`` and ``compare``: what estimates say of a log, and of one another."""

from pathlib import Path

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command(
    *("seed", "plugin", "nominal"), needs={"no_replay": "report"}, excludes={"seed": "nominal"}
)
def predict(
    robot: str,
    estimate: Path,
    log: Path,
    mapping: Path | None = None,
    out: Path | None = None,
    report: Path | None = None,
    no_replay: bool = False,
    force: bool = False,
    json: bool = False,
    *,
    study: options.Configuration,
) -> int:
    """Predict the torques of a log that an estimate has not seen, and score them by joint.

    The motion comes from the log's positions alone, friction velocities and torque delay from the
    estimate. For a machine's log ROBOT is the nominal model.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.build_robot import build_nominal_of_log, build_robot
    from robotid_sim.pipeline.fit_plan import build_preprocessor
    from robotid_sim.pipeline.predict import SavedEstimate
    from robotid_sim.pipeline.predict import predict as predict_log
    from robotid_sim.report.page import write_page
    from robotid_sim.report.prediction_report import predict_text, prediction_report

    output.begin(out, report)
    model, saved = build_robot(robot, study.robot), SavedEstimate.of(estimate)
    saved.measured_by(model)  # another robot's estimate is told before its log is read
    data = rid.read_log(log, model, mapping)
    done = predict_log(
        saved,
        data,
        build_nominal_of_log(model, data[0], study),
        preprocessor=build_preprocessor(study.preprocess),
        joint_parameters=study.estimation.joint_parameters,
        force=force,
    )
    content = done.content()
    if out is not None:
        write_json(out, "prediction", 1, content)
    if report is not None:
        write_page(prediction_report(done, recipe(study)), report, replay=not no_replay)
    output.print_result(content, predict_text(done), [out, report], as_json=json)
    return 0 if done.passed else 1


@command()
def compare(
    estimates: list[Path], out: Path | None = None, report: Path | None = None, json: bool = False
) -> int:
    """Say whether estimates of independent logs are of one robot, and what differs.

    The chosen estimates are compared pair by pair, by their covariances; of 100 sets of estimates
    of one robot 1 at most is called different. Of result folders, predictions and tracking errors
    stand side by side, too. Exit 1 if they differ.
    """
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.compare import compare as compare_estimates
    from robotid_sim.report.comparison_report import compare_text, comparison_report
    from robotid_sim.report.page import write_page

    output.begin(out, report)
    done = compare_estimates(estimates)
    content = done.content()
    if out is not None:
        write_json(out, "agreement", 1, content)
    if report is not None:
        write_page(comparison_report(done, output.command_line()), report)
    output.print_result(content, compare_text(done), [out, report], as_json=json)
    return 0 if done.passed else 1
