"""The closed loop in the engine: what the identified model is worth to a controller.

Every loop runs on the true plant; only the model inside the controller differs. The gains come from
the nominal model once and are the same for all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.control.gains import LoopGains
from robotid_sim.errors import ControllerError, SimulationDiverged, UnknownNameError
from robotid_sim.experiment.conditions import Condition, LoopSize, Undisturbed, compose
from robotid_sim.experiment.rollout import Cell
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.progress import Portion, Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import make_stream
from robotid_sim.tasks.task import TaskRun
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.comparison import (
    IDENTIFIED,
    NOMINAL,
    TRUE,
    UNDISTURBED_NAME,
    Comparison,
    loop_gains,
    task_runs,
)
from robotid_sim.validation.control_run import (
    ControlRun,
    FailedRun,
    LoopTask,
    record_loop,
    run_loop,
)

MAX_SERIAL_TIME = 60.0
"""Simulated time below which starting processes takes longer than the loops [s]."""

_Case = tuple[str, str, str, str, int]
"""Controller, model, scenario, task and number of a run."""

Models = Mapping[str, Robot | Sequence[Robot]]
"""What controllers believe, by name; with a sequence, run r uses its entry r."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    """All runs of a closed-loop comparison."""

    runs: tuple[ControlRun, ...]
    gains: LoopGains
    tasks: tuple[TaskRun, ...]
    failures: tuple[FailedRun, ...] = ()

    @property
    def controller(self) -> str:
        """The controller that decides gaps and figures."""
        return self.runs[0].controller

    def find(
        self, model: str, scenario: str, task: str, controller: str | None = None
    ) -> ControlRun | None:
        """Return the first run of a model, scenario, task and controller; None if there is none.

        The controller is by default the one that decides gaps and figures. Runs that failed do not
        count.
        """
        key = (controller or self.controller, model, scenario, task)
        for run in self.runs:
            if (run.controller, run.model, run.scenario, run.task) == key:
                return run
        return None

    @property
    def laps(self) -> tuple[str, ...]:
        """Names of the tasks that follow a path."""
        return tuple(dict.fromkeys(run.task for run in self.runs if run.step is None))

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order of the comparison."""
        return tuple(dict.fromkeys(run.model for run in self.runs))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios, in the order of the comparison."""
        return tuple(dict.fromkeys(run.scenario for run in self.runs))

    def gap_left(self, units: Sequence[str], model: str = IDENTIFIED) -> float | None:
        """Return the share of the gap between nominal and true model that is left, worst lap.

        Compared are the undisturbed RMS errors of all joints of one unit together. Where the
        nominal model tracks no worse than the true one there is no gap, and what the third one adds
        is over the error of the true one.

        The share is 0 if the third model tracks as well as the true one, None if a run is missing.
        Units are by joint.
        """
        compared = self._compare_models(units, lambda run: run.rms_error, model)
        tiny = float(np.finfo(float).tiny)
        left = [
            (after - true) / max(before - true if before > true else true, tiny)
            for true, before, after in compared
        ]
        return max(left, default=None)

    def is_sensitive_to_model(self, units: Sequence[str]) -> bool:
        """Return whether a lap does, joints of one unit; under a controller without model none."""
        compared = self._compare_models(units, lambda run: run.rms_error, IDENTIFIED)
        return not compared or any(len(set(errors)) > 1 for errors in compared)

    def mismatch_left(self, units: Sequence[str]) -> float | None:
        """Return the identified model's torque error over the nominal's, joints of one unit."""
        compared = self._compare_models(units, lambda run: run.torque_error, IDENTIFIED)
        tiny = float(np.finfo(float).tiny)
        return max((after / max(before, tiny) for _, before, after in compared), default=None)

    def _compare_models(
        self, units: Sequence[str], value: Callable[[ControlRun], Float1D], model: str
    ) -> list[tuple[float, float, float]]:
        """Return a value of true, nominal and a third model, RMS over joints of one unit."""
        compared = []
        for task in self.laps:
            runs = [self.find(m, UNDISTURBED_NAME, task) for m in (TRUE, NOMINAL, model)]
            values = [value(run) for run in runs if run is not None]
            if len(values) < len(runs):
                return []
            for unit in dict.fromkeys(units):
                of_unit = [u == unit for u in units]
                true, before, after = (float(rms(v[of_unit])) for v in values)
                compared.append((true, before, after))
        return compared


@one_blas_thread()
def run_closed_loops(
    cell: Cell,
    nominal: Robot,
    models: Models,
    rng: np.random.Generator,
    comparison: Comparison | None = None,
    *,
    known: ClosedLoop | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> ClosedLoop:
    """Run every controller with every model on every task in every scenario.

    Run r draws phases, blows and sensor noise from the child r of `rng`, the same for all models
    and controllers; where nothing is drawn, there is one run. Disturbances are shares of the peak
    torque of the undisturbed run with the true model.

    Parameters
    ----------
    cell : Cell
        Holds the plant, whose own model is the true one; its sensors play no part.
    nominal : Robot
        What the gains come from.
    models : mapping of str to Robot or sequence of Robot
        What the controllers believe, by name. The true and the nominal model are always compared
        too; a nominal model that is the plant itself is not run twice.
    rng : numpy.random.Generator
        Source of everything that is drawn.
    comparison : Comparison, optional
        What to run.
    known : ClosedLoop, optional
        What this function returns without `models`, all else equal: runs that are not run again.
    workers : int
        Processes that share the runs.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    loop : ClosedLoop
        All runs, and those that failed.

    Raises
    ------
    SimulationDiverged
        If the true model's loop diverges undisturbed; others are in `ClosedLoop.failures`.
    """
    comparison = comparison or Comparison()
    tasks = known.tasks if known else tuple(task_runs(nominal, comparison))
    gains = known.gains if known else loop_gains(nominal, tasks, comparison, cell.rate)
    always: dict[str, Robot | Sequence[Robot]] = {TRUE: cell.plant}
    if nominal is not cell.plant:
        always[NOMINAL] = nominal
    runs: Sequence[ControlRun | FailedRun] = (*known.runs, *known.failures) if known else ()
    done = {_case(run): run for run in runs if run.model not in models}
    first = [make_undisturbed_task(cell, gains, task, rng, comparison) for task in tasks]
    # These decide the disturbance of the others; they are too few to start processes for.
    _run(first, done, 1, lambda loops: progress("control", 0.2 * loops))
    references = [_complete_run(done[_case(task)]) for task in first]
    rest = _other_tasks(first, references, nominal, {**always, **models}, rng, comparison)
    # Those who have had loops run before have processes.
    seconds = sum(task.trajectory.duration for task in rest)
    count = workers if known or seconds >= MAX_SERIAL_TIME else 1
    _run(
        rest,
        done,
        count,
        lambda loops: progress("control", Portion(loops.done, loops.total, begin=0.2)),
    )
    results = [done[_case(task)] for task in rest]
    return ClosedLoop(
        runs=(*references, *(run for run in results if isinstance(run, ControlRun))),
        gains=gains,
        tasks=tasks,
        failures=tuple(run for run in results if isinstance(run, FailedRun)),
    )


def _case(run: ControlRun | FailedRun | LoopTask) -> _Case:
    """Return what tells a run of a comparison from all others."""
    model = run.model_name if isinstance(run, LoopTask) else run.model
    scenario = run.scenario.name if isinstance(run, LoopTask) else run.scenario
    return run.controller, model, scenario, run.task, run.run


def _run(
    tasks: Sequence[LoopTask],
    done: dict[_Case, ControlRun | FailedRun],
    workers: int,
    progress: Callable[[Portion], None],
) -> None:
    """Put the results of tasks into `done`, but for those that are there."""
    left = [task for task in tasks if _case(task) not in done]
    # The longest first, so that no worker is left alone with one at the end.
    left.sort(key=lambda task: -task.trajectory.duration)
    results = map_tasks(run_loop, left, workers, progress)
    done |= {_case(task): run for task, run in zip(left, results, strict=True)}


def make_undisturbed_task(
    cell: Cell, gains: LoopGains, task: TaskRun, rng: np.random.Generator, comparison: Comparison
) -> LoopTask:
    """Return the undisturbed run of a task with first controller and true model, not done yet.

    The random numbers are for the loop, though nothing is drawn in an undisturbed one.
    """
    name, factory = next(iter(comparison.controllers.items()))
    return LoopTask(
        cell=cell,
        model=cell.plant,
        model_name=TRUE,
        controller=name,
        factory=factory,
        gains=gains,
        task=task.name,
        trajectory=task.trajectory,
        is_step=task.is_step,
        scenario=Scenario(offset=task.offset),
        rng=rng,
        run=0,
        trace_samples=comparison.trace_samples,
    )


def _complete_run(run: ControlRun | FailedRun) -> ControlRun:
    if isinstance(run, ControlRun):
        return run
    error = SimulationDiverged(str(run), float("nan"), "")
    error.log = run.log
    raise error


def _other_tasks(
    first: Sequence[LoopTask],
    references: Sequence[ControlRun],
    nominal: Robot,
    models: Models,
    rng: np.random.Generator,
    comparison: Comparison,
) -> list[LoopTask]:
    """Return all runs but those that come first."""
    laps = [run.peak_torque for run in references if run.step is None]
    always = {UNDISTURBED_NAME: (Undisturbed(),)} if comparison.undisturbed else {}
    main = comparison.controllers.items()
    extra = [item for item in comparison.baselines.items() if item[0] not in comparison.controllers]
    tasks = []
    for task, reference in zip(first, references, strict=True):
        # A step hardly needs torque; what shakes it is what shakes the first lap.
        peak = laps[0] if task.is_step and laps else reference.peak_torque
        size = LoopSize(nominal, peak, task.trajectory.duration)
        cases = [(controller, name) for controller in main for name in models]
        if task is first[0] and IDENTIFIED in models:
            cases += [(controller, IDENTIFIED) for controller in extra]
        for scenario in ({**always, **comparison.scenarios}).items():
            for (controller, factory), name in cases:
                case = replace(task, controller=controller, factory=factory, model_name=name)
                tasks += _repetitions(case, models[name], scenario, size, rng, comparison.runs)
    key = (first[0].controller, TRUE, UNDISTURBED_NAME)
    return [t for t in tasks if (t.controller, t.model_name, t.scenario.name) != key]


def _repetitions(
    task: LoopTask,
    model: Robot | Sequence[Robot],
    scenario: tuple[str, Sequence[Condition]],
    size: LoopSize,
    rng: np.random.Generator,
    runs: int,
) -> list[LoopTask]:
    """Return the runs of one controller, model, task and scenario."""
    name, parts = scenario
    is_random = not isinstance(model, Robot) or any(part.random for part in parts)
    tasks = []
    for run in range(runs if is_random else 1):
        child = make_stream(rng, f"run {run}", name)
        drawn = compose(name, parts, size, child)
        tasks.append(
            replace(
                task,
                model=model if isinstance(model, Robot) else model[run],
                scenario=replace(drawn, offset=task.scenario.offset),
                rng=child,
                run=run,
                traced=run == 0,
            )
        )
    return tasks


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

    These are runs of `run_closed_loops` with the same arguments, of its first controller.

    The models are what the controller believes, by name. The task is a run, such as
    ``circle-fast``; of a path such as ``circle`` it is the first run. Raises `UnknownNameError` if
    no run is of that name, `SimulationDiverged` or `ControllerError` if a loop fails; the text
    names the model.
    """
    comparison = comparison or Comparison()
    runs = task_runs(nominal, comparison)
    tasks = [run for run in runs if name in (run.name, run.path.task if run.path else None)]
    if not tasks:
        raise UnknownNameError.from_names("task", name, [run.name for run in runs])
    task = tasks[0]
    gains = loop_gains(nominal, runs, comparison, cell.rate)
    true = make_undisturbed_task(cell, gains, task, rng, comparison)
    logs = {}
    for k, (label, model) in enumerate(models.items()):
        progress("control", k / len(models))
        try:
            logs[label] = record_loop(replace(true, model=model, model_name=label))
        except (SimulationDiverged, ControllerError) as error:
            error.args = (f"{task.name} with the {label} model: {error}", *error.args[1:])
            raise
    progress("control", 1.0)
    return TaskMotions(task, true.controller, logs)
