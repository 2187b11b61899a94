"""Fits of terms that were chosen: their values, deviations and the evidence for each."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, extended
from robotid_sim.estimation.structure import FittedTerm, Structure
from robotid_sim.estimation.term_rows import Candidate, TermRows
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import KINDS, JointTerm
from robotid_sim.model.robot import Robot

STEP = 1e-3
"""Relative change of a constant in derivatives by it."""


def refitted(
    structure: Structure, problem: LinearProblem, motion: Motion, model: Robot
) -> Structure:
    """Return a structure with the parameters of its terms by the rows of another motion.

    Their constants stay. The bodies of the `model` give the loads.
    """
    if not structure.terms:
        return structure
    rows = TermRows.of(problem, motion, model, problem.basis.of(model.parameters()))
    names, chosen = problem.joint_names, []
    for term in structure.robot_terms():
        partner = None if term.partner is None else names.index(term.partner)
        chosen.append(rows.candidate(term.kind, names.index(term.joint), partner, term.shape))
    return fitted_terms(rows, chosen)


def fitted_terms(rows: TermRows, chosen: Sequence[Candidate]) -> Structure:
    """Return terms by a weighted fit with all parameters; their constants are held.

    What is not known of the constants is in the deviations.
    """
    problem, rank = rows.problem, rows.problem.basis.rank
    columns = np.concatenate([one.rows for one in chosen], axis=2).reshape(len(problem.y), -1)
    linear = _fit(problem, columns)
    beta, end = linear.beta[rank:], rank + columns.shape[1]
    tangents, curved = _tangents(rows, chosen, beta)
    whole = _fit(problem, np.hstack([columns, tangents])) if curved else linear
    if not whole.success:
        whole = linear
    log_std = dict(zip(curved, whole.std[end:], strict=False))
    first, terms = 0, []
    for k, (one, gain) in enumerate(zip(chosen, gains_of(rows, chosen), strict=True)):
        own = slice(first, first + one.rows.shape[2])
        first = own.stop
        torque = one.rows[:, one.joint] @ beta[own]
        terms.append(
            FittedTerm(
                term=_term(one, beta[own], problem.joint_names),
                std=tuple(whole.std[rank:end][own].tolist()),
                shape_std=float(log_std[k]) * float(one.shape or 0.0) if k in log_std else None,
                gain=float(gain.sum()),
                gain_std=float(np.sqrt(gain.size) * gain.std(ddof=1)),
                torque=float(np.sqrt((torque**2).mean())),
            )
        )
    cov = np.zeros((end, end)) if whole.cov is None else whole.cov
    return Structure(tuple(terms), columns, cov[rank:end, rank:end])


def gains_of(rows: TermRows, chosen: Sequence[Candidate]) -> list[Float1D]:
    """Return the log-likelihood that every term gains beside the others, by block left out."""
    held = rows.held_out(*chosen)
    every = np.arange(rows.plain(chosen))
    whole, first = held.score(every), rows.problem.basis.rank
    gains: list[Float1D] = []
    for one in chosen:
        own = np.arange(first, first + one.rows.shape[2])
        first += own.size
        gains.append(whole - held.score(np.setdiff1d(every, own)))
    return gains


def _fit(problem: LinearProblem, columns: Float2D) -> Estimate:
    """Return the weighted fit of a problem with further columns."""
    symbols = [f"term {k}" for k in range(columns.shape[1])]
    larger = extended(problem, columns, symbols, ["1"] * len(symbols))
    return WeightedLeastSquares().fit(larger, np.random.default_rng(0))


def _term(one: Candidate, values: Float1D, names: Sequence[str]) -> JointTerm:
    partner = None if one.partner is None else names[one.partner]
    return JointTerm(one.kind, names[one.joint], tuple(values.tolist()), one.shape, partner)


def _tangents(
    rows: TermRows, chosen: Sequence[Candidate], beta: Float1D
) -> tuple[Float2D, list[int]]:
    """Return torque per change of the constants' logarithms, and of which terms they are."""
    columns, curved, first = [], [], 0
    for k, one in enumerate(chosen):
        shape, own = KINDS[one.kind].shape, slice(first, first + one.rows.shape[2])
        first = own.stop
        if shape is None or shape.bounds is None or one.shape is None:
            continue
        place = (one.kind, one.joint, one.partner)
        high, low = (rows.candidate(*place, one.shape * (1.0 + h)).rows for h in (STEP, -STEP))
        columns.append(((high - low) @ beta[own] / (2.0 * STEP)).ravel())
        curved.append(k)
    return np.column_stack(columns) if columns else np.zeros((0, 0)), curved
