"""A log that comes in parts gives the estimate of the whole."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import LogError, ShapeError
from robotid_sim.estimation.least_squares import WeightedLeastSquares, fit_stream
from robotid_sim.estimation.problem import build_problem, extended, stacked
from robotid_sim.estimation.reduction import reduce_parts, reduce_rows


@pytest.fixture(scope="module")
def data(exact, irb140):
    return exact(irb140)


@pytest.fixture(scope="module")
def problem(data):
    return data.problem(data.white(np.random.default_rng(0)))


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
        parts.squared_residuals(beta), whole.squared_residuals(beta), rtol=1e-12
    )


def test_motions_become_parts(data):
    motion = data.motion(data.tau)
    halves = [
        replace(
            motion, **{name: getattr(motion, name)[use] for name in ("t", "q", "dq", "ddq", "tau")}
        )
        for use in (slice(0, 250), slice(250, None))
    ]
    found = fit_stream(lambda: (build_problem(m, data.robot, data.basis) for m in halves))
    np.testing.assert_allclose(found.beta, data.beta, atol=1e-8)


def test_an_empty_stream_is_refused():
    for stream in (lambda: fit_stream(lambda: []), lambda: reduce_parts([])):
        with pytest.raises(LogError, match="without parts"):
            stream()


def test_stacked_rows_are_those_of_a_longer_log(problem):
    parts = parts_of(problem, 100)
    again = stacked(parts)
    np.testing.assert_array_equal(again.W, problem.W)
    np.testing.assert_array_equal(again.y, problem.y)
    other = extended(parts[0], np.ones((600, 1)), ["a"], ["1"])
    with pytest.raises(ShapeError, match="stacked"):
        stacked([parts[0], other])
    with pytest.raises(ShapeError, match="columns have shape"):
        extended(problem, np.ones((3, 1)), ["a"], ["1"])
