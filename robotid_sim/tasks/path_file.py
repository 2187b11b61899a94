"""Paths of the user from CSV files.

A path file has rows of joint positions or tip poses, with or without times; the path is a curve
through them.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import FileFormatError, OptionError, PathError
from robotid_sim.inputs import read_file
from robotid_sim.kinematics.following import (
    MIN_POINTS,
    SAMPLES_PER_POSE,
    Poses,
    follow_joints,
    make_rest_to_rest_spline,
)
from robotid_sim.kinematics.inverse import Demand, PathSolution, find_exceeded_limit
from robotid_sim.kinematics.workspace import path_starts, tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path import JointPath, TimedPath
from robotid_sim.tasks.placement import (
    MAX_SINGULARITY_INDEX,
    Attempt,
    ContactCheck,
    best_of,
    check_clearance,
)
from robotid_sim.tasks.task import DEFAULT_PLAN, RunPlan, Task, TaskRun, lap_runs

Columns = Literal["joints", "position", "pose"]

POSITION_COLUMNS = ("x", "y", "z")
POSE_COLUMNS = (*POSITION_COLUMNS, "qx", "qy", "qz", "qw")

MIN_ROWS = 4
"""Minimum number of rows for a cubic spline."""

QUATERNION_TOLERANCE = 0.01
"""Largest error of a quaternion's norm, from rounding in files."""

MAX_VALUE = 1e9
"""Largest magnitude of a joint position or a coordinate [rad or m]."""

SHORTEST_STEP, LONGEST_STEP = 1e-6, 100.0
"""Range of the time between rows [s]; times in other units are usually outside."""

TURN_LENGTH = 0.2
"""Path length for a rotation of the tip by 1 rad [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Waypoints:
    """Rows of a path file."""

    file: str
    columns: Columns
    """``joints``, ``position`` (x, y, z) or ``pose`` (with a quaternion)."""
    values: Float2D
    """Joint positions [rad or m], or x, y, z [m] and qx, qy, qz, qw, shape (K, n or 3 or 7)."""
    t: Float1D | None = None
    """Times [s], from zero, shape (K,); None if the speed is free."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "values")
        freeze(self, (len(self.values),), "t", optional=True)

    def phases(self, scale: Float1D) -> Float1D:
        """Compute the phase of every row, 0 to 2 pi: by its time, else by the length of the path.

        `scale`, shape (n,), divides the motion of every joint for the length. Raises
        `FileFormatError` if a row without time repeats the previous one.
        """
        if self.t is not None:
            return np.asarray(2.0 * np.pi * self.t / self.t[-1])
        step = np.diff(self.values, axis=0)
        if self.columns == "joints":
            step = step / scale
        elif self.columns == "pose":
            step[:, 3:] *= 2.0 * TURN_LENGTH  # a unit quaternion moves by half of the angle
        length = np.linalg.norm(step, axis=1)
        if not length.all():
            row = int(length.argmin()) + 2
            raise FileFormatError(
                f"{self.file}, row {row}: repeats the previous row; remove it, or add a column 't' "
                "for a rest"
            )
        return np.asarray(2.0 * np.pi * np.append(0.0, np.cumsum(length)) / length.sum())

    def spline(self, phases: Float1D) -> BSpline:
        """Make a spline through the rows at their phases.

        It is cubic if the speed is free; with times it is quintic and at rest at both ends, where
        the robot starts and stops.
        """
        if self.t is None:
            return make_interp_spline(phases, self.values, k=3)
        return make_rest_to_rest_spline(phases, self.values)

    def place(self, phase: float, phases: Float1D) -> str:
        """Describe the position of a phase in the file."""
        row = int(np.searchsorted(phases, phase - 1e-9))
        if row == 0 or abs(phases[min(row, len(phases) - 1)] - phase) < 1e-9:
            return f"row {row + 1}"
        return f"between rows {row} and {row + 1}"


def read_waypoints(path: str | Path, joint_names: Sequence[str]) -> Waypoints:
    """Read a path file: a header line that names the columns, and at least four rows.

    Columns are the joints of the robot, by name or as ``q.<joint>``, in any order, or ``x,y,z``
    [m], or ``x,y,z,qx,qy,qz,qw``, in the root frame, and optionally ``t`` [s]; x, y
    and z mean joints if there are joints of these names. Times increase by `SHORTEST_STEP` to
    `LONGEST_STEP` per row. Lines that start with ``#`` are comments. Raises `FileFormatError` if
    the file cannot be read or a row or column, which it names, is not usable.
    """
    file = Path(path)
    try:
        lines = read_file(file).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise FileFormatError(f"cannot read path file {file}: {reason}") from error
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(lines))
    except csv.Error as error:
        place = f"row {len(rows)}" if rows else "header line"
        raise FileFormatError(
            f"{file.name}, {place}: not valid CSV: {error}; correct it"
        ) from error
    names = [_strip_prefix(name.strip(), joint_names) for name in rows[0]] if rows else []
    columns, order = _columns(file.name, names, joint_names)
    if len(rows) - 1 < MIN_ROWS:
        raise FileFormatError(
            f"{file.name}: {len(rows) - 1} row(s) below the header line; add points to at least "
            f"{MIN_ROWS}"
        )
    table = _read_table(file.name, names, rows[1:])
    values = table[:, order]
    if columns == "pose":
        values[:, 3:] = _quaternions(file.name, values[:, 3:])
    t = _check_times(file.name, table[:, names.index("t")]) if "t" in names else None
    return Waypoints(file.name, columns, values, t)


def _strip_prefix(name: str, joint_names: Sequence[str]) -> str:
    """Strip the prefix ``q.`` of a joint's column in files of robotid."""
    joint = name.removeprefix("q.")
    return joint if name not in joint_names and joint in joint_names else name


def _columns(file: str, names: list[str], joint_names: Sequence[str]) -> tuple[Columns, list[int]]:
    """Identify the kind of the columns, and their indices in the order of joints or pose."""
    allowed = f"the joints ({', '.join(joint_names)}), or x,y,z, or {','.join(POSE_COLUMNS)}; and t"
    if not names or all(_is_number(name) for name in names):
        raise FileFormatError(f"{file}: no header line; name the columns in it: {allowed}")
    for k, name in enumerate(names):
        if name in names[:k]:
            raise FileFormatError(f"{file}: column '{name}' is a duplicate; remove one")
    given_names = set(names) - {"t"}
    kinds: list[tuple[Columns, tuple[str, ...]]] = [
        ("joints", tuple(joint_names)),
        ("pose" if given_names & set(POSE_COLUMNS[3:]) else "position", POSE_COLUMNS),
    ]
    for columns, expected in kinds:
        needed = POSITION_COLUMNS if columns == "position" else expected
        if given_names and given_names <= set(expected):
            for name in needed:
                if name not in given_names:
                    raise FileFormatError(f"{file}: column '{name}' is missing; add it")
            return columns, [names.index(name) for name in needed]
    unknown = next((n for n in names if n not in {*joint_names, *POSE_COLUMNS, "t"}), None)
    if unknown is None:
        raise FileFormatError(f"{file}: mixed columns {','.join(names)}; give {allowed}")
    raise FileFormatError(f"{file}: unknown column '{unknown}'; columns are {allowed}")


def _read_table(file: str, names: list[str], rows: list[list[str]]) -> Float2D:
    table = np.empty((len(rows), len(names)))
    for k, row in enumerate(rows):
        if len(row) != len(names):
            raise FileFormatError(
                f"{file}, row {k + 1}: {len(row)} values for {len(names)} columns; give one number "
                "per column"
            )
        for j, (name, cell) in enumerate(zip(names, row, strict=True)):
            if not _is_number(cell) or not np.isfinite(float(cell)):
                raise FileFormatError(
                    f"{file}, row {k + 1}, column '{name}': {cell.strip()!r} is not a finite "
                    "number; correct it"
                )
            if name != "t" and abs(float(cell)) > MAX_VALUE:
                raise FileFormatError(
                    f"{file}, row {k + 1}, column '{name}': {cell.strip()} exceeds "
                    f"{MAX_VALUE:.0e}; correct it"
                )
            table[k, j] = float(cell)
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _quaternions(file: str, values: Float2D) -> Float2D:
    """Normalize quaternions, and choose their signs for continuity."""
    norm = np.linalg.norm(values, axis=1)
    wrong = np.abs(norm - 1.0) > QUATERNION_TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        raise FileFormatError(
            f"{file}, row {row + 1}, columns 'qx' to 'qw': quaternion norm {norm[row]:.3g}; give "
            "unit quaternions"
        )
    unit = values / norm[:, None]
    side = np.where((unit[1:] * unit[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
    return np.asarray(unit * np.append(1.0, np.cumprod(side))[:, None])


def _check_times(file: str, t: Float1D) -> Float1D:
    with np.errstate(over="ignore"):  # an infinite step is an error below
        step = np.diff(t)
    backward = step <= 0.0
    if backward.any():
        row = int(backward.argmax()) + 1
        raise FileFormatError(
            f"{file}, row {row + 1}, column 't': {t[row]:g} s is not after {t[row - 1]:g} s; sort "
            "the rows by time"
        )
    wrong = (step < SHORTEST_STEP) | (step > LONGEST_STEP)
    if wrong.any():
        row = int(wrong.argmax()) + 1
        raise FileFormatError(
            f"{file}, row {row + 1}, column 't': {step[row - 1]:.3g} s after the previous row; "
            f"give t in seconds, with steps of {SHORTEST_STEP:g} s to {LONGEST_STEP:g} s"
        )
    return np.asarray(t - t[0])


@document_attributes
@dataclass(frozen=True, kw_only=True)
class PathFile(Task):
    """Path from a CSV file: joint positions or tip poses, with or without times.

    The columns are those of `robotid_sim.tasks.path_file.read_waypoints`. A smooth curve connects
    the rows: a straight edge needs points along it. With ``x,y,z`` alone the orientation is that of
    the start, which is searched from the home pose or, if the path then fails or has a large
    singularity index, from random configurations. Without a column ``t`` the speed is that of laps;
    with one the times of the file apply, but the motion starts and ends at rest.
    """

    needs_file: ClassVar[bool] = True

    path: str = ""
    """Path of the file; required."""

    def __post_init__(self) -> None:
        if not self.path:
            raise OptionError(
                "task csv needs a path file: give path in section [control.tasks.csv] of the "
                "configuration, or --task csv:FILE"
            )

    def joint_path(self, robot: Robot) -> JointPath:
        """Compute the path in joint space.

        Raises `FileFormatError` if the file is not usable, and `PathError`, with the first bad
        point, if the robot cannot follow the path.
        """
        return self._joint_path(robot, read_waypoints(self.path, robot.joint_names))

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Plan a fast and a slow lap, or one run with the times of the file."""
        waypoints = read_waypoints(self.path, robot.joint_names)
        path = self._joint_path(robot, waypoints, plan.is_clear)
        if waypoints.t is None:
            return lap_runs(robot, path, plan)
        timed = TimedPath(path, float(waypoints.t[-1]))
        t = np.linspace(0.0, timed.duration, SAMPLES_PER_POSE * len(path.points))
        velocity_share = np.abs(timed(t).dq) / robot.limits.velocity
        if velocity_share.max() > 1.0:
            first = int((velocity_share > 1.0).any(axis=1).argmax())
            k = int(velocity_share[first].argmax())
            raise PathError(
                f"{waypoints.file}: {robot.joint_names[k]} exceeds its velocity limit of "
                f"{robot.limits.velocity[k]:.4g} {robot.joint_units[k]}/s at t = {t[first]:.4g} s; "
                f"stretch column 't' by {velocity_share.max() * 1.01:.3g} or more"
            )
        return [TaskRun(path.task, timed, path)]

    def _joint_path(
        self, robot: Robot, waypoints: Waypoints, is_clear: ContactCheck | None = None
    ) -> JointPath:
        phases = waypoints.phases(robot.limits.velocity)
        spline = waypoints.spline(phases)
        points = max(MIN_POINTS, len(phases))
        solve = _solve_joints if waypoints.columns == "joints" else _solve_tip
        solution = solve(robot, waypoints, spline, points, is_clear)
        if solution.failure is not None:
            phase = 2.0 * np.pi * len(solution.q) / (solution.pose_count - 1)
            location = f", {waypoints.place(phase, phases)}" if solution.share < 1.0 else ""
            raise PathError(f"{waypoints.file}{location}: {solution.failure}; correct the file")
        name = "-".join(Path(self.path).stem.split())
        return JointPath(robot.joint_names, f"csv-{name}", solution.q, solution.singularity_index)


def _solve_joints(
    robot: Robot, waypoints: Waypoints, spline: BSpline, points: int, is_clear: ContactCheck | None
) -> PathSolution:
    for row, q in enumerate(waypoints.values, start=1):
        reason = find_exceeded_limit(robot, q)
        if reason is not None:
            raise PathError(f"{waypoints.file}, row {row}: {reason}; correct the file")
    return check_clearance(follow_joints(robot, spline, tip_demand(robot), points), is_clear)


def _solve_tip(
    robot: Robot, waypoints: Waypoints, spline: BSpline, points: int, is_clear: ContactCheck | None
) -> PathSolution:
    demand = tip_demand(robot)
    if waypoints.columns == "pose" and demand.rows < 6:
        raise PathError(
            f"{waypoints.file}: the {robot.dof} joints of '{robot.name}' cannot turn its tip to "
            "every orientation; remove columns 'qx' to 'qw'"
        )
    attempts = _list_attempts(robot, waypoints, spline, demand)
    best = best_of(robot, attempts, demand, MAX_SINGULARITY_INDEX, is_clear, points)
    assert best is not None
    return best[1]


def _list_attempts(
    robot: Robot, waypoints: Waypoints, spline: BSpline, demand: Demand
) -> Iterator[Attempt]:
    first = waypoints.values[0]
    R = Rotation.from_quat(first[3:]).as_matrix() if waypoints.columns == "pose" else None
    for pose, q in path_starts(robot, first[:3], demand, R):
        yield Attempt(_make_poses(spline, None if R is not None else pose[:3, :3]), q)


def _make_poses(spline: BSpline, R: Float2D | None) -> Poses:
    """Compute poses along a spline of positions with an orientation, or of poses."""

    def poses(phase: Float1D) -> Float:
        values = spline(phase)
        frames = np.repeat(np.eye(4)[None], len(phase), axis=0)
        frames[:, :3, 3] = values[:, :3]
        frames[:, :3, :3] = Rotation.from_quat(values[:, 3:]).as_matrix() if R is None else R
        return frames

    return poses
