"""Steps: the robot starts away from a pose that it shall hold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, PathError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.inverse import Demand, beyond_limits, inverse_kinematics
from robotid_sim.kinematics.workspace import motion_axes, reach, tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path import tracking_path
from robotid_sim.tasks.task import DEFAULT_PLAN, RunPlan, Task, TaskRun
from robotid_sim.trajectory.quintic import PointToPoint

STEP_SHARE = 0.01
"""Step of the tip over the reach of the arm."""


@documented
@dataclass(frozen=True, kw_only=True)
class JointStep(Task):
    """Start with every joint away from a pose that is to be held."""

    is_step: ClassVar[bool] = True

    revolute: float = 0.02
    """Start below the pose, revolute joints [rad]."""
    prismatic: float = 0.002
    """Start below the pose, prismatic joints [m]."""
    seconds: float = 1.5
    """Time [s]."""

    def __post_init__(self) -> None:
        if not np.isfinite([self.revolute, self.prismatic]).all():
            raise OptionError("the start of a joint step must be a finite distance")
        _require_positive("time of a joint step", self.seconds)

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Return one run, in which all joints start away together."""
        sizes = [self.prismatic if p else self.revolute for p in robot.prismatic]
        still = _still(robot, _held(robot, plan), self.seconds)
        return [TaskRun("joint-step", still, offset=-np.array(sizes))]


@documented
@dataclass(frozen=True, kw_only=True)
class TaskStep(Task):
    """Start with the tip away from a pose that is to be held, along one axis after the other."""

    is_step: ClassVar[bool] = True

    size: float | None = None
    """Distance of the tip [m]; None for 1 % of the reach."""
    seconds: float = 1.5
    """Time [s]."""

    def __post_init__(self) -> None:
        if self.size is not None:
            _require_positive("size of a task step", self.size)
        _require_positive("time of a task step", self.seconds)

    def runs(self, robot: Robot, plan: RunPlan = DEFAULT_PLAN) -> list[TaskRun]:
        """Return a run for every axis of the root frame, or of the plane of a planar arm.

        Raises `PathError` if the tip cannot be moved so, along or against an axis.
        """
        demand = tip_demand(robot)
        size = STEP_SHARE * reach(robot) if self.size is None else self.size
        held = _held(robot, plan)
        still = _still(robot, held, self.seconds)
        runs = []
        for k, axis in enumerate(motion_axes(robot, demand)):
            offset = _offset(robot, held, size * axis, demand)
            runs.append(TaskRun(f"task-step-{_axis_name(k, axis)}", still, offset=offset))
        return runs


def _held(robot: Robot, plan: RunPlan) -> Float1D:
    return tracking_path(robot).points[0] if plan.start is None else plan.start


def _still(robot: Robot, pose: Float1D, seconds: float) -> PointToPoint:
    return PointToPoint(robot.joint_names, pose, pose, 0.0, seconds)


def _axis_name(k: int, axis: Float1D) -> str:
    along = np.flatnonzero(np.abs(axis) > 1.0 - 1e-9)
    return "xyz"[along[0]] if along.size else "uv"[k]


def _offset(robot: Robot, held: Float1D, shift: Float1D, demand: Demand) -> Float1D:
    """Return joint positions that move the tip by `shift` [m], or against it, minus the held."""
    reason = f"is out of reach of '{robot.name}'"
    for direction in (shift, -shift):
        pose = tip_pose(robot, held)
        pose[:3, 3] += direction
        q, reached = inverse_kinematics(robot, pose, held, demand)
        reason = (beyond_limits(robot, q) or "") if reached else reason
        if reached and not reason:
            return q - held
    x, y, z = np.round(shift, 4) + 0.0  # no negative zero
    raise PathError(
        f"task step of ({x:g}, {y:g}, {z:g}) m, or against it: the start {reason}; choose a "
        "smaller size, or the joint step"
    )


def _require_positive(what: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise OptionError(f"{what} is {value}; give a number above zero")
