"""Tasks of the closed loop, as runs of a trajectory.

In a step, the robot starts at an offset from the pose to hold.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, freeze, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, PathError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.inverse import Demand, find_exceeded_limit, inverse_kinematics
from robotid_sim.kinematics.workspace import motion_axes, reach, tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value
from robotid_sim.tasks.path import JointPath, Lap, fastest_lap, make_tracking_path, shape_path
from robotid_sim.tasks.placement import (
    CIRCLE_SHAPE,
    FIGURE_EIGHT_SHAPE,
    LINE_SHAPE,
    PICK_AND_PLACE_SHAPE,
    PLANE_AXES,
    ContactCheck,
    PlaneName,
    PlaneShape,
)
from robotid_sim.trajectory.reference import PointToPoint, Trajectory


@old_members(keeps="is_clear")
@dataclass(frozen=True, eq=False)
class RunPlan:
    """Settings of all tasks of a comparison."""

    slow_lap: float | None = 15.0
    """Time of the slow lap [s], at least that of the fast lap; None for the fast lap only."""
    share: float = 0.6
    """Share of the limits used by the fast lap."""
    longest: float = 30.0
    """Longest fast lap [s]."""
    start: Float1D | None = None
    """Pose of steps [rad or m], shape (n,); by default the start of the circle."""
    is_clear: ContactCheck | None = None
    """Checks that positions, shape (N, n), have no contacts; None if contacts are allowed."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise OptionError(f"share of the limits is {self.share}; give a share from 0 to 1")
        freeze(self, (None,), "start", optional=True)


DEFAULT_PLAN = RunPlan()


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class TaskRun:
    """One run of a task: a trajectory, and the offset of the robot's start from it."""

    name: str
    """Name, such as ``circle-fast`` or ``joint-step``."""
    trajectory: Trajectory
    path: JointPath | None = None
    """The path that the trajectory follows; None for a step."""
    offset: Float1D | None = None
    """Start pose minus first pose of the trajectory [rad or m], shape (n,); None without an offset.
    """
    slow: bool = False
    """Whether this is the second, slower run of the same path."""

    def __post_init__(self) -> None:
        freeze(self, (len(self.trajectory.joint_names),), "offset", optional=True)

    @property
    def is_step(self) -> bool:
        """Whether the robot starts at an offset from the pose to hold."""
        return self.offset is not None


class Task(ABC):
    """A task for any robot; a frozen dataclass of its options."""

    needs_file: ClassVar[bool] = False
    """Whether the path of the task is read from a file, the option ``path``."""

    is_step: ClassVar[bool] = False
    """Whether the robot starts at an offset from the pose to hold."""

    @abstractmethod
    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Plan the runs of the task on a robot.

        Parameters
        ----------
        robot : Robot
            Nominal model of the robot.
        plan : RunPlan
            Limits and durations of the runs.

        Returns
        -------
        runs : list of TaskRun
            The runs, the fast one first.
        """


def lap_runs(robot: Robot, path: JointPath, plan: RunPlan) -> list[TaskRun]:
    """Plan a fast lap of a path and, if the plan has one, a slow lap."""
    fast = fastest_lap(robot, path, plan.share, plan.longest)
    runs = [TaskRun(f"{path.task}-fast", fast, path)]
    if plan.slow_lap is not None:
        slow = Lap(path, plan.slow_lap)
        if slow.duration < fast.duration:
            slow = fast
        runs.append(TaskRun(f"{path.task}-slow", slow, path, slow=True))
    return runs


@document_attributes
@dataclass(frozen=True, kw_only=True)
class ShapeTask(Task):
    """Shape that the tip traces in a plane; see `robotid_sim.tasks.path.shape_path`."""

    shape: ClassVar[PlaneShape]

    center: tuple[float, float, float] | None = None
    """Center in the root frame [m]; searched if None."""
    plane: PlaneName | None = None
    """Plane of the root frame, ``xy``, ``yz`` or ``xz``; None for any."""
    size: float | None = None
    """Radius, half length or half width [m]; None: 15, 10, then 5 % of the reach are tried."""

    def __post_init__(self) -> None:
        name = self.shape.name
        if self.center is not None:
            center = readonly(self.center, shape=(3,), name=f"center of the {name}")
            object.__setattr__(self, "center", tuple(float(value) for value in center))
        if self.plane is not None and self.plane not in PLANE_AXES:
            planes = ", ".join(PLANE_AXES)
            raise OptionError(f"{name} in the unknown plane '{self.plane}'; planes: {planes}")
        if self.size is not None:
            size = float(readonly(self.size, shape=(), name=f"size of the {name}"))
            if not size > 0.0:
                raise OptionError(f"size of the {name} is {size:g} m; give one above zero")
            object.__setattr__(self, "size", size)

    def joint_path(self, robot: Robot, is_clear: ContactCheck | None = None) -> JointPath:
        """Compute the path in joint space.

        Raises `PathError` if no shape with the given center, plane or size works, or with
        `is_clear` if all paths have contacts.
        """
        shape, center, plane, size = self.shape, self.center, self.plane, self.size
        return shape_path(robot, shape, center=center, plane=plane, size=size, is_clear=is_clear)

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Plan a fast and a slow lap."""
        return lap_runs(robot, self.joint_path(robot, plan.is_clear), plan)


@document_attributes
@dataclass(frozen=True, kw_only=True)
class Circle(ShapeTask):
    """Circle of the tip with constant orientation."""

    shape: ClassVar[PlaneShape] = CIRCLE_SHAPE


@document_attributes
@dataclass(frozen=True, kw_only=True)
class Line(ShapeTask):
    """Straight line of the tip along the diagonal of a plane, forward and back."""

    shape: ClassVar[PlaneShape] = LINE_SHAPE


@document_attributes
@dataclass(frozen=True, kw_only=True)
class FigureEight(ShapeTask):
    """Figure-eight of the tip, the lemniscate of Gerono."""

    shape: ClassVar[PlaneShape] = FIGURE_EIGHT_SHAPE


@document_attributes
@dataclass(frozen=True, kw_only=True)
class PickAndPlace(ShapeTask):
    """Up, across and down between two points of rest, with rounded corners, and back."""

    shape: ClassVar[PlaneShape] = PICK_AND_PLACE_SHAPE


STEP_SHARE = 0.01
"""Offset of the tip in a step, over the reach of the arm."""


@document_attributes
@dataclass(frozen=True, kw_only=True)
class JointStep(Task):
    """Start with an offset of all joints from the pose to hold."""

    is_step: ClassVar[bool] = True

    revolute: float = 0.02
    """Joint position of the pose minus that of the start, revolute joints [rad]."""
    prismatic: float = 0.002
    """Joint position of the pose minus that of the start, prismatic joints [m]."""
    seconds: float = 1.5
    """Duration [s]."""

    def __post_init__(self) -> None:
        if not np.isfinite([self.revolute, self.prismatic]).all():
            raise OptionError("the offsets of a joint step must be finite")
        _require_positive("time of a joint step", self.seconds)

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Plan one run, in which all joints start with an offset."""
        sizes = [self.prismatic if p else self.revolute for p in robot.prismatic]
        rest = _make_rest(robot, _hold_pose(robot, plan), self.seconds)
        return [TaskRun("joint-step", rest, offset=-np.array(sizes))]


@document_attributes
@dataclass(frozen=True, kw_only=True)
class TaskStep(Task):
    """Start with an offset of the tip from the pose to hold, along one axis after the other."""

    is_step: ClassVar[bool] = True

    size: float | None = None
    """Offset of the tip [m]; None for 1 % of the reach."""
    seconds: float = 1.5
    """Duration [s]."""

    def __post_init__(self) -> None:
        if self.size is not None:
            _require_positive("size of a task step", self.size)
        _require_positive("time of a task step", self.seconds)

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Plan a run for every axis of the root frame, or of the plane of a planar arm.

        Raises `PathError` if the tip cannot start with this offset along or against an axis.
        """
        demand = tip_demand(robot)
        size = STEP_SHARE * reach(robot) if self.size is None else self.size
        pose = _hold_pose(robot, plan)
        rest = _make_rest(robot, pose, self.seconds)
        runs = []
        for k, axis in enumerate(motion_axes(robot, demand)):
            offset = _find_offset(robot, pose, size * axis, demand)
            matches = np.flatnonzero(np.abs(axis) > 1.0 - 1e-9)
            name = "xyz"[matches[0]] if matches.size else "uv"[k]
            runs.append(TaskRun(f"task-step-{name}", rest, offset=offset))
        return runs


def _hold_pose(robot: Robot, plan: RunPlan) -> Float1D:
    return make_tracking_path(robot).points[0] if plan.start is None else plan.start


def _make_rest(robot: Robot, pose: Float1D, seconds: float) -> PointToPoint:
    return PointToPoint(robot.joint_names, pose, pose, 0.0, seconds)


def _find_offset(robot: Robot, pose: Float1D, shift: Float1D, demand: Demand) -> Float1D:
    """Find the joint offset from the pose that moves the tip by `shift` [m], or against it."""
    reason = f"is out of reach of '{robot.name}'"
    for direction in (shift, -shift):
        target = tip_pose(robot, pose)
        target[:3, 3] += direction
        q, is_reached = inverse_kinematics(robot, target, pose, demand)
        reason = (find_exceeded_limit(robot, q) or "") if is_reached else reason
        if is_reached and not reason:
            return q - pose
    x, y, z = np.round(shift, 4) + 0.0  # no negative zero
    raise PathError(
        f"task step by ± ({x:g}, {y:g}, {z:g}) m: the start {reason}; choose a smaller size, or "
        "the joint step"
    )


def _require_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise OptionError(f"{name} is {value}; give a number above zero")
