"""Rows of terms beside those of a linear problem, and how well they explain what these leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.term_torques import TermStates, term_columns, term_signals
from robotid_sim.estimation.held_out import Fit, HeldOut
from robotid_sim.estimation.problem import LinearProblem, joint_only, rows_of
from robotid_sim.estimation.reduction import span_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import KINDS
from robotid_sim.model.robot import Robot

SHOWN = 1e-4
"""Size of a term's columns beside those of the model from which it shows, relative."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One term of one joint, its rows as columns."""

    kind: str
    joint: int
    partner: int | None
    shape: float | None
    rows: Float
    """Torque per unit of every parameter, shape (N, n, k)."""

    @property
    def place(self) -> tuple[str, int, int | None, float | None]:
        """What at most one term can be of."""
        constant = self.shape if KINDS[self.kind].several else None
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
    def of(cls, problem: LinearProblem, motion: Motion, nominal: Robot, beta: Float1D) -> Self:
        """Return the rows of a motion, with the loads by base parameters."""
        phi = problem.basis.completed(beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        state = (motion.q, motion.dq, motion.ddq)
        states = TermStates.of(model, *state, t=motion.from_middle)  # Fv is that of the middle
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
            shape = KINDS[kind].shape
            for tried in (None,) if shape is None else shape.tried:
                if KINDS[kind].coupled:
                    found += [self.candidate(kind, j, j - 1, tried) for j in range(1, dof)]
                    continue
                unit = self.eps if shape is not None and shape.of_eps else np.ones(dof)
                constants = None if tried is None else tried * unit
                rows = rows_of(self.motion, term_signals(kind, self.states, constants))
                found += [
                    Candidate(
                        kind,
                        j,
                        None,
                        None if constants is None else float(constants[j]),
                        joint_only(rows[:, j], j, dof),
                    )
                    for j in range(dof)
                ]
        return [one for one in found if one.rows.any()]

    def candidate(self, kind: str, j: int, partner: int | None, shape: float | None) -> Candidate:
        """Return a candidate with its rows."""
        columns = term_columns(kind, self.states, j, shape, partner)
        return Candidate(kind, j, partner, shape, rows_of(self.motion, columns))

    def held_out(self, *candidates: Candidate) -> HeldOut:
        """Return the sums that fits with some candidates come from."""
        return HeldOut.of_problem(self.problem, *(c.rows for c in candidates))

    def fit(self, chosen: Sequence[Candidate]) -> Fit:
        """Return the fit with some candidates."""
        held = self.held_out(*chosen)
        return held.fit(np.arange(held.products.shape[-1] - 1))

    def plain(self, chosen: Sequence[Candidate]) -> int:
        """Return the number of columns with some candidates."""
        return int(self.problem.basis.rank + sum(one.rows.shape[2] for one in chosen))

    def left(self, chosen: Sequence[Candidate]) -> "Left":
        """Return what the columns with some candidates leave of the torques."""
        problem = self.problem
        use = np.tile(problem.measured, (problem.samples, 1))
        weights = use / self.fit(chosen).sigma
        parts = [problem.by_joint(problem.W), *(c.rows for c in chosen)]
        columns = np.concatenate(parts, axis=2) * weights[:, :, None]
        Q = span_of(columns.reshape(weights.size, -1))
        y = (problem.by_joint(problem.y) * weights).ravel()
        return Left(Q, y - Q @ (Q.T @ y), weights)


@dataclass(frozen=True, slots=True, eq=False)
class Left:
    """What weighted columns leave of the torques."""

    Q: Float2D
    """Orthonormal basis of the columns, shape (N n, p)."""
    y: Float1D
    """What is left of the torques, shape (N n,)."""
    weights: Float2D
    """Shape (N, n)."""

    def cost(self, rows: Float) -> float:
        """Return the squares that are left beside further rows (N, n, k)."""
        C = (rows * self.weights[:, :, None]).reshape(self.weights.size, -1)
        beside = C - self.Q @ (self.Q.T @ C)
        shown = np.linalg.norm(beside, axis=0) > SHOWN * np.linalg.norm(C, axis=0)
        return float(self.y @ self.y - ((span_of(beside[:, shown]).T @ self.y) ** 2).sum())


def first_look(held: HeldOut, plain: int, candidates: Sequence[Candidate]) -> Float1D:
    """Return what candidates gain in the sample, with the noise of the joints held."""
    sigma = held.fit(np.arange(plain)).sigma
    S = np.tensordot(sigma**-2.0, held.products.sum(axis=0), 1)
    size = np.sqrt(np.diag(S))
    S = S / np.outer(np.where(size > 0.0, size, 1.0), np.where(size > 0.0, size, 1.0))
    A = S[:plain, :plain] + 1e-10 * np.eye(plain)
    rest = S[plain:, plain:] - S[plain:, :plain] @ np.linalg.solve(A, S[:plain, plain:])
    scale, gains, first = float(size[-1] ** 2), [], 0
    for one in candidates:
        own = slice(first, first + one.rows.shape[2])
        first = own.stop
        M, g = rest[own, own], rest[own, -1]
        values, vectors = np.linalg.eigh(M)
        shown = values > SHOWN**2
        gains.append(0.5 * scale * float((((vectors.T @ g)[shown] ** 2) / values[shown]).sum()))
    return np.array(gains)
