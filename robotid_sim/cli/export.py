"""``robotid export``: a robot for other tools."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options, output
from robotid_sim.files import require_writable
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.side_car import write_side_car
from robotid_sim.study.build import build_robot
from robotid_sim.study.config import StudyConfig


class Format(StrEnum):
    """Formats that a robot can be written in."""

    URDF = "urdf"
    MJCF = "mjcf"


@options.for_study(side_car=".toml")
def export(
    robot: options.RobotArg,
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")],
    format: Annotated[Format, typer.Option("--format", help="File format.")] = Format.URDF,
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Write a robot for other tools, as URDF or MJCF.

    A TOML file beside it holds what the format has no place for. For URDF: rotor inertia, friction
    offset and constant, acceleration limits; an element that other loaders ignore holds them too.
    For MJCF: all of these but rotor inertia.
    """
    require_writable(out)
    read = build_robot(robot, study.robot)
    notes: list[str] = []
    if format is Format.MJCF:
        notes = write_mjcf(read, out)
    else:
        write_urdf(read, out)
        write_side_car(read, out, ("Ia", "Fo", "eps", "acceleration"))
    files = [out, out.with_suffix(".toml")]
    if json:
        written = [str(path) for path in files]
        output.print_json({"robot": read.name, "format": format, "files": written, "notes": notes})
    else:
        for note in notes:
            output.print_line(note)
        output.print_line(f"{read.name} written to {' and '.join(map(str, files))}")
    return 0
