"""Write a robot for other tools."""

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
    """Format in which a robot can be written."""

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
"""Formats by the suffixes of their files."""

CODE_WRITERS = {Format.PYTHON: write_python, Format.C: write_c}


def format_of(out: Path, requested: Format | str | None = None) -> Format:
    """Return the format of a file by its suffix.

    Raises `OptionError` or `UnknownNameError` if it is unknown, or contradicts `requested`.
    """
    if requested is not None and requested not in [*Format]:
        raise UnknownNameError.from_names("format", requested, [*Format])
    by_suffix = SUFFIX_FORMATS.get(out.suffix.lower())
    listed = ", ".join(SUFFIX_FORMATS)
    if by_suffix is None:
        raise OptionError(f"cannot export to {out}: its suffix must be one of {listed}")
    if requested not in (None, by_suffix):
        suffix = next(suffix for suffix, name in SUFFIX_FORMATS.items() if name == requested)
        raise OptionError(
            f"--format {requested} contradicts {out}, which is {by_suffix}; end its name in "
            f"{suffix}"
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
        The robot to write.
    path : str or Path
        File to write; its suffix determines the format.
    format : str, optional
        Expected format: ``urdf``, ``mjcf``, ``sdf``, ``python`` or ``c``.
    meshes : MeshMode
        Whether meshes are copied.

    Returns
    -------
    files : list of Path
        The file, and a side-car file with quantities that the format cannot represent.
    notes : tuple of str
        Quantities that the files do not contain.

    Raises
    ------
    OptionError
        If the suffix is unknown, or contradicts the format.
    FileFormatError
        If a file cannot be written.
    """
    out = Path(path)
    chosen = format_of(out, format)
    require_writable(out)
    if chosen not in CODE_WRITERS:
        require_side_car(out)
    omissions = describe_omissions(robot.terms)
    if chosen in CODE_WRITERS:
        CODE_WRITERS[chosen](robot, out)
        return [out], omissions
    files = [out, out.with_suffix(".toml")]
    if chosen is Format.MJCF:
        return files, write_mjcf(robot, out, meshes=meshes)
    if chosen is Format.SDF:
        return files, write_sdf(robot, out, meshes=meshes)
    notes = write_urdf(robot, out, meshes=meshes)
    write_side_car(robot, out, ("Ia", "Fo", "eps", "acceleration"))
    return files, (*notes, *list_urdf_losses(robot))


MAX_SAMPLES = 10_000
"""Largest number of posterior samples."""

SAMPLE_FILE_PATTERN = "sample_*.urdf"


def list_sample_files(count: int, folder: Path) -> list[Path]:
    """Make the folder of posterior samples and return their files.

    Raises `OptionError` for a wrong number, `FileFormatError` if the folder cannot be written or
    has other samples.
    """
    if not 1 <= count <= MAX_SAMPLES:
        raise OptionError(
            f"the number of posterior samples must be 1 to {MAX_SAMPLES}, got {count}"
        )
    make_folder(folder, "--posterior-samples")
    digits = max(2, len(str(count)))
    files = [folder / f"sample_{k:0{digits}d}.urdf" for k in range(1, count + 1)]
    if others := sorted(set(folder.glob(SAMPLE_FILE_PATTERN)) - set(files)):
        raise FileFormatError(
            f"{folder} has other posterior samples, such as {others[0].name}; remove them, or "
            "choose another folder"
        )
    return files


def write_samples(robots: Sequence[Robot], files: Sequence[Path], meshes: MeshMode) -> None:
    """Write posterior samples as URDF."""
    for robot, file in zip(robots, files, strict=True):
        write_urdf(robot, file, meshes=meshes)
