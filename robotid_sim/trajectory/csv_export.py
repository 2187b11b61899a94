"""A trajectory as a table for a robot controller: approach, motion and way back at one rate."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.files import write_text
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.homing import approached, returned
from robotid_sim.trajectory.reference import Excitation, Reference

QUANTITIES = ("q", "dq", "ddq")
"""Position, velocity and acceleration."""

ROUNDING = 1e-9
"""What a limit may be exceeded by, relative: rounding."""


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
    with a way back to where it started. Lines with ``#`` tell when the motion proper runs, and the
    units of the joints. Then come the header line, as in the CSV of logs, and the rows: ``t`` [s]
    from zero, ``q.<joint>``, ``dq.<joint>``, ``ddq.<joint>``. Numbers keep all bits. With positions
    only, the file is one that `robotid_sim.tasks.path_file.PathFile` reads.

    The rate is in samples a second; after the end one sample more may rest, to fill the last step.
    Raises `OptionError` if it is not positive, a quantity unknown, or the joints are those of
    another robot, `InfeasibleError` if a sample is outside the limits of the robot (the text names
    joint, limit and time), and `FileFormatError` if the file cannot be written.
    """
    _check(trajectory, rate, robot, quantities)
    moves = trajectory
    if trajectory.start == 0.0:
        moves = approached(robot, trajectory)
    moves = returned(robot, moves)
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
        use = np.abs(value) / limit
        if use.max() > 1.0 + ROUNDING:
            k, j = (int(i) for i in np.unravel_index(use.argmax(), use.shape))
            raise InfeasibleError(
                f"joint '{robot.joint_names[j]}' uses {use[k, j]:.0%} of its {word} limit at t = "
                f"{t[k]:.4g} s; design the trajectory for the limits of '{robot.name}'"
            )
