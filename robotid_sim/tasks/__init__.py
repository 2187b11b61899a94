"""Closed-loop tasks: what the robot is to do, as runs of a trajectory."""

from robotid_sim.registry import Registry
from robotid_sim.tasks.path_file import PathFile
from robotid_sim.tasks.steps import JointStep, TaskStep
from robotid_sim.tasks.task import Circle, FigureEight, Line, PickAndPlace, Task

TASKS: Registry[Task] = Registry(
    "task",
    Task,
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
