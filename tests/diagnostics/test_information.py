"""Where the information on a parameter is: by hand, and as the variances say."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import information_shares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.preprocess.adaptive import Adaptive


@pytest.fixture
def problem(experiment, arm):
    run = experiment(arm)
    return build_problem(Adaptive()(run.log, run.nominal), run.nominal, run.basis)


def halves(problem, count):
    part = np.arange(problem.samples) * count // problem.samples
    return [part == k for k in range(count)]


def test_shares_are_what_the_variance_grows_by(problem) -> None:
    weights, stretches = np.array([2.0, 5.0]), halves(problem, 4)
    shares = information_shares(problem, weights, stretches)

    def variances(use):
        _, R = reduce_rows(problem, use).solve(weights)
        return np.diag(np.linalg.inv(R.T @ R))

    every = variances(np.ones(problem.samples, dtype=bool))
    for k, use in enumerate(stretches):
        np.testing.assert_allclose(shares[k], 1.0 - every / variances(~use), rtol=1e-6)


def test_equal_stretches_share_equally(problem) -> None:
    use = halves(problem, 3)[0]
    rows, torques = problem.by_joint(problem.W)[use], problem.by_joint(problem.y)[use]
    W, y = np.tile(rows, (5, 1, 1)), np.tile(torques, (5, 1))
    width = W.shape[2]
    same = replace(problem, W=W.reshape(-1, width), y=y.ravel(), recordings=(), period=None)
    np.testing.assert_allclose(
        information_shares(same, np.ones(2), halves(same, 5)), 0.2, rtol=1e-5
    )


def test_a_stretch_that_alone_shows_a_parameter_has_all_of_it(problem) -> None:
    W = problem.W.copy()
    W[: len(W) // 2, 0] = 0.0
    alone = replace(problem, W=W)
    shares = information_shares(alone, np.ones(2), halves(alone, 2))
    assert shares[1, 0] == pytest.approx(1.0, abs=1e-6)
    assert shares[0, 0] < 0.5  # what it says of other parameters
