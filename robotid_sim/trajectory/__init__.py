"""Reference motions and excitation design."""

from robotid_sim.registry import Registry
from robotid_sim.trajectory.cartesian_space import CartesianFourierOptions
from robotid_sim.trajectory.criteria import Criterion, DOptimality
from robotid_sim.trajectory.criteria_condition import (
    CombinedCondition,
    ConditionNumber,
    NormalizedConditionNumber,
)
from robotid_sim.trajectory.criteria_variance import AOptimality, EOptimality
from robotid_sim.trajectory.csv_export import export_csv
from robotid_sim.trajectory.excitation_space import ExcitationFamily
from robotid_sim.trajectory.families import BSplineOptions, FourierQuinticOptions, QuinticOptions
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.fourier_space import FourierOptions
from robotid_sim.trajectory.quintic import PointToPoint
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.trajectory.tasks import Circle, FigureEight, Line, PickAndPlace, Task
from robotid_sim.trajectory.tasks_csv import PathFile
from robotid_sim.trajectory.tasks_steps import JointStep, TaskStep
from robotid_sim.trajectory.trajectory_files import load_trajectory

TRAJECTORIES: Registry[Trajectory] = Registry(
    "trajectory", {"fourier": FourierTrajectory, "point-to-point": PointToPoint}
)

FAMILIES: Registry[ExcitationFamily] = Registry(
    "excitation family",
    {
        "b-spline": BSplineOptions,
        "cartesian-fourier": CartesianFourierOptions,
        "fourier": FourierOptions,
        "fourier-quintic": FourierQuinticOptions,
        "quintic": QuinticOptions,
    },
)

CRITERIA: Registry[Criterion] = Registry(
    "criterion",
    {
        "a-optimality": AOptimality,
        "combined-condition": CombinedCondition,
        "condition-number": ConditionNumber,
        "d-optimality": DOptimality,
        "e-optimality": EOptimality,
        "normalized-condition-number": NormalizedConditionNumber,
    },
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
    "FAMILIES",
    "TASKS",
    "TRAJECTORIES",
    "ConditionNumber",
    "Criterion",
    "DOptimality",
    "FourierTrajectory",
    "PointToPoint",
    "Trajectory",
    "export_csv",
    "load_trajectory",
]
