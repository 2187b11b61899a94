"""``robotid export``: a robot for other tools."""

from pathlib import Path

from robotid_sim.cli import output
from robotid_sim.cli.syntax.export import Format
from robotid_sim.dynamics.code_files import write_c, write_python
from robotid_sim.errors import OptionError
from robotid_sim.files import require_writable
from robotid_sim.model.export import lost_in_urdf, write_urdf
from robotid_sim.model.joint_terms import left_out
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot
from robotid_sim.model.sdf import write_sdf
from robotid_sim.model.side_car import require_side_car, write_side_car
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import StudyConfig

SUFFIXES = {
    ".urdf": Format.URDF,
    ".xml": Format.MJCF,
    ".sdf": Format.SDF,
    ".py": Format.PYTHON,
    ".c": Format.C,
}
"""Formats by the names of their files."""

SOURCE_CODE = {Format.PYTHON: write_python, Format.C: write_c}


def export(
    *,
    robot: str,
    out: Path,
    format: Format | None,
    meshes: MeshMode,
    json: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid export``; its words are in `cli.syntax.export`."""
    chosen = format_of(out, format)
    require_writable(out)
    if chosen not in SOURCE_CODE:
        require_side_car(out)
    read = build_robot(robot, study.robot)
    files, notes = write(read, out, chosen, meshes)
    if json:
        written = [str(path) for path in files]
        output.print_json({"robot": read.name, "format": chosen, "files": written, "notes": notes})
    else:
        for note in notes:
            output.print_line(note)
        output.print_written(files)
    return 0


def format_of(out: Path, given: Format | None) -> Format:
    """Return the format of a file by its suffix; raise OptionError if another one is asked for."""
    by_suffix = SUFFIXES.get(out.suffix.lower())
    listed = ", ".join(SUFFIXES)
    if by_suffix is None:
        raise OptionError(f"cannot export to {out}: its suffix is none of {listed}")
    if given not in (None, by_suffix):
        suffix = next(suffix for suffix, name in SUFFIXES.items() if name is given)
        raise OptionError(
            f"--format {given} contradicts {out}, which is {by_suffix}; end its name in {suffix}"
        )
    return by_suffix


def write(
    robot: Robot, out: Path, chosen: Format, meshes: MeshMode
) -> tuple[list[Path], tuple[str, ...]]:
    """Write a robot; return the files and what they lack."""
    left = left_out(robot.terms)
    if chosen in SOURCE_CODE:
        SOURCE_CODE[chosen](robot, out)
        return [out], left
    files = [out, out.with_suffix(".toml")]
    if chosen is Format.MJCF:
        return files, write_mjcf(robot, out, meshes=meshes)
    if chosen is Format.SDF:
        return files, write_sdf(robot, out, meshes=meshes)
    notes = write_urdf(robot, out, meshes=meshes)
    write_side_car(robot, out, ("Ia", "Fo", "eps", "acceleration"))
    return files, (*notes, *lost_in_urdf(robot))
