"""Scores of preprocessors against the truth: zero without noise, and what noise must give."""

import numpy as np
import pytest
from preprocessor_scores import near_reversals, score_preprocessor

from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueDelay, TorqueNoise
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.periods import PeriodAveraging
from robotid_sim.preprocess.rts import RtsSmoother


def score(preprocessor, case, log):
    return score_preprocessor(preprocessor, log, case.nominal, case.basis, WeightedLeastSquares())


@pytest.mark.parametrize("name", ["fourier-fit", "rts"])
def test_exact_motion_without_noise_has_no_error(periodic, arm, name):
    case = periodic(arm)
    found = score(PREPROCESSORS.build(name), case, case.log)
    assert found.torque_error.max() < 1e-9
    # The true motion starts from a series of positions at the torque times.
    np.testing.assert_allclose(found.beta, case.true, rtol=1e-4, atol=1e-6)
    assert found.seconds > 0.0


def test_engine_motion_without_noise_is_that_of_its_positions(engine, arm):
    case = engine(arm)
    found = score(RtsSmoother(), case, case.log)
    size = np.sqrt((case.log.truth.ddq**2).mean(axis=0))
    assert (found.acceleration_error < 1e-3 * size).all()
    assert (found.velocity_error < 1e-5).all()


def test_torque_errors_are_those_of_the_sensor_or_of_the_mean_of_two_periods(engine, arm):
    case = engine(arm)
    log = measure(case.log, (TorqueNoise(),), np.random.default_rng(0))
    noise = np.std(log.tau_meas - case.log.tau_meas, axis=0)
    for preprocessor, share in ((RtsSmoother(), 1.0), (PeriodAveraging(), np.sqrt(0.5))):
        found = score(preprocessor, case, log)
        for error in (found.torque_error, found.torque_error_reversals):
            np.testing.assert_allclose(error, share * noise, rtol=0.1)  # hundreds of samples


@pytest.mark.slow
def test_a_compensated_delay_is_no_torque_error(engine, arm):
    case = engine(arm)
    log = measure(case.log, (TorqueDelay(samples=2.5),), np.random.default_rng(0))
    late, fixed = (score(x, case, log) for x in (RtsSmoother(), Adaptive()))
    assert (fixed.torque_error < 0.1 * late.torque_error).all()
    assert "corrected" in fixed.message


def test_reversals_are_where_the_velocity_turns():
    t = np.arange(2000) * 1e-3
    near = near_reversals(np.cos(2.0 * np.pi * t)[:, None], 1e-3)[:, 0]
    turns = np.array([0.25, 0.75, 1.25, 1.75])
    wanted = np.abs(t[:, None] - turns).min(axis=1) <= 0.06
    assert (near != wanted).sum() <= 12  # samples at the ends of each
