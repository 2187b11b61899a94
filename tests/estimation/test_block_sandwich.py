"""Blocks of a covariance are as long as residuals are correlated."""

import numpy as np
import pytest

from robotid_sim.estimation.block_sandwich import (
    CORRELATION_TIMES,
    FEWEST_BLOCKS,
    SHORTEST_BLOCK,
    block_length,
)
from robotid_sim.estimation.least_squares import WeightedLeastSquares

DT = 0.1


def residuals(correlation, rows=4000):
    """Return residuals of two joints: white ones, and some whose neighbors correlate."""
    drive = np.random.default_rng(0).standard_normal((rows, 2))
    for k in range(1, rows):
        drive[k, 1] += correlation * drive[k - 1, 1]
    return drive


def test_white_residuals_have_the_shortest_blocks():
    assert SHORTEST_BLOCK <= block_length(residuals(0.0), DT) < 1.5 * SHORTEST_BLOCK


@pytest.mark.parametrize("correlation", [0.5, 0.8, 0.9])
def test_the_joint_that_is_correlated_longest_decides(correlation):
    expected = CORRELATION_TIMES * DT * (1.0 + correlation) / (1.0 - correlation)
    assert block_length(residuals(correlation), DT) == pytest.approx(expected, rel=0.25)


def test_a_short_log_is_cut_into_blocks_all_the_same():
    drift = np.linspace(-1.0, 1.0, 200)[:, None] ** [1, 3]
    assert block_length(drift, DT) == pytest.approx(200 * DT / FEWEST_BLOCKS)


def test_an_estimate_says_how_long_its_blocks_are(exact, arm):
    data = exact(arm, 50.0)
    problem = data.problem(data.white(np.random.default_rng(0)))
    assert WeightedLeastSquares().fit(problem).block == SHORTEST_BLOCK
    assert WeightedLeastSquares(block=0.7).fit(problem).block == 0.7
