r"""Variance of a weighted fit by blocks of residuals, without bias, and its degrees of freedom.

The variance of a weighted fit whose residuals are correlated within blocks is estimated as

.. math:: A \Big( \sum_{j,B} s_{jB} s_{jB}^T \Big) A, \qquad
    s_{jB} = X_{jB}^T (1 - H_{jB})^{-1/2} r_{jB},

with one score per joint j and block B [1]_. For white residuals it has no bias, while the jackknife
form in `Estimate.cov` errs on the large side; and since few blocks give a variance that scatters,
the quantile is Student's with the degrees of freedom of a chi-squared variable of the same mean and
variance (Satterthwaite), parameter by parameter [1]_.

References
----------
.. [1] Bell, McCaffrey (2002), "Bias reduction in standard errors for linear regression with
   multi-stage samples", Survey Methodology 28.
"""

from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.estimation.block_sandwich import SATURATED, row_blocks, share_in_blocks
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows

AT_A_TIME = 2000
"""Blocks whose matrices, shape (b, b) each, are held at a time: long logs have very many."""


def block_variance(
    problem: LinearProblem, beta: Float1D, weights: Float1D, block: float
) -> tuple[Float1D, Float1D]:
    r"""Return variances by the residuals and degrees of freedom by [1], both of shape (b,).

    With the rows Z of unit Gram matrix and c the row of parameter k in R^-1, the variance is a sum
    of squares of normal variables with the covariance :math:`\Omega = \mathrm{diag}(d) - U U^T`,
    where :math:`U_B = Z_B^T M_B Z_B c`, :math:`d_B = |M_B Z_B c|^2` and M the root of
    :math:`(1 - H_B)^{-1}`; its degrees of freedom are :math:`(\mathrm{tr}\,\Omega)^2 / |\Omega|^2`.
    The solution is beta, with weights of the joints, shape (n,), and blocks of a length [s]. What
    random effects of the problem add is not in it.
    """
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    b = len(inverse)
    variance, trace, squares, outer = np.zeros(b), np.zeros(b), np.zeros(b), np.zeros((b, b, b))
    for Z, r in _some_blocks(problem, beta, weights, inverse, block):
        leveled = _leveled(Z) @ inverse.T  # (blocks, rows, parameters)
        variance += ((leveled.transpose(0, 2, 1) @ r)[:, :, 0] ** 2).sum(axis=0)
        U = Z.transpose(0, 2, 1) @ leveled
        d = (leveled**2).sum(axis=1)
        length = (U**2).sum(axis=1)
        trace += (d - length).sum(axis=0)
        squares += (d**2 - 2.0 * d * length).sum(axis=0)
        per_parameter = U.transpose(2, 1, 0)
        outer += per_parameter @ per_parameter.transpose(0, 2, 1)
    squares += (outer**2).sum(axis=(1, 2))
    share = 1.0 / share_in_blocks(problem, block)  # what the last, incomplete block lacks
    return share * variance, np.maximum(trace**2 / squares, 1.0)


def _some_blocks(
    problem: LinearProblem, beta: Float1D, weights: Float1D, inverse: Float2D, block: float
) -> Iterator[tuple[Float, Float]]:
    """Yield the blocks of every joint as `row_blocks`, some at a time."""
    for Z, r in row_blocks(problem, beta, weights, inverse, block):
        for first in range(0, len(Z), AT_A_TIME):
            part = slice(first, first + AT_A_TIME)
            yield Z[part], r[part]


def _leveled(Z: Float) -> Float:
    """Return (1 - Z Z^T)^(-1/2) Z of every block, by the smaller of the two Gram matrices."""
    transposed = Z.transpose(0, 2, 1)
    small = Z.shape[1] < Z.shape[2]
    values, vectors = np.linalg.eigh(Z @ transposed if small else transposed @ Z)
    factors = 1.0 / np.sqrt(1.0 - np.minimum(values, SATURATED))
    root = (vectors * factors[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(root @ Z if small else Z @ root)
