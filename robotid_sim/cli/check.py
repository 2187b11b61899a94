"""``robotid check``: consistency of a robot, and its identifiable parameters."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command("nominal")
def check(
    robot: options.RobotArg,
    json: options.Json = False,
    out: Annotated[Path | None, options.output_option("URDF to write, with --repair.")] = None,
    junit: options.JunitFile = None,
    *,
    study: options.Configuration,
) -> int:
    """Check a robot: consistency link by link, limits, rank, groupings, whether a study can run.

    Masses far from those of a nominal model are reported. Exit 0 if every movable link is
    physically consistent (or was repaired) and a study can run, else 1.
    """
    from robotid_sim.errors import OptionError
    from robotid_sim.model.export import write_urdf
    from robotid_sim.pipeline.check import check as check_robot
    from robotid_sim.report.text import check_cases, check_details, check_text, write_junit

    if out is not None and not study.robot.repair:
        raise OptionError("-o writes the repaired robot; give it together with --repair")
    output.begin(out, junit)
    result = check_robot(robot, study)
    content = result.content()
    if out is not None and result.repaired is not None:
        write_urdf(result.repaired, out)
        content["repair"]["file"] = str(out)
    write_junit(junit, f"check {result.robot.name}", check_cases(result))
    texts = (check_text(result), [out, junit], check_details(result))
    output.print_result(content, *texts, as_json=json)
    return 0 if result.passed else 1
