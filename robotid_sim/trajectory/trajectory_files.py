"""Trajectories as JSON files, of whatever family."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.files import read_json
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.cartesian_fourier import CartesianFourierTrajectory
from robotid_sim.trajectory.fourier import SCHEMA_VERSION, FourierTrajectory
from robotid_sim.trajectory.homing import HomedTrajectory
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.trajectory.rest_to_rest import BASES, RestToRest

FAMILY_NAMES = ("fourier", "cartesian-fourier", "homed", *BASES)
"""What the key ``family`` of a file may say."""


def load_trajectory(path: str | Path, robot: Robot | None = None) -> Excitation:
    """Read a trajectory of any family.

    Parameters
    ----------
    path : str or Path
        The file.
    robot : Robot, optional
        Whose trajectory it must be.

    Raises
    ------
    FileFormatError
        If the file is missing, incomplete, or of another kind, family or newer schema; or if its
        joints are not those of the robot.
    """
    content = read_json(path, "trajectory", SCHEMA_VERSION)
    try:
        return _of_robot(_of_content(content), robot)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RobotIdError) as error:
        raise FileFormatError(f"{path} is not a usable trajectory: {error}") from error


def _of_robot(trajectory: Excitation, robot: Robot | None) -> Excitation:
    if robot is not None and trajectory.joint_names != robot.joint_names:
        raise FileFormatError(
            f"the trajectory is of another robot: its joints are "
            f"{', '.join(trajectory.joint_names)}; those of '{robot.name}' are "
            f"{', '.join(robot.joint_names)}"
        )
    return trajectory


def _of_content(content: Mapping[str, Any]) -> Excitation:
    values = dict(content)
    family = values.pop("family", None)
    if family == "fourier":
        return FourierTrajectory.of_content(values)
    if family == "cartesian-fourier":
        return CartesianFourierTrajectory.of_content(values)
    if family == "homed":
        return HomedTrajectory(motion=_of_content(values.pop("motion")), **values)
    if family in BASES:
        return RestToRest.of_content(family, values)
    names = ", ".join(sorted(FAMILY_NAMES))
    raise FileFormatError(f"unknown trajectory family '{family}'; known: {names}")
