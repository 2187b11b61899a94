"""Linear problems with more columns, with fewer, and with several logs one after the other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import ShapeError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.measurement.motion import Motion


def extended(
    problem: LinearProblem, columns: Float2D, symbols: Sequence[str], units: Sequence[str]
) -> LinearProblem:
    """Return the problem with further columns, whose parameters stand for themselves.

    The result has no nominal robot: no robot has these parameters, so that estimators of full
    parameters refuse it. The columns, shape (N n, e), are torque per unit parameter, rows as of
    the problem.
    """
    if columns.shape != (len(problem.W), len(symbols)):
        raise ShapeError(
            f"columns have shape {columns.shape}, expected {(len(problem.W), len(symbols))}; use "
            "the motion that the problem was built from"
        )
    basis = problem.basis
    further = len(basis.symbols) + np.arange(len(symbols))
    larger = BaseParameters(
        columns=np.concatenate([basis.columns, further]),
        B=block_diag(basis.B, np.eye(len(symbols))),
        symbols=(*basis.symbols, *symbols),
        units=(*basis.units, *units),
        considered=np.concatenate([basis.considered, further]),
        inertial_rank=basis.inertial_rank,
    )
    return replace(problem, W=np.hstack([problem.W, columns]), basis=larger, nominal=None)


def restricted(problem: LinearProblem, columns: Sequence[int] | Int1D) -> LinearProblem:
    """Return the problem with some base parameters only; the others are zero.

    Those at `columns`, in ascending order, stay.
    """
    basis, which = problem.basis, np.array(columns, dtype=np.intp)
    smaller = BaseParameters(
        columns=basis.columns[which],
        B=basis.B[which],
        symbols=basis.symbols,
        units=tuple(basis.units[k] for k in which),
        considered=basis.considered,
        inertial_rank=int((which < basis.inertial_rank).sum()),
    )
    return replace(problem, W=problem.W[:, which], basis=smaller, nominal=None)


def stacked(problems: Sequence[LinearProblem]) -> LinearProblem:
    """Return the rows of several problems with the same parameters as one problem."""
    first = problems[0]
    for other in problems[1:]:
        same = (other.joint_names, other.basis.names) == (first.joint_names, first.basis.names)
        if not same or abs(other.dt - first.dt) > 1e-6 * first.dt:
            raise ShapeError("only problems of one robot, basis and row rate can be stacked")
    W = np.vstack([problem.W for problem in problems])
    return replace(first, W=W, y=np.concatenate([problem.y for problem in problems]))


def part_of(estimate: Estimate, count: int) -> Estimate:
    """Return the first `count` parameters of an estimate, with their marginal covariance."""

    def corner(cov: Float2D | None) -> Float2D | None:
        return None if cov is None else cov[:count, :count]

    return replace(
        estimate,
        beta=estimate.beta[:count],
        names=estimate.names[:count],
        units=estimate.units[:count],
        cov=corner(estimate.cov),
        cov_white=corner(estimate.cov_white),
    )


def rows_of(motion: Motion, signal: Float) -> Float:
    """Return a signal (N, n, ...) of a motion as `build_problem` makes rows of its torque."""
    if motion.row_filter is not None:
        return motion.row_filter.apply(signal[motion.row_filter.used])
    return signal if motion.mask is None else signal[motion.mask]


def joint_columns(rows: Float2D) -> Float2D:
    """Return columns (N n, n), one a joint, that are zero but in the rows of that joint.

    The rows, shape (N, n), are torque per unit of every joint's own parameter.
    """
    samples, dof = rows.shape
    columns = np.zeros((samples, dof, dof))
    columns[:, np.arange(dof), np.arange(dof)] = rows
    return columns.reshape(samples * dof, dof)


def weights_of(estimate: Estimate) -> Float1D:
    """Return the weights of the joints in an estimate, shape (n,)."""
    return 1.0 / estimate.noise_std if estimate.weights is None else estimate.weights
