"""What rows of several logs weigh, by the noise of every log and joint."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float2D, Int1D
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem

ROUNDS = 3
"""How often the noise of logs is estimated anew."""

LARGEST = 20.0
"""Largest ratio of weights: a log that a fit happens to pass exactly must not be all of it."""


def weights_by_log(problem: LinearProblem, log_of: Int1D) -> Float2D:
    """Return weights that make the noise of logs alike, one a log and joint, shape (logs, n).

    With them the noise of every joint's rows is that of the joint in the fit of all logs: iterated
    weighted least squares with one variance a log and joint.

    The rows are not weighed yet; `log_of` says which log every sample is of, from 0.
    """
    logs = int(log_of.max()) + 1
    weights = np.ones((logs, problem.dof))
    for _ in range(ROUNDS):
        scale = weights[log_of].ravel()
        rows = replace(problem, W=problem.W * scale[:, None], y=problem.y * scale)
        fit = WeightedLeastSquares().fit(rows)
        if not fit.success:
            return np.ones((logs, problem.dof))
        squares = problem.by_joint(problem.y - problem.W @ fit.beta) ** 2
        noise = np.sqrt([squares[log_of == k].mean(axis=0) for k in range(logs)])
        pooled = np.sqrt(squares.mean(axis=0))
        floor = np.maximum(pooled / LARGEST, np.finfo(float).tiny)
        weights = pooled / np.maximum(noise, floor)
    return weights
