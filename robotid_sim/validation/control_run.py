"""One closed-loop run in the engine, and its metrics."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from robotid_sim.arrays import Bool1D, Float1D, Float2D, readonly, rms
from robotid_sim.control.controller import ControllerFactory, DelayedController
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import ControllerError, RankDeficientError, SimulationDiverged
from robotid_sim.experiment.rollout import Cell, rollout
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.kinematics.forward import tip_position
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import Reference, Trajectory
from robotid_sim.validation import metrics
from robotid_sim.validation.metrics import Share, StepMetrics, step_metrics

MIN_TORQUE_SHARE = 1e-3
"""Minimum reference torque of a mismatch, as a share of the largest torque of a joint."""

MAX_TRACE_SAMPLES = 1000
"""Maximum number of samples of a run for figures, by default."""

MIN_START_SHARE = 0.05
"""Minimum start error of a joint with a step, over the largest start error."""

OBSERVER_BANDWIDTH_RATIO = 1.75
"""Bandwidth of the velocity observer over that of the loop."""

MAX_OBSERVER_BANDWIDTH = 0.25
"""Maximum bandwidth of the observer [rad/s] over the sample rate [Hz]."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopTask:
    """One run with all inputs of a worker process."""

    cell: Cell
    """Cell with the plant before the scenario changes it."""
    model: Robot
    model_name: str
    controller: str
    factory: ControllerFactory
    """Factory of the controller."""
    gains: LoopGains
    task: str
    trajectory: Trajectory
    is_step: bool
    """Whether the run starts away from its reference and has step metrics."""
    scenario: Scenario
    rng: np.random.Generator
    """Source of the noise in the loop."""
    run: int
    """Index of the repetition, from 0."""
    traced: bool = True
    """Whether to keep the time series."""
    trace_samples: int = MAX_TRACE_SAMPLES
    """Maximum number of samples of the time series."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Time series of a closed-loop run, thinned out for figures; shapes (N,), (N, 3) or (N, n)."""

    t: Float1D
    """Time [s]."""
    error: Float2D
    """Tracking error of the joints [rad or m]."""
    tip: Float2D
    """Position of the tip [m]."""
    tip_reference: Float2D
    """Reference position of the tip [m]."""
    tau: Float2D
    """Applied torque [N m]."""
    energy: Float2D
    """Integral of |tau dq| of every joint [J], over all samples."""

    @property
    def tip_error(self) -> Float1D:
        """Distance of the tip from its reference [m], shape (N,)."""
        return np.asarray(np.linalg.norm(self.tip - self.tip_reference, axis=1))


def _identity(value: Any) -> Any:
    return value


Values = Annotated[
    Float1D,
    PlainValidator(lambda values: readonly(values, shape=(None,), name="values")),
    PlainSerializer(lambda values: values.tolist()),
]
"""One number per joint; a list in JSON."""


@public_value
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ControlRun:
    """One closed-loop run; errors of the tip of the robot are distances in space.

    Aliases are the names in JSON, where the order of fields is the same; fields that are not in
    JSON are empty in a loaded run.
    """

    controller: str
    """The controller."""
    model: str
    """``true``, ``nominal``, ``identified``, an estimator, or ``published:SET``."""
    scenario: str
    """Conditions, joined by ``+``."""
    task: str
    """The task."""
    run: int = 0
    """Index of the repetition, from 0."""
    rms_error: Values
    """RMS tracking error [rad or m]."""
    max_error: Values
    """Largest tracking error [rad or m]."""
    iae: Values
    """Integral of the absolute error [rad s or m s]."""
    itae: Values
    """Integral of time times the absolute error [rad s^2 or m s^2]."""
    tip_rms_error: float
    """RMS distance of the tip from its reference [m]."""
    tip_max_error: float
    """[m]."""
    tip_iae: float
    """[m s]."""
    tip_itae: float
    """[m s^2]."""
    torque_mismatch: Values
    """RMS torque error of the model along the reference over the RMS true torque."""
    rise_time: Annotated[float | None, Field(alias="rise_time_s")]
    """Rise time of the worst joint [s]; it and the next three are None for tasks starting on their
    path."""
    settling_time: Annotated[float | None, Field(alias="settling_time_s")]
    """Time until the error stays within 2 % of the step [s]."""
    overshoot: Annotated[Share | None, Field(alias="overshoot_percent")]
    """Overshoot beyond the reference, over the step."""
    steady_state_error: Annotated[Share | None, Field(alias="steady_state_error_percent")]
    """Remaining error, over the step."""
    tip_step: StepMetrics | None
    """Metrics of the tip's return to its reference; None for tasks that start there."""
    energy: Annotated[Values, Field(alias="energy_j")]
    """Integral of |tau dq| [J]."""
    energy_signed: Annotated[Values, Field(alias="energy_signed_j")]
    """Integral of tau dq [J]."""
    torque_rms: Values
    """RMS applied torque [N m]."""
    torque_variation: Values
    """RMS torque rate [N m/s]."""
    chattering_index: Values
    """Share of torque-rate energy above 50 Hz, minus the share that the reference needs."""
    peak_torque: Values
    """Largest applied torque [N m]."""
    peak_ratio: Annotated[Values, Field(alias="peak_torque_ratio")]
    """Largest applied torque over the limit; 0 where there is no limit."""
    saturated: Annotated[float, Field(alias="saturated_s")]
    """Time in which a torque was clipped [s]."""
    torque_error: Annotated[Values, Field(exclude=True)] = dataclasses.field(
        default_factory=lambda: np.empty(0)
    )
    """RMS torque error of the model along the reference [N m]."""
    trace: Annotated[Trace | None, PlainValidator(_identity), Field(exclude=True)] = None
    """Time series for figures; None unless requested."""

    @property
    def step(self) -> StepMetrics | None:
        """Worst joint of a step-like start; None for other tasks."""
        if self.overshoot is None or self.steady_state_error is None:
            return None
        return StepMetrics(
            self.rise_time, self.settling_time, self.overshoot, self.steady_state_error
        )

    def __eq__(self, other: object) -> bool:
        """Compare the fields that are in JSON."""
        return isinstance(other, ControlRun) and self.content() == other.content()

    def __hash__(self) -> int:
        """Return the hash of the case."""
        return hash((self.controller, self.model, self.scenario, self.task, self.run))

    def content(self) -> dict[str, Any]:
        """Return the run as JSON values."""
        content: dict[str, Any] = _JSON_ADAPTER.dump_python(self, mode="json", by_alias=True)
        return content


_JSON_ADAPTER = TypeAdapter(ControlRun)


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class FailedRun:
    """A failed run: the loop diverged, or the controller gave no torque."""

    controller: str
    model: str
    scenario: str
    task: str
    run: int
    message: str
    log: Log | None
    """Samples until the failure."""

    def __str__(self) -> str:
        return (
            f"{self.controller} with the {self.model} model, {self.task}, {self.scenario}, run "
            f"{self.run}: {self.message}"
        )


def run_loop(task: LoopTask) -> ControlRun | FailedRun:
    """Run one loop in the engine and return its metrics or its failure."""
    try:
        return _measure_run(task, record_loop(task))
    except (SimulationDiverged, ControllerError, RankDeficientError) as error:
        log = getattr(error, "log", None)
        assert log is None or isinstance(log, Log)
        return FailedRun(
            controller=task.controller,
            model=task.model_name,
            scenario=task.scenario.name,
            task=task.task,
            run=task.run,
            message=str(error),
            log=log,
        )


def record_loop(task: LoopTask) -> Log:
    """Run one loop in the engine and return its clean log."""
    cell, scenario = task.cell, task.scenario
    robot = scenario.plant(cell.plant)
    controller = task.factory(task.model, task.gains)
    if scenario.delay:
        controller = DelayedController(controller)
    observer = None
    if scenario.feedback is not None:
        highest = MAX_OBSERVER_BANDWIDTH * cell.rate
        bandwidth = min(OBSERVER_BANDWIDTH_RATIO * task.gains.bandwidth, highest)
        observer = VelocityObserver(task.model, cell.rate, bandwidth)
    with cell.open(robot) as plant:
        return rollout(
            plant, controller, task.trajectory, scenario=scenario, observer=observer, rng=task.rng
        )


def _measure_run(task: LoopTask, log: Log) -> ControlRun:
    assert log.truth is not None
    assert log.tau_cmd is not None
    reference, applied, dt = task.trajectory(log.t), log.truth.tau, log.dt
    robot = task.cell.plant
    error = reference.q - log.q
    needed = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    torque_error, mismatch = _torque_error(task.model, reference, needed)
    tip, tip_reference = tip_position(robot, log.q), tip_position(robot, reference.q)
    distance = np.linalg.norm(tip_reference - tip, axis=1)
    peak = np.abs(applied).max(axis=0)
    step = _worst(
        [step_metrics(log.t, e) for e in error.T[_is_displaced(error[0])]] if task.is_step else []
    )
    return ControlRun(
        controller=task.controller,
        model=task.model_name,
        scenario=task.scenario.name,
        task=task.task,
        run=task.run,
        rms_error=rms(error),
        max_error=np.abs(error).max(axis=0),
        iae=metrics.integral_absolute_error(error, dt),
        itae=metrics.integral_time_absolute_error(error, dt),
        tip_rms_error=float(rms(distance)),
        tip_max_error=float(distance.max()),
        tip_iae=float(metrics.integral_absolute_error(distance, dt)),
        tip_itae=float(metrics.integral_time_absolute_error(distance, dt)),
        torque_mismatch=mismatch,
        **step,
        tip_step=_tip_step(log.t, tip_reference - tip) if task.is_step else None,
        energy=metrics.absolute_energy(applied, log.q),
        energy_signed=metrics.compute_signed_energy(applied, log.q),
        torque_rms=rms(applied),
        torque_variation=metrics.torque_variation(applied, dt),
        chattering_index=metrics.compute_chattering_index(applied, dt, needed),
        peak_torque=peak,
        peak_ratio=peak / robot.limits.effort,
        saturated=float((applied != log.tau_cmd).any(axis=1).sum() * dt),
        torque_error=torque_error,
        trace=_trace(log, error, tip, tip_reference, task.trace_samples) if task.traced else None,
    )


def _torque_error(model: Robot, reference: Reference, true: Float2D) -> tuple[Float1D, Float1D]:
    """Compute the RMS torque error of a model along the reference, absolute and relative."""
    error = rms(joint_torque(model, reference.q, reference.dq, reference.ddq) - true)
    size = np.maximum(rms(true), MIN_TORQUE_SHARE * rms(true).max())
    return error, error / np.maximum(size, np.finfo(float).tiny)


def _tip_step(t: Float1D, error: Float2D) -> StepMetrics | None:
    """Compute the metrics of the tip's return to its reference, along a straight line."""
    start = float(np.linalg.norm(error[0]))
    return step_metrics(t, error @ (error[0] / start)) if start > 0.0 else None


def _trace(log: Log, error: Float2D, tip: Float2D, tip_reference: Float2D, most: int) -> Trace:
    assert log.truth is not None
    thinned = slice(None, None, -(-log.t.size // most))
    work = np.abs(metrics.step_work(log.truth.tau, log.q))
    energy = np.vstack([np.zeros(log.dof), np.cumsum(work, axis=0)])
    return Trace(
        t=log.t[thinned],
        error=error[thinned],
        tip=tip[thinned],
        tip_reference=tip_reference[thinned],
        tau=log.truth.tau[thinned],
        energy=energy[thinned],
    )


def _is_displaced(start: Float1D) -> Bool1D:
    """Find the joints that start far enough from their reference for step metrics."""
    return np.asarray(np.abs(start) > MIN_START_SHARE * np.abs(start).max())


def _worst(joints: Sequence[StepMetrics]) -> dict[str, float | None]:
    """Return the largest of every metric over the joints; None if unknown or without joints."""
    largest: dict[str, float | None] = {}
    for field in dataclasses.fields(StepMetrics):
        values = [getattr(joint, field.name) for joint in joints]
        largest[field.name] = None if None in values else max(values, default=None)
    return largest
