"""Three models under sliding-mode control on the circle: the published sets as formal models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.conditions import SinusoidalTorque, Undisturbed
from robotid_sim.model.catalog import load_robot, published_robot
from robotid_sim.papers.irb140.published import ROBOT, ROOT, SETS
from robotid_sim.streams import named_stream
from robotid_sim.validation import closed_loop
from robotid_sim.validation.closed_loop import ClosedLoop, Comparison
from robotid_sim.validation.control_run import ControlRun, Trace
from robotid_sim.validation.prediction import rms

CIRCLE, STEP = "circle-slow", "joint-step"
SCENARIOS = {"nominal": closed_loop.UNDISTURBED, "disturbed": "sinusoidal"}
"""The paper's names of the scenarios, and ours."""
CONDITIONS_OF = {"nominal": (Undisturbed(),), "disturbed": (SinusoidalTorque(),)}
MODELS = {"reference": closed_loop.TRUE, "QPSO": "QPSO", "PSO": "PSO"}
"""The paper's models, and their names in the comparison: the plant is the reference."""
STEP_KEYS = ("rise_time", "settling_time", "overshoot", "steady_state_error")
"""Metrics of the joint step, in the order of Table 4."""
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
    plant = load_robot(ROBOT)
    cell = Cell(plant=plant, controller=ComputedTorque(plant))
    models = {name: published_robot(ROBOT, SETS[name]) for name in ("QPSO", "PSO")}
    plan = Comparison(
        baselines={},
        slow_lap=lap,
        scenarios={SCENARIOS[scenario]: CONDITIONS_OF[scenario]},
        undisturbed=False,
        trace_samples=EVERY_SAMPLE,
    )
    rng = named_stream(seed, ROOT, "loop", f"run {run}")
    loop = closed_loop.closed_loop(cell, plant, models, rng, plan)
    return {
        "cases": [_case(loop, scenario, model) for model in MODELS],
        "curves": _curves(loop, scenario) if run == 0 else {},
    }


def _case(loop: ClosedLoop, scenario: str, model: str) -> dict[str, Any]:
    """Return what tables and claims need of one model in one scenario."""
    run, true = (_run_of(loop, scenario, name, CIRCLE) for name in (model, "reference"))
    step = _run_of(loop, scenario, model, STEP)
    assert run.trace is not None
    assert true.trace is not None
    assert step.step is not None
    apart, later = run.trace.tau - true.trace.tau, run.trace.t >= SETTLED
    return {
        "scenario": scenario,
        "model": model,
        "torque_difference": rms(apart).tolist(),
        "torque_difference_settled": rms(apart[later]).tolist(),
        "energy": run.energy.tolist(),
        "energy_signed": run.energy_signed.tolist(),
        "energy_settled": (run.trace.energy[-1] - run.trace.energy[later][0]).tolist(),
        "torque_rate": run.torque_variation.tolist(),
        "torque_rate_settled": _rate(run.trace).tolist(),
        "rms_error": run.rms_error.tolist(),
        "step": {name: getattr(step.step, name) for name in STEP_KEYS},
    }


def _run_of(loop: ClosedLoop, scenario: str, model: str, task: str) -> ControlRun:
    run = loop.find(MODELS[model], SCENARIOS[scenario], task)
    assert run is not None, (scenario, model, task)
    return run


def _rate(trace: Trace) -> Float1D:
    """Return the RMS torque rate after the loop has settled [N m/s], shape (n,)."""
    later = trace.t >= SETTLED
    return rms(np.diff(trace.tau[later], axis=0) / np.diff(trace.t[later])[:, None])


def _curves(loop: ClosedLoop, scenario: str) -> Mapping[str, Any]:
    """Return thinned time series of the first three joints, by scenario and model."""
    curves: dict[str, Any] = {}
    for model in MODELS:
        trace = _run_of(loop, scenario, model, CIRCLE).trace
        assert trace is not None
        drawn = slice(None, None, max(1, trace.t.size // DRAWN))
        curves[f"{scenario} {model}"] = {
            "t": trace.t[drawn].tolist(),
            "tau": np.round(trace.tau[drawn, :3], 6).tolist(),
            "energy": np.round(trace.energy[drawn, :3], 6).tolist(),
            "tip": np.round(trace.tip[drawn], 7).tolist(),
            "tip_reference": np.round(trace.tip_reference[drawn], 7).tolist(),
        }
    return curves
