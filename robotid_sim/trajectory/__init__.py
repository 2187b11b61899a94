"""Reference motions and excitation design."""

from robotid_sim.registry import Registry
from robotid_sim.trajectory.criteria import ConditionNumber, Criterion, DOptimality
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.quintic import PointToPoint
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.trajectory.tasks import Circle, FigureEight, Line, PickAndPlace, Task
from robotid_sim.trajectory.tasks_csv import PathFile
from robotid_sim.trajectory.tasks_steps import JointStep, TaskStep

TRAJECTORIES: Registry[Trajectory] = Registry(
    "trajectory", {"fourier": FourierTrajectory, "point-to-point": PointToPoint}
)

CRITERIA: Registry[Criterion] = Registry(
    "criterion", {"d-optimality": DOptimality, "condition-number": ConditionNumber}
)

TASKS: Registry[Task] = Registry(
    "task",
    {
        "circle": Circle,
        "csv": PathFile,
        "figure-eight": FigureEight,
        "joint-step": JointStep,
        "line": Line,
        "pick-and-place": PickAndPlace,
        "task-step": TaskStep,
    },
)

__all__ = [
    "CRITERIA",
    "TASKS",
    "TRAJECTORIES",
    "ConditionNumber",
    "Criterion",
    "DOptimality",
    "FourierTrajectory",
    "PointToPoint",
    "Trajectory",
]
