"""The filter that torque and regressor share, and Motion that carries it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from robotid_sim.errors import LogError, OptionError, ShapeError
from robotid_sim.measurement.motion import MAX_DENSE_STEP, Motion, RowFilter, add_gate

FILTER = RowFilter(first=100, stop=1900, step=20, edge=50, cutoff=0.02)
ROUNDING = 1e-12
"""Of a recursive filter on signals of size one."""


def signal(seed, shape=()):
    return np.random.default_rng(seed).standard_normal((FILTER.stop - FILTER.first, *shape))


def test_apply_is_a_zero_phase_butterworth_then_decimation():
    """Of a signal that is zero beyond its ends."""
    x, beyond = signal(0, (3,)), 1000
    sos = butter(4, 0.04, output="sos")  # scipy counts in half the sample rate
    whole = sosfiltfilt(sos, np.pad(x, [(beyond, beyond), (0, 0)]), axis=0, padtype=None)
    want = whole[beyond:-beyond][50:-50:20]
    np.testing.assert_allclose(FILTER.apply(x), want, atol=1e-9)


@pytest.mark.parametrize("step", [1, MAX_DENSE_STEP - 1, MAX_DENSE_STEP, 97])
def test_rows_do_not_depend_on_the_step(step):
    x = signal(8, (2,))
    every, some = replace(FILTER, step=1), replace(FILTER, step=step)
    np.testing.assert_allclose(some.apply(x), every.apply(x)[:: some.step], atol=ROUNDING, rtol=0)


def test_the_first_and_last_rows_have_no_more_noise_than_the_others():
    """Reflected at the first sample, whose noise is not low-passed, they would have ten times it"""
    std = FILTER.apply(signal(7, (2000,))).std(axis=1)
    assert std.max() < 1.1 * np.median(std)


def test_constants_pass_and_fast_signals_do_not():
    k = np.arange(FILTER.stop - FILTER.first)
    # Far below the corner 0.02 the gain is one to rounding of the poles near the unit circle.
    np.testing.assert_allclose(FILTER.apply(np.ones(k.size))[20:-20], 1.0, atol=1e-9)
    fast = FILTER.apply(np.sin(2.0 * np.pi * 0.2 * k))
    assert np.abs(fast[20:-20]).max() < 1e-5  # (0.2/0.02)^-8 = 1e-8, and ringing from the ends


def test_rows_count_is_what_the_slices_say():
    used = np.arange(2000)[FILTER.sample_slice]
    assert (used[0], used[-1]) == (100, 1899)
    assert len(FILTER.apply(signal(6))) == len(used[FILTER.rows]) == 85


@pytest.mark.parametrize("cutoff", [0.0, -0.1, 0.5, 0.7, float("nan")])
def test_cutoff_beyond_nyquist_is_refused(cutoff):
    with pytest.raises(OptionError, match=r"below 0\.5"):
        RowFilter(first=0, stop=1000, step=10, edge=10, cutoff=cutoff)


def test_every_joint_may_have_a_cutoff_of_its_own():
    x = np.random.default_rng(0).standard_normal((FILTER.stop - FILTER.first, 3, 2))
    own = replace(FILTER, cutoffs=(0.02, 0.01, 0.02)).apply(x)
    np.testing.assert_allclose(own[:, ::2], FILTER.apply(x)[:, ::2], rtol=0.0, atol=1e-12)
    slow = replace(FILTER, cutoff=0.01)
    np.testing.assert_allclose(own[:, 1], slow.apply(x)[:, 1], rtol=0.0, atol=1e-12)
    gate = np.ones((2000, 3), dtype=bool)
    gate[700:800, 1] = False
    shut = add_gate(replace(FILTER, cutoffs=(0.02, 0.01, 0.02)), gate).apply(x)
    np.testing.assert_allclose(
        shut[:, 1], add_gate(slow, gate).apply(x)[:, 1], rtol=0.0, atol=1e-12
    )


def test_cutoffs_of_joints_are_as_many_as_these_and_none_above_the_common_one():
    with pytest.raises(OptionError, match=r"up to 0\.02"):
        replace(FILTER, cutoffs=(0.02, 0.03))
    with pytest.raises(OptionError, match="2 cut-offs of rows for 3 joints"):
        replace(FILTER, cutoffs=(0.02, 0.01)).apply(np.ones((1800, 3)))


def test_a_log_too_short_is_refused():
    with pytest.raises(LogError, match="too short"):
        RowFilter(first=0, stop=220, step=20, edge=10, cutoff=0.02)
    with pytest.raises(LogError, match="too short"):
        RowFilter(first=500, stop=100, step=1, edge=0, cutoff=0.02)


def test_whatever_a_row_filter_accepts_it_can_filter():
    with pytest.raises(LogError, match="too short"):
        RowFilter(first=0, stop=27, step=1, edge=0, cutoff=0.1)
    shortest = RowFilter(first=0, stop=28, step=1, edge=0, cutoff=0.1)
    assert len(shortest.apply(np.ones(28))) == 28


def motion(**changes):
    zeros = np.zeros((30, 2))
    values = {"t": np.arange(30) * 0.1, "q": zeros, "dq": zeros, "ddq": zeros, "tau": zeros}
    return Motion(**{**values, "joint_names": ("a", "b"), **changes})


def test_motion_checks_shapes_and_freezes():
    assert motion().dt == pytest.approx(0.1, rel=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        motion().q[0] = 1.0
    for name in ("q", "dq", "ddq", "tau"):
        with pytest.raises(ShapeError, match=f"^{name} has shape"):
            motion(**{name: np.zeros((30, 3))})
    with pytest.raises(ShapeError, match=r"^dq is not finite"):
        motion(dq=np.full((30, 2), np.nan))


def test_motion_takes_a_mask_or_a_filter():
    mask = np.ones(30, dtype=bool)
    assert motion(mask=mask).mask is not None
    row_filter = RowFilter(first=0, stop=30, step=1, edge=0, cutoff=0.1)
    with pytest.raises(OptionError, match="not both"):
        motion(mask=mask, row_filter=row_filter)
