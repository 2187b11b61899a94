"""``robotid payload``: a load at the tip, or the drive gains from a known load."""

from pathlib import Path
from typing import Annotated

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

LoadText = Annotated[
    str | None,
    options.value(
        options.LOAD_FORMAT,
        "Known payload; the drive gains are estimated. With the mass alone, its center of mass and "
        "inertia are unknown.",
    ),
]
ControllerName = Annotated[
    str | None,
    options.value("NAME", "Print the payload for a controller: franka, kuka, ros2, ur.", "--for"),
]


@command("seed", "plugin", "nominal", excludes={"seed": "nominal"})
def payload(
    robot: options.RobotArg,
    log: Annotated[
        Path,
        options.argument(
            "LOG", "Log without the load, or the estimate file of the arm without it (.json)."
        ),
    ],
    loaded: Annotated[
        Path,
        options.argument("LOADED", "Log with the load, in any form that `robotid import` reads."),
    ],
    load: LoadText = None,
    drive_gain_std: options.GainStd = None,
    out: Annotated[Path | None, options.output_option("File for the result (JSON).")] = None,
    controller: ControllerName = None,
    force: options.Force = False,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Estimate a load at the tip, or the drive gains from a known load.

    Input is a log without and a log with the load, or the estimate of the arm and a log. Both must
    be of the same robot with the same sensors; the motions may differ. Exit 1 if the fit failed, if
    the load is in the first log instead of the second, or if --load is implausible.
    """
    from robotid_sim.cli.study_options import parse_load
    from robotid_sim.files import write_json
    from robotid_sim.pipeline.build_robot import build_nominal_of_log, build_robot
    from robotid_sim.pipeline.fit_plan import build_preprocessor
    from robotid_sim.pipeline.payload import find_load_writer
    from robotid_sim.pipeline.payload import payload as estimate_payload
    from robotid_sim.report.text import payload_text

    output.begin(out)
    if controller is not None:
        find_load_writer(controller)
    known_load = None if load is None else parse_load(load)
    model = build_robot(robot, study.robot)
    loaded_log = rid.read_log(loaded, model)
    unloaded = log if log.suffix == ".json" else rid.read_log(log, model)
    estimate = estimate_payload(
        unloaded,
        loaded_log,
        build_nominal_of_log(model, loaded_log[0], study),
        load=known_load,
        drive_gain_std=drive_gain_std,
        preprocessor=build_preprocessor(study.preprocess),
        joint_parameters=study.estimation.joint_parameters,
        force=force,
    )
    content = estimate.content(controller)
    if out is not None:
        write_json(out, "payload", 1, content)
    output.print_result(content, payload_text(estimate), [out], as_json=json)
    if controller is not None and not json:
        output.print_code(content["for_controller"])
    return 0 if estimate.passed else 1
