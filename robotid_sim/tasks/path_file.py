"""A path of the user's own, from a CSV file."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.interpolate import BSpline
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, PathError
from robotid_sim.kinematics.following import DENSITY, POINTS, Poses, follow_joints
from robotid_sim.kinematics.inverse import Demand, PathSolution, beyond_limits
from robotid_sim.kinematics.workspace import starts, tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path import JointPath, TimedPath
from robotid_sim.tasks.placement import NEAR_SINGULAR, Attempt, Keeps, best_of, kept_apart
from robotid_sim.tasks.task import DEFAULT_PLAN, RunPlan, Task, TaskRun, lap_runs
from robotid_sim.tasks.waypoints import Waypoints, read_waypoints


@documented
@dataclass(frozen=True, kw_only=True)
class PathFile(Task):
    """Path from a CSV file: joint positions or tip poses, with or without times.

    The columns are those of `robotid_sim.tasks.waypoints.read_waypoints`. Between the rows
    runs a smooth curve: a straight edge needs points along it. With ``x,y,z`` alone the orientation
    is held from the start, which is reached from the home pose or, where the path then fails or has
    a large singularity index, from random configurations. Without a column ``t`` the speed is that
    of laps; with one it is the file's, but the motion starts and ends at rest.
    """

    needs_file: ClassVar[bool] = True

    path: str = ""
    """The file; there is none by default."""

    def __post_init__(self) -> None:
        if not self.path:
            raise OptionError(
                "task csv needs the file of its path: give path in section [control.tasks.csv] of "
                "the configuration, or --task csv:FILE"
            )

    def joint_path(self, robot: Robot) -> JointPath:
        """Return the path in joint space.

        Raises `FileFormatError` if the file is not usable, and `PathError` if the robot cannot
        follow the path; the text names the first bad point.
        """
        return self._joint_path(robot, read_waypoints(self.path, robot.joint_names))

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Return a fast and a slow lap, or the one run that the times in the file give."""
        waypoints = read_waypoints(self.path, robot.joint_names)
        path = self._joint_path(robot, waypoints, plan.keeps)
        if waypoints.t is None:
            return lap_runs(robot, path, plan)
        timed = TimedPath(path, float(waypoints.t[-1]))
        _require_slow_enough(robot, timed, waypoints.file)
        return [TaskRun(path.task, timed, path)]

    def _joint_path(
        self, robot: Robot, waypoints: Waypoints, keeps: Keeps | None = None
    ) -> JointPath:
        phases = waypoints.phases(robot.limits.velocity)
        spline = waypoints.spline(phases)
        points = max(POINTS, len(phases))
        solve = _joint_solution if waypoints.columns == "joints" else _tip_solution
        solution = solve(robot, waypoints, spline, points, keeps)
        if solution.obstacle is not None:
            phase = 2.0 * np.pi * len(solution.q) / (solution.poses - 1)
            stopped = f", {waypoints.place(phase, phases)}" if solution.share < 1.0 else ""
            raise PathError(f"{waypoints.file}{stopped}: {solution.obstacle}; correct the file")
        name = "-".join(Path(self.path).stem.split())
        return JointPath(robot.joint_names, f"csv-{name}", solution.q, solution.singularity_index)


def _joint_solution(
    robot: Robot, waypoints: Waypoints, spline: BSpline, points: int, keeps: Keeps | None
) -> PathSolution:
    for row, q in enumerate(waypoints.values, start=1):
        reason = beyond_limits(robot, q)
        if reason is not None:
            raise PathError(f"{waypoints.file}, row {row}: {reason}; correct the file")
    return kept_apart(follow_joints(robot, spline, tip_demand(robot), points), keeps)


def _tip_solution(
    robot: Robot, waypoints: Waypoints, spline: BSpline, points: int, keeps: Keeps | None
) -> PathSolution:
    demand = tip_demand(robot)
    if waypoints.columns == "pose" and demand.rows < 6:
        raise PathError(
            f"{waypoints.file}: the {robot.dof} joints of '{robot.name}' cannot turn its tip to "
            "every orientation; remove columns 'qx' to 'qw'"
        )
    attempts = _attempts(robot, waypoints, spline, demand)
    best = best_of(robot, attempts, demand, NEAR_SINGULAR, keeps, points)
    assert best is not None
    return best[1]


def _attempts(
    robot: Robot, waypoints: Waypoints, spline: BSpline, demand: Demand
) -> Iterator[Attempt]:
    first = waypoints.values[0]
    R = Rotation.from_quat(first[3:]).as_matrix() if waypoints.columns == "pose" else None
    for pose, q in starts(robot, first[:3], demand, R):
        yield Attempt(_poses(spline, None if R is not None else pose[:3, :3]), q)


def _poses(spline: BSpline, held: Float2D | None) -> Poses:
    """Return the poses along a spline through positions, or positions and quaternions."""

    def poses(phase: Float1D) -> Float:
        values = spline(phase)
        along = np.repeat(np.eye(4)[None], len(phase), axis=0)
        along[:, :3, 3] = values[:, :3]
        turned = Rotation.from_quat(values[:, 3:]).as_matrix() if held is None else held
        along[:, :3, :3] = turned
        return along

    return poses


def _require_slow_enough(robot: Robot, timed: TimedPath, file: str) -> None:
    t = np.linspace(0.0, timed.duration, DENSITY * len(timed.path.points))
    use = np.abs(timed(t).dq) / robot.limits.velocity
    if use.max() <= 1.0:
        return
    first = int((use > 1.0).any(axis=1).argmax())
    k = int(use[first].argmax())
    raise PathError(
        f"{file}: {robot.joint_names[k]} exceeds its velocity limit of "
        f"{robot.limits.velocity[k]:.4g} {robot.joint_units[k]}/s at t = {t[first]:.4g} s; stretch "
        f"column 't' by {use.max() * 1.01:.3g} or more"
    )
