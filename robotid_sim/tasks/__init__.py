"""Closed-loop tasks, as runs of a trajectory."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.tasks.task import Task

TASKS: "Registry[Task]" = Registry(
    "task",
    "robotid_sim.tasks.task:Task",
    {
        "circle": "robotid_sim.tasks.task:Circle",
        "csv": "robotid_sim.tasks.path_file:PathFile",
        "figure-eight": "robotid_sim.tasks.task:FigureEight",
        "joint-step": "robotid_sim.tasks.task:JointStep",
        "line": "robotid_sim.tasks.task:Line",
        "pick-and-place": "robotid_sim.tasks.task:PickAndPlace",
        "task-step": "robotid_sim.tasks.task:TaskStep",
    },
)
