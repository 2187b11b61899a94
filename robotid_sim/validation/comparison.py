"""Plan of a closed-loop comparison: controllers, models, tasks and scenarios, and its gains."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from robotid_sim.arrays import Float2D, rms
from robotid_sim.control.controller import ControllerFactory
from robotid_sim.control.gains import DEFAULT_BANDWIDTH, DEFAULT_TRACKING_ERROR, LoopGains
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.errors import OptionError
from robotid_sim.experiment.conditions import Condition, SinusoidalTorque, Undisturbed
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.tasks.task import Circle, RunPlan, Task, TaskRun
from robotid_sim.trajectory.reference import Reference, require_samples
from robotid_sim.validation.control_run import MAX_TRACE_SAMPLES, ControlRun

TRUE, NOMINAL, IDENTIFIED = "true", "nominal", "identified"
"""Names of the models in every comparison."""

UNDISTURBED_NAME = "undisturbed"


class ClearanceCheck(Protocol):
    """Check of the clearance of links."""

    def is_clear(self, q: Float2D) -> bool:
        """Return whether the links are clear in every pose of a path, shape (N, n)."""


class TaskSpace(Protocol):
    """The space in which a robot may move, such as `robotid_sim.engine.free_space.FreeSpace`."""

    def open(self) -> AbstractContextManager[ClearanceCheck]:
        """Open the clearance check."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Plan of a closed-loop comparison: controllers x models x tasks x scenarios x runs."""

    controllers: Mapping[str, ControllerFactory] = field(
        default_factory=lambda: {"sliding-mode": SlidingMode.from_gains}
    )
    """Controllers that run with every model; tracking gaps and figures use the first one."""
    baselines: Mapping[str, ControllerFactory] = field(default_factory=dict)
    """Controllers that run with the identified model only, on the first fast path."""
    tasks: Mapping[str, Task] = field(default_factory=lambda: {"circle": Circle()})
    scenarios: Mapping[str, Sequence[Condition]] = field(
        default_factory=lambda: {
            UNDISTURBED_NAME: (Undisturbed(),),
            "sinusoidal": (SinusoidalTorque(),),
        }
    )
    """Conditions that apply together, by the name of the scenario."""
    undisturbed: bool = True
    """Whether all models also run undisturbed, or only the true one, for its peak torque."""
    runs: int = 1
    """Repetitions with different phases, torque impacts, sensor noise and random estimators."""
    space: TaskSpace | None = None
    """Space in which paths keep the clearance; None for no check."""
    slow_lap: float | None = None
    """Time of the slow lap of every path [s]; None for the fast lap only."""
    bandwidth: float = DEFAULT_BANDWIDTH
    """Minimum bandwidth [rad/s]; increased until the error bound holds, see `LoopGains`."""
    error: float = DEFAULT_TRACKING_ERROR
    """Maximum tracking error under the disturbance [rad or m]."""
    trace_samples: int = MAX_TRACE_SAMPLES
    """Maximum number of samples of the trace of a run."""

    def __post_init__(self) -> None:
        for name in ("controllers", "tasks", "scenarios"):
            if not getattr(self, name):
                raise OptionError(f"the closed loop needs at least one of its {name}")
        if self.runs < 1:
            raise OptionError(f"the number of runs must be at least 1, got {self.runs}")


def task_runs(nominal: Robot, comparison: Comparison) -> list[TaskRun]:
    """Plan the runs of the tasks, in their order, at the speeds that the nominal model permits.

    Raises `PathError` if a path or a step is not within reach, `FileFormatError` if the file of a
    path cannot be used, and `InfeasibleError` if a link at rest is below the floor.
    """
    if comparison.space is None:
        return _task_runs(nominal, comparison.tasks, RunPlan(slow_lap=comparison.slow_lap))
    with comparison.space.open() as room:
        shared = RunPlan(slow_lap=comparison.slow_lap, is_clear=room.is_clear)
        return _task_runs(nominal, comparison.tasks, shared)


def _task_runs(nominal: Robot, tasks: Mapping[str, Task], shared: RunPlan) -> list[TaskRun]:
    runs = {name: task.runs(nominal, shared) for name, task in tasks.items() if not task.is_step}
    first = next(iter(runs.values()), None)
    if first is not None:  # step tasks hold the start pose of the first path
        shared = replace(shared, start=first[0].trajectory(np.zeros(1)).q[0])
    runs |= {name: task.runs(nominal, shared) for name, task in tasks.items() if task.is_step}
    return [run for name in tasks for run in runs[name]]


def loop_gains(
    nominal: Robot, tasks: Sequence[TaskRun], comparison: Comparison, rate: float
) -> LoopGains:
    """Compute the gains for all models and tasks, from the fast run of every path.

    Without paths the step tasks are used; the control rate is in Hz. Raises `OptionError` if the
    rate, the error or the bandwidth is not positive, or a task has too many samples or none.
    """
    for task in tasks:
        seconds = task.trajectory.duration
        remedy = "give a shorter time (column 't' is in seconds)"
        require_samples(seconds, rate, f"task {task.name}", remedy)
        if seconds * rate < 1.0:
            raise OptionError(
                f"task {task.name} takes {seconds:.3g} s, less than a sample at {rate:g} Hz; give "
                "a longer time, in seconds"
            )
    paths = [task for task in tasks if not task.is_step]
    fast = [task for task in paths if not task.slow] or paths or tasks
    trajectories = [task.trajectory for task in fast]
    parts = [path(np.arange(0.0, path.duration, 1.0 / rate)) for path in trajectories]
    return LoopGains.from_specification(
        nominal,
        Reference(*(np.vstack([getattr(p, name) for p in parts]) for name in ("q", "dq", "ddq"))),
        rate=rate,
        error=comparison.error,
        bandwidth=comparison.bandwidth,
    )


CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean over the runs of a case, and the half width of its confidence interval."""

    mean: float
    half_width: float
    """Half width at 95 %, by Student's t; 0 for a single run."""
    count: int

    @classmethod
    def from_values(cls, values: Sequence[float]) -> "Interval":
        """Compute the interval of the mean of `values`."""
        count, mean = len(values), float(np.mean(values))
        if count < 2:
            return cls(mean, 0.0, count)
        quantile = float(stdtrit(count - 1, 0.5 + 0.5 * CONFIDENCE_LEVEL))
        return cls(mean, quantile * float(np.std(values, ddof=1)) / count**0.5, count)


@dataclass(frozen=True, slots=True)
class Case:
    """Common properties of the runs of a row."""

    task: str
    scenario: str
    controller: str
    model: str


@dataclass(frozen=True, slots=True)
class Row:
    """A case and its quantities; None where a run does not have one."""

    case: Case
    runs: int
    values: Mapping[str, Interval | None]


Quantity = Callable[[ControlRun], float | None]


def summarize(runs: Iterable[ControlRun], quantities: Mapping[str, Quantity]) -> list[Row]:
    """Make a row for every case, in the order of the cases.

    `quantities` are averaged over the runs of a case, by name.
    """
    cases: dict[Case, list[ControlRun]] = {}
    for run in runs:
        case = Case(run.task, run.scenario, run.controller, run.model)
        cases.setdefault(case, []).append(run)
    rows = []
    for case, members in cases.items():
        values = {name: _interval(members, value) for name, value in quantities.items()}
        rows.append(Row(case, len(members), values))
    return rows


def _interval(runs: Sequence[ControlRun], value: Quantity) -> Interval | None:
    values = [value(run) for run in runs]
    numbers = [v for v in values if v is not None]
    return Interval.from_values(numbers) if len(numbers) == len(values) else None


def rms_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Make the quantity RMS tracking error of all joints of one unit."""
    return lambda run: float(rms(run.rms_error[_has_unit(units, unit)]))


def largest_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Make the quantity largest tracking error among the joints of one unit."""
    return lambda run: float(run.max_error[_has_unit(units, unit)].max())


def torque_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Make the quantity root of the sum of mean squares of the torques of one unit."""
    return lambda run: float(np.linalg.norm(run.torque_rms[_has_unit(units, unit)]))


def torque_rate_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Make the quantity root of the sum of mean squares of the torque rates of one unit."""
    return lambda run: float(np.linalg.norm(run.torque_variation[_has_unit(units, unit)]))


def _has_unit(units: Sequence[str], unit: str) -> list[bool]:
    return [u == unit for u in units]
