r"""Joint terms of a fit, and the rows without them.

A fit projects the columns of its terms out of the rows of every joint: with weights by joint, the
other parameters and their covariance equal those of a fit with all parameters [1]_. Terms shared by
two joints are subtracted with fitted values, and their covariance widens the covariance of the
estimate.

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
    """A chosen term with its evidence."""

    term: JointTerm
    std: tuple[float, ...]
    """Standard deviations of its parameters."""
    shape_std: float | None
    """Standard deviation of its constant, if it has a continuous one."""
    gain: float
    """Gain of the log-likelihood of held-out blocks, given all other terms."""
    gain_std: float
    """Standard error of the gain over the blocks."""
    torque: float
    """RMS of its torque in the rows of its joint [N m]."""
    at_bound: bool = False
    """Whether its constant is at a bound of its search."""

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
        """Format its parameters, for a joint in rad or m."""
        kind = TERM_KINDS[self.term.kind]
        rows = list(zip(kind.symbols, kind.units, self.term.values, self.std, strict=True))
        if kind.constant is not None and not kind.coupled and self.term.shape is not None:
            constant_std = 0.0 if self.shape_std is None else self.shape_std
            rows.append((kind.constant.name, kind.constant.unit, self.term.shape, constant_std))
        rows_at_bound = [len(rows) - 1] if self.at_bound else []
        return [
            " ".join(
                [
                    f"{symbol} = {value:.4g}",
                    *([f"± {std:.2g}"] if std else []),
                    *([unit_of(unit, joint_unit)] if unit != "1" else []),
                    *(["(at a bound of its search)"] if k in rows_at_bound else []),
                ]
            )
            for k, (symbol, unit, value, std) in enumerate(rows)
        ]


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Joint terms in addition to standard friction."""

    terms: tuple[FittedTerm, ...]
    columns: Float2D
    """Torque per unit of all their parameters in the rows of a problem, shape (N n, k)."""
    cov: Float2D
    """Covariance of the parameters, shape (k, k)."""

    @property
    def is_shared(self) -> Bool1D:
        """Whether two joints share a parameter, shape (k,)."""
        each = [t.term.partner is not None for t in self.terms for _ in t.term.values]
        return np.array(each, dtype=bool)

    def project_rows(self, problem: LinearProblem) -> LinearProblem:
        """Project the terms out of the rows of a problem."""
        if not self.terms:
            return problem
        shared, columns = (self.is_shared, problem.unstack_rows(self.columns[:, ~self.is_shared]))
        values = np.array([value for t in self.terms for value in t.term.values])
        common = self.columns[:, shared]
        vectors, squares, _ = np.linalg.svd(self.cov[np.ix_(shared, shared)])
        random = [common @ (vectors * np.sqrt(squares))] if shared.any() else []
        random += [] if problem.random is None else [problem.random]
        remaining = replace(
            problem,
            y=problem.y - common @ values[shared],
            random=np.hstack(random) if random else None,
        )
        return map_rows(remaining, partial(project_out, columns=columns))

    def robot_terms(self) -> tuple[JointTerm, ...]:
        """List the terms as those of a robot model."""
        return tuple(fitted.term for fitted in self.terms)

    def list_lasting_terms(self) -> tuple[JointTerm, ...]:
        """List the terms that are valid for other motions."""
        return tuple(term for term in self.robot_terms() if term.kind not in TIME_KINDS)


EMPTY_STRUCTURE = Structure((), np.zeros((0, 0)), np.zeros((0, 0)))
"""Structure of a fit without further terms."""


def project_out(rows: Float, columns: Float) -> Float:
    """Project columns, (N, n, k), out of rows, (N, n, m), joint by joint."""
    result = rows.copy()
    for j in range(rows.shape[1]):
        Q = span_of(columns[:, j])
        result[:, j] -= Q @ (Q.T @ rows[:, j])
    return result


def set_term_values(
    structure: Structure, problem: LinearProblem, beta: Float1D, noise_std: Float1D
) -> Structure:
    """Fit the parameters of the terms, given base parameters.

    The problem has rows without the terms; the noise is by joint [N m or N]. The values are a
    weighted least-squares fit.
    """
    if not structure.terms:
        return structure
    weight = np.tile(1.0 / noise_std, problem.samples)
    residual = weight * (problem.y - problem.W @ beta)
    values = np.linalg.lstsq(weight[:, None] * structure.columns, residual, rcond=None)[0]
    terms, first = [], 0
    for fitted in structure.terms:
        term_values = values[first : first + len(fitted.term.values)]
        first += term_values.size
        terms.append(replace(fitted, term=replace(fitted.term, values=tuple(term_values.tolist()))))
    return replace(structure, terms=tuple(terms))
