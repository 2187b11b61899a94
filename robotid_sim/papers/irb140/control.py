"""Three models under sliding-mode control on the circle: the published sets as formal models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.model.catalog import load_robot, published_robot
from robotid_sim.papers.irb140.published import ROBOT, SETS
from robotid_sim.papers.irb140.swarms import ROOT
from robotid_sim.streams import named_stream
from robotid_sim.validation.closed_loop import TRUE, UNDISTURBED, ClosedLoop, LoopPlan, closed_loop
from robotid_sim.validation.control_run import ControlRun
from robotid_sim.validation.prediction import rms

CIRCLE, STEP = "circle-slow", "joint-step"
SCENARIOS = {"nominal": UNDISTURBED, "disturbed": "sinusoidal"}
"""The paper's names of the scenarios, and ours."""
MODELS = {"reference": TRUE, "QPSO": "QPSO", "PSO": "PSO"}
"""The paper's models, and their names in the comparison: the plant is the reference."""

DRAWN = 250
"""Samples of a curve that is kept."""


def track(seed: int, run: int, *, lap: float = 30.0) -> dict[str, Any]:
    """Return the circle and the step with all models, nominal and disturbed; one run of 30.

    Run r draws the phases of the disturbance, which are the same for all models.

    Parameters
    ----------
    seed : int
        Seed of the reproduction.
    run : int
        Which run.
    lap : float
        Time of the circle [s].
    """
    plant = load_robot(ROBOT)
    models = {name: published_robot(ROBOT, SETS[name]) for name in ("QPSO", "PSO")}
    plan = LoopPlan(baselines=(), slow_lap=lap, scenarios=tuple(SCENARIOS.values()))
    rng = named_stream(seed, ROOT, "loop", f"run {run}")
    loop = closed_loop(plant, plant, models, rng, plan)
    cases = [
        _case(loop, scenario, model) for scenario in SCENARIOS for model in MODELS
    ]  # fmt: skip
    curves = _curves(loop) if run == 0 else {}
    return {"cases": cases, "curves": curves, "failures": [str(one) for one in loop.failures]}


def _case(loop: ClosedLoop, scenario: str, model: str) -> dict[str, Any]:
    """Return what tables and claims need of one model in one scenario."""
    run, true = (_found(loop, scenario, name, CIRCLE) for name in (model, "reference"))
    step = _found(loop, scenario, model, STEP)
    assert run.trace is not None
    assert true.trace is not None
    assert step.step is not None
    return {
        "scenario": scenario,
        "model": model,
        "torque_difference": rms(run.trace.tau - true.trace.tau).tolist(),
        "energy": run.energy.tolist(),
        "energy_signed": run.energy_signed.tolist(),
        "torque_rate": run.torque_variation.tolist(),
        "rms_error": run.rms_error.tolist(),
        "tip_rms": run.tip.rms,
        "saturated": run.saturated,
        "step": {
            "rise_time": step.step.rise_time,
            "settling_time": step.step.settling_time,
            "overshoot": step.step.overshoot,
            "steady_state_error": step.step.steady_state_error,
        },
    }


def _found(loop: ClosedLoop, scenario: str, model: str, task: str) -> ControlRun:
    run = loop.find(MODELS[model], SCENARIOS[scenario], task)
    assert run is not None, (scenario, model, task)
    return run


def _curves(loop: ClosedLoop) -> Mapping[str, Any]:
    """Return thinned time series of the first three joints, by scenario and model."""
    curves: dict[str, Any] = {}
    for scenario in SCENARIOS:
        for model in MODELS:
            trace = _found(loop, scenario, model, CIRCLE).trace
            assert trace is not None
            kept = slice(None, None, max(1, trace.t.size // DRAWN))
            curves[f"{scenario} {model}"] = {
                "t": trace.t[kept].tolist(),
                "tau": np.round(trace.tau[kept, :3], 6).tolist(),
                "energy": np.round(trace.energy[kept, :3], 6).tolist(),
                "tip": np.round(trace.tip[kept], 7).tolist(),
                "tip_reference": np.round(trace.tip_reference[kept], 7).tolist(),
            }
    return curves
