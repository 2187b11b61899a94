"""How the plant moves in a task with each model in the controller, sample by sample."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.errors import ControllerError, SimulationDiverged, UnknownNameError
from robotid_sim.experiment.rollout import Cell
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.tasks.task import TaskRun
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.closed_loop import undisturbed_task
from robotid_sim.validation.comparison import Comparison, loop_gains, task_runs
from robotid_sim.validation.control_run import closed_loop_log


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class TaskMotions:
    """The undisturbed runs of one task, which differ in the model inside the controller."""

    task: TaskRun
    controller: str
    logs: Mapping[str, Log]
    """Clean logs on one time grid, by the name of the model."""

    def errors(self) -> dict[str, Float2D]:
        """Return the motion less its reference by model [rad or m], shape (N, n) each."""
        return {name: log.q - self.task.trajectory(log.t).q for name, log in self.logs.items()}


@one_blas_thread()
def task_motions(
    cell: Cell,
    nominal: Robot,
    models: Mapping[str, Robot],
    name: str,
    rng: np.random.Generator,
    comparison: Comparison | None = None,
    *,
    progress: Progress = silent,
) -> TaskMotions:
    """Run one task undisturbed with every model and return what the plant does.

    These are runs of `closed_loop` with the same arguments, of its first controller.

    The models are what the controller believes, by name. The task is a run, such as
    ``circle-fast``; of a path such as ``circle`` it is the first run. Raises `UnknownNameError` if
    no run is of that name, `SimulationDiverged` or `ControllerError` if a loop fails; the text
    names the model.
    """
    comparison = comparison or Comparison()
    runs = task_runs(nominal, comparison)
    task = _named(name, runs)
    gains = loop_gains(nominal, runs, comparison, cell.rate)
    true = undisturbed_task(cell, gains, task, rng, comparison)
    logs = {}
    for k, (label, model) in enumerate(models.items()):
        progress("control", k / len(models))
        try:
            logs[label] = closed_loop_log(replace(true, model=model, model_name=label))
        except (SimulationDiverged, ControllerError) as error:
            error.args = (f"{task.name} with the {label} model: {error}", *error.args[1:])
            raise
    progress("control", 1.0)
    return TaskMotions(task, true.controller, logs)


def _named(name: str, runs: list[TaskRun]) -> TaskRun:
    for run in runs:
        if name == run.name or (run.path is not None and name == run.path.task):
            return run
    raise UnknownNameError.of("task", name, [run.name for run in runs])
