r"""Covariance of weighted fits whose residuals are correlated within blocks of rows.

The variance of a weighted fit whose residuals are correlated within blocks is estimated as

.. math:: A \Big( \sum_{j,B} s_{jB} s_{jB}^T \Big) A, \qquad
    s_{jB} = X_{jB}^T (1 - H_{jB})^{-1/2} r_{jB},

with one score per joint j and block B [1]_. It is unbiased for white residuals, while the jackknife
form in `Estimate.cov` is too large; and since the variance from few blocks scatters, the quantile
is Student's with the degrees of freedom of a chi-squared variable of the same mean and variance
(Satterthwaite), parameter by parameter [1]_.

The length of blocks follows from the correlation of residuals in time. The mean of N correlated
residuals has the variance of the mean of :math:`N / (1 + 2 \sum_k \rho_k)` independent ones, with
the autocorrelations :math:`\rho_k`, whose sums over pairs of neighbors are assumed to decrease,
down to the first non-positive one [2]_.

References
----------
.. [1] Bell, McCaffrey (2002), "Bias reduction in standard errors for linear regression with
   multi-stage samples", Survey Methodology 28.
.. [2] Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7,
   doi:10.1214/ss/1177011137 (initial monotone sequence).
"""

from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, Int2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows

MAX_LEVERAGE = 0.999
"""Maximum leverage of a block in the correction; at larger ones a block determines its own fit."""

BLOCKS_PER_PARAMETER = 2
"""Minimum number of blocks per parameter for a covariance."""

PADDING_INDEX = -1
"""Index of missing samples of blocks that are shorter than others."""


def check_block(block: float | None) -> None:
    """Raise `OptionError` unless a length of covariance blocks is positive and finite."""
    if block is not None and not 0.0 < block < np.inf:
        raise OptionError(f"covariance blocks need a positive length, got {block} s")


def check_rounds(subject_and_verb: str, rounds: int, block: float | None) -> None:
    """Raise `OptionError` unless there is at least one round; also check the block."""
    if rounds < 1:
        raise OptionError(f"{subject_and_verb} at least 1 round, got {rounds}")
    check_block(block)


def choose_block_length(problem: LinearProblem, beta: Float1D, block: float | None) -> float:
    """Choose the length of covariance blocks [s]: `block`; if None, that for the residuals."""
    if block is not None:
        return block
    residual = problem.unstack_rows(problem.y - problem.W @ beta)
    period = problem.period if problem.repeats else None
    return block_length(residual, problem.dt, period)


def block_sandwich(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Float2D:
    r"""Compute the covariance of a weighted fit whose residuals are correlated within blocks.

    .. math:: A \Big( \sum_{j,B} s_{jB} s_{jB}^T \Big) A, \qquad
        s_{jB} = X_{jB}^T (1 - H_{jB})^{-1} r_{jB},

    with one score per joint j and block B of `block` seconds, see `block_samples`. X are weighted
    rows, r their residuals, ``H = X A X^T`` the leverage and ``A = (X^T X)^-1``: the jackknife form
    of [2]_. Residuals of a filtered log are colored, and are too small in blocks of high leverage.
    With few blocks the covariance is too large: by a quarter for 300 blocks of white residuals and
    52 parameters.

    `weights` are those of the joints, shape (n,); `inverse` is the inverse of the triangular factor
    of the weighted regressor, so that ``A = inverse inverse^T``. The result has shape (b, b).

    References
    ----------
    .. [2] Bell, McCaffrey (2002), "Bias reduction in standard errors for linear regression with
       multi-stage samples", Survey Methodology 28.
    """
    meat = np.zeros((len(beta), len(beta)))
    for Z, residual in row_blocks(problem, beta, weights, inverse, block):
        transposed = Z.transpose(0, 2, 1)
        has_few_rows = Z.shape[1] < Z.shape[2]
        gram = Z @ transposed if has_few_rows else transposed @ Z
        trace = np.trace(gram, axis1=1, axis2=2)
        for k in np.flatnonzero(trace > MAX_LEVERAGE):  # the trace bounds the largest eigenvalue
            largest = np.linalg.eigvalsh(gram[k])[-1]
            gram[k] *= min(1.0, MAX_LEVERAGE / largest)
        # Z^T (1 - Z Z^T)^-1 r of every block, computed with the smaller of the two Gram matrices
        inner, r = np.eye(gram.shape[1]) - gram, residual if has_few_rows else transposed @ residual
        solved = np.linalg.solve(inner, r)
        scores = (transposed @ solved if has_few_rows else solved)[:, :, 0]
        meat += scores.T @ scores
    return np.asarray(inverse @ meat @ inverse.T / compute_block_share(problem, block))


def row_blocks(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Iterator[tuple[Float, Float]]:
    """Yield the blocks joint by joint; blocks with fewer rows are padded with zeros.

    Every item holds the m blocks of l rows of a joint: the rows Z, shape (m, l, b), which have a
    unit Gram matrix in total, so that ``Z Z^T`` is the leverage; and the weighted residuals, shape
    (m, l, 1). Arguments as for `block_sandwich`.
    """
    samples = block_samples(problem, block)
    residual = problem.unstack_rows(problem.y - problem.W @ beta) * weights
    rows = problem.unstack_rows(problem.W)
    missing = samples == PADDING_INDEX
    for j in range(problem.dof):
        Z, r = ((rows[:, j] * weights[j]) @ inverse)[samples], residual[samples, j, None]
        Z[missing], r[missing] = 0.0, 0.0
        yield Z, r


def block_samples(problem: LinearProblem, block: float) -> Int2D:
    """Assign samples to blocks of `block` seconds.

    Where residuals repeat, a block is the same part of all periods, because their errors are equal.
    If there are too few such blocks, or residuals do not repeat, blocks follow one another, and
    samples after the last whole block are dropped.

    The result has the indices of the samples of m blocks, shape (m, l); blocks with fewer than l
    samples end with `PADDING_INDEX`.
    """
    N = problem.samples
    if problem.repeats and problem.period is not None:
        count = int(problem.period / block)
        if count * problem.dof >= BLOCKS_PER_PARAMETER * problem.basis.rank:
            phase_of_sample = assign_phases(problem, count)
            counts = np.bincount(phase_of_sample, minlength=count)
            order = np.argsort(phase_of_sample, kind="stable")
            place = np.arange(N) - np.repeat(np.cumsum(counts) - counts, counts)
            samples = np.full((count, counts.max()), PADDING_INDEX)
            samples[phase_of_sample[order], place] = order
            return samples
    length = min(max(1, round(block / problem.dt)), N)
    return np.arange(N // length * length).reshape(-1, length)


def assign_phases(problem: LinearProblem, count: int) -> Int1D:
    """Assign every sample to one of `count` equal parts of its period, from 0, shape (N,)."""
    assert problem.period is not None
    phase = np.arange(problem.samples) * problem.dt / problem.period % 1.0
    return np.minimum((phase * count).astype(np.intp), count - 1)


def row_blocks_of(problem: LinearProblem, block: float) -> int:
    """Count the blocks of `block` seconds in the rows of one joint; it is equal for all."""
    return len(block_samples(problem, block))


def compute_block_share(problem: LinearProblem, block: float) -> float:
    """Compute the share of the samples that lie in blocks of `block` seconds, at most 1."""
    return float((block_samples(problem, block) != PADDING_INDEX).sum() / problem.samples)


MAX_BLOCKS_IN_MEMORY = 2000
"""Maximum number of blocks whose matrices, shape (b, b), are in memory at a time."""


def block_variance(
    problem: LinearProblem, beta: Float1D, weights: Float1D, block: float
) -> tuple[Float1D, Float1D]:
    r"""Estimate the variance of every parameter and its degrees of freedom [1], shape (b,) each.

    With the rows Z of unit Gram matrix and c the row of parameter k in R^-1, the variance is a sum
    of squares of normal variables with the covariance :math:`\Omega = \mathrm{diag}(d) - U U^T`,
    where :math:`U_B = Z_B^T M_B Z_B c`, :math:`d_B = |M_B Z_B c|^2` and M the root of
    :math:`(1 - H_B)^{-1}`; its degrees of freedom are :math:`(\mathrm{tr}\,\Omega)^2 / |\Omega|^2`.
    `beta` is the solution for the `weights` of the joints, shape (n,); `block` is the length of a
    block [s]. Random effects of the problem are not included.
    """
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    b = len(inverse)
    variance, trace, squares, outer = np.zeros(b), np.zeros(b), np.zeros(b), np.zeros((b, b, b))
    for Z, r in _iterate_blocks(problem, beta, weights, inverse, block):
        transposed = Z.transpose(0, 2, 1)
        has_few_rows = Z.shape[1] < Z.shape[2]
        values, vectors = np.linalg.eigh(Z @ transposed if has_few_rows else transposed @ Z)
        factors = 1.0 / np.sqrt(1.0 - np.minimum(values, MAX_LEVERAGE))
        root = (vectors * factors[:, None, :]) @ vectors.transpose(0, 2, 1)
        # (1 - Z Z^T)^(-1/2) Z with the smaller of the two Gram matrices: (blocks, rows, parameters)
        adjusted_rows = (root @ Z if has_few_rows else Z @ root) @ inverse.T
        variance += ((adjusted_rows.transpose(0, 2, 1) @ r)[:, :, 0] ** 2).sum(axis=0)
        U = transposed @ adjusted_rows
        d = (adjusted_rows**2).sum(axis=1)
        length = (U**2).sum(axis=1)
        trace += (d - length).sum(axis=0)
        squares += (d**2 - 2.0 * d * length).sum(axis=0)
        per_parameter = U.transpose(2, 1, 0)
        outer += per_parameter @ per_parameter.transpose(0, 2, 1)
    squares += (outer**2).sum(axis=(1, 2))
    share = 1.0 / compute_block_share(problem, block)  # accounts for the last, incomplete block
    return share * variance, np.maximum(trace**2 / squares, 1.0)


def _iterate_blocks(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Iterator[tuple[Float, Float]]:
    """Yield the blocks of `row_blocks`, at most `MAX_BLOCKS_IN_MEMORY` at a time."""
    for Z, r in row_blocks(problem, beta, weights, inverse, block):
        for first in range(0, len(Z), MAX_BLOCKS_IN_MEMORY):
            part = slice(first, first + MAX_BLOCKS_IN_MEMORY)
            yield Z[part], r[part]


MIN_BLOCK_LENGTH = 0.2
"""Minimum length of the blocks of a covariance [s]."""

BLOCK_LENGTH_RATIO = 2.0
"""Length of a block over the correlation time of the residuals.

For exponentially correlated residuals such blocks give three quarters of the variance. Longer
blocks are too few, and their covariance scatters.
"""

MIN_BLOCKS = 20
"""Minimum number of blocks per joint in a log, or in a period of it."""


def autocorrelation(x: Float2D) -> Float2D:
    """Compute the autocorrelation of every column of x (N, n) at all lags, shape (N, n)."""
    centered = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(centered, 2 * len(x), axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[: len(x)]
    return np.asarray(covariance / np.maximum(covariance[0], np.finfo(float).tiny))


def effective_rows(rho: Float2D) -> Float1D:
    """Compute the equivalent number of independent rows, at most N, shape (n,).

    The autocorrelations rho, shape (N, n), begin at lag 0.
    """
    N, even = len(rho), len(rho) // 2 * 2
    pairs = rho[:even].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    falling = np.maximum(np.minimum.accumulate(pairs, axis=0), 0.0)  # [2]
    inflation = 2.0 * falling.sum(axis=0) - 1.0
    return np.asarray(N / np.maximum(inflation, 1.0))


def block_length(residual: Float2D, dt: float, period: float | None = None) -> float:
    """Compute the length of covariance blocks for residuals (N, n), `dt` apart [s].

    The joint with the longest correlation decides. `period` [s] is that of repeating residuals.
    """
    N = len(residual)
    correlation_time = dt * N / float(effective_rows(autocorrelation(residual)).min())
    max_length = min(dt * N, period or np.inf) / MIN_BLOCKS
    return max(MIN_BLOCK_LENGTH, min(BLOCK_LENGTH_RATIO * correlation_time, max_length))


def block_of(estimate: Estimate) -> float:
    """Read the length of the blocks of an estimate's covariance [s]."""
    return estimate.block or MIN_BLOCK_LENGTH
