"""Fits of chosen terms: their values, standard deviations and evidence.

The module adds rows of terms to those of a linear problem, and computes the gain by each term.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.dynamics.term_torques import TermStates, term_columns, term_signals
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.hold_out import Fit, HeldOut
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, extend_problem, joint_only, rows_of
from robotid_sim.estimation.selection import (
    Hypothesis,
    ResidualProjection,
    compute_gains,
    list_groups,
)
from robotid_sim.estimation.structure import FittedTerm, Structure
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import LOADED, TERM_KINDS, JointTerm
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Hypothesis):
    """One term of one joint, with its columns of the regressor rows."""

    joint: int
    partner: int | None
    constant: float | None

    @property
    def key(self) -> tuple[str, int, int | None, float | None]:
        """Key that no two terms of a model share."""
        constant = self.constant if TERM_KINDS[self.kind].allows_several else None
        return self.kind, self.joint, self.partner, constant


@dataclass(frozen=True, slots=True, eq=False)
class TermRows:
    """Rows of a problem and of the candidates for its terms."""

    problem: LinearProblem
    motion: Motion
    states: TermStates
    """States of the whole motion."""
    eps: Float1D
    rotor_inertia: Float1D
    """Rotor inertia of the model from which the transmitted torques are computed [kg m^2 or kg],
    shape (n,)."""

    @classmethod
    def from_problem(
        cls, problem: LinearProblem, motion: Motion, nominal: Robot, beta: Float1D
    ) -> Self:
        """Make the rows of a motion, with the transmitted torques of base parameters `beta`."""
        phi = problem.basis.complete(beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        state = (motion.q, motion.dq, motion.ddq)
        # Times count from the middle of the motion: Fv of a warming joint is its value there.
        states = TermStates.from_motion(model, *state, t=motion.from_middle)
        return cls(
            problem=problem,
            motion=motion,
            states=states,
            eps=nominal.eps,
            rotor_inertia=np.array([joint.rotor_inertia for joint in model.joints]),
        )

    def candidates(self, kinds: Sequence[str]) -> list[Candidate]:
        """List all possible terms.

        The row filter acts joint by joint, so that one pass filters the terms of all joints.
        """
        terms: list[Candidate] = []
        dof = self.problem.dof
        for kind in kinds:
            constant = TERM_KINDS[kind].constant
            for value in (None,) if constant is None else constant.start_values:
                if TERM_KINDS[kind].coupled:
                    terms += [self.candidate(kind, j, j - 1, value) for j in range(1, dof)]
                    continue
                unit = self.eps if constant is not None and constant.of_eps else np.ones(dof)
                constants = None if value is None else value * unit
                rows = rows_of(self.motion, term_signals(kind, self.states, constants))
                terms += [
                    Candidate(
                        kind,
                        j,
                        joint_only(rows[:, j], j, dof),
                        None,
                        None if constants is None else float(constants[j]),
                    )
                    for j in range(dof)
                ]
        return [term for term in terms if term.columns.any()]

    def candidate(self, kind: str, j: int, partner: int | None, value: float | None) -> Candidate:
        """Make a candidate with its rows; `value` is its constant."""
        columns = term_columns(kind, self.states, j, value, partner)
        return Candidate(kind, j, rows_of(self.motion, columns), partner, value)

    def sum_by_block(self, *candidates: Candidate) -> HeldOut:
        """Sum the products of the columns of the problem and of the candidates, by block."""
        return HeldOut.from_problem(self.problem, *(c.columns for c in candidates))

    def fit(self, chosen: Sequence[Candidate]) -> Fit:
        """Fit the problem with the columns of chosen candidates."""
        blocks = self.sum_by_block(*chosen)
        return blocks.fit(np.arange(blocks.products.shape[-1] - 1))

    def count_columns(self, chosen: Sequence[Candidate]) -> int:
        """Count the columns of the problem and of chosen candidates."""
        return int(self.problem.basis.rank + sum(c.size for c in chosen))

    def list_columns(self, chosen: Sequence[Candidate]) -> list[Int1D]:
        """List the column indices of every candidate; the columns of the problem come first."""
        return list_groups(self.problem.basis.rank, [c.size for c in chosen])

    def residual_projection(self, chosen: Sequence[Candidate]) -> ResidualProjection:
        """Make the projection that removes the columns of the problem and of chosen candidates."""
        problem = self.problem
        is_measured = np.tile(problem.measured_joints, (problem.samples, 1))
        parts = [problem.unstack_rows(problem.W), *(c.columns for c in chosen)]
        return ResidualProjection.from_columns(
            np.concatenate(parts, axis=2), is_measured / self.fit(chosen).sigma
        )

    def estimate_gains(self, chosen: Sequence[Candidate], others: Sequence[Candidate]) -> Float1D:
        """Estimate the gain of other candidates, given chosen ones, for fixed noise."""
        y = self.problem.unstack_rows(self.problem.y)
        return self.residual_projection(chosen).gains(y, [c.columns for c in others])


DIFFERENCE_STEP = 1e-3
"""Relative step of a constant in numerical derivatives."""

MAX_STEPS, MAX_STEP = 8, 0.2
"""Maximum number of steps of the constants, and maximum step of the logarithm of a constant."""

STEP_TOLERANCE = 0.02
"""Maximum step over the standard deviation of a constant at convergence."""

ROTOR_STD = 0.2
"""Relative standard deviation of the nominal rotor inertia if only its sum with the inertia of
the links is identifiable."""


def refit_terms(
    structure: Structure, problem: LinearProblem, motion: Motion, model: Robot
) -> Structure:
    """Fit the terms of a structure to the rows of a different motion.

    The bodies of `model` determine the transmitted torques.
    """
    if not structure.terms:
        return structure
    rows = TermRows.from_problem(problem, motion, model, problem.basis.project(model.parameters()))
    names, chosen = problem.joint_names, []
    for term in structure.robot_terms():
        partner = None if term.partner is None else names.index(term.partner)
        chosen.append(rows.candidate(term.kind, names.index(term.joint), partner, term.shape))
    return fit_terms(rows, chosen)


def fit_terms(rows: TermRows, chosen: Sequence[Candidate]) -> Structure:
    """Fit terms with all parameters, starting from constants near the most likely ones.

    The standard deviations include errors of the constants and rotors.
    """
    chosen, rank = _refine_constants(rows, chosen), rows.problem.basis.rank
    problem, names = rows.problem, rows.problem.joint_names
    fits = _fit_twice(problem, rows, chosen)
    random_effects = _rotor_torque(rows, chosen, fits.constants_fixed.beta[rank:])
    if random_effects is not problem.random:
        fits = _fit_twice(replace(problem, random=random_effects), rows, chosen)
    columns, linear, fit, fitted_constants = fits
    end = rank + columns.shape[1]
    log_std = dict(zip(fitted_constants, fit.std[end:], strict=True))
    places, terms = rows.list_columns(chosen), []
    gains = compute_gains(rows.sum_by_block(*chosen), np.arange(end), places)
    for k, (term, span, gain) in enumerate(zip(chosen, places, gains, strict=True)):
        values = linear.beta[span]
        torque = term.columns[:, term.joint] @ values
        joint, *partner = (names[j] for j in (term.joint, term.partner) if j is not None)
        terms.append(
            FittedTerm(
                term=JointTerm(term.kind, joint, tuple(values.tolist()), term.constant, *partner),
                std=tuple(fit.std[span].tolist()),
                shape_std=float(log_std[k]) * float(term.constant or 0.0) if k in log_std else None,
                gain=float(gain.sum()),
                gain_std=float(np.sqrt(gain.size) * gain.std(ddof=1)),
                torque=float(np.sqrt((torque**2).mean())),
                at_bound=term.constant in _compute_bounds(rows, term),
            )
        )
    cov = np.zeros((end, end)) if fit.cov is None else fit.cov
    return Structure(tuple(terms), columns, cov[rank:end, rank:end])


class _Fits(NamedTuple):
    """Fits of a problem with terms."""

    columns: Float2D
    """Torque per unit of the parameters of the terms, shape (N n, k)."""
    constants_fixed: Estimate
    """Fit with fixed constants of the terms."""
    with_constants: Estimate
    """Fit with steps of the logarithms of the constants as further parameters; the fit with fixed
    constants if this has no solution."""
    fitted_constants: list[int]
    """Indices of the terms whose constants were fitted too."""


def _fit_twice(problem: LinearProblem, rows: TermRows, chosen: Sequence[Candidate]) -> _Fits:
    columns = np.concatenate([c.columns for c in chosen], axis=2).reshape(len(problem.y), -1)
    linear = _fit(problem, columns)
    # The tangents are the torques per change of the logarithm of a constant.
    beta, tangents, fitted_constants = linear.beta[problem.basis.rank :], [], []
    for k, place in enumerate(list_groups(0, [c.size for c in chosen])):
        term = chosen[k]
        constant = TERM_KINDS[term.kind].constant
        if constant is None or constant.bounds is None or term.constant is None:
            continue
        names = (term.kind, term.joint, term.partner)
        high, low = (
            rows.candidate(*names, term.constant * (1.0 + h)).columns
            for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
        )
        tangents.append(((high - low) @ beta[place] / (2.0 * DIFFERENCE_STEP)).ravel())
        fitted_constants.append(k)
    if fitted_constants:
        fit = _fit(problem, np.column_stack([columns, *tangents]))
        if fit.success:
            return _Fits(columns, linear, fit, fitted_constants)
    return _Fits(columns, linear, linear, [])


def _refine_constants(rows: TermRows, chosen: Sequence[Candidate]) -> list[Candidate]:
    """Refine the constants of terms by Gauss-Newton steps that increase the likelihood.

    The search for a term has a resolution of 1 % of its constant; logs may determine it better.
    """
    best, likelihood = list(chosen), rows.fit(chosen).likelihood
    for _ in range(MAX_STEPS):
        columns, _, fit, fitted_constants = _fit_twice(rows.problem, rows, best)
        if not fitted_constants:
            break
        end, terms = rows.problem.basis.rank + columns.shape[1], list(best)
        steps = np.clip(fit.beta[end:], -MAX_STEP, MAX_STEP)
        for k, step in zip(fitted_constants, steps.tolist(), strict=True):
            term = best[k]
            assert term.constant is not None
            low, high = _compute_bounds(rows, term)
            constant = min(max(term.constant * float(np.exp(step)), low), high)
            terms[k] = rows.candidate(term.kind, term.joint, term.partner, constant)
        tried_likelihood = rows.fit(terms).likelihood
        if tried_likelihood <= likelihood:
            break
        best, likelihood = terms, tried_likelihood
        if np.all(np.abs(steps) <= STEP_TOLERANCE * fit.std[end:]):
            break
    return best


def _compute_bounds(rows: TermRows, term: Candidate) -> tuple[float, ...]:
    """Compute the bounds of the constant of a term; empty if it is not optimized."""
    constant = TERM_KINDS[term.kind].constant
    if constant is None or constant.bounds is None:
        return ()
    unit = float(rows.eps[term.joint]) if constant.of_eps else 1.0
    return unit * constant.bounds[0], unit * constant.bounds[1]


def _rotor_torque(rows: TermRows, chosen: Sequence[Candidate], values: Float1D) -> Float2D | None:
    """Compute the torque of one standard deviation of rotors known only in sum with their links.

    The torque depends on the sum of both inertias, and gear friction on the inertia of the links
    alone: the friction factor and the share of the rotor are not identifiable separately.
    """
    problem, states = rows.problem, rows.states
    columns = []
    for term, span in zip(chosen, list_groups(0, [c.size for c in chosen]), strict=True):
        value = float(values[span[0]])
        symbol = f"Ia{term.joint + 1}"
        if term.kind != LOADED or symbol not in problem.basis.in_combination:
            continue
        j = term.joint
        rotor = ROTOR_STD * rows.rotor_inertia[j] * states.ddq[:, j]
        torque = np.zeros_like(states.q)
        torque[:, j] = value * states.sign[:, j] * np.sign(states.load[:, j]) * rotor
        columns.append(rows_of(rows.motion, torque).ravel())
    if not columns:
        return problem.random
    effects = [] if problem.random is None else [problem.random]
    return np.column_stack([*effects, *columns])


def _fit(problem: LinearProblem, columns: Float2D) -> Estimate:
    """Fit a problem with further columns by weighted least squares."""
    return WeightedLeastSquares().fit(add_term_columns(problem, columns), np.random.default_rng(0))


def add_term_columns(problem: LinearProblem, columns: Float2D) -> LinearProblem:
    """Append the columns of terms, shape (N n, k), to a problem."""
    symbols = [f"term {k}" for k in range(columns.shape[1])]
    return extend_problem(problem, columns, symbols, ["1"] * len(symbols))
