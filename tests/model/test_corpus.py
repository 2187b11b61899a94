"""Every URDF of example-robot-data and pybullet_data with a serial arm, against Pinocchio."""

import contextlib
import os
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin

from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.errors import UrdfError
from robotid_sim.model.robot import Robot

PACKAGES = Path(sysconfig.get_path("purelib"))
ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
FOLDERS = (ROBOTS, "pybullet_data")

RELATIVE = 1e-10
"""Of the largest torque of a robot."""

N_STATES = 5

NO_ARM = "random_urdfs"
"""A thousand bodies without joints."""

REFUSED = {
    # A leader that the file does not have: Pinocchio drops <mimic> without a word.
    f"{ROBOTS}/alex_description/urdf/alex_psyonic_hands.urdf": "mimics 'index_q1', which is not "
    "another joint",
    # A cube on three rails, whose limits of 1000 m/s may be meant in mm.
    "pybullet_data/cube_no_rotation.urdf": "a velocity limit of 1000 m/s is implausible",
}
"""By file: the refusal of what Pinocchio reads."""

MIN_FILES = 90
"""With a chain of two joints or more; 99 when this was written."""


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keep what urdfdom prints from the log of the tests."""
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def urdfs() -> list[str]:
    files = [file for folder in FOLDERS for file in (PACKAGES / folder).rglob("*.urdf")]
    return sorted(str(f.relative_to(PACKAGES)) for f in files if NO_ARM not in f.parts)


def joints_in_a_row(model: pin.Model) -> int:
    """Count the joints with one degree of freedom on the way to the farthest body."""
    depths = [0]
    for k in range(1, model.njoints):
        depths.append(depths[model.parents[k]] + (model.nvs[k] == 1))
    return max(depths)


def read_arm(file: Path) -> Robot:
    """Read the arm of a file; of several the one that the refusal names first."""
    options = {"assume_limits": True, "formal": True}
    try:
        return Robot.from_urdf(file, **options)
    except UrdfError as error:
        tip = re.search(r"has no movable joint; choose --tip \((\S+) with", str(error))
        if tip is None:
            raise
        return Robot.from_urdf(file, tip=tip[1], **options)


def assert_same_torque(robot: Robot, model: pin.Model) -> None:
    """Compare with the whole robot at rest except the chain."""
    rng, data = np.random.default_rng(0), model.createData()
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, N_STATES, robot.dof))
    joints = [model.getJointId(name) for name in robot.joint_names]
    moved = [model.idx_vs[k] for k in joints]
    torque = np.empty_like(q)
    for n in range(N_STATES):
        motion = np.zeros((3, model.nv))
        motion[:, moved] = q[n], dq[n], ddq[n]
        place = pin.integrate(model, pin.neutral(model), motion[0])
        torque[n] = pin.rnea(model, data, place, motion[1], motion[2])[moved]
    difference = np.abs(rigid_body_torque(robot, q, dq, ddq) - torque).max()
    assert difference <= RELATIVE * np.abs(torque).max()


def test_every_serial_arm_of_the_installed_packages_has_the_torques_of_pinocchio() -> None:
    count, refused = 0, {}
    for name in urdfs():
        file = PACKAGES / name
        try:
            with silence():
                model = pin.buildModelFromUrdf(str(file))
        except ValueError:  # which it does not read, either
            continue
        if joints_in_a_row(model) < 2:
            continue
        try:
            robot = read_arm(file)
        except UrdfError as error:
            refused[name] = str(error)
            continue
        count += 1
        assert_same_torque(robot, model)
    assert refused.keys() == REFUSED.keys()
    for name, message in refused.items():
        assert REFUSED[name] in message
        assert "\n" not in message
    assert count >= MIN_FILES
