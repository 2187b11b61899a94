"""``robotid export``: a robot for other tools."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.model.mesh_files import MeshMode


@command(further_files=lambda values: [values["out"].with_suffix(".toml")])
def export(
    robot: options.RobotArg,
    out: Annotated[Path, options.output_option("File to write.")],
    format: Annotated[
        str | None,
        options.value(
            "NAME",
            "urdf, mjcf, sdf, python, c, c-header, lerobot-gravity; of a load: ur-payload, "
            "franka-endeffector, kuka-load, ros2-inertia.  [default: by the suffix]",
            "--format",
        ),
    ] = None,
    estimate: Annotated[
        Path | None, options.file("Estimate file: source code with its base parameters.")
    ] = None,
    amperes: Annotated[
        bool, options.flag("--amperes", "Source code returns motor currents.")
    ] = False,
    meshes: options.Meshes = MeshMode.COPY,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Write a robot or its load for other tools: URDF, MJCF, SDF, source code, load data.

    The suffix of the file sets the format: .urdf, .xml, .sdf, .py, .c, .h. A TOML file next to a
    model has what the format cannot represent: rotor inertia (except MJCF), friction offset and
    transition velocity, acceleration limits. Source code computes inverse dynamics, mass matrix,
    gravity and friction, and needs only numpy (.py), or nothing (.c, .h for C and C++); with
    --estimate it has the base parameters of a log, and with --amperes it returns currents. Formats
    of a load take --payload.
    """
    from robotid_sim.pipeline.build_robot import build_robot
    from robotid_sim.pipeline.export import export as write_robot
    from robotid_sim.pipeline.export import format_of

    output.begin()
    chosen = format_of(out, format)
    read = build_robot(robot, study.robot)
    files, notes = write_robot(
        read,
        out,
        format=chosen,
        meshes=meshes,
        estimate=estimate,
        amperes=amperes,
        load=study.robot.payload,
    )
    content = {"robot": read.name, "format": chosen, "files": list(map(str, files)), "notes": notes}
    output.print_result(content, notes, files, as_json=json)
    return 0
