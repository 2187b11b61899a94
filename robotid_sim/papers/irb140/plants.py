"""The paper's three models, each as the arm itself: every controller knows its own plant exactly.

The paper does not say whether its models stand in the controller or in the simulated arm; section 3
"establishes three dynamic models" and drives each. `control` has the first reading, this module the
second. Table 3's links are no rigid bodies: the engine runs a possible set with the same torques.
"""

from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.experiment.conditions import LoopSize, SinusoidalTorque, compose
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.model.catalog import published_plant, published_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.control import (
    CIRCLE,
    DRAWN,
    SETTLED,
    STEP,
    STEP_KEYS,
    prepare_tasks,
    run_task,
    torque_rate,
    trace_of,
)
from robotid_sim.papers.irb140.published import ROBOT, ROOT, SETS
from robotid_sim.streams import named_stream
from robotid_sim.validation.control_run import ControlRun, Trace
from robotid_sim.validation.prediction import rms

JOINTS = 3
"""Joints whose links the paper identifies."""


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
    reference = published_plant(ROBOT)
    basis = base_parameters(reference, ())
    arms = {model: equivalent(reference, basis, model) for model in SETS}
    tasks = prepare_tasks(lap)
    runs: dict[tuple[str, str], ControlRun] = {}
    for name, each in tasks.items():
        acting = Scenario()
        if scenario == "disturbed":
            rng = named_stream(seed, ROOT, "plants", f"run {run}")
            size = LoopSize(reference, each.peak, each.task.trajectory.duration)
            acting = compose(scenario, (SinusoidalTorque(),), size, rng)
        for model, arm in arms.items():
            runs[model, name] = run_task(arm, arm, each.gains, each.task, acting)
    true = trace_of(runs["reference", CIRCLE])
    cases = {model: _case(runs[model, CIRCLE], runs[model, STEP], true) for model in SETS}
    curves = {model: _curve(trace_of(runs[model, CIRCLE])) for model in SETS}
    return {"models": cases, "curves": curves if run == 0 else {}}


def _case(lap: ControlRun, step: ControlRun, true: Trace) -> dict[str, Any]:
    trace = trace_of(lap)
    assert step.step is not None
    later = trace.t >= SETTLED
    values: dict[str, Float1D] = {
        "tau": rms((trace.tau - true.tau)[later]),
        "energy": lap.energy,
        "torque_rate": torque_rate(trace),
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
