"""The paper's three models, each as the arm itself: every controller knows its own plant exactly.

The paper does not say whether its models stand in the controller or in the simulated arm; section 3
"establishes three dynamic models" and drives each. `control` has the first reading, this module the
second. Table 3's links are no rigid bodies: the engine runs a possible set with the same torques.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.conditions import LoopSize, SinusoidalTorque, compose
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.model.catalog import load_robot, published_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.control import CIRCLE, DRAWN, EVERY_SAMPLE, SETTLED, STEP, STEP_KEYS
from robotid_sim.papers.irb140.published import ROBOT, ROOT, SETS
from robotid_sim.streams import named_stream
from robotid_sim.tasks.task import TaskRun
from robotid_sim.validation.closed_loop import Comparison, task_runs
from robotid_sim.validation.control_run import ControlRun, LoopTask, Trace, run_loop
from robotid_sim.validation.prediction import rms

JOINTS = 3
"""Joints whose links the paper identifies."""
RATE = 1000.0
"""Control rate [Hz]."""


def equivalent(robot: Robot, basis: BaseParameters, column: str) -> Robot:
    """Return a possible arm with the joint torques of a column of Table 3.

    Of all sets with the same base parameters it is the one nearest to `robot`.

    Raises
    ------
    InconsistentInertiaError
        If no rigid bodies have these torques.
    """
    beta = basis.of(published_robot(ROBOT, SETS[column]).parameters())
    phi = ConsistentProgram(robot, basis).exact(beta)
    if phi is None:
        raise InconsistentInertiaError(f"no rigid bodies have the torques of '{column}' of Table 3")
    return robot.with_parameters(phi)


def drive(seed: int, run: int, scenario: str, *, lap: float = 30.0) -> dict[str, Any]:
    """Return circle and joint step of the three arms, ``nominal`` or ``disturbed``.

    All have the gains of the reference; run r draws the same phases for all. The disturbance is a
    sinusoid of 40 % of the peak torque of the reference. The circle takes `lap` [s].

    Returns
    -------
    result : dict
        ``models``: by model ``tau`` (RMS over the lap of its difference to the reference's, after
        `SETTLED` [N m]), ``energy`` (integral of abs(tau dq) [J]), ``torque_rate`` (RMS after
        `SETTLED` [N m/s]), ``rms_error`` [rad], all per joint, and ``step``; ``curves`` of run 0.
    """
    reference = load_robot(ROBOT)
    basis = base_parameters(reference, ())
    arms = {model: equivalent(reference, basis, model) for model in SETS}
    fast, *_ = paths = task_runs(reference, Comparison(slow_lap=lap))
    tasks = {task.name: task for task in paths if task.name in (CIRCLE, STEP)}
    gains = _gains(reference, fast)
    runs = {
        (model, name): _run(arm, gains, task, Scenario())
        for model, arm in arms.items()
        for name, task in tasks.items()
    }
    if scenario == "disturbed":
        rng = named_stream(seed, ROOT, "plants", f"run {run}")
        peak = runs["reference", CIRCLE].peak_torque
        size = LoopSize(reference, peak, lap)
        shaken = compose(scenario, (SinusoidalTorque(),), size, rng)
        runs = {key: _run(arms[key[0]], gains, tasks[key[1]], shaken) for key in runs}
    true = _trace(runs["reference", CIRCLE])
    cases = {model: _case(runs[model, CIRCLE], runs[model, STEP], true) for model in SETS}
    curves = {model: _curve(_trace(runs[model, CIRCLE])) for model in SETS}
    return {"models": cases, "curves": curves if run == 0 else {}}


def _trace(run: ControlRun) -> Trace:
    assert run.trace is not None
    return run.trace


def _gains(reference: Robot, task: TaskRun) -> LoopGains:
    """Return the gains of the loop, from the fast lap as in `control`."""
    times = np.arange(0.0, task.trajectory.duration, 1.0 / RATE)
    return LoopGains.from_specification(reference, task.trajectory(times), rate=RATE)


def _run(plant: Robot, gains: LoopGains, task: TaskRun, scenario: Scenario) -> ControlRun:
    """Run an arm whose controller knows it exactly."""
    cell = Cell(plant=plant, controller=ComputedTorque(plant), rate=RATE)
    run = run_loop(
        LoopTask(
            cell=cell,
            model=plant,
            model_name="own",
            controller="sliding-mode",
            factory=SlidingMode.from_gains,
            gains=gains,
            task=task.name,
            trajectory=task.trajectory,
            is_step=task.is_step,
            scenario=replace(scenario, offset=task.offset),
            rng=np.random.default_rng(0),  # nothing is drawn: there are no sensors in the loop
            run=0,
            trace_samples=EVERY_SAMPLE,
        )
    )
    assert isinstance(run, ControlRun), run
    return run


def _case(lap: ControlRun, step: ControlRun, true: Trace) -> dict[str, Any]:
    trace = _trace(lap)
    assert step.step is not None
    later = trace.t >= SETTLED
    rate = np.diff(trace.tau[later], axis=0) / np.diff(trace.t[later])[:, None]
    values: dict[str, Float1D] = {
        "tau": rms((trace.tau - true.tau)[later]),
        "energy": lap.energy,
        "torque_rate": rms(rate),
        "rms_error": lap.rms_error,
    }
    return {
        **{name: value[:JOINTS].tolist() for name, value in values.items()},
        "step": {name: getattr(step.step, name) for name in STEP_KEYS},
    }


def _curve(trace: Trace) -> dict[str, Any]:
    """Return thinned time series of the first joints."""
    drawn = slice(None, None, max(1, trace.t.size // DRAWN))
    return {
        "t": trace.t[drawn].tolist(),
        "tau": np.round(trace.tau[drawn, :JOINTS], 6).tolist(),
        "energy": np.round(trace.energy[drawn, :JOINTS], 6).tolist(),
    }
