"""Trajectories of any family as JSON files.

A trajectory as a table for a robot controller: approach, motion and return at one rate.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError, RobotIdError
from robotid_sim.files import read_json, write_json, write_text
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.cartesian_fourier import CartesianFourierTrajectory
from robotid_sim.trajectory.fourier import SCHEMA_VERSION, FourierTrajectory
from robotid_sim.trajectory.homing import HomedTrajectory, add_ways
from robotid_sim.trajectory.motion_basis import BASIS_CLASSES, RestToRest
from robotid_sim.trajectory.reference import Excitation, Reference

FAMILY_NAMES = ("fourier", "cartesian-fourier", "homed", *BASIS_CLASSES)
"""Permitted values of the key ``family`` of a file."""

MAX_NUMBER = 1e9
"""Largest number in a file."""

COMPARISON_POSITION = 0.5
"""Position of every joint in which two robots are compared [rad or m]."""

MAX_POSE_DISTANCE = 1e-6
"""Maximum distance between joints of equal robots in this pose [m]."""


def save_trajectory(trajectory: Excitation, path: str | Path, robot: Robot) -> None:
    """Write a trajectory as JSON, with data that identify its robot; all bits are kept."""
    robot_content = {"name": robot.name, "origins": _origins(robot).tolist()}
    write_json(path, "trajectory", SCHEMA_VERSION, {"robot": robot_content, **trajectory.content()})


def load_trajectory(path: str | Path, robot: Robot | None = None) -> Excitation:
    """Read a trajectory of any family, of a robot if one is given.

    Raises `FileFormatError` if the file is missing, incomplete, or of another kind, family or newer
    schema; or if the joints of the robot have other names or, if the file contains them, other
    places.
    """
    content = read_json(path, "trajectory", SCHEMA_VERSION)
    worst = max(map(abs, _numbers(content)), default=0.0)
    if worst > MAX_NUMBER:
        raise FileFormatError(f"{path} holds {worst:g}, which is no number of a motion; correct it")
    made_for = content.pop("robot", None)
    try:
        trajectory = _check_robot(_make_excitation(content), robot)
        if robot is not None and made_for is not None:
            _require_same(made_for, robot)
        return trajectory
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RobotIdError) as error:
        raise FileFormatError(f"{path} is not a usable trajectory: {error}") from error


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers of a JSON value at any depth."""
    values = [value]
    while values:
        part = values.pop()
        if isinstance(part, int | float):
            yield part
        elif isinstance(part, dict | list):
            values.extend(part.values() if isinstance(part, dict) else part)


def _check_robot(trajectory: Excitation, robot: Robot | None) -> Excitation:
    if robot is not None and trajectory.joint_names != robot.joint_names:
        raise FileFormatError(
            f"the trajectory is of another robot: its joints are "
            f"{', '.join(trajectory.joint_names)}; those of '{robot.name}' are "
            f"{', '.join(robot.joint_names)}"
        )
    return trajectory


def _origins(robot: Robot) -> Float2D:
    """Return the origins of all joints in `COMPARISON_POSITION` [m], shape (n, 3)."""
    return np.asarray(link_poses(robot, np.full(robot.dof, COMPARISON_POSITION))[:, :3, 3])


def _require_same(made_for: Mapping[str, Any], robot: Robot) -> None:
    """Raise unless the joints of two robots are in the same places."""
    apart = np.asarray(made_for["origins"], dtype=float) - _origins(robot)
    apart = np.linalg.norm(apart, axis=1)
    if apart.max() > MAX_POSE_DISTANCE:
        joint, far = robot.joint_names[int(apart.argmax())], apart.max()
        raise FileFormatError(
            f"the trajectory is of another robot, '{made_for['name']}': joint '{joint}' of "
            f"'{robot.name}' is {far:.3g} m away from where it is there; design one for this robot"
        )


def _make_excitation(content: Mapping[str, Any]) -> Excitation:
    values = dict(content)
    family = values.pop("family", None)
    if family == "fourier":
        return FourierTrajectory.from_content(values)
    if family == "cartesian-fourier":
        return CartesianFourierTrajectory.from_content(values)
    if family == "homed":
        motion = values.pop("motion")
        if motion.get("family") == "homed":
            raise FileFormatError("'motion' is homed itself; give one that is of another family")
        return HomedTrajectory(motion=_make_excitation(motion), **values)
    if family in BASIS_CLASSES:
        return RestToRest.from_content(family, values)
    names = ", ".join(sorted(FAMILY_NAMES))
    raise FileFormatError(f"unknown trajectory family '{family}'; known: {names}")


QUANTITIES = ("q", "dq", "ddq")
"""Position, velocity and acceleration."""

LIMIT_TOLERANCE = 1e-9
"""Largest relative excess over a limit that counts as rounding."""


def export_csv(
    trajectory: Excitation,
    path: str | Path,
    rate: float,
    robot: Robot,
    *,
    quantities: Sequence[str] = QUANTITIES,
) -> None:
    """Write a trajectory as CSV, from rest to rest at the same pose.

    It starts with its approach, or one from the home pose of the robot if it has none, and ends
    with a return to its start. Lines with ``#`` state the time span of the motion itself and the
    units of the joints. Then come the header line, as in the CSV of logs, and the rows: ``t`` [s]
    from zero, ``q.<joint>``, ``dq.<joint>``, ``ddq.<joint>``. Numbers keep all bits. With positions
    only, `robotid_sim.tasks.path_file.PathFile` can read the file.

    The rate is in samples per second; one additional sample at rest may follow, to complete the
    last step. Raises `OptionError` if it is not positive, a quantity unknown, or the joints are
    those of another robot, `InfeasibleError` if a sample is outside the limits of the robot (the
    text names joint, limit and time), and `FileFormatError` if the file cannot be written.
    """
    _check(trajectory, rate, robot, quantities)
    moves = add_ways(robot, trajectory)
    count = int(np.ceil((moves.duration - moves.start) * rate * (1.0 - 1e-12)))
    t = np.arange(count + 1) / rate
    reference = moves(moves.start + t)
    _require_limits(robot, reference, t)
    columns, header = [t], ["t"]
    for name in (name for name in QUANTITIES if name in quantities):
        columns.append(getattr(reference, name))
        header += [f"{name}.{joint}" for joint in robot.joint_names]
    first, last = -moves.start, trajectory.duration - moves.start
    text = io.StringIO()
    text.write(
        f"# motion from t = {first:.9g} s to {last:.9g} s, with its way from home and back\n"
    )
    text.write(f"# joint_units: {' '.join(robot.joint_units)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(np.column_stack(columns).tolist())
    write_text(path, text.getvalue())


def _check(trajectory: Excitation, rate: float, robot: Robot, quantities: Sequence[str]) -> None:
    if not (np.isfinite(rate) and rate > 0.0):
        raise OptionError(f"the rate must be positive, got {rate} samples a second")
    unknown = [name for name in quantities if name not in QUANTITIES]
    if unknown or not quantities:
        raise OptionError(f"quantities are some of {', '.join(QUANTITIES)}, got {list(quantities)}")
    if trajectory.joint_names != robot.joint_names:
        raise OptionError(
            f"the trajectory is for the joints {', '.join(trajectory.joint_names)}, those of "
            f"'{robot.name}' are {', '.join(robot.joint_names)}; give the robot it was made for"
        )


def _require_limits(robot: Robot, reference: Reference, t: Float1D) -> None:
    limits = robot.limits
    for word, value, limit in (
        ("position", reference.q - limits.middle, limits.half_range),
        ("velocity", reference.dq, limits.velocity),
        ("acceleration", reference.ddq, limits.acceleration),
    ):
        share = np.abs(value) / limit
        if share.max() > 1.0 + LIMIT_TOLERANCE:
            k, j = (int(i) for i in np.unravel_index(share.argmax(), share.shape))
            raise InfeasibleError(
                f"joint '{robot.joint_names[j]}' uses {share[k, j]:.0%} of its {word} limit at t = "
                f"{t[k]:.4g} s; design the trajectory for the limits of '{robot.name}'"
            )
