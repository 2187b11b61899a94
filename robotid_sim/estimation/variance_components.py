r"""Variance components of a linear model, selected one by one by restricted likelihood.

.. math:: y = X \beta + \sum_c Z_c u_c + e, \qquad u_c \sim N(0, \theta_c 1), \quad e \sim N(0, 1)

The fixed effects :math:`\beta` are projected out; the likelihood of the residual depends only on
the variances [1]_. A component enters if its likelihood ratio would be improbable without it. The
variance of an absent one lies at the bound of its range, so that the ratio is zero with probability
one half, else chi-squared with one degree of freedom [2]_.

References
----------
.. [1] Patterson, Thompson (1971), "Recovery of inter-block information when block sizes are
   unequal", Biometrika 58(3), doi:10.1093/biomet/58.3.545.
.. [2] Self, Liang (1987), "Asymptotic properties of maximum likelihood estimators and likelihood
   ratio tests under nonstandard conditions", J. American Statistical Association 82(398),
   doi:10.1080/01621459.1987.10478472.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import chdtrc

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.estimation.reduction import factor_of_rows

LOG_RANGE = (-14.0, 16.0)
"""Range of the logarithm of a variance over the variance of the noise."""

MAX_ROWS_IN_MEMORY = 10_000
"""Maximum number of rows whose copies are in memory at a time."""

LOG_VARIANCE_GRID = np.linspace(*LOG_RANGE, 45)


@dataclass(frozen=True, slots=True, eq=False)
class VarianceComponents:
    """Variances over that of the noise, with evidence; arrays of shape (c,)."""

    variances: Float1D
    """Zero for an absent component."""
    ratios: Float1D
    """Twice the logarithm of the likelihood ratio with and without the component."""
    effects: Float1D
    """Best linear unbiased prediction of the effects of all columns, shape (k,)."""
    beta: Float1D
    """Fixed effects of largest likelihood, shape (b,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Contrasts:
    """Gram matrix G of the columns of Z and products g with y, fixed effects projected out."""

    G: Float2D
    g: Float1D
    groups: tuple[Int1D, ...]
    largest: Float1D
    """Logarithm of the largest variance of every component, shape (c,)."""

    def include_in_noise(self, active: Sequence[int], log_variances: Float1D) -> "_Contrasts":
        """Include the active components in the noise."""
        if not active:
            return self
        columns, root, L, _ = self._factor(active, log_variances)
        half = np.linalg.solve(L, root[:, None] * self.G[columns])
        v = np.linalg.solve(L, root * self.g[columns])
        return replace(self, G=self.G - half.T @ half, g=self.g - half.T @ v)

    def cost(self, active: Sequence[int], log_variances: Float1D) -> tuple[float, Float1D]:
        """Compute the negative log-likelihood and its gradient, up to a constant."""
        _, _, L, v = self._factor(active, log_variances)
        inverse = np.linalg.inv(L)
        x = inverse.T @ (inverse @ v)
        each = 0.5 * (1.0 - (inverse**2).sum(axis=0) - x**2)
        ends = np.cumsum([self.groups[c].size for c in active])[:-1]
        gradient = np.array([part.sum() for part in np.split(each, ends)])
        return float(np.log(np.diag(L)).sum() - 0.5 * v @ x), gradient

    def effects(self, active: Sequence[int], log_variances: Float1D) -> Float1D:
        """Predict the effects of all columns."""
        u = np.zeros(len(self.g))
        if active:
            columns, root, L, v = self._factor(active, log_variances)
            u[columns] = root * np.linalg.solve(L.T, np.linalg.solve(L, v))
        return u

    def gain(self, c: int) -> tuple[float, float]:
        """Find the best log-variance of one component and twice its log-likelihood ratio."""
        group, grid = self.groups[c], np.minimum(LOG_VARIANCE_GRID, self.largest[c])
        size, vectors = np.linalg.eigh(self.G[np.ix_(group, group)])
        size, v = np.maximum(size, 0.0), (vectors.T @ self.g[group]) ** 2

        def loss(log_variance: float) -> float:
            scaled = np.exp(log_variance)
            return float((np.log1p(scaled * size) - scaled * v / (1.0 + scaled * size)).sum())

        k = int(np.argmin([loss(x) for x in grid]))
        bounds = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
        best = minimize_scalar(loss, bounds=bounds, method="bounded")
        return float(best.x), -float(best.fun)

    def _factor(
        self, active: Sequence[int], log_variances: Float1D
    ) -> tuple[Int1D, Float1D, Float2D, Float1D]:
        """Return columns, roots of their variances, the factor of 1 + D G D, and D g."""
        columns = np.concatenate([self.groups[c] for c in active])
        sizes = [self.groups[c].size for c in active]
        root = np.exp(0.5 * np.repeat(log_variances, sizes))
        inner = root[:, None] * self.G[np.ix_(columns, columns)] * root
        inner[np.diag_indices(len(columns))] += 1.0
        return columns, root, np.linalg.cholesky(inner), root * self.g[columns]


def choose_components(
    X: Float2D,
    y: Float1D,
    Z: Float2D,
    groups: Sequence[Int1D],
    significance: float,
    *,
    last: Sequence[int] = (),
    largest: Float1D | None = None,
) -> VarianceComponents:
    """Select the significant variance components.

    Fixed effects X, shape (R, b), have full rank, rows noise of unit variance; random effects Z,
    shape (R, k), are in groups of columns, one per component. `significance` is the probability
    that any absent component is selected; components in `last` are tried after all others. The
    variance of a component that fixed effects nearly explain is undetermined: `largest`, shape
    (c,), bounds it.
    """
    b, k = X.shape[1], Z.shape[1]
    R = factor_of_rows(X, Z, y, at_a_time=MAX_ROWS_IN_MEMORY)
    projected, z = R[b:, b : b + k], R[b:, -1]
    bounds: Float1D = np.full(len(groups), LOG_RANGE[1])
    if largest is not None:
        bounds = np.clip(np.log(largest), *LOG_RANGE)
    contrasts = _Contrasts(projected.T @ projected, projected.T @ z, tuple(groups), bounds)
    active: list[int] = []
    logs: Float1D = np.zeros(0)
    while len(active) < len(groups):
        remaining = contrasts.include_in_noise(active, logs)
        gains = {c: remaining.gain(c) for c in range(len(groups)) if c not in active}
        significant = {
            c: gain
            for c, gain in gains.items()
            if 0.5 * chdtrc(1, max(gain[1], 0.0)) <= significance / len(groups)
        }
        preferred = [c for c in significant if c not in last] or list(significant)
        if not preferred:
            break
        active.append(max(preferred, key=lambda c: significant[c][1]))
        logs = _optimize(contrasts, active, np.append(logs, significant[active[-1]][0]))
    variances, ratios = np.zeros(len(groups)), np.zeros(len(groups))
    variances[active] = np.exp(logs)
    for position, c in enumerate(active):
        others = [other for other in active if other != c]
        ratios[c] = contrasts.include_in_noise(others, np.delete(logs, position)).gain(c)[1]
    u = contrasts.effects(active, logs)
    beta = np.linalg.solve(R[:b, :b], R[:b, -1] - R[:b, b : b + k] @ u)
    return VarianceComponents(variances, ratios, u, beta)


def _optimize(contrasts: _Contrasts, active: Sequence[int], start: Float1D) -> Float1D:
    result = minimize(
        partial(contrasts.cost, active),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(LOG_RANGE[0], contrasts.largest[c]) for c in active],
    )
    return np.asarray(result.x)
