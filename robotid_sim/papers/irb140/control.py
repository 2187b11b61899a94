"""Three models under sliding-mode control on the circle: the published sets as formal models."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from robotid_sim.arrays import Float1D
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.conditions import (
    Condition,
    LoopSize,
    SinusoidalTorque,
    Undisturbed,
    compose,
)
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.model.catalog import published_plant, published_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.published import ROBOT, ROOT, SETS, TRACKING
from robotid_sim.streams import named_stream
from robotid_sim.tasks.steps import JointStep
from robotid_sim.tasks.task import Circle, TaskRun
from robotid_sim.validation.comparison import UNDISTURBED, Comparison, task_runs
from robotid_sim.validation.control_run import ControlRun, LoopTask, Trace, run_loop
from robotid_sim.validation.prediction import rms

CIRCLE, STEP = "circle-slow", "joint-step"
SCENARIOS: Mapping[str, tuple[str, Condition]] = {
    "nominal": (UNDISTURBED, Undisturbed()),
    "disturbed": ("sinusoidal", SinusoidalTorque()),
}
"""By the paper's names of the scenarios: ours, and what acts."""
MODELS = ("reference", "QPSO", "PSO")
"""Sets of Table 3 that are in the controller; the reference is the plant itself."""
RATE = 1000.0
"""Control rate [Hz]."""
SUBSTEPS = 2
"""Engine steps a control step, half of what a cell has by default, for time."""
STEP_KEYS = ("rise_time", "settling_time", "overshoot", "steady_state_error")
"""Metrics of the joint step, in the order of Table 4."""
STEP_TIME = 2.0
"""Time of the step [s], in which the slow loop settles."""
STEP_BANDWIDTHS = (3.0, 20.0)
"""Between which the bandwidth of the step's loop is sought [rad/s]."""
SETTLED = 0.3
"""Time that the loop takes to settle, in which the torques of the models differ most [s]."""
DRAWN = 250
"""Samples of a curve that is kept."""
EVERY_SAMPLE = 1_000_000
"""More samples than a lap has: torques that settle within milliseconds cannot be thinned."""


def track(seed: int, run: int, scenario: str, *, lap: float = 30.0) -> dict[str, Any]:
    """Return the circle, in `lap` [s], and the step with all models in one of `SCENARIOS`.

    Run r draws the phases of the disturbance, which are the same for all models. Nothing is drawn
    in the nominal scenario, so that one run of it is all there is.
    """
    plant = published_plant(ROBOT)
    known = {"reference": plant}
    known |= {model: published_robot(ROBOT, SETS[model]) for model in ("QPSO", "PSO")}
    tasks = prepare_tasks(lap)
    name, condition = SCENARIOS[scenario]
    runs: dict[tuple[str, str], ControlRun] = {}
    for key, each in tasks.items():
        size = LoopSize(plant, each.peak, each.task.trajectory.duration)
        rng = named_stream(named_stream(seed, ROOT, "loop", f"run {run}"), "run 0", name)
        acting = compose(name, (condition,), size, rng)
        for m in MODELS:
            runs[m, key] = run_task(plant, known[m], each.gains, each.task, acting)
    bandwidth = {"step_bandwidth": tasks[STEP].gains.bandwidth}
    return {
        "cases": [_case(runs, scenario, model) | bandwidth for model in MODELS],
        "curves": _curves(runs, scenario) if run == 0 else {},
    }


@dataclass(frozen=True)
class PreparedTask:
    """A task with the gains of its loop, which all models and runs share."""

    task: TaskRun
    gains: LoopGains
    peak: Float1D
    """Largest torques of the undisturbed loop with the true model, which size a disturbance [N m],
    shape (n,)."""


@lru_cache(maxsize=1)
def prepare_tasks(lap: float) -> dict[str, PreparedTask]:
    """Prepare the circle of `lap` [s] and the joint step, by name.

    The gains of the circle are those of a specification for a fast lap; those of the step let the
    true model rise as slowly as Table 4 has it.
    """
    plant = published_plant(ROBOT)
    asked = {"circle": Circle(), STEP: JointStep(seconds=STEP_TIME)}
    fast, *_ = paths = task_runs(plant, Comparison(tasks=asked, slow_lap=lap))
    tasks = {task.name: task for task in paths}
    times = np.arange(0.0, fast.trajectory.duration, 1.0 / RATE)
    path = fast.trajectory(times)

    def gains_of(bandwidth: float) -> LoopGains:
        return LoopGains.from_specification(
            plant, path, rate=RATE, error=np.inf, bandwidth=bandwidth
        )

    def rise_beyond_print(bandwidth: float) -> float:
        metrics = run_task(plant, plant, gains_of(bandwidth), tasks[STEP]).step
        assert metrics is not None
        assert metrics.rise_time is not None
        return metrics.rise_time - TRACKING["nominal"]["reference"][0]

    slow = gains_of(brentq(rise_beyond_print, *STEP_BANDWIDTHS, xtol=1e-3))
    gains = LoopGains.from_specification(plant, path, rate=RATE)
    return {
        task.name: PreparedTask(task, loop, run_task(plant, plant, loop, task).peak_torque)
        for task, loop in ((tasks[CIRCLE], gains), (tasks[STEP], slow))
    }


def run_task(
    plant: Robot, model: Robot, gains: LoopGains, task: TaskRun, scenario: Scenario | None = None
) -> ControlRun:
    """Return the run of an arm on a task, with a model in its sliding-mode controller."""
    run = run_loop(
        LoopTask(
            cell=Cell(plant=plant, controller=ComputedTorque(plant), rate=RATE, substeps=SUBSTEPS),
            model=model,
            model_name=model.name,
            controller="sliding-mode",
            factory=SlidingMode.from_gains,
            gains=gains,
            task=task.name,
            trajectory=task.trajectory,
            is_step=task.is_step,
            scenario=replace(scenario or Scenario(), offset=task.offset),
            rng=np.random.default_rng(0),  # nothing is drawn: there are no sensors in the loop
            run=0,
            trace_samples=EVERY_SAMPLE,
        )
    )
    assert isinstance(run, ControlRun), run
    return run


def trace_of(run: ControlRun) -> Trace:
    """Return the time series of a run, which all runs here keep."""
    assert run.trace is not None
    return run.trace


def _case(runs: Mapping[tuple[str, str], ControlRun], scenario: str, model: str) -> dict[str, Any]:
    """Return what tables and claims need of one model in one scenario."""
    run, step = runs[model, CIRCLE], runs[model, STEP]
    assert step.step is not None
    trace, true = trace_of(run), trace_of(runs["reference", CIRCLE])
    apart, later = trace.tau - true.tau, trace.t >= SETTLED
    return {
        "scenario": scenario,
        "model": model,
        "torque_difference": rms(apart).tolist(),
        "torque_difference_settled": rms(apart[later]).tolist(),
        "energy": run.energy.tolist(),
        "energy_signed": run.energy_signed.tolist(),
        "energy_settled": (trace.energy[-1] - trace.energy[later][0]).tolist(),
        "torque_rate": run.torque_variation.tolist(),
        "torque_rate_settled": torque_rate(trace).tolist(),
        "rms_error": run.rms_error.tolist(),
        "step": {name: getattr(step.step, name) for name in STEP_KEYS},
    }


def torque_rate(trace: Trace) -> Float1D:
    """Return the RMS torque rate after the loop has settled [N m/s], shape (n,)."""
    later = trace.t >= SETTLED
    return rms(np.diff(trace.tau[later], axis=0) / np.diff(trace.t[later])[:, None])


def _curves(runs: Mapping[tuple[str, str], ControlRun], scenario: str) -> Mapping[str, Any]:
    """Return thinned time series of the first three joints, by scenario and model."""
    curves: dict[str, Any] = {}
    for model in MODELS:
        trace = trace_of(runs[model, CIRCLE])
        drawn = slice(None, None, max(1, trace.t.size // DRAWN))
        curves[f"{scenario} {model}"] = {
            "t": trace.t[drawn].tolist(),
            "tau": np.round(trace.tau[drawn, :3], 6).tolist(),
            "energy": np.round(trace.energy[drawn, :3], 6).tolist(),
            "tip": np.round(trace.tip[drawn], 7).tolist(),
            "tip_reference": np.round(trace.tip_reference[drawn], 7).tolist(),
        }
    return curves
