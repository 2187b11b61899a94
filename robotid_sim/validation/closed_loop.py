"""The closed loop in the engine: what the identified model is worth to a controller.

Every loop runs on the true plant; only the model inside the controller differs. The gains come from
the nominal model once and are the same for all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control import ComputedTorque, Controller, GravityPd, LoopGains, SlidingMode
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.kinematics import tip_position
from robotid_sim.engine.plant import Plant, substeps_for
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.trajectory.design import silent
from robotid_sim.trajectory.path import Lap, fastest_lap, tracking_path
from robotid_sim.trajectory.quintic import PointToPoint
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.validation.metrics import (
    StepMetrics,
    absolute_energy,
    chattering_index,
    step_metrics,
    torque_variation,
)
from robotid_sim.validation.prediction import rms

ModelName = Literal["true", "nominal", "identified"]

DISTURBANCE = 0.4
"""Amplitude of the disturbance over the peak torque of the undisturbed run, see `Scenario`."""

SMALL_TORQUE = 1e-3
"""Torques below this share of the largest joint's are no yardstick for a mismatch."""

STEP_REVOLUTE = 0.02  # [rad]
STEP_PRISMATIC = 0.002  # [m]
STEP_SECONDS = 1.5
LONGEST_LAP = 30.0  # [s]
TRACE_SAMPLES = 1000
"""Most samples of a run that are kept for figures."""

SERIAL_SECONDS = 60.0
"""Simulated time below which starting processes takes longer than the loops [s]."""

FAST_SHARE = 0.6
"""Share of the limits that the fast lap uses."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopTask:
    """One run to do: everything a worker process needs."""

    plant: Robot
    model: Robot
    model_name: ModelName
    controller: str
    gains: LoopGains
    task: str
    trajectory: Trajectory
    scenario: Scenario
    rate: float
    substeps: int


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Time series of a closed-loop run, thinned out for figures; shapes (N,) or (N, n)."""

    t: Float1D
    """Time [s]."""
    error: Float2D
    """Tracking error of the joints [rad or m]."""
    tip_error: Float1D
    """Distance of the tip from its reference [m]."""
    tau: Float2D
    """Applied torque [N m]."""
    energy: Float1D
    """Integral of |tau dq| over all joints up to then [J]; of all samples, not the kept ones."""


@dataclass(frozen=True, slots=True, eq=False)
class ControlRun:
    """One closed-loop run; arrays have one entry per joint."""

    controller: str
    model: ModelName
    scenario: str
    task: str
    rms_error: Float1D
    """RMS tracking error [rad or m]."""
    max_error: Float1D
    torque_mismatch: Float1D
    """RMS torque error of the model along the reference over the RMS true torque."""
    torque_error: Float1D
    """RMS torque error of the model along the reference [N m]."""
    error_bound: Float1D
    """What the gains promise under the disturbance bound [rad or m]."""
    energy: Float1D
    """Integral of |tau dq| [J]."""
    torque_variation: Float1D
    """RMS torque rate [N m/s]."""
    chattering_index: Float1D
    """Share of torque-rate energy above 50 Hz."""
    peak_torque: Float1D
    """Largest applied torque [N m]."""
    saturated: float
    """Time in which a torque was clipped [s]."""
    step: StepMetrics | None
    """Worst joint of a step-like start; None for other tasks."""
    trace: Trace


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    """All runs of a closed-loop comparison."""

    runs: tuple[ControlRun, ...]
    gains: LoopGains

    def find(self, model: ModelName, scenario: str, task: str) -> ControlRun:
        """Return the sliding-mode run of a model, scenario and task."""
        return next(
            run
            for run in self.runs
            if (run.controller, run.model, run.scenario, run.task)
            == ("sliding-mode", model, scenario, task)
        )

    @property
    def laps(self) -> tuple[str, ...]:
        """Names of the tasks that follow a path."""
        return tuple(dict.fromkeys(run.task for run in self.runs if run.step is None))

    def gap_left(self, units: Sequence[str]) -> float:
        """Return the share of the gap between nominal and true model that is left, worst lap.

        Compared are the undisturbed RMS errors of all joints of one unit together; 0 means that the
        identified model tracks as well as the true one.
        """
        left = []
        for true, nominal, found in self._compared(units, lambda run: run.rms_error):
            left.append((found - true) / max(nominal - true, np.finfo(float).tiny))
        return max(left)

    def mismatch_left(self, units: Sequence[str]) -> float:
        """Return the identified model's torque error over the nominal's, joints of one unit."""
        compared = self._compared(units, lambda run: run.torque_error)
        return max(found / max(nominal, np.finfo(float).tiny) for _, nominal, found in compared)

    def _compared(
        self, units: Sequence[str], value: Callable[[ControlRun], Float1D]
    ) -> list[tuple[float, float, float]]:
        """Return a value of true, nominal and identified model, RMS over joints of one unit."""
        compared = []
        for task in self.laps:
            models: tuple[ModelName, ...] = ("true", "nominal", "identified")
            runs = [self.find(model, "undisturbed", task) for model in models]
            for unit in dict.fromkeys(units):
                of_unit = [u == unit for u in units]
                true, nominal, found = (float(rms(value(run)[of_unit])) for run in runs)
                compared.append((true, nominal, found))
        return compared


def closed_loop(
    plant: Robot,
    nominal: Robot,
    identified: Robot,
    *,
    rate: float = 1000.0,
    substeps: int = 4,
    slow_lap: float | None = 30.0,
    radius: float | None = None,
    baselines: bool = True,
    bandwidth: float = 50.0,
    error: float = 0.01,
    workers: int = 1,
    progress: Callable[[str, float], None] = silent,
) -> ClosedLoop:
    """Run the sliding-mode loop with the true, the nominal and the identified model.

    Tasks are a circle of the tip (see `tracking_path`) in `slow_lap` seconds and as fast as 60 % of
    the limits allow, and a step-like start. The laps run undisturbed and with the sinusoidal
    disturbance of 40 % of the peak torque of the true model's undisturbed run. Computed torque and
    PD with gravity compensation run the fast lap with the identified model, as baselines.

    Parameters
    ----------
    plant, nominal, identified : Robot
        The truth, what was known, and what was found.
    rate : float
        Control rate [Hz].
    substeps : int
        Engine steps per control step, at least.
    slow_lap : float
        Time of the slow lap [s]; None for the fast lap only.
    radius : float, optional
        Radius of the circle [m].
    baselines : bool
        Run computed torque and PD with gravity compensation too.
    bandwidth, error : float
        Specification of the gains: see `LoopGains.from_specification`.
    workers : int
        Processes that share the runs.
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    SimulationDiverged
        If a loop diverges.
    """
    path = tracking_path(nominal, radius)
    fast = fastest_lap(nominal, path, FAST_SHARE, slow_lap or LONGEST_LAP)
    laps = {f"{path.task}-fast": fast}
    if slow_lap is not None:
        laps[f"{path.task}-slow"] = Lap(path, slow_lap)
    reference = fast(np.arange(0.0, fast.duration, 1.0 / rate))
    gains = LoopGains.from_specification(
        nominal, reference, rate=rate, bandwidth=bandwidth, error=error, disturbance=DISTURBANCE
    )
    models: dict[ModelName, Robot] = {"true": plant, "nominal": nominal, "identified": identified}
    template = LoopTask(
        plant=plant,
        model=plant,
        model_name="true",
        controller="sliding-mode",
        gains=gains,
        task="",
        trajectory=fast,
        scenario=Scenario(),
        rate=rate,
        substeps=substeps_for(plant, path.points, 1.0 / rate, substeps),
    )
    first = [replace(template, task=name, trajectory=lap) for name, lap in laps.items()]
    # These decide the disturbance of the others; two are too few to start processes for.
    runs = map_tasks(run_loop, first, 1, lambda share: progress("control", 0.2 * share))
    rest = _other_tasks(template, first, runs, models, baselines=baselines)
    seconds = sum(task.trajectory.duration for task in rest)
    if seconds < SERIAL_SECONDS:
        workers = 1
    # The longest first, so that no worker is left alone with one at the end.
    rest.sort(key=lambda task: -task.trajectory.duration)
    runs += map_tasks(run_loop, rest, workers, lambda share: progress("control", 0.2 + 0.8 * share))
    return ClosedLoop(tuple(runs), gains)


def _other_tasks(
    template: LoopTask,
    first: Sequence[LoopTask],
    runs: Sequence[ControlRun],
    models: dict[ModelName, Robot],
    *,
    baselines: bool,
) -> list[LoopTask]:
    """Return all runs but the undisturbed laps of the true model, which come first."""
    tasks = []
    for done, run in zip(first, runs, strict=True):
        disturbed = Scenario(name="disturbed", amplitude=DISTURBANCE * run.peak_torque)
        for name, model in models.items():
            lap = replace(done, model=model, model_name=name)
            tasks.append(replace(lap, scenario=disturbed))
            if name != "true":
                tasks.append(lap)
        if baselines and done is first[0]:
            baseline = replace(done, model=models["identified"], model_name="identified")
            for controller in ("computed-torque", "gravity-pd"):
                one = replace(baseline, controller=controller)
                tasks += [one, replace(one, scenario=disturbed)]
    start = template.trajectory(np.zeros(1)).q[0]
    names = template.plant.joint_names
    still = PointToPoint(names, start, start, 0.0, STEP_SECONDS)
    sizes = [STEP_PRISMATIC if p else STEP_REVOLUTE for p in template.plant.prismatic]
    step = Scenario(offset=-np.array(sizes))
    at_rest = replace(template, trajectory=still, task="step", scenario=step)
    tasks += [replace(at_rest, model=model, model_name=name) for name, model in models.items()]
    return tasks


def run_loop(task: LoopTask) -> ControlRun:
    """Run one loop in the engine and return its metrics."""
    controller = make_controller(task.controller, task.model, task.gains)
    with Plant(task.plant, dt=1.0 / task.rate, substeps=task.substeps) as plant:
        log = rollout(plant, controller, task.trajectory, scenario=task.scenario)
    return _measured(task, log)


def make_controller(name: str, model: Robot, gains: LoopGains) -> Controller:
    """Return a controller with the gains of the common specification."""
    if name == "computed-torque":
        return ComputedTorque(model, gains.bandwidth**2, 2.0 * gains.bandwidth)
    if name == "gravity-pd":
        stiffness = gains.inertia * gains.bandwidth**2
        return GravityPd(model, stiffness, 2.0 * gains.inertia * gains.bandwidth)
    return SlidingMode(model, gains)


def _measured(task: LoopTask, log: Log) -> ControlRun:
    assert log.truth is not None
    assert log.tau_cmd is not None
    reference = task.trajectory(log.t)
    error = reference.q - log.q
    state = (reference.q, reference.dq, reference.ddq)
    true = joint_torque(task.plant, *state)
    torque_error = rms(joint_torque(task.model, *state) - true)
    torque_size = np.maximum(rms(true), SMALL_TORQUE * rms(true).max())
    applied = log.truth.tau
    step = None
    if task.task == "step":
        step = _worst([step_metrics(log.t, column) for column in error.T])
    return ControlRun(
        controller=task.controller,
        model=task.model_name,
        scenario=task.scenario.name,
        task=task.task,
        rms_error=rms(error),
        max_error=np.abs(error).max(axis=0),
        torque_mismatch=torque_error / np.maximum(torque_size, np.finfo(float).tiny),
        torque_error=torque_error,
        error_bound=task.gains.error_bound,
        energy=absolute_energy(applied, log.truth.dq, log.dt),
        torque_variation=torque_variation(applied, log.dt),
        chattering_index=chattering_index(applied, log.dt),
        peak_torque=np.abs(applied).max(axis=0),
        saturated=float((applied != log.tau_cmd).any(axis=1).sum() * log.dt),
        step=step,
        trace=_trace(task.plant, log, reference.q),
    )


def _trace(plant: Robot, log: Log, wanted: Float2D) -> Trace:
    assert log.truth is not None
    kept = slice(None, None, -(-log.t.size // TRACE_SAMPLES))
    power = np.abs(log.truth.tau * log.truth.dq).sum(axis=1)
    tip = tip_position(plant, log.q[kept]) - tip_position(plant, wanted[kept])
    return Trace(
        t=log.t[kept],
        error=(wanted - log.q)[kept],
        tip_error=np.linalg.norm(tip, axis=1),
        tau=log.truth.tau[kept],
        energy=(np.cumsum(power) * log.dt)[kept],
    )


def _worst(joints: Sequence[StepMetrics]) -> StepMetrics:
    """Return the largest of every metric over the joints; unknown is worst."""

    def largest(values: Sequence[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return max(known) if len(known) == len(values) else None

    return StepMetrics(
        rise_time=largest([j.rise_time for j in joints]),
        settling_time=largest([j.settling_time for j in joints]),
        overshoot=max(j.overshoot for j in joints),
        steady_state_error=max(j.steady_state_error for j in joints),
    )
