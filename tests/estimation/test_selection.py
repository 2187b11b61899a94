"""Selection of columns: first look, blocks that are left out, ties, and what is needed no more."""

import numpy as np
import pytest

from robotid_sim.estimation.held_out import HeldOut
from robotid_sim.estimation.selection import (
    FINALISTS,
    Hypothesis,
    Remainder,
    consecutive,
    finalists,
    gains_beside,
    is_no_worse,
    needed,
    outcomes,
)

N, DOF = 400, 2


@pytest.fixture(scope="module")
def rows():
    """Columns of which the first three and the fifth make the torque, and that torque."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(N, DOF, 6))
    y = A @ np.array([1.0, -2.0, 0.5, 0.0, 0.3, 0.0]) + 0.1 * rng.normal(size=(N, DOF))
    return A, y


@pytest.fixture(scope="module")
def held(rows):
    A, y = rows
    fold = np.arange(N) * 8 // N
    use = np.ones((N, DOF), dtype=bool)
    return HeldOut.of(np.concatenate([A, y[:, :, None]], axis=2), fold, use, np.full(DOF, 1e-6))


def test_a_first_look_gains_what_least_squares_does(rows):
    A, y = rows
    weights = np.full((N, DOF), 3.0)
    remainder = Remainder.of(A[:, :, :3], weights)
    gains = remainder.gains(y, [A[:, :, 3:4], A[:, :, 4:6]])
    flat, target = A.reshape(-1, 6), y.ravel()
    for gain, columns in zip(gains, ([0, 1, 2, 3], [0, 1, 2, 4, 5]), strict=True):
        beta = np.linalg.lstsq(flat[:, columns], target, rcond=None)[0]
        cost = 4.5 * float(((target - flat[:, columns] @ beta) ** 2).sum())
        assert remainder.cost(y) - gain == pytest.approx(cost, rel=1e-9)


def test_columns_that_the_model_has_gain_nothing(rows):
    A, y = rows
    remainder = Remainder.of(A[:, :, :3], np.ones((N, DOF)))
    assert remainder.gains(y, [A[:, :, :2]]) == pytest.approx([0.0])


def test_finalists_are_the_best_above_the_margin():
    hypotheses = [Hypothesis("term", k, np.zeros((1, 1, 1))) for k in range(20)]
    gains = np.arange(20.0)
    assert [h.joint for h in finalists(hypotheses, gains, 2.0)] == list(
        range(19, 19 - FINALISTS, -1)
    )
    assert [h.joint for h in finalists(hypotheses, gains, 17.5)] == [19, 18]


def test_columns_are_judged_by_blocks_that_are_left_out(held):
    (needless, chance), (_, gain) = outcomes(held, 3, [1, 2])
    assert needless.beta.shape == (4,)
    assert chance.sum() < 5.0
    assert gain.shape == (8,)
    assert gain.min() > 10.0


def test_what_the_others_explain_goes(held):
    groups = consecutive(1, [2, 1, 1, 1])
    every = np.arange(6)
    kept = needed(held, every, groups, lambda gain: (bool(gain.sum() > 10.0), float(gain.sum())))
    assert kept == [0, 2]
    gains = gains_beside(held, every, groups)
    assert [bool(gain.sum() > 10.0) for gain in gains] == [True, False, True, False]


def test_a_tie_is_a_small_gap_or_one_within_its_error():
    top = np.full(8, 10.0)
    assert is_no_worse(top - 0.5, top)
    assert not is_no_worse(top - 1.0, top)
    assert is_no_worse(top - 1.0, top, tie=9.0)
    assert is_no_worse(top - np.array([9.0, -7.0, 8.0, -6.0, 9.0, -5.0, 8.0, -7.0]), top)
