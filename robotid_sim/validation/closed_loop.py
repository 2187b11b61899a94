"""Validation of the identified model by control: closed loops in the engine.

Every loop runs on the true plant; only the model inside the controller differs. The gains come from
the nominal model once and are the same for all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.control.gains import LoopGains
from robotid_sim.errors import ControllerError, SimulationDiverged, UnknownNameError
from robotid_sim.experiment.conditions import Condition, ConditionScale, Undisturbed, compose
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
"""Maximum simulated time of loops without worker processes [s]."""

_Case = tuple[str, str, str, str, int]
"""Controller, model, scenario, task and number of a run."""

Models = Mapping[str, Robot | Sequence[Robot]]
"""Models inside the controllers, by name; if a sequence is given, run r uses its entry r."""


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
        """Name of the controller of tracking gaps and figures."""
        return self.runs[0].controller

    def find(
        self, model: str, scenario: str, task: str, controller: str | None = None
    ) -> ControlRun | None:
        """Find the first run of a model, scenario, task and controller; None if there is none.

        The default controller is that of gaps and figures. Failed runs do not count.
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
        """Compute the remaining share of the tracking gap, worst lap.

        It compares undisturbed RMS errors of all joints of one unit together. If the nominal model
        tracks no worse than the true one, there is no gap, and the excess of the third model is
        relative to the error with the true one.

        The share is 0 if the third model tracks as well as the true one, None if a run is missing.
        Units are listed by joint.
        """
        compared = self._compare_models(units, lambda run: run.rms_error, model)
        tiny = float(np.finfo(float).tiny)
        shares = [
            (after - true) / max(before - true if before > true else true, tiny)
            for true, before, after in compared
        ]
        return max(shares, default=None)

    def is_sensitive_to_model(self, units: Sequence[str]) -> bool:
        """Check whether a lap depends on the model, for joints of one unit.

        False without a model.
        """
        compared = self._compare_models(units, lambda run: run.rms_error, IDENTIFIED)
        return not compared or any(len(set(errors)) > 1 for errors in compared)

    def mismatch_left(self, units: Sequence[str]) -> float | None:
        """Compute the torque error of the identified over that of the nominal model."""
        compared = self._compare_models(units, lambda run: run.torque_error, IDENTIFIED)
        tiny = float(np.finfo(float).tiny)
        return max((after / max(before, tiny) for _, before, after in compared), default=None)

    def _compare_models(
        self, units: Sequence[str], value: Callable[[ControlRun], Float1D], model: str
    ) -> list[tuple[float, float, float]]:
        """Compare a value of true, nominal and a third model, RMS over joints of one unit."""
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
    reused: ClosedLoop | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> ClosedLoop:
    """Run every controller with every model on every task in every scenario.

    Run r draws phases, torque impacts and sensor noise from child r of `rng`, the same for all
    models and controllers; deterministic scenarios have one run. Disturbances are shares of the
    peak torque of the undisturbed run with the true model.

    Parameters
    ----------
    cell : Cell
        Contains the plant, whose model is the true model; its sensors are not used.
    nominal : Robot
        Model for the gains.
    models : mapping of str to Robot or sequence of Robot
        Models inside the controllers, by name. The true and the nominal model are always compared
        too; a nominal model that equals the plant is not run twice.
    rng : numpy.random.Generator
        Source of all random numbers.
    comparison : Comparison, optional
        Runs to compare.
    reused : ClosedLoop, optional
        Result of this function without `models`, all else equal: its runs are reused.
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
        If the undisturbed loop with the true model diverges; other failures are in
        `ClosedLoop.failures`.
    """
    comparison = comparison or Comparison()
    tasks = reused.tasks if reused else tuple(task_runs(nominal, comparison))
    gains = reused.gains if reused else loop_gains(nominal, tasks, comparison, cell.rate)
    always: dict[str, Robot | Sequence[Robot]] = {TRUE: cell.plant}
    if nominal is not cell.plant:
        always[NOMINAL] = nominal
    runs: Sequence[ControlRun | FailedRun] = (*reused.runs, *reused.failures) if reused else ()
    finished = {_case(run): run for run in runs if run.model not in models}
    first = [make_undisturbed_task(cell, gains, task, rng, comparison) for task in tasks]
    # These runs scale the disturbances of the others; they are too few for processes.
    _run(first, finished, 1, lambda loops: progress("control", 0.2 * loops))
    references = [_complete_run(finished[_case(task)]) for task in first]
    further = _other_tasks(first, references, nominal, {**always, **models}, rng, comparison)
    # Callers with loops to reuse already have processes.
    seconds = sum(task.trajectory.duration for task in further)
    count = workers if reused or seconds >= MAX_SERIAL_TIME else 1
    _run(
        further,
        finished,
        count,
        lambda loops: progress("control", Portion(loops.done, loops.total, begin=0.2)),
    )
    results = [finished[_case(task)] for task in further]
    return ClosedLoop(
        runs=(*references, *(run for run in results if isinstance(run, ControlRun))),
        gains=gains,
        tasks=tasks,
        failures=tuple(run for run in results if isinstance(run, FailedRun)),
    )


def _case(run: ControlRun | FailedRun | LoopTask) -> _Case:
    """Make the key of a run of a comparison."""
    model = run.model_name if isinstance(run, LoopTask) else run.model
    scenario = run.scenario.name if isinstance(run, LoopTask) else run.scenario
    return run.controller, model, scenario, run.task, run.run


def _run(
    tasks: Sequence[LoopTask],
    finished: dict[_Case, ControlRun | FailedRun],
    workers: int,
    progress: Callable[[Portion], None],
) -> None:
    """Run the tasks that are not in `finished` and add their results."""
    remaining = [task for task in tasks if _case(task) not in finished]
    # The longest first, so that workers finish together.
    remaining.sort(key=lambda task: -task.trajectory.duration)
    results = map_tasks(run_loop, remaining, workers, progress)
    finished |= {_case(task): run for task, run in zip(remaining, results, strict=True)}


def make_undisturbed_task(
    cell: Cell, gains: LoopGains, task: TaskRun, rng: np.random.Generator, comparison: Comparison
) -> LoopTask:
    """Make the undisturbed run of a task with the first controller and the true model.

    The generator is not used in an undisturbed loop.
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
    """List all runs except the first ones."""
    laps = [run.peak_torque for run in references if run.step is None]
    always = {UNDISTURBED_NAME: (Undisturbed(),)} if comparison.undisturbed else {}
    main = comparison.controllers.items()
    extra = [item for item in comparison.baselines.items() if item[0] not in comparison.controllers]
    tasks = []
    for task, reference in zip(first, references, strict=True):
        # A step hardly needs torque; its disturbance is that of the first lap.
        peak = laps[0] if task.is_step and laps else reference.peak_torque
        size = ConditionScale(nominal, peak, task.trajectory.duration)
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
    size: ConditionScale,
    rng: np.random.Generator,
    runs: int,
) -> list[LoopTask]:
    """List the runs of one controller, model, task and scenario."""
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
    """The undisturbed runs of one task with different models inside the controller."""

    task: TaskRun
    controller: str
    logs: Mapping[str, Log]
    """Clean logs on one time grid, by the name of the model."""

    def errors(self) -> dict[str, Float2D]:
        """Compute motion minus reference by model [rad or m], shape (N, n) each."""
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
    """Run one task undisturbed with every model and return the motions of the plant.

    These are the runs of `run_closed_loops` with the same arguments and its first controller.

    The models are those inside the controller, by name. The task is a run such as ``circle-fast``;
    a path such as ``circle`` means its first run. Raises `UnknownNameError` if there is no such
    run, `SimulationDiverged` or `ControllerError` if a loop fails; the message names the model.
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
