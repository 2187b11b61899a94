"""Gains from the specification, without tuning, on every robot: the true model in the engine."""

import numpy as np
import pytest
from robots import urdf_path
from sampling import sampled
from studies import comparison, loop_of

from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

pytestmark = pytest.mark.slow

ARMS = ("irb140", "irb120", "rs010n", "rocr6", "twolink", "iiwa", "panda")
LAPS = comparison(baselines=(), slow_lap=None, tasks={"circle": {}, "figure-eight": {}})


def nominal_loop(name, plan, seed=0):
    plant = Robot.from_urdf(urdf_path(name))
    nominal = perturb(plant, np.random.default_rng(1000 + seed))
    return loop_of(plant, nominal, {}, seed, plan, workers=2)


@pytest.mark.parametrize("name", sampled(ARMS, "irb140", "twolink"))
def test_circle_and_figure_eight_are_tracked_without_tuning(name):
    loop = nominal_loop(name, LAPS)
    assert loop.laps == ("circle-fast", "figure-eight-fast")
    assert loop.failures == ()
    for lap in loop.laps:
        quiet, shaken = (loop.find("true", s, lap) for s in loop.scenarios)
        assert (quiet.rms_error <= 2e-3).all()
        assert (quiet.chattering_index <= 0.05).all()
        assert quiet.saturated == 0.0
        assert (shaken.max_error <= 1.5 * loop.gains.error_bound).all()


@pytest.mark.parametrize("seed", sampled(range(3), 0))
def test_the_observer_keeps_peak_torques_near_those_of_the_clean_loop(seed):
    plan = comparison(
        baselines=(), slow_lap=None, tasks={"circle": {}}, scenarios=("feedback",), runs=2
    )
    loop = nominal_loop("irb140", plan, seed)
    for model in ("true", "nominal"):
        clean = loop.find(model, "undisturbed", "circle-fast")
        noisy = [r for r in loop.runs if (r.model, r.scenario) == (model, "feedback")]
        assert len(noisy) == 2
        for run in noisy:
            assert (run.peak_torque <= 1.2 * clean.peak_torque).all()
            assert np.linalg.norm(run.rms_error) < np.linalg.norm(clean.rms_error) + 1e-4


def test_every_scenario_runs_on_a_redundant_arm():
    scenarios = ("constant", "impulsive", "payload", "friction", "dropped-samples", "feedback")
    plan = comparison(
        baselines=(), slow_lap=None, tasks={"pick-and-place": {}, "task-step": {}},
        scenarios=(*scenarios, "computation-delay", "payload+sinusoidal+feedback"),
    )  # fmt: skip
    loop = nominal_loop("iiwa", plan)
    assert loop.failures == ()
    for run in loop.runs:
        if run.step is None:
            assert (run.rms_error < 0.02).all()
