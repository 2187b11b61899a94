"""Fits of logs that do not fit into memory: the rows come in parts and are not kept.

A part is a linear problem of some seconds. One pass over the parts leaves one small triangular
factor per joint, from which weights and parameters follow; a second pass adds up the covariance for
coloured residuals, whose blocks must lie within parts.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import LogError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import (
    WeightedLeastSquares,
    block_sandwich,
    estimate_of,
    fit_reduction,
)
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import Reduction, reduce_rows, triangular_factor

ProblemStream = Callable[[], Iterable[LinearProblem]]
"""Returns the parts of a log from its first one; called once a pass.

Motions with a row filter should overlap by twice its `edge`, which it drops at both ends.
"""


def merged(first: Reduction, other: Reduction) -> Reduction:
    """Return the triangular factors of the rows of two reductions together."""
    pairs = zip(first.factors, other.factors, strict=True)
    factors = np.array([triangular_factor(np.vstack(pair)) for pair in pairs])
    return Reduction(factors, first.samples + other.samples)


def reduce_parts(parts: Iterable[LinearProblem]) -> Reduction:
    """Return the triangular factors of all parts, keeping none of their rows.

    Raises
    ------
    LogError
        If there are no parts.
    """
    whole: Reduction | None = None
    for part in parts:
        reduced = reduce_rows(part)
        whole = reduced if whole is None else merged(whole, reduced)
    if whole is None:
        raise LogError("a stream without parts determines no parameters")
    return whole


def fit_stream(parts: ProblemStream, estimator: WeightedLeastSquares | None = None) -> Estimate:
    """Return the weighted least-squares estimate of a log that comes in parts, in two passes.

    It is that of all rows at once, but for rounding, and but for covariance blocks that the
    bounds of the parts cut. Of the estimator only the options count; by default those of the
    class.
    """
    began, method = time.perf_counter(), estimator or WeightedLeastSquares()
    first = next(iter(parts()), None)
    if first is None:
        raise LogError("a stream without parts determines no parameters")
    reduction = reduce_parts(parts())
    result = estimate_of(first, "wls", reduction.samples * reduction.dof, asdict(method))
    del first

    def sandwich(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
        total = np.zeros_like(inverse)
        for part in parts():
            total += block_sandwich(part, beta, weights, inverse, method.block)
        return total

    estimate = fit_reduction(reduction, method.rounds, result, sandwich)
    return replace(estimate, seconds=time.perf_counter() - began)
