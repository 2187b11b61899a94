"""Savitzky-Golay: scipy's filter at the samples, the polynomial itself between them."""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.linear_filters import SavitzkyGolay

DT = 1e-3


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


@pytest.mark.parametrize("options", [{"window": 0.0}, {"order": 1}, {"window": float("nan")}])
def test_impossible_filters_are_refused(options):
    with pytest.raises(OptionError, match="positive window and a polynomial"):
        SavitzkyGolay(**options)


def test_windows_that_do_not_fit_the_log_are_refused(arm):
    q = np.zeros((5000, 1))
    with pytest.raises(OptionError, match="too few for a polynomial of order 4"):
        SavitzkyGolay(window=0.003)(log_of(q), arm)
    with pytest.raises(LogError, match="too short for a Savitzky-Golay window of 6 s"):
        SavitzkyGolay(window=6.0)(log_of(q), arm)
