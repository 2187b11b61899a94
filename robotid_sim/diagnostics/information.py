r"""Where in a motion the information on every parameter is.

Without the rows of a stretch the variance of a parameter grows from :math:`\sigma^2` to
:math:`\sigma_s^2`; the share of its information that the stretch alone gives is
:math:`1 - \sigma^2 / \sigma_s^2`: 0 if other rows say as much, 1 if no other row shows the
parameter.
"""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows, triangular_factor

UNSEEN = 1e-8
"""Length of the row that stands for a column, of length one, which no other row shows."""


def information_shares(
    problem: LinearProblem, weights: Float1D, stretches: Sequence[Bool1D]
) -> Float2D:
    """Return the share of the information on every parameter that stretches of a motion give.

    A row of every joint weighs one over its noise; a stretch is a mask of samples, shape (N,).
    Shares have shape (stretches, b), between 0 and 1; those of one parameter need not sum to 1.
    """
    factors = np.array([reduce_rows(problem, use).whole(weights)[:-1, :-1] for use in stretches])
    size = np.linalg.norm(factors, axis=(0, 1))
    factors = factors / np.where(size > 0.0, size, 1.0)
    with_all = _variances(factors)
    without = [_variances(np.delete(factors, k, axis=0)) for k in range(len(factors))]
    return np.asarray(1.0 - with_all / np.array(without)).clip(0.0, 1.0)


def _variances(factors: Float) -> Float1D:
    """Return the variances of the parameters from triangular factors of parts of the rows."""
    count = factors.shape[2]
    rows = np.vstack([factors.reshape(-1, count), UNSEEN * np.eye(count)])
    inverse = np.linalg.inv(triangular_factor(rows))
    return np.asarray((inverse**2).sum(axis=1))
