"""The robots under test: of the catalog, of other packages, and small ones of our own."""

from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.robot import Robot

DATA = Path(__file__).parent / "data"

EXAMPLES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "so100": "so_arm_description/urdf/so100.urdf",
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
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
            data = import_module("pybullet_data").getDataPath()  # comes with PyBullet
            return Path(data) / "kuka_iiwa" / "model.urdf"
        case _ if name in EXAMPLES:
            return example_path(EXAMPLES[name])
        case "2r" | "ppp" | "scara" | "rp":
            return DATA / f"{name}.urdf"
        case _:
            return find_urdf(name)


SCRIPTS = Path(__file__).parents[1] / "urdf"
"""Folder of the scripts that build the catalog, which no wheel has."""


def with_files(*names: str) -> tuple[str, ...]:
    """Return the robots whose file is here: that of iiwa comes with PyBullet."""
    there = find_spec("pybullet_data") is not None
    return tuple(name for name in names if there or name != "iiwa")


ROBOTS = ("irb140", "irb120", "iiwa", "panda", "ur5", "2r", "ppp", "scara", "rp")

FURTHER = ("ur3", "ur10", "kinova")
"""Arms of other packages that no code and no other test knows."""

TIPS = {"tiago": "arm_tool_link", "baxter": "right_gripper"}
"""Where the arms of larger robots end."""

TWENTY = (*ROBOTS, *FURTHER, "rs010n", "rocr6", "twolink", "xarm7", "z1", "so100", *TIPS)
"""Robots for what shall hold on any."""


def single(*, prismatic=False, inertia=0.5, gravity=(0.0, 0.0, 0.0), Ia=0.0, **friction) -> Robot:
    """Return a robot of one joint: a flywheel, by default of 0.5 kg m^2, or a slider of 2 kg."""
    phi = np.zeros(10)
    phi[0], phi[[4, 6, 9]] = 2.0, inertia
    joint = Joint(
        "joint",
        np.eye(4),
        np.array([1.0, 0.0, 0.0]),
        prismatic=prismatic,
        lower=-100.0,
        upper=100.0,
        velocity=10.0,
        acceleration=100.0,
        friction=Friction(**friction),
        rotor_inertia=Ia,
    )
    return Robot("single", (Link("body", phi),), (joint,), gravity=np.array(gravity))


def states(robot: Robot, count: int = 500) -> np.ndarray:
    """Return q, dq, ddq, each (count, n), over the whole range, to 3 rad/s and 10 rad/s^2."""
    rng = np.random.default_rng(0)
    shape = (count, robot.dof)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, shape)
    return np.stack([q, rng.uniform(-3, 3, shape), rng.uniform(-10, 10, shape)])


def standard_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """Return Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    (ca, sa), (ct, st) = (np.cos(alpha), np.sin(alpha)), (np.cos(theta), np.sin(theta))
    rows = [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d]]
    return np.array([*rows, [0, 0, 0, 1]])
