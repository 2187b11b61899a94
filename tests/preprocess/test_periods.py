"""Averaging over periods: less noise, one period of rows, and what smooths the mean is free.

The Fourier fit: order from the data, derivatives exact, no alias, only whole periods.
"""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import LogError, OptionError, UnknownNameError
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess.periods import (
    FourierFit,
    PeriodAveraging,
    Periods,
    likely_orders,
    periods_of,
    repeats,
)
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother


@pytest.fixture(scope="module")
def measured(periodic, arm):
    return measure(periodic(arm).log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))


def test_the_mean_has_less_noise_and_one_period_of_rows(periodic, arm, measured):
    case = periodic(arm)
    motion = PeriodAveraging()(measured, case.nominal)
    use = motion.row_filter.sample_slice
    noise = (measured.tau_meas - case.log.tau_meas)[use].std(axis=0)
    left = (motion.tau - case.log.tau_meas)[use].std(axis=0)
    np.testing.assert_allclose(left, noise / np.sqrt(2.0), rtol=0.05)  # 10,000 samples: 1 %
    assert motion.row_times[-1] - motion.row_times[0] == pytest.approx(10.0 - 0.1, abs=0.01)


@pytest.mark.parametrize("method", ["butterworth", "savitzky-golay", "rts"])
def test_any_smoother_takes_the_mean(periodic, arm, measured, method):
    case = periodic(arm)
    averaging = PeriodAveraging(method=method, rows=Rows(outliers=8.0, low_velocity=0.1))
    ratio = case.ratio(averaging.tune(measured, case.nominal)(measured, case.nominal))
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


DT, PERIOD, SAMPLES = 1e-3, 4.0, 4000
SIZES = ((1, 0.8), (2, -0.3), (5, 0.1))
"""Harmonics and amplitudes of the motion [rad]."""


def motion(t):
    w = 2.0 * np.pi / PERIOD
    q = sum(a * np.sin(k * w * t + k) for k, a in SIZES)
    dq = sum(a * k * w * np.cos(k * w * t + k) for k, a in SIZES)
    ddq = sum(-a * (k * w) ** 2 * np.sin(k * w * t + k) for k, a in SIZES)
    return [np.stack([x, -0.5 * x], axis=1) for x in (q, dq, ddq)]


def series_log(noise=0.0, periods=3, offset=3.75e-4, seed=0):
    t = np.arange(-500, periods * SAMPLES) * DT
    q = motion(t)[0]
    q[:500] += 0.3  # whatever happens in the approach and the first period must not matter
    q[500:2000] += 0.01
    rng = np.random.default_rng(seed)
    q += noise * rng.standard_normal(q.shape)
    tau = rng.standard_normal(q.shape)
    return Log(t, q, tau, ("a", "b"), ("rad", "rad"), torque_time_offset=offset, period=PERIOD)


def test_a_series_comes_back_with_exact_derivatives_at_the_torque_times(arm):
    log = series_log()
    fit = FourierFit()(log, arm)
    wanted = motion(log.t + log.torque_time_offset)
    # Rounding, times the square of the highest angular frequency of the series for ddq.
    for found, true, within in zip(
        (fit.q, fit.dq, fit.ddq), wanted, (1e-13, 1e-10, 1e-7), strict=True
    ):
        np.testing.assert_allclose(found[4500:], true[4500:], atol=within)


def test_rows_begin_with_the_second_period(arm):
    log = series_log()
    assert log.t[FourierFit()(log, arm).row_filter.first] == pytest.approx(PERIOD, abs=1e-9)


def test_the_order_comes_from_the_data(arm):
    for noise in (1e-5, 1e-4, 1e-3):
        assert FourierFit().tune(series_log(noise), arm).orders == (5, 5)


def test_noise_shrinks_as_its_share_of_the_harmonics(arm):
    log = series_log(1e-3, periods=5)
    fit = FourierFit(orders=(5, 5))(log, arm)
    error = fit.q - motion(log.t + log.torque_time_offset)[0]
    # 11 coefficients out of four periods of 4000 samples.
    expected = 1e-3 * np.sqrt(11.0 / 16_000.0)
    assert error[4500:].std() == pytest.approx(expected, rel=0.5)


def test_many_small_harmonics_show_only_together():
    t = np.arange(SAMPLES) / SAMPLES
    rng = np.random.default_rng(3)
    z = np.sin(2.0 * np.pi * t)
    for k in range(2, 41):
        z += 3e-5 / k * np.sin(2.0 * np.pi * (k * t + rng.random()))
    z += 1e-6 * rng.standard_normal(SAMPLES)
    white = np.sin(2.0 * np.pi * t) + 1e-4 * rng.standard_normal(SAMPLES)
    long, short = likely_orders(np.stack([z, white], axis=1), 500)
    assert long >= 32
    assert short <= 2


def test_harmonics_above_the_highest_frequency_are_left_out(arm):
    assert FourierFit(highest=0.5).tune(series_log(1e-6), arm).orders == (2, 2)


def test_a_log_of_one_period_is_left_to_the_smoother(arm):
    log = series_log(1e-4, periods=1)
    tuned = FourierFit().tune(log, arm)
    one, two = tuned(log, arm), RtsSmoother()(log, arm)
    np.testing.assert_array_equal(one.ddq, two.ddq)


def test_a_period_between_samples_is_refused(arm):
    with pytest.raises(LogError, match=r"4\.0005 s are 4000\.500 samples.*resample it"):
        FourierFit()(replace(series_log(), period=4.0005), arm)


@pytest.mark.parametrize("options", [{"orders": (0, 5)}, {"highest": 0.0}])
def test_impossible_series_are_refused(options):
    with pytest.raises(OptionError, match="orders of at least 1"):
        FourierFit(**options)


def test_orders_are_one_per_joint(arm):
    with pytest.raises(OptionError, match="1 Fourier orders for 2 joints"):
        FourierFit(orders=(5,))(series_log(), arm)
