"""The Butterworth preprocessor: its gain, its derivatives, its limits."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.linear_filters import Butterworth

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
    with pytest.raises(OptionError, match="needs a log above 120 Hz; this one has 100 Hz"):
        Butterworth(cutoff=60.0)(wave_log(0.5, dt=0.01), arm)


@pytest.mark.parametrize("options", [{"cutoff": 0.0}, {"cutoff": float("nan")}, {"order": 0}])
def test_impossible_filters_are_refused(options):
    with pytest.raises(OptionError, match="positive cut-off and order"):
        Butterworth(**options)
