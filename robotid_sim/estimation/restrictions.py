"""What restricts a fit: joints that count less, fixed parameters, a ridge, and a nominal robot."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.least_squares import noise_std, white_covariance
from robotid_sim.estimation.problem import LinearProblem, robot_part
from robotid_sim.estimation.reduction import LEAST_SPAN, Reduction, triangular_factor

HELD = 1e-3
"""Standard deviation of a fixed parameter over that of the fit of all rows: nearly none, and not
none, for a covariance has an inverse."""


class KnownBefore(NamedTuple):
    """What a nominal robot says of base parameters, if every full one errs by its own size."""

    beta: Float1D
    """Nominal values, shape (b,)."""
    std: Float1D
    """Of their errors, shape (b,)."""
    root: Float2D
    """Whitens their errors, shape (b, b); nothing is known of parameters whose rows are zero."""


class RestrictedFit(NamedTuple):
    """A fit of the rows of some joints and samples."""

    beta: Float1D
    sigma: Float1D
    """Noise of the rows of every joint [N m], shape (n,)."""
    weights: Float1D
    """Of the last round, shape (n,)."""
    R: Float2D
    """Triangular factor of everything that the solution is of, shape (p, p)."""
    free: Bool1D
    """Which parameters it is of, shape (b,)."""
    unseen: Bool1D
    """Which are not fixed, and not shown by the rows, shape (b,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Restrictions:
    """What restricts a fit, in the order of a problem's joints and base parameters."""

    factors: Float1D
    """Of the weights of the joints, shape (n,)."""
    free: Bool1D
    """Which parameters are not fixed, shape (b,)."""
    values: Float1D
    """Those of the fixed ones, shape (b,)."""
    sizes: Float1D
    """Lengths of the columns in all rows, shape (b,)."""
    before: KnownBefore
    ridge: float
    prior: float | None

    def fit(self, reduction: Reduction, rounds: int) -> RestrictedFit:
        """Return the fit; raise `numpy.linalg.LinAlgError` if rows or what they show is lacking.

        The first solution is of the rows alone, each joint with its factor; it gives the first
        noise.
        """
        weights, active = self.factors, self.factors > 0.0
        unseen = self._unseen(reduction.whole(active.astype(float)))
        shown = self.free & ~unseen
        if reduction.samples * active.sum() <= shown.sum():
            raise np.linalg.LinAlgError(
                f"{reduction.samples * active.sum():g} rows cannot determine {shown.sum()} "
                "parameters"
            )
        values = np.where(unseen, self.before.beta, self.values)
        freedom = shown.sum() * reduction.dof / active.sum()
        beta, R = _solved(reduction.whole(weights), shown, values)
        sigma = noise_std(reduction, beta, freedom)
        free = shown if self.prior is None else self.free
        for _ in range(rounds):
            weights = self.factors / sigma
            beta, R = _solved(self._rows(reduction, weights), free, values)
            sigma = noise_std(reduction, beta, freedom)
        return RestrictedFit(beta, sigma, weights, R, free, unseen)

    def _unseen(self, rows: Float2D) -> Bool1D:
        """Return which free parameters rows do not show beside those before them, shape (b,).

        One at a time: what follows a dependent column is only known once that is gone.
        """
        unseen = np.zeros_like(self.free)
        while True:
            columns = np.flatnonzero(self.free & ~unseen)
            R = triangular_factor(rows[:, columns])
            faint = np.abs(np.diag(R)) <= LEAST_SPAN * self.sizes[columns]
            if not faint.any():
                return unseen
            unseen[columns[faint.argmax()]] = True

    def _rows(self, reduction: Reduction, weights: Float1D) -> Float2D:
        """Return the rows whose squares are minimized, the right-hand side last."""
        data = reduction.whole(weights)
        b = len(self.values)
        rows = [data]
        if self.ridge:
            size = np.sqrt(self.ridge) * np.linalg.norm(data[:, :-1], axis=0)
            rows.append(np.column_stack([np.diag(size), np.zeros(b)]))
        if self.prior is not None:
            root = self.before.root
            rows.append(np.column_stack([root, root @ self.before.beta]) / self.prior)
        return np.vstack(rows)

    def random_errors(self, problem: LinearProblem, use: Bool1D, fit: RestrictedFit) -> Float2D:
        """Return the errors of the free parameters by every random effect of a problem, (p, k)."""
        inverse = np.linalg.inv(fit.R)
        if problem.random is None:
            return np.zeros((len(inverse), 0))
        scale = np.outer(use, fit.weights).ravel()[:, None]
        cross = (problem.W * scale).T @ (problem.random * scale)
        return np.asarray(inverse @ (inverse.T @ cross[fit.free]))

    def covariance(
        self,
        reduction: Reduction,
        fit: RestrictedFit,
        std: Float1D,
        random: Float2D,
        color: Float1D,
    ) -> Float2D:
        """Return the covariance of all parameters, shape (b, b).

        `std` are the standard deviations of the fit of all rows, of which fixed parameters have a
        little; `random` the errors by random effects, shape (p, k); `color` standard deviations
        over those of white residuals.
        """
        inverse, free = np.linalg.inv(fit.R), fit.free
        part = Reduction(reduction.factors[:, :, np.append(free, True)], reduction.samples)
        noise = white_covariance(part, fit.weights, fit.sigma, inverse)
        own = noise * np.outer(color[free], color[free]) + random @ random.T
        if self.prior is not None:  # it is as good as measurements
            half = self.before.root[:, free] / self.prior @ (inverse @ inverse.T)
            own = own + half.T @ half
        cov = np.diag((HELD * std) ** 2)
        cov[fit.unseen, fit.unseen] = self.before.std[fit.unseen] ** 2
        cov[np.ix_(free, free)] = own
        return cov


def _solved(rows: Float2D, free: Bool1D, values: Float1D) -> tuple[Float1D, Float2D]:
    """Return the least-squares solution for free parameters beside values of the others, and R."""
    z = rows[:, -1] - rows[:, :-1][:, ~free] @ values[~free]
    whole = triangular_factor(np.column_stack([rows[:, :-1][:, free], z]))
    R, beta = whole[: free.sum(), :-1], values.copy()
    size = np.abs(np.diag(R))
    if not size.size or not size.min() > 1e-13 * size.max():
        raise np.linalg.LinAlgError("the rows left do not determine any free parameter")
    beta[free] = np.linalg.solve(R, whole[: free.sum(), -1])
    return beta, R


def known_before(problem: LinearProblem) -> KnownBefore:
    """Return what the nominal robot of a problem, if it has one, says of its base parameters."""
    b = problem.basis.rank
    known = KnownBefore(np.zeros(b), np.ones(b), np.zeros((b, b)))
    if problem.nominal is None:
        return known
    program = ConsistentProgram(problem.nominal, robot_part(problem))
    part, cov = slice(len(program.B)), program.B @ program.B.T
    known.beta[part] = program.basis.of(program.phi0)
    known.std[part] = np.sqrt(np.diag(cov))
    known.root[part, part] = np.linalg.inv(np.linalg.cholesky(cov))
    return known
