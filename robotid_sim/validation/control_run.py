"""One closed-loop run in the engine, and what it is judged by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.control.controller import ControllerFactory, Delayed
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import ControllerError, RankDeficientError, SimulationDiverged
from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.kinematics.forward import tip_position
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Reference, Trajectory
from robotid_sim.validation import metrics
from robotid_sim.validation.metrics import StepMetrics, step_metrics
from robotid_sim.validation.prediction import rms

SMALL_TORQUE = 1e-3
"""Torques below this share of the largest joint's are no yardstick for a mismatch."""

TRACE_SAMPLES = 1000
"""Most samples of a run that are kept for figures, unless asked otherwise."""

SMALL_START = 0.05
"""A joint that starts nearer to its reference, over the joint farthest from it, has no step."""

OBSERVER_RATIO = 1.75
"""Bandwidth of the velocity observer over that of the loop."""

OBSERVER_HIGHEST = 0.25
"""Highest bandwidth of the observer over the sample rate [rad]."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopTask:
    """One run to do: everything that a worker process needs."""

    cell: Cell
    """Holds the plant as it is before the scenario changes it."""
    model: Robot
    model_name: str
    controller: str
    factory: ControllerFactory
    """Builds the controller of that name."""
    gains: LoopGains
    task: str
    trajectory: Trajectory
    is_step: bool
    """Whether the run starts away from where it shall be and has step metrics."""
    scenario: Scenario
    rng: np.random.Generator
    """Source of the noise in the loop."""
    run: int
    """Which repetition this is, from 0."""
    substeps: int
    traced: bool = True
    """Whether to keep the time series."""
    trace_samples: int = TRACE_SAMPLES
    """Most samples of it that are kept."""


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
    """Where the tip shall be [m]."""
    tau: Float2D
    """Applied torque [N m]."""
    energy: Float2D
    """Integral of |tau dq| of every joint up to then [J]; of all samples, not the kept ones."""

    @property
    def tip_error(self) -> Float1D:
        """Distance of the tip from its reference [m], shape (N,)."""
        return np.asarray(np.linalg.norm(self.tip - self.tip_reference, axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class TipError:
    """Distance of the tip from its reference over a run."""

    rms: float
    """[m]."""
    largest: float
    """[m]."""
    iae: float
    """Integral of the distance [m s]."""
    itae: float
    """Integral of time times distance [m s^2]."""
    step: StepMetrics | None
    """Of the way back to the reference; None for tasks that start there."""


@dataclass(frozen=True, slots=True, eq=False)
class ControlRun:
    """One closed-loop run; arrays have one entry per joint."""

    controller: str
    model: str
    scenario: str
    task: str
    run: int
    """Which repetition this is, from 0."""
    rms_error: Float1D
    """RMS tracking error [rad or m]."""
    max_error: Float1D
    iae: Float1D
    """Integral of the absolute error [rad s or m s]."""
    itae: Float1D
    """Integral of time times the absolute error [rad s^2 or m s^2]."""
    tip: TipError
    torque_mismatch: Float1D
    """RMS torque error of the model along the reference over the RMS true torque."""
    torque_error: Float1D
    """RMS torque error of the model along the reference [N m]."""
    error_bound: Float1D
    """What the gains promise under the disturbance bound [rad or m]."""
    energy: Float1D
    """Integral of |tau dq| [J]."""
    energy_signed: Float1D
    """Integral of tau dq [J]."""
    torque_rms: Float1D
    """RMS applied torque [N m]."""
    torque_variation: Float1D
    """RMS torque rate [N m/s]."""
    chattering_index: Float1D
    """Share of torque-rate energy above 50 Hz, beyond what the reference needs."""
    peak_torque: Float1D
    """Largest applied torque [N m]."""
    peak_ratio: Float1D
    """Largest applied torque over the limit; 0 where there is no limit."""
    saturated: float
    """Time in which a torque was clipped [s]."""
    step: StepMetrics | None
    """Worst joint of a step-like start; None for other tasks."""
    trace: Trace | None


@dataclass(frozen=True, slots=True, eq=False)
class FailedRun:
    """A run that ended before its time: the loop diverged, or the controller gave no torque."""

    controller: str
    model: str
    scenario: str
    task: str
    run: int
    message: str
    log: Log | None
    """What was recorded until then."""

    def __str__(self) -> str:
        return (
            f"{self.controller} with the {self.model} model, {self.task}, {self.scenario}, run "
            f"{self.run}: {self.message}"
        )


def run_loop(task: LoopTask) -> ControlRun | FailedRun:
    """Run one loop in the engine and return its metrics, or how it failed."""
    try:
        return _measured(task, closed_loop_log(task))
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


def closed_loop_log(task: LoopTask) -> Log:
    """Run one loop in the engine and return its clean log."""
    cell, scenario = task.cell, task.scenario
    robot = scenario.plant(cell.plant)
    controller = task.factory(task.model, task.gains)
    if scenario.delay:
        controller = Delayed(controller)
    observer = None
    if scenario.feedback is not None:
        highest = OBSERVER_HIGHEST * cell.rate
        bandwidth = min(OBSERVER_RATIO * task.gains.bandwidth, highest)
        observer = VelocityObserver(task.model, cell.rate, bandwidth)
    substeps = task.substeps
    if scenario.changes:
        substeps = max(substeps, cell.substeps_along(task.trajectory, robot))
    with cell.open(substeps, robot) as plant:
        return rollout(
            plant,
            controller,
            task.trajectory,
            scenario=scenario,
            observer=observer,
            rng=task.rng,
        )


def _measured(task: LoopTask, log: Log) -> ControlRun:
    assert log.truth is not None
    assert log.tau_cmd is not None
    reference, applied, dt = task.trajectory(log.t), log.truth.tau, log.dt
    robot = task.cell.plant
    error = reference.q - log.q
    needed = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    torque_error, mismatch = _torque_error(task.model, reference, needed)
    tip, tip_reference = tip_position(robot, log.q), tip_position(robot, reference.q)
    peak = np.abs(applied).max(axis=0)
    moved = error.T[_moved(error[0])] if task.is_step else error.T[:0]
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
        tip=_tip_error(log.t, tip_reference - tip, dt, is_step=task.is_step),
        torque_mismatch=mismatch,
        torque_error=torque_error,
        error_bound=task.gains.error_bound,
        energy=metrics.absolute_energy(applied, log.q),
        energy_signed=metrics.signed_energy(applied, log.q),
        torque_rms=rms(applied),
        torque_variation=metrics.torque_variation(applied, dt),
        chattering_index=metrics.chattering_index(applied, dt, needed),
        peak_torque=peak,
        peak_ratio=peak / robot.limits.effort,
        saturated=float((applied != log.tau_cmd).any(axis=1).sum() * dt),
        step=_worst([step_metrics(log.t, e) for e in moved]) if task.is_step else None,
        trace=_trace(log, error, tip, tip_reference, task.trace_samples) if task.traced else None,
    )


def _torque_error(model: Robot, reference: Reference, true: Float2D) -> tuple[Float1D, Float1D]:
    """Return the RMS torque error of a model along the reference, absolute and relative."""
    error = rms(joint_torque(model, reference.q, reference.dq, reference.ddq) - true)
    size = np.maximum(rms(true), SMALL_TORQUE * rms(true).max())
    return error, error / np.maximum(size, np.finfo(float).tiny)


def _tip_error(t: Float1D, error: Float2D, dt: float, *, is_step: bool) -> TipError:
    """Return the metrics of the tip; `error` is its reference minus its position, shape (N, 3)."""
    distance = np.linalg.norm(error, axis=1)
    step, start = None, float(distance[0])
    if is_step and start > 0.0:
        step = step_metrics(t, error @ (error[0] / start))  # the way back, along a straight line
    return TipError(
        rms=float(rms(distance)),
        largest=float(distance.max()),
        iae=float(metrics.integral_absolute_error(distance, dt)),
        itae=float(metrics.integral_time_absolute_error(distance, dt)),
        step=step,
    )


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


def _moved(start: Float1D) -> Bool1D:
    """Return which joints start away from their reference, far enough to be judged by it."""
    return np.asarray(np.abs(start) > SMALL_START * np.abs(start).max())


def _worst(joints: Sequence[StepMetrics]) -> StepMetrics:
    """Return the largest of every metric over the joints; unknown is worst."""

    def largest(values: Sequence[float | None]) -> float | None:
        numbers = [v for v in values if v is not None]
        return max(numbers) if len(numbers) == len(values) else None

    return StepMetrics(
        rise_time=largest([j.rise_time for j in joints]),
        settling_time=largest([j.settling_time for j in joints]),
        overshoot=max(j.overshoot for j in joints),
        steady_state_error=max(j.steady_state_error for j in joints),
    )
