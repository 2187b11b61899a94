"""Averaging over periods: less noise, one period of rows, and what smooths the mean is free."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import LogError, OptionError, UnknownNameError
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess.periods import PeriodAveraging, Periods, periods_of, repeats
from robotid_sim.preprocess.preprocessor import Rows


@pytest.fixture(scope="module")
def measured(periodic, arm):
    return measure(periodic(arm).log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))


def test_the_mean_has_less_noise_and_one_period_of_rows(periodic, arm, measured):
    case = periodic(arm)
    motion = PeriodAveraging()(measured, case.nominal)
    use = motion.row_filter.used
    noise = (measured.tau_meas - case.log.tau_meas)[use].std(axis=0)
    left = (motion.tau - case.log.tau_meas)[use].std(axis=0)
    np.testing.assert_allclose(left, noise / np.sqrt(2.0), rtol=0.05)  # 10,000 samples: 1 %
    assert motion.row_times[-1] - motion.row_times[0] == pytest.approx(10.0 - 0.1, abs=0.01)


@pytest.mark.parametrize("method", ["butterworth", "savitzky-golay", "rts"])
def test_any_smoother_takes_the_mean(periodic, arm, measured, method):
    case = periodic(arm)
    averaging = PeriodAveraging(method=method, rows=Rows(outliers=8.0, low_velocity=0.1))
    ratio = case.ratio(averaging.tuned(measured, case.nominal)(measured, case.nominal))
    assert np.sqrt((ratio**2).mean()) < 3.0


def test_unknown_smoothers_and_options_are_refused_at_once():
    with pytest.raises(UnknownNameError, match="unknown smoothing method 'mean'; known: butter"):
        PeriodAveraging(method="mean")
    with pytest.raises(OptionError, match="'rts' has no option 'color'"):
        PeriodAveraging(options={"color": 1.0})


def test_periods_shorter_than_the_edges_are_refused(arm, measured):
    averaging = PeriodAveraging(rows=Rows(edge=8.0))
    with pytest.raises(LogError, match="period of 10 s is too short"):
        averaging(measured, arm)


def test_where_periods_lie(measured):
    periods = periods_of(measured, "a test")
    assert (periods.samples, periods.count) == (10_000, 2)
    assert measured.t[periods.first] == pytest.approx(10.0, abs=1e-9)
    x = np.sin(2.0 * np.pi * measured.t[:, None] / 10.0)
    np.testing.assert_allclose(periods.mean(x)[periods.phase(len(x))], x, atol=1e-9)
    assert periods_of(replace(measured, period=25.0), "a test") is None


def test_a_motion_repeats_up_to_noise_or_it_does_not(measured):
    periods, noise = periods_of(measured, "a test"), np.full(2, 1e-4)
    assert repeats(measured, periods, noise)
    drift = replace(measured, q=measured.q + 3e-5 * measured.t[:, None])
    assert repeats(drift, periods, noise) is False
    assert repeats(measured, Periods(periods.first, 10_000, 1), noise) is None
