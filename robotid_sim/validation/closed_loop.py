"""The closed loop in the engine: what the identified model is worth to a controller.

Every loop runs on the true plant; only the model inside the controller differs. The gains come from
the nominal model once and are the same for all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control import CONTROLLERS
from robotid_sim.control.gains import LoopGains
from robotid_sim.engine.plant import substeps_for
from robotid_sim.errors import OptionError, SimulationDiverged
from robotid_sim.experiment.conditions import Setting, compose, conditions
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.model.friction_laws import FrictionLaw
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.progress import silent
from robotid_sim.streams import named_stream
from robotid_sim.tasks import TASKS
from robotid_sim.tasks.steps import JointStep, TaskStep
from robotid_sim.tasks.task import RunPlan, Task, TaskRun
from robotid_sim.trajectory.reference import Reference, Trajectory
from robotid_sim.validation.control_run import (
    TRACE_SAMPLES,
    ControlRun,
    FailedRun,
    LoopTask,
    run_loop,
)
from robotid_sim.validation.prediction import rms

TRUE, NOMINAL, IDENTIFIED = "true", "nominal", "identified"
"""Names of the models that every comparison has."""

UNDISTURBED = "undisturbed"

DISTURBANCE = 0.4
"""Disturbance bound of the gains over the peak torque of the path; see `LoopGains`."""

SERIAL_SECONDS = 60.0
"""Simulated time below which starting processes takes longer than the loops [s]."""

FAST_SHARE = 0.6
"""Share of the limits that the fast lap uses."""


def _default_tasks() -> dict[str, dict[str, Any]]:
    return {"circle": {}, "joint-step": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPlan:
    """What a closed-loop comparison runs: controllers x models x tasks x scenarios x runs."""

    controllers: tuple[str, ...] = ("sliding-mode",)
    """Controllers that run with every model; the first one decides gaps and figures."""
    baselines: tuple[str, ...] = ("computed-torque", "gravity-pd")
    """Controllers that run with the identified model only, on the first fast path."""
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=_default_tasks)
    """Tasks with their options."""
    scenarios: tuple[str, ...] = (UNDISTURBED, "sinusoidal")
    """Conditions, joined by ``+`` where they hold together."""
    undisturbed: bool = True
    """Whether all models run undisturbed too; if not, only the true one, for its peak torque."""
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options by condition."""
    runs: int = 1
    """Repetitions of what is drawn at random."""
    slow_lap: float | None = 30.0
    """Time of the slow lap of every path [s]; None for the fast lap only."""
    rate: float = 1000.0
    """Control rate [Hz]."""
    substeps: int = 4
    """Engine steps per control step, at least."""
    bandwidth: float = 50.0
    """Smallest bandwidth [rad/s]: see `LoopGains.from_specification`."""
    error: float = 0.01
    """Wanted error under the disturbance [rad or m]: see `LoopGains.from_specification`."""
    friction: FrictionLaw | None = None
    """Law of the plant's friction; None for that of the models."""
    trace_samples: int = TRACE_SAMPLES
    """Most samples of a run that are kept as its trace."""

    def __post_init__(self) -> None:
        for name in ("controllers", "tasks", "scenarios"):
            if not getattr(self, name):
                raise OptionError(f"the closed loop needs at least one of its {name}")
        for name in (*self.controllers, *self.baselines):
            CONTROLLERS[name]
        for scenario in self.scenarios:
            conditions(scenario, self.conditions)
        if self.runs < 1:
            raise OptionError(f"the number of runs must be at least 1, got {self.runs}")


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
        """Return the first run of a model, scenario, task and controller; None if there is none."""
        wanted = (controller or self.controller, model, scenario, task)
        for run in self.runs:
            if (run.controller, run.model, run.scenario, run.task) == wanted:
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

    def gap_left(self, units: Sequence[str]) -> float | None:
        """Return the share of the gap between nominal and true model that is left, worst lap.

        Compared are the undisturbed RMS errors of all joints of one unit together; 0 means that the
        identified model tracks as well as the true one. None if a run of them is missing.
        """
        compared = self._compared(units, lambda run: run.rms_error)
        tiny = float(np.finfo(float).tiny)
        left = [(found - true) / max(nominal - true, tiny) for true, nominal, found in compared]
        return max(left, default=None)

    def mismatch_left(self, units: Sequence[str]) -> float | None:
        """Return the identified model's torque error over the nominal's, joints of one unit."""
        compared = self._compared(units, lambda run: run.torque_error)
        tiny = float(np.finfo(float).tiny)
        return max((found / max(nominal, tiny) for _, nominal, found in compared), default=None)

    def _compared(
        self, units: Sequence[str], value: Callable[[ControlRun], Float1D]
    ) -> list[tuple[float, float, float]]:
        """Return a value of true, nominal and identified model, RMS over joints of one unit."""
        compared = []
        for task in self.laps:
            runs = [self.find(m, UNDISTURBED, task) for m in (TRUE, NOMINAL, IDENTIFIED)]
            values = [value(run) for run in runs if run is not None]
            if len(values) < len(runs):
                return []
            for unit in dict.fromkeys(units):
                of_unit = [u == unit for u in units]
                true, nominal, found = (float(rms(v[of_unit])) for v in values)
                compared.append((true, nominal, found))
        return compared


def closed_loop(
    plant: Robot,
    nominal: Robot,
    models: Mapping[str, Robot | Sequence[Robot]],
    rng: np.random.Generator,
    plan: LoopPlan | None = None,
    *,
    workers: int = 1,
    progress: Callable[[str, float], None] = silent,
) -> ClosedLoop:
    """Run every controller with every model on every task in every scenario.

    Run r draws phases, blows and sensor noise from the child r of `rng`, the same for all models
    and controllers; where nothing is drawn, there is one run. Disturbances are shares of the peak
    torque of the undisturbed run with the true model.

    Parameters
    ----------
    plant, nominal : Robot
        The truth, and what the gains come from.
    models : mapping of str to Robot or sequence of Robot
        What the controllers believe, by name; with a sequence, run r uses its entry r. The true and
        the nominal model are always compared too; one that is the plant itself is not run twice.
    rng : numpy.random.Generator
        Source of everything that is drawn.
    plan : LoopPlan, optional
        What to run.
    workers : int
        Processes that share the runs.
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    SimulationDiverged
        If the loop with the true model diverges undisturbed. Other runs that fail are in
        `ClosedLoop.failures`.
    """
    plan = plan or LoopPlan()
    tasks = task_runs(nominal, plan)
    gains = _gains(nominal, tasks, plan)
    known = {TRUE: plant} if nominal is plant else {TRUE: plant, NOMINAL: nominal}
    everyone: dict[str, Robot | Sequence[Robot]] = {**known, **models}
    first = [_reference_task(plant, gains, task, rng, plan) for task in tasks]
    # These decide the disturbance of the others; they are too few to start processes for.
    done = map_tasks(run_loop, first, 1, lambda share: progress("control", 0.2 * share))
    references = [_completed(run) for run in done]
    rest = _other_tasks(first, references, nominal, everyone, rng, plan)
    seconds = sum(task.trajectory.duration for task in rest)
    # The longest first, so that no worker is left alone with one at the end.
    order = sorted(range(len(rest)), key=lambda k: -rest[k].trajectory.duration)
    results = map_tasks(
        run_loop,
        [rest[k] for k in order],
        1 if seconds < SERIAL_SECONDS else workers,
        lambda share: progress("control", 0.2 + 0.8 * share),
    )
    sorted_back = [result for _, result in sorted(zip(order, results, strict=True), key=_index)]
    return ClosedLoop(
        runs=(*references, *(run for run in sorted_back if isinstance(run, ControlRun))),
        gains=gains,
        tasks=tuple(tasks),
        failures=tuple(run for run in sorted_back if isinstance(run, FailedRun)),
    )


def _index(pair: tuple[int, Any]) -> int:
    return pair[0]


def task_runs(nominal: Robot, plan: LoopPlan) -> list[TaskRun]:
    """Return the runs of the tasks of a plan, at the speeds that the nominal model allows."""
    tasks = {name: TASKS.build(name, **options) for name, options in plan.tasks.items()}
    shared = RunPlan(slow_lap=plan.slow_lap, share=FAST_SHARE)
    runs = {name: task.runs(nominal, shared) for name, task in tasks.items() if not is_step(task)}
    first = next(iter(runs.values()), None)
    if first is not None:  # steps hold the pose where the first path starts
        shared = replace(shared, start=first[0].trajectory(np.zeros(1)).q[0])
    runs |= {name: task.runs(nominal, shared) for name, task in tasks.items() if is_step(task)}
    return [run for name in plan.tasks for run in runs[name]]


def is_step(task: Task) -> bool:
    """Return whether a task starts away from a pose that it shall hold."""
    return isinstance(task, JointStep | TaskStep)


def _gains(nominal: Robot, tasks: Sequence[TaskRun], plan: LoopPlan) -> LoopGains:
    """Return the gains for all tasks together, from the fast run of every path."""
    paths = [task for task in tasks if task.kind == "path"]
    fast = [task for task in paths if not task.name.endswith("-slow")] or paths or tasks
    return LoopGains.from_specification(
        nominal,
        _joined([task.trajectory for task in fast], plan.rate),
        rate=plan.rate,
        disturbance=DISTURBANCE,
        error=plan.error,
        bandwidth=plan.bandwidth,
    )


def _joined(trajectories: Sequence[Trajectory], rate: float) -> Reference:
    """Return the samples of several trajectories, one after the other."""
    parts = [one(np.arange(0.0, one.duration, 1.0 / rate)) for one in trajectories]
    return Reference(*(np.vstack([getattr(p, name) for p in parts]) for name in ("q", "dq", "ddq")))


def _reference_task(
    plant: Robot, gains: LoopGains, task: TaskRun, rng: np.random.Generator, plan: LoopPlan
) -> LoopTask:
    """Return the undisturbed run of the true model, which comes first."""
    path = task.trajectory(np.linspace(0.0, task.trajectory.duration, 120)).q
    return LoopTask(
        plant=plant,
        model=plant,
        model_name=TRUE,
        controller=plan.controllers[0],
        gains=gains,
        task=task.name,
        trajectory=task.trajectory,
        is_step=task.kind == "step",
        scenario=Scenario(offset=task.offset),
        rng=rng,
        run=0,
        rate=plan.rate,
        substeps=substeps_for(plant, path, 1.0 / plan.rate, plan.substeps, plan.friction),
        friction=plan.friction,
        trace_samples=plan.trace_samples,
    )


def _completed(run: ControlRun | FailedRun) -> ControlRun:
    if isinstance(run, ControlRun):
        return run
    error = SimulationDiverged(str(run), float("nan"), "")
    error.log = run.log
    raise error


def _other_tasks(
    first: Sequence[LoopTask],
    references: Sequence[ControlRun],
    nominal: Robot,
    models: Mapping[str, Robot | Sequence[Robot]],
    rng: np.random.Generator,
    plan: LoopPlan,
) -> list[LoopTask]:
    """Return all runs but those that come first."""
    laps = [run.peak_torque for run in references if run.step is None]
    tasks = []
    for task, reference in zip(first, references, strict=True):
        # A step hardly needs torque; what shakes it is what shakes the first lap.
        peak = laps[0] if task.is_step and laps else reference.peak_torque
        setting = Setting(nominal, peak, task.trajectory.duration)
        cases = [(c, name) for c in plan.controllers for name in models]
        if task is first[0] and IDENTIFIED in models:
            cases += [(c, IDENTIFIED) for c in plan.baselines if c not in plan.controllers]
        always = (UNDISTURBED,) if plan.undisturbed else ()
        for scenario in dict.fromkeys((*always, *plan.scenarios)):
            for controller, name in cases:
                make = partial(_repetitions, task, controller, name, models[name])
                tasks += make(scenario, setting, rng, plan)
    key = (plan.controllers[0], TRUE, UNDISTURBED)
    return [t for t in tasks if (t.controller, t.model_name, t.scenario.name) != key]


def _repetitions(
    task: LoopTask,
    controller: str,
    name: str,
    model: Robot | Sequence[Robot],
    scenario: str,
    setting: Setting,
    rng: np.random.Generator,
    plan: LoopPlan,
) -> list[LoopTask]:
    """Return the runs of one controller, model, task and scenario."""
    parts = conditions(scenario, plan.conditions)
    fixed = isinstance(model, Robot)
    is_random = not fixed or any(part.random for part in parts)
    tasks = []
    for run in range(plan.runs if is_random else 1):
        child = named_stream(rng, f"run {run}", scenario)
        drawn = compose(scenario, parts, setting, child)
        tasks.append(
            replace(
                task,
                model=model if isinstance(model, Robot) else model[run],
                model_name=name,
                controller=controller,
                scenario=replace(drawn, offset=task.scenario.offset),
                rng=child,
                run=run,
                traced=run == 0,
            )
        )
    return tasks
