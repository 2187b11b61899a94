"""Linear filters, Butterworth's and Savitzky and Golay's: what they pass, and their derivatives."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.linear_filters import Butterworth, SavitzkyGolay

DT = 1e-3


def wave_log(frequency, dt=DT, offset=0.0, samples=10_000):
    t = np.arange(samples) * dt
    q = np.sin(2.0 * np.pi * frequency * t)[:, None]
    return Log(t, q, np.zeros_like(q), ("joint",), ("rad",), torque_time_offset=offset)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("share", [0.5, 1.0, 1.5])
def test_two_passes_have_the_squared_gain_and_no_phase(arm, order, share):
    cutoff = 10.0
    log = wave_log(share * cutoff)
    motion = Butterworth(cutoff=cutoff, order=order)(log, arm)
    middle = slice(2000, 8000)
    w = 2.0 * np.pi * share * cutoff
    waves = np.column_stack([np.sin(w * log.t[middle]), np.cos(w * log.t[middle])])
    in_phase, shifted = np.linalg.lstsq(waves, motion.q[middle, 0], rcond=None)[0]
    gain = 1.0 / (1.0 + share ** (2 * order))
    within = 0.01  # warping of the bilinear transform at 1.5 % of the sample rate
    assert in_phase == pytest.approx(gain, rel=within)
    assert abs(shifted) < within * gain


def test_slow_motion_passes_with_its_derivatives_at_the_torque_time(arm):
    offset, w = 3.75e-4, 2.0 * np.pi * 0.5
    log = wave_log(0.5, offset=offset)
    motion = Butterworth(cutoff=40.0)(log, arm)
    middle = slice(2000, 8000)
    late = log.t[middle] + offset
    # Central differences lose (w dt)^2 / 6 = 2e-6 of the velocity, twice that of acceleration;
    # taking the second derivative by differences of differences doubles it again.
    assert np.abs(motion.q[middle, 0] - np.sin(w * late)).max() < 1e-8
    assert np.abs(motion.dq[middle, 0] - w * np.cos(w * late)).max() < 1e-5 * w
    assert np.abs(motion.ddq[middle, 0] + w**2 * np.sin(w * late)).max() < 1e-5 * w**2


def test_cutoff_above_nyquist_is_refused_with_both_rates(arm):
    with pytest.raises(OptionError, match="needs a log above 120 Hz, got 100 Hz"):
        Butterworth(cutoff=60.0)(wave_log(0.5, dt=0.01), arm)


BAD = [
    *((Butterworth, o) for o in ({"cutoff": 0.0}, {"cutoff": float("nan")}, {"order": 0})),
    *((SavitzkyGolay, o) for o in ({"window": 0.0}, {"order": 1}, {"window": float("nan")})),
]


@pytest.mark.parametrize(("kind", "options"), BAD)
def test_impossible_filters_are_refused(kind, options):
    with pytest.raises(
        OptionError, match=r"positive (cut-off and an order|window and a polynomial)"
    ):
        kind(**options)


def log_of(q, offset=0.0):
    t = np.arange(len(q)) * DT
    return Log(t, q, np.zeros_like(q), ("a",), ("rad",), torque_time_offset=offset)


def test_without_offset_it_is_scipys_filter(arm):
    q = np.random.default_rng(0).standard_normal((5000, 1))
    motion = SavitzkyGolay(window=0.031, order=3)(log_of(q), arm)
    for order, found in enumerate((motion.q, motion.dq, motion.ddq)):
        wanted = savgol_filter(q, 31, 3, deriv=order, delta=DT, axis=0)
        middle = slice(31, -31)
        np.testing.assert_allclose(found[middle], wanted[middle], atol=1e-11 * np.abs(wanted).max())


def test_polynomials_and_their_derivatives_are_exact_at_the_torque_time(arm):
    offset = 3.75e-4
    poly = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0])
    t = np.arange(5000) * DT
    motion = SavitzkyGolay()(log_of(poly(t)[:, None], offset), arm)
    middle = slice(100, -100)
    for order, found in enumerate((motion.q, motion.dq, motion.ddq)):
        wanted = poly.deriv(order)(t + offset) if order else poly(t + offset)
        # Rounding of the position over the square of the window's half-length.
        np.testing.assert_allclose(found[middle, 0], wanted[middle], rtol=1e-9, atol=1e-8)


def test_windows_that_do_not_fit_the_log_are_refused(arm):
    q = np.zeros((5000, 1))
    with pytest.raises(OptionError, match="too few for a polynomial of order 4"):
        SavitzkyGolay(window=0.003)(log_of(q), arm)
    with pytest.raises(LogError, match="too short for a Savitzky-Golay window of 6 s"):
        SavitzkyGolay(window=6.0)(log_of(q), arm)
