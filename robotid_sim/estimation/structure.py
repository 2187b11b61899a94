r"""Terms of joints that a fit found beside the standard ones, and the rows beside them.

A fit leaves out of every joint's rows what the columns of its terms can explain: with weights by
joint, that gives the estimate of the other parameters that a fit with all of them would [1]_, and
the same covariance. What two joints share is taken off as fitted, and its covariance widens that of
the estimate.

References
----------
.. [1] Frisch, Waugh (1933), "Partial time regressions as compared with individual trends",
   Econometrica 1(4), doi:10.2307/1907330.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.estimation.problem import LinearProblem, map_rows
from robotid_sim.estimation.reduction import span_of
from robotid_sim.model.joint_terms import TERM_KINDS, TIME_KINDS, JointTerm, unit_of
from robotid_sim.representation import public_value


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class FittedTerm:
    """A term that was chosen, with the evidence for it."""

    term: JointTerm
    std: tuple[float, ...]
    """Standard deviations of its parameters."""
    shape_std: float | None
    """Standard deviation of its constant, if it has one that is no whole number."""
    gain: float
    """Log-likelihood that it gains in blocks that were left out, beside all other terms."""
    gain_std: float
    """Standard error of the gain over the blocks."""
    torque: float
    """RMS of its torque in the rows of its joint [N m]."""
    at_bound: bool = False
    """Whether its constant is at an end of the range in which it is sought."""

    def content(self) -> dict[str, Any]:
        """Return the term as JSON values."""
        evidence = {"gain": self.gain, "gain_std": self.gain_std, "torque": self.torque}
        return {
            **self.term.content(),
            "std": list(self.std),
            "shape_std": self.shape_std,
            "at_bound": self.at_bound,
            **evidence,
        }

    def numbers(self, joint_unit: str) -> list[str]:
        """Return its parameters as texts, for a joint in rad or m."""
        kind = TERM_KINDS[self.term.kind]
        rows = list(zip(kind.symbols, kind.units, self.term.values, self.std, strict=True))
        if kind.shape is not None and not kind.coupled and self.term.shape is not None:
            about = 0.0 if self.shape_std is None else self.shape_std
            rows.append((kind.shape.name, kind.shape.unit, self.term.shape, about))
        bounded = [len(rows) - 1] if self.at_bound else []
        return [
            " ".join(
                [
                    f"{symbol} = {value:.4g}",
                    *([f"± {std:.2g}"] if std else []),
                    *([unit_of(unit, joint_unit)] if unit != "1" else []),
                    *(["(at a bound of its search)"] if k in bounded else []),
                ]
            )
            for k, (symbol, unit, value, std) in enumerate(rows)
        ]


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Terms that joints have beside the standard ones."""

    terms: tuple[FittedTerm, ...]
    columns: Float2D
    """Torque per unit of all their parameters in the rows of a problem, shape (N n, k)."""
    cov: Float2D
    """Covariance of the parameters, shape (k, k)."""

    @property
    def shared_parameters(self) -> Bool1D:
        """Which parameters two joints share, shape (k,)."""
        each = [t.term.partner is not None for t in self.terms for _ in t.term.values]
        return np.array(each, dtype=bool)

    def project_rows(self, problem: LinearProblem) -> LinearProblem:
        """Return the rows of a problem without what the terms can explain of them."""
        if not self.terms:
            return problem
        shared, own = (
            self.shared_parameters,
            problem.unstack_rows(self.columns[:, ~self.shared_parameters]),
        )
        values = np.array([value for t in self.terms for value in t.term.values])
        common = self.columns[:, shared]
        vectors, squares, _ = np.linalg.svd(self.cov[np.ix_(shared, shared)])
        random = [common @ (vectors * np.sqrt(squares))] if shared.any() else []
        random += [] if problem.random is None else [problem.random]
        rest = replace(
            problem,
            y=problem.y - common @ values[shared],
            random=np.hstack(random) if random else None,
        )
        return map_rows(rest, partial(project_out, columns=own))

    def robot_terms(self) -> tuple[JointTerm, ...]:
        """Return the terms as a robot has them."""
        return tuple(fitted.term for fitted in self.terms)

    def list_lasting_terms(self) -> tuple[JointTerm, ...]:
        """Return the terms that another motion has too."""
        return tuple(term for term in self.robot_terms() if term.kind not in TIME_KINDS)


EMPTY_STRUCTURE = Structure((), np.zeros((0, 0)), np.zeros((0, 0)))
"""The structure of a fit without further terms."""


def project_out(rows: Float, columns: Float) -> Float:
    """Return rows, (N, n, m), without what columns, (N, n, k), can explain, joint by joint."""
    result = rows.copy()
    for j in range(rows.shape[1]):
        Q = span_of(columns[:, j])
        result[:, j] -= Q @ (Q.T @ rows[:, j])
    return result


def set_term_values(
    structure: Structure, problem: LinearProblem, beta: Float1D, noise_std: Float1D
) -> Structure:
    """Return a structure with the parameters of its terms beside given base parameters.

    The problem has the rows without the terms, and noise of joints [N m or N]. The values are those
    of least weighted squares.
    """
    if not structure.terms:
        return structure
    weight = np.tile(1.0 / noise_std, problem.samples)
    left = weight * (problem.y - problem.W @ beta)
    values = np.linalg.lstsq(weight[:, None] * structure.columns, left, rcond=None)[0]
    terms, first = [], 0
    for fitted in structure.terms:
        own = values[first : first + len(fitted.term.values)]
        first += own.size
        terms.append(replace(fitted, term=replace(fitted.term, values=tuple(own.tolist()))))
    return replace(structure, terms=tuple(terms))
