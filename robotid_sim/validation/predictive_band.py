r"""Predictive bands of torques.

Below the cut-off of the rows of a fit, a torque differs from its prediction by the model error,
which is estimated from held-out data of the fit, otherwise from its residuals. Above the cut-off it
differs by the noise of torques and accelerations, which depends on the motion and is estimated from
the predicted log. A band of level p about the prediction has the half-width

.. math:: \sqrt{q_p^2 + z_p^2 (m^2 + W \Sigma W^T)}

with the quantile :math:`q_p` of the size of the differences above the cut-off, the factor
:math:`z_p` of a Gaussian, the error m of the model, RMS, and the covariance :math:`\Sigma` of its
parameters and of the unmodeled functions, whose columns W contains. If a motion leaves the range of
the fit, for example its speeds, the values of a function, and accordingly of the parameters, are
uncertain: the band includes this uncertainty.
"""

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import ndtri

from robotid_sim.arrays import Float1D, Float2D, parts_of
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import regressor_parts
from robotid_sim.estimation.discrepancy import FRICTION_SYMBOLS, Discrepancy, weigh_discrepancy
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import triangular_factor
from robotid_sim.estimation.state_functions import (
    QUANTITIES,
    JointStates,
    RandomFunction,
    UnmodeledFunction,
    joint_states,
)
from robotid_sim.measurement.motion import Motion, remove_gate
from robotid_sim.model.robot import Robot

BAND_LEVEL = 0.9
"""Nominal share of the samples in a band."""


@document_attributes
@dataclass(frozen=True, slots=True)
class UncertainFunction:
    """An unmodeled function of the state of one joint with uncertain values."""

    joint: str
    quantity: str
    knots: tuple[float, ...]
    """Knots in the unit of its quantity, also beyond the range of the fit."""
    mean: tuple[float, ...]
    """Mean subtracted from the functions of the knots."""

    def columns(self, states: JointStates) -> Float2D:
        """Evaluate the functions of its knots along a motion of its joint, shape (N, k)."""
        values = QUANTITIES[self.quantity].functions(states, np.array(self.knots))
        return np.asarray(values - np.array(self.mean))


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class ModelError:
    """Error of the torques of a fit below the cut-off of its rows."""

    std: Float1D
    """RMS error of predictions for motions similar to the fit [N m], shape (n,)."""
    cov: Float2D
    """Covariance of base parameters and of values of the functions, shape (b + k, b + k)."""
    functions: tuple[UncertainFunction, ...] = ()
    """Unmodeled functions, k knots in all."""

    def content(self) -> dict[str, Any]:
        """Return the error as JSON values."""
        functions = [asdict(function) for function in self.functions]
        return {"std": self.std.tolist(), "cov": self.cov.tolist(), "functions": functions}


def error_of(
    problem: LinearProblem, beta: Float1D, discrepancy: Discrepancy, std: Float1D
) -> ModelError:
    """Estimate the error of a model from the rows of its fit and their unmodeled torque.

    The rows are those of the model, `discrepancy` has the predicted values, and `std` is the RMS
    error of predictions for motions similar to the fit [N m]. The error is for predictions below
    the cut-off of the rows. Unpredicted functions are included by their square, with the
    corresponding changes of the parameters.
    """
    # The covariance of parameters given the functions of the fit; ignored functions are errors of
    # the parameters.
    left_out = discrepancy.unpredicted.columns if discrepancy.unpredicted is not None else None
    effects = [part for part in (left_out, problem.random) if part is not None and part.size]
    rows = replace(
        weigh_discrepancy(problem, discrepancy), random=np.hstack(effects) if effects else None
    )
    cov = WeightedLeastSquares().fit(rows, np.random.default_rng(0)).cov
    discrepancy = discrepancy.add_unpredicted
    b, sizes = problem.basis.rank, [len(function.knots) for function in discrepancy.functions]
    mean, root = _joint_posterior(problem, beta, cov, discrepancy, sum(sizes))
    parts = np.split(np.column_stack([root, mean]), np.cumsum([b, *sizes])[:-1])
    roots: list[Float2D] = [parts[0]]
    ends: list[Float2D] = [np.zeros((b, 0))]
    functions = []
    for unmodeled, function, part in zip(
        discrepancy.unmodeled, discrepancy.functions, parts[1:], strict=True
    ):
        for symbol, value in zip(FRICTION_SYMBOLS, unmodeled.friction, strict=True):
            name = f"{symbol}{problem.joint_names.index(unmodeled.joint) + 1}"
            if name in problem.basis.names:
                roots[0][problem.basis.names.index(name), -1] += value
        if QUANTITIES[unmodeled.quantity].lasting:
            of_values = function.root @ part
            uncertain, outside = _extend_ends(unmodeled, function, of_values[:, -1])
            of_knots, is_inside = np.zeros((len(outside), part.shape[1])), ~outside.any(axis=1)
            of_knots[is_inside] = of_values
            of_knots[is_inside, -1] -= unmodeled.values or 0.0
            roots.append(of_knots)
            ends.append(outside)
            functions.append(uncertain)
    root = np.hstack([np.concatenate(roots), block_diag(*ends)])
    return ModelError(std, root @ root.T, tuple(functions))


def _joint_posterior(
    problem: LinearProblem, beta: Float1D, cov: Float2D | None, discrepancy: Discrepancy, count: int
) -> tuple[Float1D, Float2D]:
    """Compute mean and covariance root of the errors of parameters and of the last effects.

    The parameters have the covariance `cov` or, without it, the covariance of white noise; the
    effects are estimated given the parameters.
    """
    b, columns = problem.basis.rank, discrepancy.columns[:, discrepancy.columns.shape[1] - count :]
    residual = problem.y - problem.W @ beta
    rows = problem.unstack_rows(np.column_stack([problem.W, columns, residual]))
    rows = (rows / discrepancy.noise_std[:, None]).reshape(-1, b + count + 1)
    R = triangular_factor(np.vstack([rows, np.eye(b + count + 1)[b:-1]]))
    mean = np.linalg.solve(R[:-1, :-1], R[:-1, -1])
    if cov is None:
        return mean, np.linalg.inv(R[:-1, :-1])
    values, vectors = np.linalg.eigh(cov)
    root = np.zeros((b + count, b + count))
    root[:b, :b] = vectors * np.sqrt(np.maximum(values, 0.0))
    information = R[:-1, b:-1].T @ R[:-1, b:-1]
    root[b:, :b] = -np.linalg.solve(information, R[:b, b:-1].T @ R[:b, :b] @ root[:b, :b])
    root[b:, b:] = np.linalg.inv(np.linalg.cholesky(information)).T
    return mean, root


def _extend_ends(
    unmodeled: UnmodeledFunction, function: RandomFunction, values: Float1D
) -> tuple[UncertainFunction, Float2D]:
    """Extend a function by knots outside of the range of the fit, with its deviation there.

    Outside, the last value is predicted. One step further any value of the function is equally
    likely, and at twice the range it may have changed twice as much. The deviation, shape (k, 2),
    for one standard deviation below and above, is zero at the knots of the fit.
    """
    quantity, knots, count = QUANTITIES[unmodeled.quantity], function.knots, len(function.knots)
    below, above = np.array(quantity.open_ends) & (count > 1)
    used = np.array([below, below, *np.ones(count, dtype=bool), above, above])
    steps, span = knots[[0, -1]] - knots[[min(1, count - 1), max(-2, -count)]], np.ptp(knots)
    low, high = knots[[0, -1]] + steps
    each = float((function.root[0] ** 2).sum()) / (1.0 + quantity.level)
    near_variance = each + (values[[0, -1]] - values.mean()) ** 2
    far_variance = near_variance + (values[-1] - values[0]) ** 2
    std = np.zeros((count + 4, 2))
    std[[1, -2], [0, 1]], std[[0, -1], [0, 1]] = np.sqrt(near_variance), np.sqrt(far_variance)
    knots = np.array([low - span, low, *knots, high, high + span])[used]
    mean = np.pad(function.mean, 2)[used]
    fields = (unmodeled.joint, unmodeled.quantity, tuple(knots.tolist()), tuple(mean.tolist()))
    return UncertainFunction(*fields), std[used]


def half_width(residual: Float2D, motion: Motion, model_std: Float1D, spread: Float2D) -> Float2D:
    """Compute the half width of the band about every predicted torque [N m], shape (N, n).

    It contains a share `BAND_LEVEL` of the samples. The residual, measured minus predicted, is at
    the samples of the row filter of the motion; the RMS model error is below the cut-off of the
    rows, and the spread is the standard deviation of the prediction due to its parameters.
    """
    row_filter = motion.row_filter
    assert row_filter is not None
    every = replace(remove_gate(row_filter), first=0, stop=len(residual), step=1, edge=0)
    inner = slice(row_filter.edge, len(residual) - row_filter.edge)
    above = np.abs(residual - every.apply(residual))[inner]
    noise, factor = np.quantile(above, BAND_LEVEL, axis=0), ndtri(0.5 + 0.5 * BAND_LEVEL)
    return np.asarray(np.sqrt(noise**2 + factor**2 * (model_std**2 + spread**2)))


def spread_of(error: ModelError, motion: Motion, robot: Robot, basis: BaseParameters) -> Float2D:
    """Compute the standard deviation [N m] of predictions from fit and functions, shape (N, n).

    The functions depend on the torques of the robot.
    """
    values, vectors = np.linalg.eigh(error.cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    ends = np.cumsum([basis.rank, *(len(function.knots) for function in error.functions)])
    states = joint_states(motion, robot) if error.functions else []
    joints = [robot.joint_names.index(function.joint) for function in error.functions]
    pairs = zip(error.functions, joints, strict=True)
    columns = [parts_of(function.columns(states[j])) for function, j in pairs]
    spread = []
    for part in regressor_parts(robot, motion.q, motion.dq, motion.ddq, basis.columns):
        rows = part @ root[: basis.rank]
        for blocks, j, (low, high) in zip(columns, joints, pairwise(ends), strict=True):
            rows[:, j] += next(blocks) @ root[low:high]
        spread.append(np.linalg.norm(rows, axis=2))
    return np.concatenate(spread)
