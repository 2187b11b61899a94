"""The files of the robots that ship with the package."""

from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from robotid_sim.errors import UnknownNameError, suggestion
from robotid_sim.inputs import read_beside


def catalog_folder() -> Path:
    """Return the folder of the catalog: in an installed package, or next to the package source."""
    package = Path(str(files("robotid_sim")))
    installed = package / "urdf"
    return installed if installed.is_dir() else package.parent / "urdf"


def catalog() -> dict[str, Path]:
    """Return the URDF of every catalog robot by name."""
    folder = catalog_folder()
    urdfs = (folder / p.name / f"{p.name}.urdf" for p in sorted(folder.iterdir()) if p.is_dir())
    return {path.stem: path for path in urdfs if path.is_file()}


def find_urdf(robot: str | Path) -> Path:
    """Return the file, URDF or MJCF, of a catalog name or a path.

    Raises `UnknownNameError` if it is neither a catalog name nor an existing file.
    """
    robots = catalog()
    if str(robot) in robots:
        return robots[str(robot)]
    path = Path(robot)
    if not path.is_file() and (published := _find_published(str(robot))):
        return published
    if not path.is_file():
        names = ", ".join(robots)
        raise UnknownNameError(
            f"no robot '{robot}'{suggestion(str(robot), robots)}: neither a file nor in the "
            f"catalog ({names}); give a path, or, with the extra [robots] installed, a name of "
            "robot_descriptions"
        )
    return path


def _find_published(name: str) -> Path | None:
    """Find a robot in the packages example-robot-data and robot_descriptions."""
    if not name.isidentifier():  # a path
        return None
    with suppress(PackageNotFoundError):
        installed = distribution("example-robot-data").files or []
        file_names = (f"{name}.urdf", f"{name}_robot.urdf")
        files = [file for file in installed if file.name in file_names]
        if files:
            return Path(str(min(files, key=str).locate())).resolve()
    module_name = f"robot_descriptions.{name}"  # other modules of the package are not robots
    is_robot = name.endswith("_description") and find_spec("robot_descriptions") is not None
    if not is_robot or find_spec(module_name) is None:
        return None
    try:  # downloads a repository if it is not cached
        module = import_module(module_name)
    except Exception as error:  # errors of Git or of the network
        text = " ".join(str(error).split())
        raise UnknownNameError(f"robot_descriptions cannot fetch '{name}': {text}") from error
    files_of = [getattr(module, key, None) for key in ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")]
    return next((Path(file) for file in files_of if file), None)


def read_robot_toml(urdf: Path) -> dict[str, Any]:
    """Return the content of the robot.toml beside a URDF if it names that URDF, else nothing.

    Raises `FileFormatError` if the file is not TOML.
    """
    content = read_beside(urdf, "robot.toml")
    return content if content.get("urdf") == urdf.name else {}


def describe_catalog() -> list[dict[str, str]]:
    """Return name, summary and source of every catalog robot, for `robotid list robots`."""
    rows = []
    for name, path in catalog().items():
        content = read_robot_toml(path)
        texts = {key: str(content.get(key, "")) for key in ("summary", "source")}
        rows.append({"name": name, **texts})
    return rows
