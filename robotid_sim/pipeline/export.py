"""A robot as a file for other tools."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from robotid_sim.dynamics.code_files import write_c, write_python
from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.files import make_folder, require_writable
from robotid_sim.model.export import list_urdf_losses, write_urdf
from robotid_sim.model.joint_terms import describe_omissions
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot
from robotid_sim.model.sdf import write_sdf
from robotid_sim.model.side_car import require_side_car, write_side_car


class Format(StrEnum):
    """Formats that a robot can be written in."""

    URDF = "urdf"
    MJCF = "mjcf"
    SDF = "sdf"
    PYTHON = "python"
    C = "c"


SUFFIX_FORMATS = {
    ".urdf": Format.URDF,
    ".xml": Format.MJCF,
    ".sdf": Format.SDF,
    ".py": Format.PYTHON,
    ".c": Format.C,
}
"""Formats by the names of their files."""

CODE_WRITERS = {Format.PYTHON: write_python, Format.C: write_c}


def format_of(out: Path, given: Format | str | None = None) -> Format:
    """Return the format of a file by its suffix.

    Raises `OptionError` or `UnknownNameError` if that is unknown, or another format is asked for.
    """
    if given is not None and given not in [*Format]:
        raise UnknownNameError.from_names("format", given, [*Format])
    by_suffix = SUFFIX_FORMATS.get(out.suffix.lower())
    listed = ", ".join(SUFFIX_FORMATS)
    if by_suffix is None:
        raise OptionError(f"cannot export to {out}: its suffix is none of {listed}")
    if given not in (None, by_suffix):
        suffix = next(suffix for suffix, name in SUFFIX_FORMATS.items() if name == given)
        raise OptionError(
            f"--format {given} contradicts {out}, which is {by_suffix}; end its name in {suffix}"
        )
    return by_suffix


def export(
    robot: Robot,
    path: str | Path,
    *,
    format: Format | str | None = None,
    meshes: MeshMode = MeshMode.COPY,
) -> tuple[list[Path], tuple[str, ...]]:
    """Write a robot for other tools, as URDF, MJCF, SDF, or source code.

    Parameters
    ----------
    robot : Robot
        What is written.
    path : str or Path
        File to write; its suffix says the format.
    format : str, optional
        The format, to be sure: ``urdf``, ``mjcf``, ``sdf``, ``python`` or ``c``.
    meshes : MeshMode
        Whether the meshes come along.

    Returns
    -------
    files : list of Path
        The file, and one beside a model for what its format has no place for.
    notes : tuple of str
        What the files lack.

    Raises
    ------
    OptionError
        If the suffix is none of a format, or of another one.
    FileFormatError
        If a file cannot be written.
    """
    out = Path(path)
    chosen = format_of(out, format)
    require_writable(out)
    if chosen not in CODE_WRITERS:
        require_side_car(out)
    left = describe_omissions(robot.terms)
    if chosen in CODE_WRITERS:
        CODE_WRITERS[chosen](robot, out)
        return [out], left
    files = [out, out.with_suffix(".toml")]
    if chosen is Format.MJCF:
        return files, write_mjcf(robot, out, meshes=meshes)
    if chosen is Format.SDF:
        return files, write_sdf(robot, out, meshes=meshes)
    notes = write_urdf(robot, out, meshes=meshes)
    write_side_car(robot, out, ("Ia", "Fo", "eps", "acceleration"))
    return files, (*notes, *list_urdf_losses(robot))


MAX_DRAWS = 10_000
"""Robots that are drawn at once."""

DRAW_FILE_PATTERN = "draw_*.urdf"


def folder_of_draws(folder: Path, count: int) -> list[Path]:
    """Return the files that draws will have; make their folder.

    Raises `OptionError` if none are asked for, `FileFormatError` if the folder cannot be written
    or has other draws.
    """
    if not 1 <= count <= MAX_DRAWS:
        raise OptionError(f"draws are counted from 1, got {count}; give at most {MAX_DRAWS}")
    make_folder(folder, "--draws")
    digits = max(2, len(str(count)))
    files = [folder / f"sample_{k:0{digits}d}.urdf" for k in range(1, count + 1)]
    if others := sorted(set(folder.glob(DRAW_FILE_PATTERN)) - set(files)):
        raise FileFormatError(
            f"{folder} has other draws, such as {others[0].name}; remove them, or choose another "
            "folder"
        )
    return files


def write_draws(robots: Sequence[Robot], files: Sequence[Path], meshes: MeshMode) -> None:
    """Write drawn robots as URDF."""
    for robot, file in zip(robots, files, strict=True):
        write_urdf(robot, file, meshes=meshes)
