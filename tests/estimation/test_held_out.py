"""Held-out likelihood from sums of products."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.estimation.held_out import FREEDOM, HeldOut, worth


def rows(seed=0, extra=0.0):
    """Return rows of two joints with five columns, the last of which counts `extra`."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((160, 2, 5))
    beta, noise = np.array([1.0, -2.0, 0.5, 0.0, extra]), np.array([0.1, 1.0])
    y = A @ beta + noise * rng.standard_normal((160, 2))
    use = np.ones((160, 2), dtype=bool)
    use[40:50, 1] = False
    fold = np.repeat(np.arange(8), 20)
    whole = np.concatenate([A, y[:, :, None]], axis=2) * use[:, :, None]
    return A, y, use, fold, HeldOut.of(whole, fold, use, np.full(2, 1e-9))


def direct(A, y, use, floor=1e-9):
    """Return the weighted fit of rows by ordinary linear algebra."""
    sigma, count = np.sqrt((y**2 * use).sum(axis=0) / use.sum(axis=0)), use.sum(axis=0)
    for _ in range(3):
        w = (use / sigma).ravel()
        beta = np.linalg.lstsq(A.reshape(len(w), -1) * w[:, None], y.ravel() * w, rcond=None)[0]
        squares = (use * (y - A @ beta) ** 2).sum(axis=0)
        sigma = np.sqrt(squares / (count - A.shape[2] / 2) + floor**2)
    return beta, sigma


def test_a_fit_is_the_weighted_fit_of_the_rows_that_count():
    A, y, use, _, held = rows()
    fit = held.fit(np.arange(4))
    beta, sigma = direct(A[:, :, :4], y, use)
    np.testing.assert_allclose(fit.beta, beta, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(fit.sigma, sigma, rtol=1e-7)


def test_a_score_is_that_of_the_block_by_the_fit_to_the_others():
    A, y, use, fold, held = rows()
    scores = held.score(np.arange(4))
    for f in (0, 2, 7):
        out = fold == f
        beta, sigma = direct(A[~out][:, :, :4], y[~out], use[~out])
        m = use[out].sum(axis=0)
        squares = (use[out] * (y[out] - A[out][:, :, :4] @ beta) ** 2).sum(axis=0)
        spread = np.log1p(squares / (FREEDOM * sigma**2))
        expected = (-m * np.log(sigma) - 0.5 * (FREEDOM + m) * spread).sum()
        np.testing.assert_allclose(scores[f], expected, rtol=1e-6)


def test_a_column_that_counts_gains_and_one_that_does_not_loses():
    gains = []
    for extra in (0.0, 0.1):
        trials = (rows(seed, extra)[-1] for seed in range(20))
        gains.append([(h.score(np.arange(5)) - h.score(np.arange(4))).sum() for h in trials])
    assert np.mean(gains[0]) < 0.0
    assert np.min(gains[1]) > 10.0


def test_dependent_columns_do_no_harm():
    A, y, use, fold, _ = rows()
    twice = np.concatenate([A, A[:, :, :1], y[:, :, None]], axis=2) * use[:, :, None]
    held = HeldOut.of(twice, fold, use, np.full(2, 1e-9))
    plain, both = held.score(np.arange(5)), held.score(np.arange(6))
    np.testing.assert_allclose(plain, both, rtol=1e-2)  # a parameter more for the noise


def test_the_score_of_a_block_is_that_of_its_joints():
    *_, held = rows()
    by_joint = held.score_by_joint(np.arange(4))
    assert by_joint.shape == (8, 2)
    np.testing.assert_allclose(by_joint.sum(axis=1), held.score(np.arange(4)))


def test_random_effects_are_shrunk_by_their_variance():
    A, y, use, _, held = rows(extra=0.5)
    random = replace(held, effects=1)
    fit = random.fit(np.arange(5))
    weight = 1.0 / np.tile(fit.sigma, 160)
    scaled = A.reshape(320, 5) * (use.ravel() * weight)[:, None]
    penalty = np.diag([0.0, 0.0, 0.0, 0.0, 1.0])
    expected = np.linalg.solve(
        scaled.T @ scaled + penalty, scaled.T @ (y.ravel() * use.ravel() * weight)
    )
    np.testing.assert_allclose(fit.beta, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("gain", "sign"), [([3.0] * 8, 1.0), ([24.0] + [0.0] * 7, -1.0), ([-3.0] * 8, -1.0)]
)
def test_a_gain_of_one_block_is_worth_nothing(gain, sign):
    spread = np.linspace(-0.1, 0.1, 8)
    assert np.sign(worth(np.array(gain) + spread)) == sign
