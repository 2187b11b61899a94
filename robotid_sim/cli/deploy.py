"""``robotid deploy``: a motion for the controller of a robot."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command("seed", "engine", "no_clearance")
def deploy(
    robot: options.RobotArg,
    trajectory: Annotated[
        Path, options.argument("TRAJECTORY", "Trajectory file of `robotid design`.")
    ],
    to: Annotated[
        str,
        options.value(
            "TARGET", "Controller: abb, csv, fanuc, franka, kuka-krl, kuka-rsi, lerobot, ros2, ur."
        ),
    ],
    out: Annotated[Path, options.output_option("New folder for the files.", "FOLDER")],
    rate: Annotated[
        float | None, options.value("HZ", "Set points a second.  [default: that of the controller]")
    ] = None,
    rehearse: Annotated[
        bool,
        options.value(
            None,
            "Play the motion in the engine first (the default), or not.",
            "--rehearse/--no-rehearse",
            show_default=False,
        ),
    ] = True,
    no_replay: options.NoReplay = False,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Write a motion for the controller of a robot: at 10, 30 and 100 % of its speed.

    Every file is read back and played as the controller does, against the limits of ROBOT. The
    rehearsal plays it in the engine on a robot with planted friction and payload, writes the log in
    the form of the controller's recorder, and identifies the planted parameters from it. Without a
    passed rehearsal nothing is written (exit 1), unless --no-rehearse is given. operator.html tells
    the operator what to check, how to run and how to stop. No target was tried on a machine.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.files import require_new_folder
    from robotid_sim.pipeline.deploy import deploy as make_package
    from robotid_sim.report.deploy_report import OPERATOR, deploy_text, operator_page
    from robotid_sim.report.page import write_page

    output.begin()
    require_new_folder(out, "-o")
    with output.progress_line() as progress:
        package = make_package(
            robot, trajectory, to, study, rate=rate, rehearse=rehearse, progress=progress
        )
    written = []
    if package.passed:
        written = [*package.write(out), out / OPERATOR]
        write_page(operator_page(package, recipe(study)), out / OPERATOR, replay=not no_replay)
    output.print_result(package.content(), deploy_text(package), written, as_json=json)
    return 0 if package.passed else 1
