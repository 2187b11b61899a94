"""``robotid diagnose``: faults of a log or of its nominal model."""

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command("seed", "plugin", "nominal", excludes={"seed": "nominal"})
def diagnose(
    robot: options.RobotArg,
    log: options.LogFile,
    mapping: options.MapFile = None,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Find faults in a log or in the nominal model: cause, joint, evidence, remedy.

    For a machine's log ROBOT is the nominal model. Exit 1 if a fault is found.
    """
    from robotid_sim.pipeline.assess import diagnose as diagnose_log
    from robotid_sim.pipeline.build_robot import build_nominal_of_log, build_robot
    from robotid_sim.report.text import diagnose_details, diagnose_text

    output.begin()
    model = build_robot(robot, study.robot)
    data = rid.read_log(log, model, mapping)
    nominal = build_nominal_of_log(model, data[0], study)
    parameters = study.estimation.joint_parameters
    diagnosis = diagnose_log(data, nominal, joint_parameters=parameters)
    content = {"robot": model.name, **diagnosis.content()}
    text, details = diagnose_text(diagnosis, data), diagnose_details(diagnosis)
    output.print_result(content, text, (), details, as_json=json)
    return 0 if diagnosis.is_healthy else 1
