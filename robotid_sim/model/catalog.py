"""The robots that ship with the package, and from a name or a path to a Robot."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from robotid_sim.errors import UnknownNameError
from robotid_sim.model.robot import Robot
from robotid_sim.model.settings import read_settings


def catalog_folder() -> Path:
    """Return the folder of the catalog: inside an installed package, else beside its source."""
    package = Path(str(files("robotid_sim")))
    installed = package / "urdf"
    return installed if installed.is_dir() else package.parent / "urdf"


def catalog() -> dict[str, Path]:
    """Return the URDF of every catalog robot by name."""
    folder = catalog_folder()
    found = (folder / p.name / f"{p.name}.urdf" for p in sorted(folder.iterdir()) if p.is_dir())
    return {path.stem: path for path in found if path.is_file()}


def find_urdf(robot: str | Path) -> Path:
    """Return the URDF that a catalog name or a path means.

    Raises
    ------
    UnknownNameError
        If it is neither a catalog name nor an existing file.
    """
    known = catalog()
    if str(robot) in known:
        return known[str(robot)]
    path = Path(robot)
    if not path.is_file():
        names = ", ".join(known)
        raise UnknownNameError(
            f"no robot '{robot}': neither a file nor in the catalog ({names}); "
            "give a catalog name or the path of a URDF"
        )
    return path


def load_robot(robot: str | Path, **options: Any) -> Robot:
    """Return a robot by catalog name or URDF path; options as for `Robot.from_urdf`."""
    return Robot.from_urdf(find_urdf(robot), **options)


def describe_catalog() -> list[dict[str, str]]:
    """Return name, summary and source of every catalog robot, for `robotid list robots`."""
    rows = []
    for name, path in catalog().items():
        settings = read_settings(path)
        rows.append({"name": name, "summary": settings.summary, "source": settings.source})
    return rows
