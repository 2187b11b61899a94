"""What is chosen if nobody has: output error where the loop shakes, sensors, friction."""

from dataclasses import replace

import numpy as np
import pytest
from studies import simulated

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Feedback, Scenario
from robotid_sim.measurement.sensors import PRESETS, measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.pipeline.build import build_part, build_sensors, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit, choose_estimate, loop_noise_sentence
from robotid_sim.pipeline.scoring import compare_preprocessing
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.trust import fit_remarks
from robotid_sim.trajectory.reference import PointToPoint

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


@pytest.mark.slow
def test_output_error_is_chosen_where_the_loop_is_shaken_and_errs_less(fit, arm) -> None:
    assert fit.chosen.estimator == "output-error"
    assert fit.consistent_robot is not None
    errors = {e.estimator: e.beta - fit.basis.project(arm.parameters()) for e in fit.estimates}
    size = {name: np.linalg.norm(error / fit.chosen.std) for name, error in errors.items()}
    assert 3.0 * size["output-error"] < size["wls"]
    (sentence,) = [text for text in fit_remarks(fit) if "fed back by the controller" in text]
    assert "output error is chosen" in sentence


@pytest.mark.slow
def test_where_it_cannot_simulate_the_estimate_of_the_plan_is_taken(fit) -> None:
    plan = build_fit(load_config(None))
    estimates = {estimate.estimator: estimate for estimate in fit.estimates}
    assert choose_estimate(plan, estimates, fit.loop_noise, fit.problem) == "output-error"
    without = replace(fit.problem, recordings=())
    assert choose_estimate(plan, estimates, fit.loop_noise, without) == plan.chosen
    assert "failed; lower the gains" in loop_noise_sentence(fit.loop_noise, plan.chosen)


@pytest.mark.slow
def test_an_estimator_that_the_user_chose_stays(shaken) -> None:
    fit = fitted(*shaken, estimators=("wls",), chosen="wls")
    assert [estimate.estimator for estimate in fit.estimates] == ["wls"]
    assert fit.loop_noise is None


@pytest.mark.slow
def test_a_calm_loop_has_the_estimators_of_the_plan(shaken) -> None:
    _, done = shaken
    log = measure(done.log, [TorqueNoise(relative=0.01)], np.random.default_rng(1))
    fit = fitted(log, done)
    assert [estimate.estimator for estimate in fit.estimates] == ["wls", "consistent"]
    assert fit.chosen.estimator == "consistent"
    assert fit.loop_noise is None


def still(robot):
    return PointToPoint(robot.joint_names, robot.home, robot.home + 0.3, 0.0, 1.0)


def test_a_preset_is_its_sensors_and_a_listed_sensor_changes_it() -> None:
    lab = load_config(None, {"preset": "lab"})
    assert lab.list_sensors() == PRESETS["lab"]
    louder = load_config(None, {"preset": "lab", "sensors": {"torque-noise": {"relative": 0.5}}})
    assert list(louder.list_sensors()) == list(PRESETS["lab"])
    assert louder.list_sensors()["torque-noise"] == {"relative": 0.5}
    assert load_config(None).list_sensors() == {"encoder-noise": {}, "torque-noise": {}}
    assert build_sensors(load_config(None, {"preset": "ideal"})) == ()


def test_the_ideal_preset_measures_the_truth(arm) -> None:
    config = load_config(None, {"preset": "ideal"})
    log = simulated(arm, still(arm), config)
    np.testing.assert_array_equal(log.q, log.truth.q)
    np.testing.assert_array_equal(log.tau_meas, log.truth.tau)


def test_the_plant_has_the_friction_that_is_asked_for(arm) -> None:
    config = load_config(
        None, {"preset": "ideal", "experiment": {"friction": {"law": "stribeck", "static": 1.5}}}
    )
    log = simulated(arm, still(arm), config)
    assert log.provenance["friction"]["law"] == "stribeck"
    assert log.truth.friction is not None
    plain = simulated(arm, still(arm), load_config(None, {"preset": "ideal"}))
    assert plain.truth.friction is None
    assert np.abs(log.truth.tau - plain.truth.tau).max() > 0.01


@pytest.mark.parametrize(
    ("friction", "words"),
    [({"static": 2.0}, "needs a law"), ({"law": "stribeck", "x": 1}, "no option 'x'")],
)
def test_friction_needs_a_law_that_has_its_options(friction, words) -> None:
    config = load_config(None, {"experiment": {"friction": friction}})
    with pytest.raises(OptionError, match=words):
        build_part(FRICTION_LAWS, config.experiment.friction, "friction", "law")


def test_a_cell_without_noise_has_no_bound_to_compare_with(arm) -> None:
    config = load_config(
        None, {"preset": "ideal", "preprocess": {"name": "rts"}, "control": {"enabled": False}}
    )
    path = PointToPoint(arm.joint_names, arm.home, arm.home + 0.3, 0.0, 2.0)
    log, setup = simulated(arm, path, config), build_setup(arm, config)
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, np.random.default_rng(0))
    compared = compare_preprocessing(arm, fit.nominal, log, fit)
    assert {entry.parameter_error_over_bound for entry in compared} == {None}
