"""A log that comes in parts or sample by sample gives the estimate of the whole."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import LogError, ShapeError
from robotid_sim.estimation.least_squares import WeightedLeastSquares, fit_stream
from robotid_sim.estimation.problem import build_problem, extend_problem, map_rows, stack_problems
from robotid_sim.estimation.recursive import RecursiveLeastSquares
from robotid_sim.estimation.reduction import reduce_parts, reduce_rows


@pytest.fixture(scope="module")
def streamed(exact, irb140):
    return exact(irb140)


@pytest.fixture(scope="module")
def problem(streamed):
    return streamed.problem(streamed.white(np.random.default_rng(0)))


def parts_of(problem, samples):
    """Return the problem in parts of so many samples."""
    step = samples * problem.dof
    firsts = range(0, len(problem.W), step)
    return [replace(problem, W=problem.W[k : k + step], y=problem.y[k : k + step]) for k in firsts]


@pytest.mark.parametrize("samples", [50, 130, 500])
def test_parts_give_the_estimate_of_the_whole(problem, samples):
    wls = WeightedLeastSquares(block=0.2)
    whole = wls.fit(problem, np.random.default_rng(0))
    found = fit_stream(lambda: iter(parts_of(problem, samples)), wls)
    np.testing.assert_allclose(found.beta, whole.beta, rtol=0, atol=1e-9 * whole.std.max())
    np.testing.assert_allclose(found.noise_std, whole.noise_std, rtol=1e-10)
    np.testing.assert_allclose(found.cov_white, whole.cov_white, rtol=1e-6, atol=0)
    np.testing.assert_allclose(found.cov, whole.cov, atol=1e-8 * np.abs(whole.cov).max())
    assert (found.rows, found.names, found.block) == (whole.rows, whole.names, whole.block)


def test_factors_of_parts_say_what_those_of_the_whole_say(problem):
    whole, parts = reduce_rows(problem), reduce_parts(parts_of(problem, 70))
    assert parts.samples == whole.samples
    beta = np.ones(problem.basis.rank)
    np.testing.assert_allclose(
        parts.compute_squared_residuals(beta), whole.compute_squared_residuals(beta), rtol=1e-12
    )


def test_motions_become_parts(streamed):
    motion = streamed.motion(streamed.tau)
    halves = [
        replace(
            motion, **{name: getattr(motion, name)[use] for name in ("t", "q", "dq", "ddq", "tau")}
        )
        for use in (slice(0, 250), slice(250, None))
    ]
    found = fit_stream(lambda: (build_problem(m, streamed.robot, streamed.basis) for m in halves))
    np.testing.assert_allclose(found.beta, streamed.beta, atol=1e-8)


def test_an_empty_stream_is_refused():
    for stream in (lambda: fit_stream(lambda: []), lambda: reduce_parts([])):
        with pytest.raises(LogError, match="has no parts"):
            stream()


def test_stacked_rows_are_those_of_a_longer_log(problem):
    parts = parts_of(problem, 100)
    again = stack_problems(parts)
    np.testing.assert_array_equal(again.W, problem.W)
    np.testing.assert_array_equal(again.y, problem.y)
    other = extend_problem(parts[0], np.ones((600, 1)), ["a"], ["1"])
    with pytest.raises(ShapeError, match="stacked"):
        stack_problems([parts[0], other])
    with pytest.raises(ShapeError, match="columns have shape"):
        extend_problem(problem, np.ones((3, 1)), ["a"], ["1"])


SEEDS = range(60)
FORGETTING = 3.0


def noisy(data, seed):
    return data.problem(data.white(np.random.default_rng(seed)))


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
    faded = map_rows(problem, lambda rows: rows * weight[:, None, None])
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
