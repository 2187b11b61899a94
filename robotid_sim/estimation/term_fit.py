"""Fits of terms that were chosen: their values, deviations and the evidence for each.

Rows of terms beside those of a linear problem, and how well they explain what these leave.
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
    consecutive,
    gains_beside,
)
from robotid_sim.estimation.structure import FittedTerm, Structure
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import LOADED, TERM_KINDS, JointTerm
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(Hypothesis):
    """One term of one joint, its rows as columns."""

    joint: int
    partner: int | None
    shape: float | None

    @property
    def place(self) -> tuple[str, int, int | None, float | None]:
        """What at most one term can be of."""
        constant = self.shape if TERM_KINDS[self.kind].several else None
        return self.kind, self.joint, self.partner, constant


@dataclass(frozen=True, slots=True, eq=False)
class TermRows:
    """Rows of a problem, and those of any term beside them."""

    problem: LinearProblem
    motion: Motion
    states: TermStates
    """Of the whole motion."""
    eps: Float1D
    rotors: Float1D
    """Rotor inertia of the model that the loads are of [kg m^2 or kg], shape (n,)."""

    @classmethod
    def from_problem(
        cls, problem: LinearProblem, motion: Motion, nominal: Robot, beta: Float1D
    ) -> Self:
        """Return the rows of a motion, with the loads by base parameters."""
        phi = problem.basis.complete(beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        state = (motion.q, motion.dq, motion.ddq)
        states = TermStates.from_motion(
            model, *state, t=motion.from_middle
        )  # Fv is that of the middle
        return cls(
            problem=problem,
            motion=motion,
            states=states,
            eps=nominal.eps,
            rotors=np.array([joint.rotor_inertia for joint in model.joints]),
        )

    def candidates(self, kinds: Sequence[str]) -> list[Candidate]:
        """Return all terms that may be there.

        The row filter takes joint by joint, so that one pass serves the terms of all joints.
        """
        found: list[Candidate] = []
        dof = self.problem.dof
        for kind in kinds:
            shape = TERM_KINDS[kind].shape
            for tried in (None,) if shape is None else shape.tried:
                if TERM_KINDS[kind].coupled:
                    found += [self.candidate(kind, j, j - 1, tried) for j in range(1, dof)]
                    continue
                unit = self.eps if shape is not None and shape.of_eps else np.ones(dof)
                constants = None if tried is None else tried * unit
                rows = rows_of(self.motion, term_signals(kind, self.states, constants))
                found += [
                    Candidate(
                        kind,
                        j,
                        joint_only(rows[:, j], j, dof),
                        None,
                        None if constants is None else float(constants[j]),
                    )
                    for j in range(dof)
                ]
        return [one for one in found if one.columns.any()]

    def candidate(self, kind: str, j: int, partner: int | None, shape: float | None) -> Candidate:
        """Return a candidate with its rows."""
        columns = term_columns(kind, self.states, j, shape, partner)
        return Candidate(kind, j, rows_of(self.motion, columns), partner, shape)

    def sum_by_block(self, *candidates: Candidate) -> HeldOut:
        """Return the sums that fits with some candidates come from."""
        return HeldOut.from_problem(self.problem, *(c.columns for c in candidates))

    def fit(self, chosen: Sequence[Candidate]) -> Fit:
        """Return the fit with some candidates."""
        held = self.sum_by_block(*chosen)
        return held.fit(np.arange(held.products.shape[-1] - 1))

    def plain(self, chosen: Sequence[Candidate]) -> int:
        """Return the number of columns with some candidates."""
        return int(self.problem.basis.rank + sum(one.size for one in chosen))

    def places(self, chosen: Sequence[Candidate]) -> list[Int1D]:
        """Return where the columns of candidates stand behind those of the problem."""
        return consecutive(self.problem.basis.rank, [one.size for one in chosen])

    def remainder(self, chosen: Sequence[Candidate]) -> ResidualProjection:
        """Return what the columns with some candidates leave of the torques."""
        problem = self.problem
        use = np.tile(problem.measured_joints, (problem.samples, 1))
        parts = [problem.unstack_rows(problem.W), *(c.columns for c in chosen)]
        return ResidualProjection.from_columns(
            np.concatenate(parts, axis=2), use / self.fit(chosen).sigma
        )

    def first_look(self, chosen: Sequence[Candidate], others: Sequence[Candidate]) -> Float1D:
        """Return what others gain beside chosen ones in the sample, with the noise held."""
        y = self.problem.unstack_rows(self.problem.y)
        return self.remainder(chosen).gains(y, [one.columns for one in others])


DIFFERENCE_STEP = 1e-3
"""Relative change of a constant in derivatives by it."""

MOST_STEPS, LONGEST = 8, 0.2
"""Steps by which constants settle, and the longest one, of a logarithm."""

STEP_TOLERANCE = 0.02
"""Step over the deviation of a constant from which it is settled."""

ROTOR_STD = 0.2
"""Relative deviation of the nominal rotor inertia where only its sum with the links' shows."""


def refit_terms(
    structure: Structure, problem: LinearProblem, motion: Motion, model: Robot
) -> Structure:
    """Return a structure with its terms fitted to the rows of another motion.

    The bodies of the `model` give the loads.
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
    """Return terms by a weighted fit with all parameters, from constants near the likeliest ones.

    What is not known of the constants, nor of the rotors, is in the deviations.
    """
    chosen, rank = _refine_constants(rows, chosen), rows.problem.basis.rank
    problem, names = rows.problem, rows.problem.joint_names
    fits = _fits(problem, rows, chosen)
    random = _rotor_torque(rows, chosen, fits.linear.beta[rank:])
    if random is not problem.random:
        fits = _fits(replace(problem, random=random), rows, chosen)
    columns, linear, whole, curved = fits
    end = rank + columns.shape[1]
    log_std = dict(zip(curved, whole.std[end:], strict=True))
    places, terms = rows.places(chosen), []
    gains = gains_beside(rows.sum_by_block(*chosen), np.arange(end), places)
    for k, (one, own, gain) in enumerate(zip(chosen, places, gains, strict=True)):
        values = linear.beta[own]
        torque = one.columns[:, one.joint] @ values
        joint, *partner = (names[j] for j in (one.joint, one.partner) if j is not None)
        terms.append(
            FittedTerm(
                term=JointTerm(one.kind, joint, tuple(values.tolist()), one.shape, *partner),
                std=tuple(whole.std[own].tolist()),
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
    columns = np.concatenate([one.columns for one in chosen], axis=2).reshape(len(problem.y), -1)
    linear = _fit(problem, columns)
    # Torque per change of the constants' logarithms, and of which terms they are.
    beta, tangents, curved = linear.beta[problem.basis.rank :], [], []
    for k, place in enumerate(consecutive(0, [one.size for one in chosen])):
        one = chosen[k]
        shape = TERM_KINDS[one.kind].shape
        if shape is None or shape.bounds is None or one.shape is None:
            continue
        names = (one.kind, one.joint, one.partner)
        high, low = (
            rows.candidate(*names, one.shape * (1.0 + h)).columns
            for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
        )
        tangents.append(((high - low) @ beta[place] / (2.0 * DIFFERENCE_STEP)).ravel())
        curved.append(k)
    if curved:
        whole = _fit(problem, np.column_stack([columns, *tangents]))
        if whole.success:
            return _Fits(columns, linear, whole, curved)
    return _Fits(columns, linear, linear, [])


def _refine_constants(rows: TermRows, chosen: Sequence[Candidate]) -> list[Candidate]:
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
        if np.all(np.abs(steps) <= STEP_TOLERANCE * whole.std[end:]):
            break
    return best


def _bounds(rows: TermRows, one: Candidate) -> tuple[float, ...]:
    """Return the least and the largest constant of a term; none if it is not sought."""
    shape = TERM_KINDS[one.kind].shape
    if shape is None or shape.bounds is None:
        return ()
    unit = float(rows.eps[one.joint]) if shape.of_eps else 1.0
    return unit * shape.bounds[0], unit * shape.bounds[1]


def _rotor_torque(rows: TermRows, chosen: Sequence[Candidate], values: Float1D) -> Float2D | None:
    """Return torque of one deviation of rotors that only show in a sum with their links.

    The torque shows both inertias in one sum, and the friction of the gear between them goes with
    that of the links alone: no log tells its factor from the share of the rotor.
    """
    problem, states = rows.problem, rows.states
    columns = []
    for one, own in zip(chosen, consecutive(0, [one.size for one in chosen]), strict=True):
        value = float(values[own[0]])
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


def _fit(problem: LinearProblem, columns: Float2D) -> Estimate:
    """Return the weighted fit of a problem with further columns."""
    return WeightedLeastSquares().fit(add_term_columns(problem, columns), np.random.default_rng(0))


def add_term_columns(problem: LinearProblem, columns: Float2D) -> LinearProblem:
    """Return a problem with the columns of terms, shape (N n, k), behind its own."""
    symbols = [f"term {k}" for k in range(columns.shape[1])]
    return extend_problem(problem, columns, symbols, ["1"] * len(symbols))
