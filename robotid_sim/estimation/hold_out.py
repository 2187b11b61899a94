r"""Held-out likelihood of linear models whose rows have one noise per joint.

With the rows split into contiguous blocks, the parameters and the noise :math:`\hat\sigma_j` of
every joint come from all blocks but one, and the likelihood of the omitted block is

.. math:: \ell = -\sum_j \Big( m_j \log \hat\sigma_j + \frac{\nu + m_j}{2}
    \log \Big( 1 + \frac{|y_j - A_j \hat\beta|^2}{\nu \hat\sigma_j^2} \Big) \Big)

with its :math:`m_j` rows [1]_, the Student distribution with :math:`\nu` degrees of freedom:
residuals are colored, and one outlying block must not outweigh all others. The products of columns
:math:`[A_j\,y_j]^T [A_j\,y_j]` are summed once, by block and joint; every model with fewer columns
is then a small system. The precision of normal equations suffices to compare likelihoods.

References
----------
.. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J. Royal
   Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Bool1D, Bool2D, Float, Float1D, Float2D, Int1D
from robotid_sim.estimation.problem import LinearProblem

FOLD_COUNT = 8
"""Number of blocks of the cross-validation."""

NOISE_FLOOR = 5e-4
"""Minimum noise of a joint's rows, over its RMS torque."""

NOISE_ROUNDS = 3
"""Number of noise estimates."""

DEGREES_OF_FREEDOM = 10.0
"""Degrees of freedom nu of the noise in a held-out block."""

MIN_GAIN = 6.0
"""Minimum gain of the held-out log-likelihood; a search adds the logarithm of its candidates'
number."""

MIN_GAIN_OVER_ERROR = 2.5
"""Minimum gain over its standard error."""

MIN_TESTED_GAIN_RATIO = 1.5
"""Minimum gain over its standard error, for functions that are significant in the whole sample."""

MIN_UNSHARED_GAIN_RATIO = 1.0
"""Same ratio for functions that cannot be a parameter of a different joint."""

RIDGE_WEIGHT = 1e-10
"""Addition to the diagonal of the normal equations of unit columns, so that no fit fails."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A weighted fit of all rows or of some blocks."""

    beta: Float1D
    """Parameters of the chosen columns."""
    sigma: Float1D
    """Noise of every joint's rows [N m], shape (n,)."""
    cov: Float2D
    """Covariance of the parameters for white residuals."""
    likelihood: float
    """Logarithm of the likelihood of the rows, up to a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Sums of products of the columns by block and joint."""

    products: Float
    """Shape (folds, n, p + 1, p + 1); the torque is the last column."""
    count: Float2D
    """Rows by block and joint, shape (folds, n)."""
    floor: Float1D
    """Minimum noise of every joint [N m], shape (n,)."""
    volume: float = 0.0
    """Addition to the log-likelihood per sample for a change of the torque unit."""
    effects: int = 0
    """Number of last columns that are random effects of unit variance."""

    @classmethod
    def from_columns(
        cls, A: Float, fold: Int1D, use: Bool2D, floor: Float1D, volume: float = 0.0
    ) -> Self:
        """Sum the products of rows by block and joint.

        The rows `A` have shape (N, n, p + 1), with the torque last, and are zero where `use` is
        false. `fold` is the block of every sample, see `assign_blocks`, `floor` the minimum noise
        of joints [N m or N], and `volume` the logarithm of the change of the torque unit, per
        sample.
        """
        blocks = range(int(fold.max()) + 1)
        by_joint = [A[fold == f].transpose(1, 2, 0) for f in blocks]
        products = np.array([part @ part.transpose(0, 2, 1) for part in by_joint])
        count = np.array([use[fold == f].sum(axis=0) for f in blocks], dtype=float)
        return cls(products, count, floor, volume)

    @classmethod
    def from_problem(cls, problem: LinearProblem, *columns: Float, random: bool = False) -> Self:
        """Sum the rows of a problem and of further columns, (N, n, k).

        The columns may be random effects: torque of one standard deviation [N m]. The minimum noise
        of a joint is `NOISE_FLOOR` of its torque.
        """
        y = problem.unstack_rows(problem.y)
        size = np.sqrt((y**2).mean(axis=0))
        A = np.concatenate([problem.unstack_rows(problem.W), *columns, y[:, :, None]], axis=2)
        is_measured = np.tile(problem.measured_joints, (problem.samples, 1))
        A *= is_measured[:, :, None]
        folds = assign_blocks(problem.times, problem.period)
        sums = cls.from_columns(
            A, folds, is_measured, NOISE_FLOOR * np.where(size > 0.0, size, 1.0)
        )
        return replace(sums, effects=sum(part.shape[2] for part in columns) if random else 0)

    def fit(self, columns: Sequence[int] | Int1D) -> Fit:
        """Fit some columns to all blocks, with weights by the residuals."""
        sums = self._sums(columns)
        total = _Sums(*(part.sum(axis=0, keepdims=True) for part in sums))
        effects, count = self._is_effect(columns), total.rows[0]
        beta, sigma, S, squares = total.solve(effects, self.floor)
        size = np.sqrt(np.diag(S[0]))
        size = np.where(size > 0.0, size, 1.0)
        cov = np.linalg.inv(S[0] / np.outer(size, size) + RIDGE_WEIGHT * np.eye(effects.size))
        likelihood = -(count * np.log(sigma[0])).sum() - 0.5 * (squares[0] / sigma[0] ** 2).sum()
        likelihood += self.volume * count.mean()
        return Fit(beta[0], sigma[0], cov / np.outer(size, size), float(likelihood))

    def score(self, columns: Sequence[int] | Int1D) -> Float1D:
        """Compute the log-likelihood of every block, fitted to the other ones, shape (folds,)."""
        return np.asarray(self.score_by_joint(columns).sum(axis=1))

    def score_by_joint(self, columns: Sequence[int] | Int1D) -> Float2D:
        """Compute `score` for every joint, shape (folds, n)."""
        sums, count = self._sums(columns), self.count
        others = _Sums(*(part.sum(axis=0) - part for part in sums))
        beta, sigma, _, _ = others.solve(self._is_effect(columns), self.floor)
        log_ratio = np.log1p(sums.squares(beta) / (DEGREES_OF_FREEDOM * sigma**2))
        scores = -count * np.log(sigma) - 0.5 * (DEGREES_OF_FREEDOM + count) * log_ratio
        return np.asarray(scores + self.volume * count.mean(axis=1, keepdims=True) / count.shape[1])

    def _sums(self, columns: Sequence[int] | Int1D) -> "_Sums":
        chosen, products = np.asarray(columns, dtype=np.intp), self.products
        A, z = products[:, :, chosen[:, None], chosen], products[:, :, chosen, -1]
        return _Sums(A, z, products[:, :, -1, -1], self.count)

    def _is_effect(self, columns: Sequence[int] | Int1D) -> Bool1D:
        first = self.products.shape[-1] - 1 - self.effects
        return np.asarray(np.greater_equal(columns, first))


class _Sums(NamedTuple):
    """Sums of products of b columns and torque over m sets of rows and n joints."""

    A: Float
    """Products of columns, shape (m, n, b, b)."""
    z: Float
    """Products of columns and torque, shape (m, n, b)."""
    yy: Float2D
    """Squared torque, shape (m, n)."""
    rows: Float2D
    """Numbers of rows, shape (m, n)."""

    def squares(self, beta: Float2D) -> Float2D:
        """Compute the sums of squared residuals, shape (m, n), by parameters (m, b)."""
        moved = (self.A @ beta[:, None, :, None])[..., 0] - 2.0 * self.z
        return np.asarray(np.maximum(self.yy + (moved @ beta[:, :, None])[..., 0], 0.0))

    def solve(self, effects: Bool1D, floor: Float1D) -> tuple[Float2D, Float2D, Float, Float2D]:
        """Fit each of the sets with columns that are parameters or `effects`.

        Returns parameters, shape (m, b), and noise, (m, n), at least the floor; the normal matrix,
        (m, b, b), and squared residuals, (m, n), for the last weights.
        """
        (m, n), b = self.rows.shape, effects.size
        freedom_degrees = np.maximum(self.rows - (~effects).sum() / n, 1.0)
        sigma = np.sqrt(self.yy / np.maximum(self.rows, 1.0) + floor**2)
        flat = self.A.reshape(m, n, -1)
        for _ in range(NOISE_ROUNDS):
            weights = sigma[:, None] ** -2.0
            S = (weights @ flat).reshape(m, b, b) + np.diag(effects.astype(float))
            size = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
            size = np.where(size > 0.0, size, 1.0)
            unit = S / (size[:, :, None] * size[:, None]) + RIDGE_WEIGHT * np.eye(b)
            right_side = (weights @ self.z)[:, 0] / size
            beta = np.linalg.solve(unit, right_side[:, :, None])[:, :, 0] / size
            squares = self.squares(beta)
            sigma = np.sqrt(squares / freedom_degrees + floor**2)
        return beta, sigma, S, squares


def robust_gain(gain: Float1D, errors: float = MIN_GAIN_OVER_ERROR) -> float:
    """Compute the robust part of a gain of log-likelihood by block, shape (folds,).

    This is the gain without the block of the largest gain; minus infinity if the whole gain is at
    most `errors` times its standard error.
    """
    return float(gain.sum() - gain.max()) if compute_certainty(gain) > errors else -np.inf


def score_blocks(problem: LinearProblem) -> Float2D:
    """Compute the log-likelihood of held-out blocks, fitted to the other ones, shape (folds, n)."""
    return HeldOut.from_problem(problem).score_by_joint(np.arange(problem.basis.rank))


def predicts_better(before: LinearProblem, after: LinearProblem) -> Bool1D:
    """Return the joints whose held-out blocks `after` predicts better than `before`.

    A gain counts if it exceeds `MIN_GAIN` without the block of the largest gain, and
    `MIN_GAIN_OVER_ERROR` times its standard error.
    """
    gains = score_blocks(after) - score_blocks(before)
    return np.array([robust_gain(gain) > MIN_GAIN for gain in gains.T])


def compute_certainty(gain: Float1D) -> float:
    """Compute the ratio of a gain, given by block, to its standard error."""
    error = float(np.sqrt(gain.size) * gain.std(ddof=1))
    return float(gain.sum()) / max(error, np.finfo(float).tiny)


def assign_blocks(times: Float1D, period: float | None) -> Int1D:
    """Assign every row to a block, 0 to `FOLD_COUNT` - 1, by its time [s], shape (N,).

    The same phases of all periods are held out together.
    """
    elapsed = times - times[0]
    if period is not None and elapsed[-1] > 1.5 * period:
        share = elapsed / period % 1.0
    else:
        share = elapsed / (elapsed[-1] * (1.0 + 1e-9))
    return np.asarray(np.minimum((share * FOLD_COUNT).astype(np.intp), FOLD_COUNT - 1))
