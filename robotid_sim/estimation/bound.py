"""The statistical limit: no unbiased estimator is more accurate than the Cramér-Rao bound."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows


def cramer_rao(problem: LinearProblem, noise_std: Float1D) -> Float2D:
    r"""Return the Cramér-Rao bound :math:`(W^T \Sigma^{-1} W)^{-1}`, shape (b, b).

    For exactly known motion and white Gaussian torque noise; it is the yardstick that errors are
    measured by, which preprocessing of noisy motion can only approach.

    Parameters
    ----------
    problem : LinearProblem
        Rows of the exact regressor at the full sample rate.
    noise_std : ndarray, shape (n,)
        Standard deviation of the torque noise of every joint [N m].

    Raises
    ------
    numpy.linalg.LinAlgError
        If the motion does not determine all parameters.
    """
    _, R = reduce_rows(problem).solve(1.0 / np.asarray(noise_std))
    inverse = np.linalg.inv(R)
    return np.asarray(inverse @ inverse.T)
