"""Where noise in the loop shakes the robot, output error is chosen, if nobody has chosen."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Feedback, Scenario
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit, chosen_name, loop_noise_sentence
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.trust import fit_remarks

pytestmark = pytest.mark.slow

NOISE = 2e-3  # [rad]


@pytest.fixture(scope="module")
def shaken(experiment, arm):
    """Return the log of a loop that sees the positions which it records, and what is known."""
    done = experiment(arm)
    controller = ComputedTorque(done.nominal, 2500.0, 100.0)
    observer = VelocityObserver(done.nominal, rate=1000.0, bandwidth=200.0)
    scenario = Scenario(feedback=Feedback(revolute=NOISE))
    options = {"scenario": scenario, "observer": observer, "rng": np.random.default_rng(0)}
    with Plant(arm) as plant:
        log = rollout(plant, controller, done.trajectory, **options)
    seen = NOISE * np.random.default_rng(0).standard_normal(log.q.shape)  # drawn first there
    log = replace(log, q=log.q + seen)
    return measure(log, [TorqueNoise(relative=0.01)], np.random.default_rng(1)), done


def fitted(log, done, **settings):
    plan = build_fit(load_config(None, {"estimation": settings} if settings else {}))
    return fit_logs(
        replace(log, truth=None), done.nominal, done.basis, plan, np.random.default_rng(0)
    )


@pytest.fixture(scope="module")
def fit(shaken):
    """Return the fit of that log with the settings by default."""
    return fitted(*shaken)


def test_output_error_is_chosen_where_the_loop_is_shaken_and_errs_less(fit, arm) -> None:
    assert fit.chosen.estimator == "output-error"
    assert fit.lift is not None
    errors = {e.estimator: e.beta - fit.basis.of(arm.parameters()) for e in fit.estimates}
    size = {name: np.linalg.norm(error / fit.chosen.std) for name, error in errors.items()}
    assert 3.0 * size["output-error"] < size["wls"]
    (sentence,) = [text for text in fit_remarks(fit) if "controller saw" in text]
    assert "output error, which simulates, is chosen" in sentence


def test_where_it_cannot_simulate_the_estimate_of_the_plan_is_taken(fit) -> None:
    plan = build_fit(load_config(None))
    estimates = {estimate.estimator: estimate for estimate in fit.estimates}
    assert chosen_name(plan, estimates, fit.loop_noise, fit.problem) == "output-error"
    without = replace(fit.problem, recordings=())
    assert chosen_name(plan, estimates, fit.loop_noise, without) == plan.chosen
    assert "gives no result" in loop_noise_sentence(fit.loop_noise, plan.chosen)


def test_an_estimator_that_the_user_chose_stays(shaken) -> None:
    fit = fitted(*shaken, estimators=("wls",), chosen="wls")
    assert [estimate.estimator for estimate in fit.estimates] == ["wls"]
    assert fit.loop_noise is None


def test_a_calm_loop_has_the_estimators_of_the_plan(shaken) -> None:
    _, done = shaken
    log = measure(done.log, [TorqueNoise(relative=0.01)], np.random.default_rng(1))
    fit = fitted(log, done)
    assert [estimate.estimator for estimate in fit.estimates] == ["ols", "wls", "consistent"]
    assert fit.chosen.estimator == "consistent"
    assert fit.loop_noise is None
