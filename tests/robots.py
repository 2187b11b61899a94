"""The robots under test: of the catalog, of other packages, and small ones of our own."""

from importlib.metadata import distribution
from pathlib import Path

import pybullet_data

from robotid_sim.model.catalog import find_urdf

DATA = Path(__file__).parent / "data"

EXAMPLES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
}
"""Files of the package example-robot-data."""


def example_path(file: str) -> Path:
    """Return a file of the package example-robot-data."""
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return Path(str(distribution("example-robot-data").locate_file(f"{folder}/{file}")))


def urdf_path(name: str) -> Path:
    """Return the URDF of a robot under test, by short name."""
    match name:
        case "iiwa":
            return Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf"
        case "panda" | "ur5" | "ur3" | "ur10" | "kinova":
            return example_path(EXAMPLES[name])
        case "2r" | "ppp" | "scara" | "rp":
            return DATA / f"{name}.urdf"
        case _:
            return find_urdf(name)


ROBOTS = ("irb140", "irb120", "iiwa", "panda", "ur5", "2r", "ppp", "scara", "rp")

FURTHER = ("ur3", "ur10", "kinova")
"""Arms of other packages that no code and no other test knows."""
