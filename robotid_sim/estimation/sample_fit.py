"""Estimates that are not a least-squares fit of a problem's rows, as such a fit is returned."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import random_errors
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows

NOT_RECORDED = (
    "no recording of all joints of a known robot to simulate; this is weighted least squares"
)


def with_parameters_of_its_own(
    problem: LinearProblem,
    wls: Estimate,
    beta: Float1D,
    cov: Float2D,
    cov_white: Float2D,
    dof: Float1D,
) -> Estimate:
    """Return a weighted least-squares estimate with other parameters and their covariance.

    Residuals and noise are those of the rows with beta, shape (b,). Random effects of the problem
    move every estimator about as they move least squares, and widen the covariances, shape (b, b),
    so. The degrees of freedom of the covariance have the shape (b,).
    """
    left = problem.by_joint(problem.y - problem.W @ beta)
    rms = np.sqrt((left**2).mean(axis=0))
    freedom = 1.0 - len(beta) / len(problem.y)
    noise = np.maximum(rms / np.sqrt(freedom), wls.noise_std)
    _, R = reduce_rows(problem).solve(1.0 / noise)
    half = random_errors(problem, 1.0 / noise, np.linalg.inv(R))
    more = half @ half.T
    return replace(
        wls,
        beta=beta,
        torque_rms=rms,
        noise_std=noise,
        cov=cov + more,
        cov_white=cov_white + more,
        dof=dof,
    )
