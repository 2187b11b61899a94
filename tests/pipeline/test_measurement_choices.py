"""Presets and the plant's friction in a study's configuration."""

import numpy as np
import pytest
from studies import simulated

from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.measurement.sensors import PRESETS
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.pipeline.build import build_part, build_sensors, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.scoring import compare_preprocessing
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.trajectory.reference import PointToPoint


def still(robot):
    return PointToPoint(robot.joint_names, robot.home, robot.home + 0.3, 0.0, 1.0)


def test_a_preset_is_its_sensors_and_a_listed_sensor_changes_it() -> None:
    lab = load_config(None, {"preset": "lab"})
    assert lab.measuring() == PRESETS["lab"]
    louder = load_config(None, {"preset": "lab", "sensors": {"torque-noise": {"relative": 0.5}}})
    assert list(louder.measuring()) == list(PRESETS["lab"])
    assert louder.measuring()["torque-noise"] == {"relative": 0.5}
    assert load_config(None).measuring() == {"encoder-noise": {}, "torque-noise": {}}
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
    ("overrides", "error", "words"),
    [
        ({"preset": "garage"}, UnknownNameError, "preset 'garage'; known: ideal, lab"),
        ({"experiment": {"friction": {"law": "butter"}}}, UnknownNameError, "friction law"),
        ({"experiment": {"friction": {"static": 2.0}}}, OptionError, "needs a law"),
        ({"experiment": {"friction": {"law": "stribeck", "x": 1}}}, OptionError, "no option 'x'"),
    ],
)
def test_unknown_choices_are_named(overrides, error, words) -> None:
    def made():
        config = load_config(None, overrides)
        build_sensors(config)
        build_part(FRICTION_LAWS, config.experiment.friction, "friction", "law")

    with pytest.raises(error, match=words):
        made()


def test_a_cell_without_noise_has_no_bound_to_compare_with(arm) -> None:
    config = load_config(
        None, {"preset": "ideal", "preprocess": {"name": "rts"}, "control": {"enabled": False}}
    )
    path = PointToPoint(arm.joint_names, arm.home, arm.home + 0.3, 0.0, 2.0)
    log, setup = simulated(arm, path, config), build_setup(arm, config)
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, np.random.default_rng(0))
    compared = compare_preprocessing(arm, fit.nominal, log, fit)
    assert {entry.parameter_error_over_bound for entry in compared} == {None}
