"""What sensors do to the numbers: sizes, correlations, delays and counts are what was asked for."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import kstest

from robotid_sim.measurement.encoder_sensors import (
    EncoderColoredNoise,
    EncoderHarmonics,
    EncoderQuantization,
    SampleJitter,
)
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import between_samples
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import PROVENANCE
from robotid_sim.measurement.torque_sensors import (
    MotorCurrent,
    TorqueDelay,
    TorqueNoise,
    TorqueOffset,
    TorqueRipple,
)

DT = 1e-3  # [s]
SAMPLES = 20_000
SIGMAS = 3.5
"""Deviations of a statistic that a seeded test allows; 3.5 happens once in 2000."""


def log_of(q, tau):
    """Return a log of two revolute joints and a prismatic one."""
    return Log(np.arange(len(q)) * DT, q, tau, ("base", "arm", "slide"), ("rad", "rad", "m"))


def moving_log(samples=SAMPLES):
    t = np.arange(samples) * DT
    q = np.column_stack([1.5 * np.sin(0.7 * t), 0.8 * np.cos(1.3 * t), 0.2 * np.sin(0.9 * t)])
    tau = np.column_stack([100.0 * np.cos(t), 20.0 * np.sin(1.1 * t), 3.0 * np.sin(2.0 * t)])
    return log_of(q, tau)


def rms(x):
    return np.sqrt((x**2).mean(axis=0))


def drawn(log):
    return log.provenance[PROVENANCE][-1]["drawn"]


def test_colored_noise_has_its_size_and_its_memory():
    log = moving_log()
    sensor = EncoderColoredNoise(revolute=2e-4, prismatic=3e-5, correlation_time=0.02)
    noise = sensor(log, np.random.default_rng(0)).q - log.q
    scaled = noise / np.array([2e-4, 2e-4, 3e-5])
    # Only every 2 T = 40 samples are as good as independent: 500 of them in the log.
    assert np.abs(rms(scaled) - 1.0).max() < SIGMAS / np.sqrt(2.0 * 500.0)
    for lag in (1, 20, 60):
        correlation = (scaled[lag:] * scaled[:-lag]).mean(axis=0)
        assert np.abs(correlation - np.exp(-lag * DT / 0.02)).max() < SIGMAS / np.sqrt(500.0)
    starts = [sensor(log_of(*np.zeros((2, 10, 3))), np.random.default_rng(k)).q for k in range(300)]
    first = rms(np.array(starts)[:, 0]) / np.array([2e-4, 2e-4, 3e-5])
    assert np.abs(first - 1.0).max() < SIGMAS / np.sqrt(600.0)  # stationary from the start


@pytest.mark.parametrize("kind", [EncoderHarmonics, TorqueRipple])
def test_harmonics_have_their_amplitudes_and_nothing_else(kind):
    log = moving_log(5000)
    options = {"orders": (1.0, 3.0), "shares": (1.0, 0.25), "gear": (1.0, 50.0, 2.0)}
    if kind is EncoderHarmonics:
        out = kind(revolute=1e-3, prismatic=1e-4, lead=0.02, **options)(
            log, np.random.default_rng(0)
        )
        error, size = out.q - log.q, np.array([1e-3, 1e-3, 1e-4])
    else:
        sensor = kind(relative=0.02, absolute=0.1, lead=0.02, **options)
        out = sensor(log, np.random.default_rng(0))
        error, size = out.tau_meas - log.tau_meas, 0.02 * rms(log.tau_meas) + 0.1
    phase = np.array(drawn(out)["phase"])
    assert phase.shape == (2, 3)
    angle = log.q * np.array([1.0, 50.0, 2.0 * 2.0 * np.pi / 0.02])
    wanted = size * (np.sin(angle + phase[0]) + 0.25 * np.sin(3.0 * angle + phase[1]))
    np.testing.assert_allclose(error, wanted, atol=1e-12 * np.abs(log.tau_meas).max())


@pytest.mark.parametrize(("bits", "gear", "step"), [(12, 1.0, 2**-12), (10, 25.0, 2**-10 / 25.0)])
def test_bits_per_revolution_are_the_resolution_and_its_error_is_uniform(bits, gear, step):
    log = moving_log()
    out = EncoderQuantization(bits=bits, gear=gear)(log, np.random.default_rng(0))
    error = (out.q - log.q)[::97, :2] / (2.0 * np.pi * step)
    assert np.abs(error).max() <= 0.5 + 1e-9  # rounding of counts up to 1e5
    for joint in range(2):
        assert kstest(error[:, joint], "uniform", args=(-0.5, 1.0)).pvalue > 1e-3


def test_torque_noise_takes_one_number_per_joint():
    log = moving_log()
    sensor = TorqueNoise(relative=[0.01, 0.0, 0.03], absolute=[0.0, 0.5, 0.1])
    noise = sensor(log, np.random.default_rng(1)).tau_meas - log.tau_meas
    wanted = np.array([0.01, 0.0, 0.03]) * rms(log.tau_meas) + np.array([0.0, 0.5, 0.1])
    assert np.abs(rms(noise) / wanted - 1.0).max() < SIGMAS / np.sqrt(2.0 * SAMPLES)


def test_torque_offset_is_the_given_one_plus_a_draw_of_its_size():
    log = moving_log(1000)
    given = TorqueOffset(offset=(1.0, -2.0, 0.5), relative=0.0)(log, np.random.default_rng(0))
    np.testing.assert_allclose((given.tau_meas - log.tau_meas)[7], (1.0, -2.0, 0.5), atol=1e-12)
    draws = []
    for seed in range(400):
        out = TorqueOffset(relative=0.02)(log, np.random.default_rng(seed))
        error = out.tau_meas - log.tau_meas
        assert np.ptp(error, axis=0).max() < 1e-12  # rounding of 100 N m
        np.testing.assert_allclose(drawn(out)["offset"], error[0], atol=1e-12)
        draws.append(error[0])
    wanted = 0.02 * rms(log.tau_meas)
    assert np.abs(rms(np.array(draws)) / wanted - 1.0).max() < SIGMAS / np.sqrt(800.0)


def test_motor_current_scales_the_torque_by_the_error_of_its_constant():
    log = moving_log(1000)
    exact = {"torque_constant": (10.0, 5.0, 100.0), "error_std": 0.0, "noise": 0.0}
    sensor = MotorCurrent(error=(0.05, -0.02, 0.0), offset=(0.0, 0.1, 0.2), **exact)
    out = sensor(log, np.random.default_rng(0))
    K, delta, i0 = np.array([10.0, 5.0, 100.0]), np.array([0.05, -0.02, 0.0]), (0.0, 0.1, 0.2)
    np.testing.assert_allclose(out.current, log.tau_meas / (K * (1.0 + delta)) + i0, rtol=1e-13)
    np.testing.assert_array_equal(out.tau_meas, K * out.current)
    np.testing.assert_array_equal(out.torque_constant, K)


def test_motor_current_has_its_noise_and_draws_its_error():
    log = moving_log()
    sensor = MotorCurrent(noise=(0.01, 0.03, 0.05), error_std=0.0)
    out = sensor(log, np.random.default_rng(0))
    K = np.abs(log.tau_meas).max(axis=0) / 10.0  # 10 A at the largest torque
    np.testing.assert_allclose(out.torque_constant, K, rtol=1e-12)
    noise = rms(out.current - log.tau_meas / K)
    relative = noise / np.array([0.01, 0.03, 0.05])
    assert np.abs(relative - 1.0).max() < SIGMAS / np.sqrt(2.0 * SAMPLES)
    short = moving_log(20)
    errors = [
        drawn(MotorCurrent(error_std=0.04)(short, np.random.default_rng(k)))["error"]
        for k in range(400)
    ]
    assert np.abs(rms(np.array(errors)) / 0.04 - 1.0).max() < SIGMAS / np.sqrt(800.0)


def band_limited(seed, samples=4000, bandwidth=100.0):
    """Return sums of 40 sinusoids below a bandwidth [Hz], and the function of time."""
    rng = np.random.default_rng(seed)
    omega, phase = 2.0 * np.pi * rng.uniform(1.0, bandwidth, 40), rng.uniform(0.0, 6.28, (3, 40))

    def signal(t):
        return np.stack([np.sin(np.outer(t, omega) + p).sum(axis=1) for p in phase], axis=1)

    return signal, signal(np.arange(samples) * DT)


def measured_delay(x, y):
    """Return the lag in samples at which y correlates best with x, to a fraction of a sample."""
    window = np.hanning(len(x))
    X, Y = np.fft.rfft(window * x), np.fft.rfft(window * y)
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(x))

    def negative(lag):
        return -(np.conj(X) * Y * np.exp(1j * omega * lag)).real.sum()

    coarse = min(np.arange(-2.0, 12.0, 0.5), key=negative)
    return minimize_scalar(negative, bounds=(coarse - 0.6, coarse + 0.6), method="bounded").x


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.5, 1.0, 2.75, 7.5])
def test_delay_is_found_again_by_cross_correlation(delay):
    _, tau = band_limited(0)
    log = log_of(np.zeros_like(tau), tau)
    by_samples = TorqueDelay(samples=delay)(log, np.random.default_rng(0))
    by_seconds = TorqueDelay(delay=delay * DT)(log, np.random.default_rng(0))
    np.testing.assert_allclose(by_samples.tau_meas, by_seconds.tau_meas, atol=1e-9)
    for joint in range(3):
        found = measured_delay(tau[:, joint], by_samples.tau_meas[:, joint])
        assert found == pytest.approx(delay, abs=0.02)


@pytest.mark.parametrize(("bandwidth", "error"), [(50.0, 1.1e-7), (100.0, 2.7e-5)])
def test_interpolation_is_as_good_as_it_says(bandwidth, error):
    t = np.arange(1000) * DT
    x = np.exp(1j * 2.0 * np.pi * bandwidth * t)[:, None]
    middle = np.arange(10, 980) + 0.5
    for part in (x.real, x.imag):
        assert np.abs(between_samples(part, np.arange(1000.0)) - part).max() == 0.0
    exact = np.exp(1j * 2.0 * np.pi * bandwidth * middle * DT)[:, None]
    found = between_samples(x.real, middle) + 1j * between_samples(x.imag, middle)
    assert 0.5 * error < np.abs(found - exact).max() <= error


def test_interpolation_is_exact_for_polynomials_of_degree_7_even_at_the_ends():
    def polynomials(k):
        return np.stack([(k / 20.0 - 1.0) ** m for m in range(8)], axis=1)

    position = np.array([0.0, 0.3, 1.5, 20.5, 38.7, 39.0])
    found = between_samples(polynomials(np.arange(40.0)), position)
    np.testing.assert_allclose(found, polynomials(position), atol=1e-13)
    outside = between_samples(polynomials(np.arange(40.0)), np.array([-3.0, 50.0]))
    np.testing.assert_allclose(outside, polynomials(np.array([0.0, 39.0])), atol=1e-13)


def test_jitter_is_an_error_of_time_that_joints_share():
    ramp = np.outer(np.arange(SAMPLES) * DT, [0.5, -2.0, 0.1])  # constant velocities
    log = log_of(ramp, np.zeros_like(ramp))
    out = SampleJitter(std=5e-5)(log, np.random.default_rng(0))
    late = ((out.q - log.q) / np.array([0.5, -2.0, 0.1]))[5:-5]
    np.testing.assert_allclose(late[:, 0], late[:, 1], atol=1e-13)
    assert rms(late[:, 0]) / 5e-5 == pytest.approx(1.0, abs=SIGMAS / np.sqrt(2.0 * SAMPLES))
    assert drawn(out)["rms"] == pytest.approx(rms(late[:, 0]), rel=0.01)  # five samples cut
    white = (late[1:, 0] * late[:-1, 0]).mean() / 5e-5**2
    assert abs(white) < SIGMAS / np.sqrt(SAMPLES)
    np.testing.assert_array_equal(out.tau_meas, log.tau_meas)


def test_dropped_samples_hold_the_last_one_in_every_channel():
    log = MotorCurrent(noise=1.0)(moving_log(), np.random.default_rng(0))
    out = DroppedSamples(probability=0.05)(log, np.random.default_rng(1))
    lost = (out.q != log.q).any(axis=1)
    spread = np.sqrt(SAMPLES * 0.05 * 0.95)
    assert abs(drawn(out)["lost"] - 0.05 * SAMPLES) < SIGMAS * spread
    assert lost.sum() == drawn(out)["lost"]
    assert not lost[0]
    for name in ("q", "tau_meas", "current"):
        seen, true = getattr(out, name), getattr(log, name)
        np.testing.assert_array_equal(seen[1:][lost[1:]], seen[:-1][lost[1:]])
        np.testing.assert_array_equal(seen[~lost], true[~lost])


def test_outliers_have_their_share_their_size_and_both_signs():
    log = moving_log()
    sensor = Outliers(probability=0.02, torque=(5.0, 10.0, 0.0), position=4.0)
    out = sensor(log, np.random.default_rng(0))
    for name, size, joints in (
        ("tau_meas", np.array([5.0, 10.0, 0.0]) * rms(log.tau_meas), 2),
        ("q", 4.0 * log.q.std(axis=0), 3),
    ):
        error = getattr(out, name) - getattr(log, name)
        hit = np.abs(error) > 1e-9
        assert drawn(out)["torque" if joints == 2 else "position"] == hit.sum()
        wanted, spread = joints * 0.02 * SAMPLES, np.sqrt(joints * SAMPLES * 0.02 * 0.98)
        assert abs(hit.sum() - wanted) < SIGMAS * spread
        np.testing.assert_allclose(np.abs(error)[hit], np.broadcast_to(size, hit.shape)[hit])
        signs = np.sign(error[hit])
        assert abs(signs.mean()) < SIGMAS / np.sqrt(hit.sum())
