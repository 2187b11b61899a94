"""Data for fits that a report repeats in the browser: factors of rows by joint and time window."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import stdtrit

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import triangular_factor
from robotid_sim.estimation.restricted import (
    ESTIMATOR_NAME,
    estimate_coloring,
    is_within,
    project_nominal,
)
from robotid_sim.measurement.joined_motion import JoinedRowFilter
from robotid_sim.pipeline.identification import Identification
from robotid_sim.section import unit_text
from robotid_sim.threads import one_blas_thread

MAX_WINDOWS = 10
"""Maximum number of time windows in a report."""

MIN_PERIOD_SHARE = 0.1
"""Minimum share of a period that is a separate window."""

CONFIDENCE_LEVEL = 0.95
"""Probability of the intervals."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time window that can be excluded."""

    group: str
    """Period or log of the window."""
    low: float
    high: float
    """Start and end [s]; the end is excluded."""


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """Data for fits that a report repeats in the browser, with other options."""

    start: Estimate
    """Weighted least squares of all rows."""
    chosen: Estimate
    """The chosen estimate, which the report shows."""
    data: dict[str, Any]
    """Triangular factors of the rows by joint and time window, and other data of the fit (JSON)."""
    estimator: str = ESTIMATOR_NAME
    """Name of the estimator that gives the same fit outside of the browser."""


@one_blas_thread()
def refit_of(fit: Identification, unseen: LinearProblem | None = None) -> Refit | None:
    """Prepare the data for fits in the browser, also with unseen rows; None if the fit fails."""
    start = WeightedLeastSquares().fit(fit.problem)
    if not start.success:
        return None
    return Refit(start, fit.chosen, refit_data(fit, start, unseen))


def refit_data(
    fit: Identification, start: Estimate, unseen: LinearProblem | None
) -> dict[str, Any]:
    """Return the data as JSON values; `start` is weighted least squares of all rows."""
    problem = fit.problem
    color, dof = estimate_coloring(problem, start)
    prior = project_nominal(problem)
    windows = windows_of(fit)
    parts = [is_within(problem.times, [[window.low, window.high]]) for window in windows]
    units = ["N" if unit == "m" else "N m" for unit in fit.nominal.joint_units]
    rows = [int(part.sum()) for part in parts]
    columns, factors = pack_factors(problem, parts)
    validation = None
    if unseen is not None:
        unseen_columns, packed = pack_factors(unseen, [np.ones(unseen.samples, dtype=bool)])
        validation = {"rows": unseen.samples, "columns": unseen_columns, "factors": packed}
    return {
        "joints": list(zip(problem.joint_names, units, strict=True)),
        "parameters": [
            (name, unit_text(unit))
            for name, unit in zip(problem.basis.names, problem.basis.units, strict=True)
        ],
        "windows": [
            {"group": w.group, "low": w.low, "high": w.high, "rows": count}
            for w, count in zip(windows, rows, strict=True)
        ],
        "rounds": WeightedLeastSquares().rounds,
        "columns": columns,
        "factors": factors,
        "random": _random_effects(problem, parts, columns),
        "unseen": validation,
        "priorBeta": prior.beta.tolist(),
        "priorStd": prior.std.tolist(),
        "root": encode(prior.root[np.tril_indices(len(prior.root))]),
        "color": color.tolist(),
        "std": start.std.tolist(),
        "quantile": stdtrit(dof, 0.5 + 0.5 * CONFIDENCE_LEVEL).tolist(),
        "hasPrior": problem.nominal is not None,
        "whitened": bool(fit.discrepancy.columns.size),
    }


def windows_of(fit: Identification) -> list[Window]:
    """Divide the rows of a fit into time windows: parts of periods, logs, or the whole time."""
    problem, row_filter = fit.problem, fit.motion.row_filter
    times, half_step = problem.times, 0.5 * problem.dt
    first, last = float(times[0] - half_step), float(times[-1] + half_step)
    noun, ends = "", np.array([first, last])
    if isinstance(row_filter, JoinedRowFilter):
        noun, starts = "log", np.flatnonzero(np.diff(row_filter.log_indices)) + 1
        ends = np.array([first, *(times[starts] - half_step), last])
    elif problem.period is not None:
        noun, period = "period", problem.period
        min_part = MIN_PERIOD_SHARE * period
        begin, end = np.floor((first + min_part) / period), np.ceil((last - min_part) / period)
        ends = np.arange(begin, end + 1.0) * period
    groups = ends.size - 1
    step = -(-groups // MAX_WINDOWS)
    parts = max(1, MAX_WINDOWS // groups)
    windows = []
    for k in range(0, groups, step):
        end = min(k + step, groups)
        cuts = np.linspace(ends[k], ends[end], parts + 1).clip(first, last)
        cuts[0], cuts[-1] = (first if k == 0 else cuts[0]), (last if end == groups else cuts[-1])
        label = f"{noun} {end}" if end == k + 1 else f"{noun}s {k + 1} to {end}"
        name = label if noun else "all"
        windows += [Window(name, *pair) for pair in pairwise(cuts.round(3).tolist())]
    return [window for window in windows if is_within(times, [[window.low, window.high]]).any()]


def pack_factors(problem: LinearProblem, parts: Sequence[Bool1D]) -> tuple[list[list[int]], str]:
    """Return the nonzero columns of every joint, and the factors of its rows by part.

    A factor is that of ``[W y]`` in the nonzero columns; with fewer rows than columns it is a
    trapezoid. Factors are stored one after another, row by row, without zeros.
    """
    rows, torques = problem.unstack_rows(problem.W), problem.unstack_rows(problem.y)
    columns = [np.flatnonzero(rows[:, j].any(axis=0)) for j in range(problem.dof)]
    values = []
    for part in parts:
        for j, used in enumerate(columns):
            R = triangular_factor(np.column_stack([rows[part, j][:, used], torques[part, j]]))
            values.append(R[np.triu_indices(len(R), 0, R.shape[1])])
    return [used.tolist() for used in columns], encode(np.concatenate(values))


def _random_effects(
    problem: LinearProblem, parts: Sequence[Bool1D], columns: Sequence[Sequence[int]]
) -> dict[str, Any] | None:
    """Return the products of columns and random effects by part and joint; None without effects."""
    if problem.random is None:
        return None
    rows, random = problem.unstack_rows(problem.W), problem.unstack_rows(problem.random)
    effects = [np.flatnonzero(random[:, j].any(axis=0)) for j in range(problem.dof)]
    products = [
        (rows[part, j][:, used].T @ random[part, j][:, effects[j]]).ravel(order="F")
        for part in parts
        for j, used in enumerate(columns)
    ]
    return {
        "count": random.shape[2],
        "effects": [used.tolist() for used in effects],
        "products": encode(np.concatenate(products)),
    }


def encode(values: Float1D) -> str:
    """Encode numbers in double precision as base64."""
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()
