"""Torque filters against textbook filters, a dense posterior, simulated random walks, cubics."""

import numpy as np
import pytest
from scipy.signal import savgol_coeffs

from robotid_sim.preprocess.kalman_torque import (
    five_point_cubic,
    kalman_torque,
    likelihood_gain,
    rts_torque,
)

ROUNDING = 1e-11
"""Of recursions over hundreds of samples with values of order 10."""

RATIOS = [1e-4, 0.01, 0.3, 4.0]
"""Q / R of the random walk."""


def riccati_gain(ratio):
    """Return the steady gain of a random walk with Q / R = ratio, by iterating the Riccati map."""
    P = 1.0
    for _ in range(20_000):
        before = P + ratio
        P = before / (before + 1.0)  # R = 1
    return P  # P = K R


def signals(seed, count=400):
    rng = np.random.default_rng(seed)
    t = np.arange(count)
    u = 5.0 * np.sin(0.02 * t)
    return u + 1.0 + 0.3 * np.cos(0.05 * t) + rng.standard_normal(count), u


@pytest.mark.parametrize("ratio", RATIOS)
def test_gain_and_ratio_belong_together(ratio):
    K = riccati_gain(ratio)
    assert ratio == pytest.approx(K**2 / (1.0 - K), rel=1e-9)


@pytest.mark.parametrize("ratio", RATIOS)
def test_kalman_torque_is_the_textbook_filter_in_steady_state(ratio):
    z, u = signals(0)
    K = riccati_gain(ratio)
    x, P = z[0], K  # the covariance starts in its steady state
    wanted = [x]
    for k in range(1, z.size):
        x, P = x + u[k] - u[k - 1], P + ratio
        gain = P / (P + 1.0)
        x, P = x + gain * (z[k] - x), (1.0 - gain) * P
        wanted.append(x)
    np.testing.assert_allclose(kalman_torque(z, u, K), wanted, atol=ROUNDING)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_textbook_filter_that_starts_wide_arrives_at_it(ratio):
    z, u = signals(1, 3000)
    x, P = 0.0, 1e6
    for k in range(z.size):
        if k:
            x, P = x + u[k] - u[k - 1], P + ratio
        gain = P / (P + 1.0)
        x, P = x + gain * (z[k] - x), (1.0 - gain) * P
    # The start is forgotten as (1 - K)^N: exp(-30) at the smallest gain of 0.01.
    assert kalman_torque(z, u, riccati_gain(ratio))[-1] == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize("ratio", RATIOS)
def test_rts_torque_is_the_dense_posterior_mean(ratio):
    z, u = signals(2)
    K, N = riccati_gain(ratio), z.size
    # Posterior of x_0 with variance K, measurements with variance 1, increments with variance Q.
    D = np.diff(np.eye(N), axis=0)
    precision = np.diag(np.concatenate([[1.0 / K], np.ones(N - 1)])) + D.T @ D / ratio
    right = z.copy()
    right[0] /= K
    wanted = np.linalg.solve(precision, right + D.T @ np.diff(u) / ratio)
    # The posterior's matrix has a condition number of up to 1 / ratio.
    np.testing.assert_allclose(rts_torque(z, u, K), wanted, atol=ROUNDING / min(1.0, ratio))


@pytest.mark.parametrize("apply", [kalman_torque, rts_torque])
@pytest.mark.parametrize("gain", [0.01, 0.3, 1.0])
class TestBoth:
    def test_a_right_prediction_passes_unchanged(self, apply, gain):
        _, u = signals(3)
        np.testing.assert_allclose(apply(u + 2.0, u, gain), u + 2.0, atol=ROUNDING)

    def test_it_is_linear_in_measurement_and_prediction(self, apply, gain):
        (z1, u1), (z2, u2) = signals(4), signals(5)
        both = apply(2.0 * z1 - z2, 2.0 * u1 - u2, gain)
        parts = 2.0 * apply(z1, u1, gain) - apply(z2, u2, gain)
        np.testing.assert_allclose(both, parts, atol=ROUNDING)


@pytest.mark.parametrize("apply", [kalman_torque, rts_torque])
def test_a_gain_of_one_is_the_measurement(apply):
    z, u = signals(6)
    np.testing.assert_allclose(apply(z, u, 1.0), z, atol=ROUNDING)


def test_a_wrong_prediction_shows_through_the_high_pass():
    # x = F z + (1 - F) u: a steady error of u vanishes, a fast one stays.
    t = np.arange(4000)
    z = np.zeros(t.size)
    steady = kalman_torque(z, np.ones(t.size), 0.05)
    fast = kalman_torque(z, np.cos(np.pi * t), 0.05)
    np.testing.assert_allclose(steady[2000:], 0.0, atol=ROUNDING)
    # (1 - F) at half the sample rate: 1 - K / (2 - K).
    np.testing.assert_allclose(np.abs(fast[2000:]), 1.0 - 0.05 / 1.95, atol=1e-9)


@pytest.mark.parametrize("ratio", [0.01, 0.1, 1.0])
def test_likelihood_gain_recovers_the_ratio_of_a_random_walk(ratio):
    rng, count = np.random.default_rng(7), 40_000
    _, u = signals(0, count)
    walk = np.cumsum(np.sqrt(ratio) * rng.standard_normal(count))
    found = likelihood_gain(u + walk + rng.standard_normal(count), u)
    K = riccati_gain(ratio)
    # MA(1) theory: the gain's standard deviation is sqrt(K (2 - K) / N), 0.5 % at most.
    assert found == pytest.approx(K, abs=4.0 * np.sqrt(K * (2.0 - K) / count) + 2e-3)
    assert found**2 / (1.0 - found) == pytest.approx(ratio, rel=0.1)


def test_likelihood_gain_is_small_for_noise_and_large_for_a_clean_signal():
    rng = np.random.default_rng(8)
    u = np.zeros(5000)
    noise = rng.standard_normal(5000)
    # The first sample as a start costs z0^2 / K, the noise K N: K about 1 / sqrt(N).
    assert likelihood_gain(noise, u) < 4.0 / np.sqrt(5000)
    assert likelihood_gain(np.cumsum(noise), u) > 0.95


def test_five_point_cubic_has_the_published_coefficients():
    impulse = np.zeros((11, 1))
    impulse[5] = 1.0
    wanted = np.array([-3.0, 12.0, 17.0, 12.0, -3.0]) / 35.0
    np.testing.assert_allclose(five_point_cubic(impulse)[3:8, 0], wanted, atol=1e-15)
    ends = np.array([five_point_cubic(column[:, None])[:2, 0] for column in np.eye(11)]).T
    # Savitzky-Golay at the ends: the published 69 4 -6 4 -1 over 70 and 2 27 12 -8 2 over 35.
    np.testing.assert_allclose(ends[0, :5], np.array([69, 4, -6, 4, -1]) / 70.0, atol=1e-14)
    np.testing.assert_allclose(ends[1, :5], np.array([2, 27, 12, -8, 2]) / 35.0, atol=1e-14)
    np.testing.assert_allclose(ends[:, 5:], 0.0, atol=1e-15)
    np.testing.assert_allclose(savgol_coeffs(5, 3), wanted, atol=1e-14)


def test_five_point_cubic_reproduces_cubics_everywhere():
    t = np.linspace(-1.0, 1.0, 30)[:, None]
    z = np.hstack([1.0 + 2.0 * t - t**2 + 3.0 * t**3, t**3, 0.0 * t + 4.0])
    np.testing.assert_allclose(five_point_cubic(z), z, atol=1e-13)  # rounding
    assert np.abs(five_point_cubic(t**4) - t**4).max() > 1e-7


def test_five_point_cubic_is_the_same_backward_and_keeps_the_shape():
    z = np.random.default_rng(9).standard_normal((5, 3))
    np.testing.assert_allclose(five_point_cubic(z)[::-1], five_point_cubic(z[::-1]), atol=1e-13)
    assert five_point_cubic(z).shape == z.shape


def test_five_point_cubic_lets_seven_tenths_of_white_noise_pass():
    z = np.random.default_rng(10).standard_normal((100_000, 1))
    # Variance 17 / 35; its estimate scatters by 1 / sqrt(N).
    assert five_point_cubic(z).std() == pytest.approx(np.sqrt(17.0 / 35.0), rel=0.01)
