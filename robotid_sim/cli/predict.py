"""``robotid predict``: predict the torques of a log by an estimate."""

from pathlib import Path
from typing import Annotated

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

TorqueFile = Annotated[
    Path | None, options.file("Also write measured and predicted torques at the log's stamps.")
]


@command(
    *("seed", "plugin", "nominal"), needs={"no_replay": "report"}, excludes={"seed": "nominal"}
)
def predict(
    robot: options.RobotArg,
    estimate: options.EstimateFile,
    log: options.LogFile,
    mapping: options.MapFile = None,
    out: options.ResultFile = None,
    csv: TorqueFile = None,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    force: options.Force = False,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Predict the torques of a log that was not used in the fit, and score them by joint.

    The motion comes from the log's positions and velocities, transition velocities and torque delay
    from the estimate. For a machine's log ROBOT is the nominal model.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.build_robot import build_nominal_of_log, build_robot
    from robotid_sim.pipeline.fit_plan import build_preprocessor
    from robotid_sim.pipeline.predict import SavedEstimate
    from robotid_sim.pipeline.predict import predict as predict_log
    from robotid_sim.report.page import write_page
    from robotid_sim.report.prediction_report import predict_text, prediction_report

    output.begin(out, csv, report)
    model, saved = build_robot(robot, study.robot), SavedEstimate.from_estimate(estimate)
    saved.find_measured_joints(model)  # refuses another robot's estimate before the log is read
    data = rid.read_log(log, model, mapping)
    prediction = predict_log(
        saved,
        data,
        build_nominal_of_log(model, data[0], study),
        preprocessor=build_preprocessor(study.preprocess),
        joint_parameters=study.estimation.joint_parameters,
        force=force,
    )
    content = prediction.content()
    if out is not None:
        write_json(out, "prediction", 1, content)
    if csv is not None:
        prediction.write_torques(csv)
    if report is not None:
        write_page(prediction_report(prediction, recipe(study)), report, replay=not no_replay)
    output.print_result(content, predict_text(prediction), [out, csv, report], as_json=json)
    return 0 if prediction.passed else 1
