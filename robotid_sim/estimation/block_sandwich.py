"""Covariance of weighted fits whose residuals are correlated within blocks of rows."""

from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, Int2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.correlation import block_length
from robotid_sim.estimation.problem import LinearProblem

SATURATED = 0.999
"""Largest block leverage that is corrected; a block beyond fits itself."""

BLOCKS_PER_PARAMETER = 2
"""Blocks of all joints that a covariance needs, per parameter."""

NO_SAMPLE = -1
"""Stands for the samples that a block has less than others."""


def check_block(block: float | None) -> None:
    """Refuse a length of covariance blocks that is not positive and finite."""
    if block is not None and not 0.0 < block < np.inf:
        raise OptionError(f"covariance blocks need a positive length, got {block} s")


def length_of(problem: LinearProblem, beta: Float1D, block: float | None) -> float:
    """Return the length of the blocks of a covariance [s]; without one given, by the residuals."""
    if block is not None:
        return block
    residual = problem.by_joint(problem.y - problem.W @ beta)
    period = problem.period if problem.repeats else None
    return block_length(residual, problem.dt, period)


def block_sandwich(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Float2D:
    r"""Return the covariance of a weighted fit whose residuals are correlated within blocks.

    .. math:: A \Big( \sum_{j,B} s_{jB} s_{jB}^T \Big) A, \qquad
        s_{jB} = X_{jB}^T (1 - H_{jB})^{-1} r_{jB},

    one score per joint j and block B of `block` seconds, by `block_samples`, with the weighted rows
    X, their residuals r, the leverage ``H = X A X^T`` and ``A = (X^T X)^-1``: the jackknife form of
    [2]_. Residuals of a filtered log are colored, and in blocks of high leverage too small;
    with few blocks the form errs on the large side, by a quarter for 300 blocks of white
    residuals and 52 parameters.

    The weights of the joints have shape (n,); ``A = inverse inverse^T``, so the inverse is that of
    the triangular factor of the weighted regressor. The result has shape (b, b).

    References
    ----------
    .. [2] Bell, McCaffrey (2002), "Bias reduction in standard errors for linear regression with
       multi-stage samples", Survey Methodology 28.
    """
    meat = np.zeros((len(beta), len(beta)))
    for Z, residual in row_blocks(problem, beta, weights, inverse, block):
        scores = _corrected_scores(Z, residual)
        meat += scores.T @ scores
    return np.asarray(inverse @ meat @ inverse.T / share_in_blocks(problem, block))


def row_blocks(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Iterator[tuple[Float, Float]]:
    """Yield the blocks of one joint after the other; those with fewer rows than others end with 0.

    First come the rows Z of unit Gram matrix, shape (m, l, b), of m blocks of l rows: ``Z Z^T`` is
    the leverage; then the weighted residuals, shape (m, l, 1). The inverse is that of the
    triangular factor of the weighted regressor, blocks are given by their length [s].
    """
    samples = block_samples(problem, block)
    residual = problem.by_joint(problem.y - problem.W @ beta) * weights
    rows = problem.by_joint(problem.W)
    missing = samples == NO_SAMPLE
    for j in range(problem.dof):
        Z, r = ((rows[:, j] * weights[j]) @ inverse)[samples], residual[samples, j, None]
        Z[missing], r[missing] = 0.0, 0.0
        yield Z, r


def block_samples(problem: LinearProblem, block: float) -> Int2D:
    """Return the samples of every block.

    Where residuals repeat, a block is the same part of all periods: that is one error, not as many
    as there are periods. Too few such blocks show no covariance: then, and where nothing repeats,
    blocks follow one another, and samples left over at the end are dropped.

    The indices have shape (m, l), with `NO_SAMPLE` where a block of this length [s] has fewer than
    l.
    """
    N = problem.samples
    if problem.repeats and problem.period is not None:
        count = int(problem.period / block)
        if count * problem.dof >= BLOCKS_PER_PARAMETER * problem.basis.rank:
            which = same_phase(problem, count)
            held = np.bincount(which, minlength=count)
            order = np.argsort(which, kind="stable")
            place = np.arange(N) - np.repeat(np.cumsum(held) - held, held)
            samples = np.full((count, held.max()), NO_SAMPLE)
            samples[which[order], place] = order
            return samples
    length = min(max(1, round(block / problem.dt)), N)
    return np.arange(N // length * length).reshape(-1, length)


def same_phase(problem: LinearProblem, count: int) -> Int1D:
    """Return which of so many equal parts of its period every sample is in, shape (N,), from 0."""
    assert problem.period is not None
    phase = np.arange(problem.samples) * problem.dt / problem.period % 1.0
    return np.minimum((phase * count).astype(np.intp), count - 1)


def row_blocks_of(problem: LinearProblem, block: float) -> int:
    """Return how many blocks of a length [s] the rows of a joint have, the same for every joint."""
    return len(block_samples(problem, block))


def share_in_blocks(problem: LinearProblem, block: float) -> float:
    """Return the share of the samples that blocks of a length [s] hold, at most 1."""
    return float((block_samples(problem, block) != NO_SAMPLE).sum() / problem.samples)


def _corrected_scores(Z: Float, r: Float) -> Float2D:
    """Return Z^T (1 - Z Z^T)^-1 r of every block, by the smaller of the two Gram matrices."""
    transposed = Z.transpose(0, 2, 1)
    small = Z.shape[1] < Z.shape[2]
    gram = Z @ transposed if small else transposed @ Z
    trace = np.trace(gram, axis1=1, axis2=2)
    for k in np.flatnonzero(trace > SATURATED):  # the trace bounds the largest eigenvalue
        largest = np.linalg.eigvalsh(gram[k])[-1]
        gram[k] *= min(1.0, SATURATED / largest)
    inner = np.eye(gram.shape[1]) - gram
    if small:
        return np.asarray((transposed @ np.linalg.solve(inner, r))[:, :, 0])
    return np.asarray(np.linalg.solve(inner, transposed @ r)[:, :, 0])
