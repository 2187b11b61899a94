"""Reference motions: excitations, paths, steps."""

from robotid_sim.registry import Registry
from robotid_sim.trajectory.csv_export import export_csv
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.quintic import PointToPoint
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.trajectory.tasks import Circle, FigureEight, Line, PickAndPlace, Task
from robotid_sim.trajectory.tasks_csv import PathFile
from robotid_sim.trajectory.tasks_steps import JointStep, TaskStep
from robotid_sim.trajectory.trajectory_files import load_trajectory

TRAJECTORIES: Registry[Trajectory] = Registry(
    "trajectory", {"fourier": FourierTrajectory, "point-to-point": PointToPoint}
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
    "TASKS",
    "TRAJECTORIES",
    "FourierTrajectory",
    "PointToPoint",
    "Trajectory",
    "export_csv",
    "load_trajectory",
]
