"""Blocked QR of the stacked regressor, one small factor per joint.

For least squares the triangular factor of ``[W_j y_j]`` of a joint is equivalent to its rows:
``|y_j - W_j beta|^2 = |z_j - R_j beta|^2 + c_j``. Weights per joint then cost a QR of the small
factors only, and the rows are read once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.errors import LogError
from robotid_sim.estimation.problem import LinearProblem

SPAN_TOLERANCE = 1e-9
"""Minimum singular value of a direction that columns of length one span."""

BLOCK_SIZE = 2000
"""Rows per block; larger ones exceed the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Triangular factors of every joint's rows."""

    factors: Float
    """Factor of ``[W_j y_j]``, shape (n, b + 1, b + 1); its last column is z_j and sqrt(c_j)."""
    samples: float
    """Number of rows per joint, the sum of their weights with forgetting."""

    @property
    def dof(self) -> int:
        """Number of joints n."""
        return len(self.factors)

    def whole(self, weights: Float1D) -> Float2D:
        """Compute the triangular factor of the rows of all joints for weights per joint."""
        stacked = (self.factors * weights[:, None, None]).reshape(-1, self.factors.shape[2])
        return triangular_factor(stacked)

    def solve(self, weights: Float1D) -> tuple[Float1D, Float2D]:
        """Solve for weights per joint; return the solution and the factor R (b, b).

        Raises `numpy.linalg.LinAlgError` if the weighted regressor is numerically rank-deficient.
        """
        factor = self.whole(weights)
        R, z = factor[:-1, :-1], factor[:-1, -1]
        size = np.abs(np.diag(R))
        if not size.min() > 1e-13 * size.max():
            raise np.linalg.LinAlgError("the regressor is rank-deficient")
        return np.linalg.solve(R, z), R

    def compute_squared_residuals(self, beta: Float1D) -> Float1D:
        """Compute the sum of squared residuals of every joint, shape (n,)."""
        extended = np.append(-beta, 1.0)
        return np.asarray(((self.factors @ extended) ** 2).sum(axis=1))


def reduce_rows(problem: LinearProblem, use: Bool1D | None = None) -> Reduction:
    """Compute the triangular factors, (n, b + 1, b + 1), of a problem in blocks of rows.

    All samples count, or those in `use`, shape (N,).
    """
    joint_rows, torques = problem.unstack_rows(problem.W), problem.unstack_rows(problem.y)
    if use is not None:
        joint_rows, torques = joint_rows[use], torques[use]
    size = problem.W.shape[1] + 1
    factors = np.zeros((problem.dof, size, size))
    for j in range(problem.dof):
        R = factor_of_rows(joint_rows[:, j], torques[:, j])
        factors[j, : len(R)] = R
    return Reduction(factors, len(torques))


def merge_reductions(first: Reduction, other: Reduction) -> Reduction:
    """Merge the triangular factors of the rows of two reductions."""
    pairs = zip(first.factors, other.factors, strict=True)
    factors = np.array([triangular_factor(np.vstack(pair)) for pair in pairs])
    return Reduction(factors, first.samples + other.samples)


def reduce_parts(parts: Iterable[LinearProblem]) -> Reduction:
    """Compute the triangular factors of all parts of a log, without keeping their rows.

    Raises `LogError` if there are no parts.
    """
    reductions = map(reduce_rows, parts)
    first = next(reductions, None)
    if first is None:
        raise LogError("the log has no parts; give at least one")
    return reduce(merge_reductions, reductions, first)


def triangular_factor(A: Float2D) -> Float2D:
    """Compute the triangular factor of a QR decomposition."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def factor_of_rows(*columns: Float1D | Float2D, at_a_time: int = BLOCK_SIZE) -> Float2D:
    """Compute the triangular factor of columns side by side, without copying them."""
    R: Float2D = np.zeros((0, sum(1 if part.ndim == 1 else part.shape[1] for part in columns)))
    for first in range(0, len(columns[0]), at_a_time):
        rows = slice(first, first + at_a_time)
        block = np.column_stack([part[rows] for part in columns])
        R = triangular_factor(np.vstack([R, block]))
    return R


def span_of(columns: Float2D) -> Float2D:
    """Compute an orthonormal basis of the span of columns (N, k); zero columns are ignored."""
    size = np.linalg.norm(columns, axis=0)
    U, s, _ = np.linalg.svd(columns[:, size > 0.0] / size[size > 0.0], full_matrices=False)
    return np.asarray(U[:, s > SPAN_TOLERANCE])


def cramer_rao(problem: LinearProblem, noise_std: Float1D) -> Float2D:
    r"""Compute the Cramér-Rao bound :math:`(W^T \Sigma^{-1} W)^{-1}`.

    It holds for exactly known motion and white Gaussian torque noise, and is the reference value of
    errors, which preprocessing of noisy motion can only approach.

    Parameters
    ----------
    problem : LinearProblem
        Rows of the exact regressor at the full sample rate.
    noise_std : ndarray, shape (n,)
        Torque noise of every joint [N m or N].

    Returns
    -------
    bound : ndarray, shape (b, b)
        Smallest covariance of an unbiased estimate.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the motion does not determine all parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> estimate = rid.WeightedLeastSquares().fit(problem)
    >>> bound = rid.cramer_rao(problem, estimate.torque_rms)
    >>> ratio = np.median(estimate.std / np.sqrt(np.diag(bound)))
    >>> bool(0.7 < ratio < 2.0)
    True
    """
    _, R = reduce_rows(problem).solve(1.0 / np.asarray(noise_std))
    inverse = np.linalg.inv(R)
    return np.asarray(inverse @ inverse.T)
