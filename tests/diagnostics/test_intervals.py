"""Confidence intervals cover as often as they say.

Where the information on a parameter is: by hand, and as the variances say.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from robotid_sim.arrays import relative_std
from robotid_sim.diagnostics.intervals import confidence_intervals, correlation, information_shares
from robotid_sim.errors import OptionError
from robotid_sim.estimation.block_sandwich import MAX_LEVERAGE
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.preprocess.adaptive import Adaptive


def hits(data, noises, *, block=0.2, **options):
    """Return which intervals hold the truth, per noise and parameter."""
    found = []
    for noise in noises:
        problem = data.problem(noise)
        estimate = WeightedLeastSquares(block=block).fit(problem, np.random.default_rng(0))
        intervals = confidence_intervals(problem, estimate, block=block, **options)
        found.append(intervals.covers(data.beta))
    return np.array(found)


def white(data, runs):
    return [data.white(np.random.default_rng(seed)) for seed in range(runs)]


@pytest.mark.slow
@pytest.mark.parametrize("residuals", ["blocks", "white"])
@pytest.mark.parametrize("robot_name", ["irb140", "arm"])
def test_coverage_is_95_percent_parameter_by_parameter(request, exact, robot_name, residuals):
    data = exact(request.getfixturevalue(robot_name))
    covered = hits(data, white(data, 400), residuals=residuals)
    assert 0.94 < covered.mean() < 0.96
    per_parameter = covered.mean(axis=0)  # 400 runs scatter by 1.1 %
    assert per_parameter.min() > 0.91
    assert per_parameter.max() < 0.985


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_is_the_level(exact, arm, level):
    data = exact(arm)
    covered = hits(data, white(data, 150), level=level)
    assert covered.mean() == pytest.approx(level, abs=0.025)  # 1650 values that correlate


def autoregressive(data, seed, correlation=0.5):
    """Return noise of the same size whose neighbors correlate."""
    drive = np.random.default_rng(seed).standard_normal(data.tau.shape)
    drive *= np.sqrt(1.0 - correlation**2)
    for k in range(1, len(drive)):
        drive[k] += correlation * drive[k - 1]
    return data.noise * drive


def test_blocks_cover_where_residuals_are_colored_and_white_does_not(exact, arm):
    data = exact(arm, 100.0, period=20.0)
    noises = [autoregressive(data, seed) for seed in range(60)]
    assert 0.91 < hits(data, noises).mean() < 0.97  # blocks of 20 samples see 2.8 of the factor 3
    assert hits(data, noises, residuals="white").mean() < 0.8


def test_blocks_are_as_long_as_residuals_correlate(exact, arm):
    data = exact(arm, 50.0, period=40.0)  # neighbors correlate by 0.95: over 0.8 s
    noises = [autoregressive(data, seed, 0.95) for seed in range(40)]
    assert hits(data, noises).mean() < 0.85
    assert hits(data, noises, block=None).mean() > 0.88


@pytest.fixture
def fitted(exact, arm):
    data = exact(arm)
    problem = data.problem(data.white(np.random.default_rng(0)))
    return problem, WeightedLeastSquares().fit(problem, np.random.default_rng(0))


def test_white_intervals_are_those_of_student(fitted):
    problem, estimate = fitted
    intervals = confidence_intervals(problem, estimate, residuals="white", level=0.9)
    freedom = len(problem.y) - len(estimate.beta)
    half = student.ppf(0.95, freedom) * np.sqrt(np.diag(estimate.cov_white))
    np.testing.assert_allclose(intervals.upper - intervals.values, half, rtol=1e-12)
    np.testing.assert_allclose(intervals.values - intervals.lower, half, rtol=1e-9)
    assert (intervals.dof == freedom).all()


@pytest.mark.parametrize("at_a_time", [7, 2000])
def test_variance_and_freedom_are_those_of_the_definition(fitted, monkeypatch, at_a_time):
    """Bell and McCaffrey's formulas with dense matrices."""
    monkeypatch.setattr("robotid_sim.estimation.block_sandwich.MAX_BLOCKS_IN_MEMORY", at_a_time)
    problem, estimate = fitted
    length, count = 10, problem.samples // 10
    w = 1.0 / estimate.noise_std
    X = problem.unstack_rows(problem.W) * w[:, None]
    r = problem.unstack_rows(problem.y - problem.W @ estimate.beta) * w
    X = X.swapaxes(0, 1).reshape(-1, X.shape[2])  # by joint, then by time: blocks are contiguous
    r = r.T.ravel()
    A = np.linalg.inv(X.T @ X)
    H = X @ A @ X.T
    G, meat = [], 0.0
    for B in range(problem.dof * count):
        rows = slice(B * length, (B + 1) * length)
        values, vectors = np.linalg.eigh(H[rows, rows])
        assert values.max() < MAX_LEVERAGE
        root = vectors @ np.diag(1.0 / np.sqrt(1.0 - values)) @ vectors.T
        score = A @ X[rows].T @ root @ r[rows]
        meat = meat + np.outer(score, score)
        G.append((np.eye(len(X)) - H)[:, rows] @ root @ X[rows] @ A)
    gram = np.einsum("bik,cik->kbc", np.array(G), np.array(G))
    freedom = np.trace(gram, axis1=1, axis2=2) ** 2 / (gram**2).sum(axis=(1, 2))
    intervals = confidence_intervals(problem, estimate)
    np.testing.assert_allclose(intervals.std**2, np.diag(meat), rtol=1e-8)
    np.testing.assert_allclose(intervals.dof, freedom, rtol=1e-8)


def test_blocks_have_less_freedom_than_rows(fitted):
    problem, estimate = fitted
    few, many = (confidence_intervals(problem, estimate, block=b).dof for b in (1.0, 0.1))
    assert (few < many).all()
    assert few.min() >= 1.0
    assert many.max() < problem.dof * problem.samples / 5


def test_relative_deviation_and_words(fitted):
    problem, estimate = fitted
    intervals = confidence_intervals(problem, estimate)
    np.testing.assert_allclose(
        intervals.relative_std, intervals.std / np.abs(estimate.beta), rtol=1e-12
    )
    assert relative_std(np.zeros(1), np.ones(1))[0] == np.inf
    first, *others = intervals.sentences()
    assert "95%" in first
    loose = np.array(estimate.names)[intervals.relative_std > 0.1]
    assert len(others) == len(loose)
    assert all(any(text.startswith(name) for text in others) for name in loose)


def test_correlation_is_within_one(fitted):
    matrix = correlation(fitted[1].cov)
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    assert np.abs(matrix).max() < 1.0 + 1e-12


def test_impossible_levels_are_refused(fitted):
    with pytest.raises(OptionError, match="between 0 and 1"):
        confidence_intervals(*fitted, level=1.0)


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
    rows, torques = problem.unstack_rows(problem.W)[use], problem.unstack_rows(problem.y)[use]
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
