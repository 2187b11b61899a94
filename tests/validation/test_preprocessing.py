"""Torque filters side by side, on the small arm."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.arrays import rms
from robotid_sim.errors import LogError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess.kalman_torque import KalmanTorque
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.validation.prediction import (
    clean_log,
    compare_torque_filters,
    exact_problem,
    predict,
)

NAMES = ["none", "five-point", "kalman-literal", "kalman-compensated", "rts"]


@pytest.fixture(scope="module")
def virtual(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def log(virtual):
    return measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))


@pytest.fixture(scope="module")
def bound(virtual, log):
    noise = np.std(log.tau_meas - log.truth.tau, axis=0)
    return cramer_rao(exact_problem(log, virtual.nominal, virtual.basis, 0.0), noise)


@pytest.fixture(scope="module")
def scores(virtual, log, bound):
    true = virtual.basis.project(virtual.plant.parameters())
    motion = RtsSmoother().tune(log, virtual.nominal)
    found = compare_torque_filters(
        log, virtual.nominal, virtual.basis, true, bound, WeightedLeastSquares(), Rows(), motion
    )
    assert [score.name for score in found] == NAMES
    return {score.name: score for score in found}


@pytest.mark.slow
def test_no_filter_scores_the_torque_noise(log, scores):
    use = RtsSmoother().rows.filter_for(log).sample_slice
    noise = rms((log.tau_meas - log.truth.tau)[use])
    np.testing.assert_allclose(scores["none"].torque_error, noise, rtol=1e-12)


def test_five_point_leaves_seven_tenths_of_white_noise(scores):
    share = scores["five-point"].torque_error / scores["none"].torque_error
    np.testing.assert_allclose(share, np.sqrt(17.0 / 35.0), rtol=0.05)  # friction reversals add


def test_the_model_input_beats_five_points_and_the_smoother_beats_both(scores):
    five, causal, both = (
        scores[name].torque_error for name in ("five-point", "kalman-literal", "rts")
    )
    assert (causal < 0.75 * five).all()
    assert (both < causal).all()


def test_literal_and_compensated_share_the_filter_and_only_one_is_biased(scores):
    literal, compensated = scores["kalman-literal"], scores["kalman-compensated"]
    np.testing.assert_array_equal(literal.torque_error, compensated.torque_error)
    assert literal.parameter_error > 1.5 * compensated.parameter_error
    # No more than a parallel filter, which before the 5 Hz rows changes next to nothing.
    assert compensated.parameter_error == pytest.approx(scores["none"].parameter_error, rel=0.1)


@pytest.mark.slow
def test_parameter_errors_are_those_of_the_preprocessors_themselves(virtual, log, bound, scores):
    true, std = virtual.basis.project(virtual.plant.parameters()), np.sqrt(np.diag(bound))
    cases = {
        "none": RtsSmoother(),
        "kalman-literal": KalmanTorque(form="literal"),
        "kalman-compensated": KalmanTorque(),
        "rts": KalmanTorque(form="smoother"),
    }
    for name, preprocessor in cases.items():
        problem = build_problem(preprocessor(log, virtual.nominal), virtual.nominal, virtual.basis)
        beta = WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta
        wanted = np.sqrt((((beta - true) / std) ** 2).mean())
        assert scores[name].parameter_error == pytest.approx(wanted, rel=1e-6)


def test_prediction_of_the_true_model_leaves_the_noise_and_no_model_error(virtual, log):
    true = virtual.basis.project(virtual.plant.parameters())
    found = predict(true, log, virtual.nominal, virtual.basis, RtsSmoother())
    assert (found.model_error_relative < 1e-9).all()  # the equation of motion, to rounding
    problem = build_problem(RtsSmoother()(log, virtual.nominal), virtual.nominal, virtual.basis)
    size = rms(problem.unstack_rows(problem.y))
    np.testing.assert_allclose(found.torque_rms_relative, found.torque_rms / size, rtol=1e-12)
    # White noise of 1 % behind a low-pass at a hundredth of the sample rate: a tenth of it.
    assert (found.torque_rms_relative < 0.005).all()


def test_prediction_of_the_nominal_model_shows_its_error(virtual, log):
    wrong = virtual.basis.project(virtual.nominal.parameters())
    found = predict(wrong, log, virtual.nominal, virtual.basis, RtsSmoother())
    assert (found.model_error_relative > 0.03).all()
    np.testing.assert_allclose(found.torque_rms_relative, found.model_error_relative, rtol=0.3)


def test_a_log_of_a_machine_has_no_model_error_and_no_clean_form(virtual, log):
    true = virtual.basis.project(virtual.plant.parameters())
    blind = replace(log, truth=None)
    found = predict(true, blind, virtual.nominal, virtual.basis, RtsSmoother())
    assert found.model_error_relative is None
    for function in (clean_log, lambda x: exact_problem(x, virtual.nominal, virtual.basis, 0.0)):
        with pytest.raises(LogError, match="no truth"):
            function(blind)
