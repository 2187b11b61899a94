"""Masked samples: the equation stays exact, noise keeps its size, and nothing is invented."""

import numpy as np
import pytest

from robotid_sim.errors import ShapeError
from robotid_sim.measurement.motion import GatedRowFilter, RowFilter, add_gate

FILTER = RowFilter(first=100, stop=6100, step=50, edge=100, cutoff=0.01)
SAMPLES, JOINTS = 6200, 3


def gate_with(share, seed=0):
    return np.random.default_rng(seed).random((SAMPLES, JOINTS)) < share


def test_the_equation_holds_behind_the_gate_whatever_the_shut_samples_are():
    rng = np.random.default_rng(1)
    W, beta = rng.standard_normal((6000, JOINTS, 4)), rng.standard_normal(4)
    gate = gate_with(0.6)
    filtered = add_gate(FILTER, gate)
    tau = W @ beta
    spoilt = np.where(gate[FILTER.sample_slice], tau, 1e6)
    np.testing.assert_allclose(filtered.apply(W) @ beta, filtered.apply(spoilt), atol=1e-10)


@pytest.mark.parametrize("share", [1.0, 0.9, 0.3])
def test_white_noise_has_the_same_variance_for_any_share_of_open_samples(share):
    noise = np.random.default_rng(2).standard_normal((60_000, 1))
    row_filter = RowFilter(first=0, stop=60_000, step=50, edge=100, cutoff=0.01)
    gate = np.random.default_rng(3).random((60_000, 1)) < share
    full, part = (x.apply(noise).std() for x in (row_filter, add_gate(row_filter, gate)))
    assert part == pytest.approx(full, rel=0.1)  # 1200 rows scatter by 3 %


def test_a_joint_that_is_shut_for_long_has_rows_without_weight():
    gate = np.ones((SAMPLES, JOINTS), dtype=bool)
    gate[2000:4000, 1] = False
    rows = add_gate(FILTER, gate).apply(np.ones((6000, JOINTS)))
    middle = slice(45, 55)  # samples 2450 to 2950
    np.testing.assert_allclose(rows[middle, 1], 0.0, atol=1e-3)
    np.testing.assert_allclose(rows[25:-25, [0, 2]], 1.0, atol=1e-6)  # away from the ends


def test_an_open_gate_leaves_the_filter_as_it_is():
    assert add_gate(FILTER, np.ones((SAMPLES, JOINTS), dtype=bool)) is FILTER


def test_two_gates_are_one():
    first, second = gate_with(0.8, 4), gate_with(0.8, 5)
    x = np.random.default_rng(6).standard_normal((6000, JOINTS))
    twice, once = add_gate(add_gate(FILTER, first), second), add_gate(FILTER, first & second)
    np.testing.assert_array_equal(twice.apply(x), once.apply(x))
    np.testing.assert_array_equal(twice.gate, (first & second)[FILTER.sample_slice])


def test_a_gate_of_another_length_is_refused():
    with pytest.raises(ShapeError, match="needs 6000 samples"):
        GatedRowFilter(
            first=100, stop=6100, step=50, edge=100, cutoff=0.01, gate=np.ones((10, 3), dtype=bool)
        )
