"""Recursive least squares: least squares to rounding, sample by sample, and one that forgets."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import OptionError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import with_rows_changed
from robotid_sim.estimation.recursive import RecursiveLeastSquares

SEEDS = range(60)
FORGETTING = 3.0


def noisy(data, seed):
    return data.problem(data.white(np.random.default_rng(seed)))


def parts_of(problem, samples):
    rows = samples * problem.dof
    for begin in range(0, len(problem.y), rows):
        part = slice(begin, begin + rows)
        yield replace(problem, W=problem.W[part], y=problem.y[part])


def test_without_forgetting_it_is_weighted_least_squares(data):
    problem = replace(noisy(data, 0), random=0.01 * data.tau.reshape(-1, 1))
    found, wls = RecursiveLeastSquares().fit(problem), WeightedLeastSquares().fit(problem)
    for name in ("beta", "cov", "cov_white", "torque_rms", "noise_std"):
        np.testing.assert_allclose(getattr(found, name), getattr(wls, name), rtol=1e-8, atol=1e-12)
    assert found.rows == wls.rows


def test_exact_data_give_exact_parameters(data):
    for forgetting in (None, FORGETTING):
        found = RecursiveLeastSquares(forgetting=forgetting).fit(data.problem())
        np.testing.assert_allclose(found.beta, data.beta, rtol=1e-8, atol=1e-9)


def test_with_forgetting_it_is_least_squares_of_rows_that_fade(data):
    problem = noisy(data, 0)
    age = data.dt * np.arange(problem.samples)[::-1]
    weight = np.exp(-0.5 * age / FORGETTING)
    faded = with_rows_changed(problem, lambda rows: rows * weight[:, None, None])
    found = RecursiveLeastSquares(forgetting=FORGETTING, rounds=20).fit(problem)
    batch = WeightedLeastSquares(rounds=20).fit(faded)
    # The freedom that sets the noise counts faded rows, so that weights differ a little.
    np.testing.assert_allclose(found.beta, batch.beta, atol=0.02 * float(found.std.max()))


def test_parts_end_where_all_rows_do(data):
    problem = noisy(data, 0)
    for forgetting in (None, FORGETTING):
        method = RecursiveLeastSquares(forgetting=forgetting)
        steps, whole = list(method.follow(parts_of(problem, 50))), method.fit(problem)
        assert len(steps) == 10
        np.testing.assert_allclose(steps[-1].beta, whole.beta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(steps[-1].cov_white, whole.cov_white, rtol=1e-6, atol=1e-12)
        assert steps[-1].cov is None
        assert [step.rows for step in steps] == [50 * problem.dof * k for k in range(1, 11)]


def test_it_fails_until_the_rows_determine_all_parameters(data):
    still = noisy(data, 0)
    W = still.W.copy()
    W[: len(W) // 2, 0] = 0.0
    first, last = RecursiveLeastSquares().follow(parts_of(replace(still, W=W), 250))
    assert not first.success
    assert "does not excite" in first.message
    assert last.success


def test_forgetting_follows_parameters_that_change(data):
    problem, changed = noisy(data, 0), 1.2 * data.beta
    half, y = len(problem.y) // 2, problem.y.copy()
    y[half:] += problem.W[half:] @ (changed - data.beta)
    methods = RecursiveLeastSquares(forgetting=0.5), RecursiveLeastSquares()
    found, plain = (method.fit(replace(problem, y=y)) for method in methods)
    errors = np.abs(found.beta - changed), np.abs(plain.beta - changed)
    assert (errors[0] < 4.5 * found.std).all()
    assert np.median(errors[1] / errors[0]) > 3.0


@pytest.mark.parametrize("forgetting", [None, FORGETTING])
def test_intervals_hold(data, forgetting):
    method, errors, white, held = RecursiveLeastSquares(forgetting=forgetting), [], [], []
    for seed in SEEDS:
        problem = noisy(data, seed)
        found = method.fit(problem)
        errors.append((found.beta - data.beta) / found.std)
        white.append((found.beta - data.beta) / np.sqrt(np.diag(found.cov_white)))
        held.append(confidence_intervals(problem, found).covers(data.beta))
    assert 0.75 < np.sqrt((np.array(errors) ** 2).mean()) < 1.15
    assert np.sqrt((np.array(white) ** 2).mean()) == pytest.approx(1.0, abs=0.1)
    assert 0.92 < np.mean(held) < 0.99


@pytest.mark.parametrize("options", [{"rounds": 0}, {"forgetting": 0.0}, {"block": np.nan}])
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(OptionError):
        RecursiveLeastSquares(**options)
