"""Files of robots that an identification leaves possible."""

from collections.abc import Sequence
from pathlib import Path

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import make_folder
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot

PATTERN = "draw_*.urdf"


def folder_of_draws(folder: Path, count: int) -> list[Path]:
    """Return the files that draws will have; make their folder.

    Raises `OptionError` if none are asked for, `FileFormatError` if the folder cannot be written
    or has other draws.
    """
    if count < 1:
        raise OptionError(f"draws are counted from 1, got {count}")
    make_folder(folder, "--draws")
    digits = max(2, len(str(count)))
    files = [folder / f"draw_{k:0{digits}d}.urdf" for k in range(1, count + 1)]
    if others := sorted(set(folder.glob(PATTERN)) - set(files)):
        raise FileFormatError(
            f"{folder} has other draws, such as {others[0].name}; remove them, or choose another "
            "folder"
        )
    return files


def write_draws(robots: Sequence[Robot], files: Sequence[Path], meshes: MeshMode) -> None:
    """Write drawn robots as URDF."""
    for robot, file in zip(robots, files, strict=True):
        write_urdf(robot, file, meshes=meshes)
