"""Likelihood of rows under robots that can exist: what shows that a torque has the wrong sign."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.estimation.cone_program import ConsistentProgram


@dataclass(frozen=True, slots=True, eq=False)
class Constrained:
    """The best fit of a robot that can exist."""

    rms: Float1D
    """Residual of every joint [N m], infinite if the solver failed, shape (n,)."""
    free: Float1D
    """That of the fit without constraints."""
    by_fold: Float1D
    """Log-likelihood of every block, shape (folds,)."""

    @classmethod
    def of(cls, evidence: Evidence, program: ConsistentProgram) -> Self:
        """Return the fit to the rows without what accepted columns explain."""
        rank = evidence.basis.rank
        fit = evidence.held_out().fit(np.arange(evidence.plain))
        y = evidence.y - evidence.columns @ fit.beta[rank:]
        weights = evidence.use / fit.sigma
        weighted = (evidence.W * weights[:, :, None]).reshape(-1, rank)
        target = (y * weights).ravel()
        Q, R = np.linalg.qr(weighted)
        if np.abs(np.diag(R)).min() <= 1e-12 * np.abs(np.diag(R)).max():
            return cls._failed(evidence, fit.sigma)
        phi = program.nearest(np.linalg.solve(R, Q.T @ target), R)
        if phi is None:
            return cls._failed(evidence, fit.sigma)
        squares = (y - evidence.W @ evidence.basis.of(phi)) ** 2 * evidence.use
        count = np.maximum(evidence.use.sum(axis=0), 1)
        sigma = np.sqrt(squares.sum(axis=0) / count + (evidence.floor) ** 2)
        terms = evidence.use * (evidence.volume / evidence.dof - np.log(sigma))
        terms = terms - 0.5 * squares / sigma**2
        by_fold = np.array(
            [terms[evidence.fold == f].sum() for f in range(evidence.fold.max() + 1)]
        )
        return cls(sigma, fit.sigma, by_fold)

    @classmethod
    def _failed(cls, evidence: Evidence, free: Float1D) -> Self:
        worst = np.full(int(evidence.fold.max()) + 1, -np.inf)
        return cls(np.full(evidence.dof, np.inf), free, worst)
