"""Fits of terms that were chosen: their values, deviations and the evidence for each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, extended, rows_of
from robotid_sim.estimation.structure import FittedTerm, Structure
from robotid_sim.estimation.term_rows import Candidate, TermRows
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import KINDS, LOADED, JointTerm
from robotid_sim.model.robot import Robot

STEP = 1e-3
"""Relative change of a constant in derivatives by it."""

MOST_STEPS, LONGEST = 8, 0.2
"""Steps by which constants settle, and the longest one, of a logarithm."""

SETTLED = 0.02
"""Step over the deviation of a constant from which it is settled."""

ROTOR_STD = 0.2
"""Relative deviation of the nominal rotor inertia where only its sum with the links' shows."""


def refitted(
    structure: Structure, problem: LinearProblem, motion: Motion, model: Robot
) -> Structure:
    """Return a structure with its terms fitted to the rows of another motion.

    The bodies of the `model` give the loads.
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
    """Return terms by a weighted fit with all parameters, from constants near the likeliest ones.

    What is not known of the constants, nor of the rotors, is in the deviations.
    """
    chosen, rank = _settled(rows, chosen), rows.problem.basis.rank
    problem = rows.problem
    fits = _fits(problem, rows, chosen)
    random = _of_rotors(rows, chosen, fits.linear.beta[rank:])
    if random is not problem.random:
        fits = _fits(replace(problem, random=random), rows, chosen)
    columns, linear, whole, curved = fits
    beta, end = linear.beta[rank:], rank + columns.shape[1]
    log_std = dict(zip(curved, whole.std[end:], strict=True))
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
                at_bound=one.shape in _bounds(rows, one),
            )
        )
    cov = np.zeros((end, end)) if whole.cov is None else whole.cov
    return Structure(tuple(terms), columns, cov[rank:end, rank:end])


class _Fits(NamedTuple):
    """Fits of a problem with terms beside it."""

    columns: Float2D
    """Torque per unit of the parameters of the terms, shape (N n, k)."""
    linear: Estimate
    """With the constants of the terms held."""
    whole: Estimate
    """With steps of their logarithms as further parameters, if that has a solution."""
    curved: list[int]
    """The terms whose constants have steps."""


def _fits(problem: LinearProblem, rows: TermRows, chosen: Sequence[Candidate]) -> _Fits:
    columns = np.concatenate([one.rows for one in chosen], axis=2).reshape(len(problem.y), -1)
    linear = _fit(problem, columns)
    tangents, curved = _tangents(rows, chosen, linear.beta[problem.basis.rank :])
    if curved:
        whole = _fit(problem, np.hstack([columns, tangents]))
        if whole.success:
            return _Fits(columns, linear, whole, curved)
    return _Fits(columns, linear, linear, [])


def _settled(rows: TermRows, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Return terms with their likeliest constants, by Gauss-Newton steps that raise it.

    The search for a term stops at a hundredth of its constant, which a log may show far better.
    """
    best, likelihood = list(chosen), rows.fit(chosen).likelihood
    for _ in range(MOST_STEPS):
        columns, _, whole, curved = _fits(rows.problem, rows, best)
        if not curved:
            break
        end, tried = rows.problem.basis.rank + columns.shape[1], list(best)
        steps = np.clip(whole.beta[end:], -LONGEST, LONGEST)
        for k, step in zip(curved, steps.tolist(), strict=True):
            one = best[k]
            assert one.shape is not None
            low, high = _bounds(rows, one)
            constant = min(max(one.shape * float(np.exp(step)), low), high)
            tried[k] = rows.candidate(one.kind, one.joint, one.partner, constant)
        raised = rows.fit(tried).likelihood
        if raised <= likelihood:
            break
        best, likelihood = tried, raised
        if np.all(np.abs(steps) <= SETTLED * whole.std[end:]):
            break
    return best


def _bounds(rows: TermRows, one: Candidate) -> tuple[float, ...]:
    """Return the least and the largest constant of a term; none if it is not sought."""
    shape = KINDS[one.kind].shape
    if shape is None or shape.bounds is None:
        return ()
    unit = float(rows.eps[one.joint]) if shape.of_eps else 1.0
    return unit * shape.bounds[0], unit * shape.bounds[1]


def _of_rotors(rows: TermRows, chosen: Sequence[Candidate], values: Float1D) -> Float2D | None:
    """Return torque of one deviation of rotors that only show in a sum with their links.

    The torque shows both inertias in one sum, and the friction of the gear between them goes with
    that of the links alone: no log tells its factor from the share of the rotor.
    """
    problem, states = rows.problem, rows.states
    columns, first = [], 0
    for one in chosen:
        value = float(values[first])
        first += one.rows.shape[2]
        symbol = f"Ia{one.joint + 1}"
        if one.kind != LOADED or symbol not in problem.basis.in_combination:
            continue
        j = one.joint
        rotor = ROTOR_STD * rows.rotors[j] * states.ddq[:, j]
        torque = np.zeros_like(states.q)
        torque[:, j] = value * states.sign[:, j] * np.sign(states.load[:, j]) * rotor
        columns.append(rows_of(rows.motion, torque).ravel())
    if not columns:
        return problem.random
    known = [] if problem.random is None else [problem.random]
    return np.column_stack([*known, *columns])


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
