r"""Recursive least squares: triangular factors of all rows, updated sample by sample.

With the factor R of the rows so far and a forgetting factor :math:`\lambda` a new row enters by
rotations (square-root information form [1]_, [2]_):

.. math:: \begin{pmatrix} \sqrt\lambda\, R \\ w^T \end{pmatrix} = Q
    \begin{pmatrix} R^+ \\ 0 \end{pmatrix} .

No matrix is inverted and no start covariance is assumed: parameters follow as soon as the rows
determine them. There is a factor per joint, as in `robotid_sim.estimation.reduction`, so that the
weights of the joints need not be known in advance.

References
----------
.. [1] Bierman (1977), "Factorization methods for discrete sequential estimation", Academic Press.
.. [2] Ljung, Söderström (1983), "Theory and practice of recursive identification", MIT Press.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation.block_sandwich import check_rounds, choose_block_length, row_blocks_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import (
    PROBLEM_REMEDY,
    fit_reduction,
    fit_rows,
    make_result,
    white_covariance,
)
from robotid_sim.estimation.problem import Estimator, LinearProblem, map_rows, weights_of
from robotid_sim.estimation.reduction import Reduction


@jit
def rotate_rows(factors: Float, rows: Float, factor: float) -> None:
    """Rotate rows into upper triangular factors, in place, sample by sample.

    Factors have shape (n, d, d), rows (N, n, d); with every sample, previous rows are multiplied by
    `factor`.
    """
    samples, n, d = rows.shape
    for k in range(samples):
        for j in range(n):
            R, row = factors[j], rows[k, j].copy()
            for i in range(d):
                size = math.hypot(factor * R[i, i], row[i])
                c, s = (1.0, 0.0) if size == 0.0 else (factor * R[i, i] / size, row[i] / size)
                for m in range(i, d):
                    old = factor * R[i, m]
                    R[i, m] = c * old + s * row[m]
                    row[m] = c * row[m] - s * old


@dataclass(frozen=True, slots=True, eq=False)
class RunningFit:
    """State of recursive least squares."""

    reduction: Reduction
    """Factors of the rows, older ones with lower weight."""
    double_rate_reduction: Reduction
    """Factors with twice the forgetting rate, for the covariance."""

    @classmethod
    def start(cls, problem: LinearProblem) -> "RunningFit":
        """Make the state before the first row of a problem."""
        size = problem.basis.rank + 1
        empty = Reduction(np.zeros((problem.dof, size, size)), 0.0)
        return cls(empty, empty)

    def update(self, problem: LinearProblem, fading: float) -> "RunningFit":
        """Add the rows of a problem; `fading` multiplies older weights with every sample."""
        rows = np.dstack([problem.unstack_rows(problem.W), problem.unstack_rows(problem.y)])
        first = _update_reduction(self.reduction, rows, fading)
        return RunningFit(
            first,
            first
            if fading == 1.0
            else _update_reduction(self.double_rate_reduction, rows, fading**2),
        )


def _update_reduction(reduction: Reduction, rows: Float, fading: float) -> Reduction:
    factors = reduction.factors.copy()
    rotate_rows(factors, rows, math.sqrt(fading))
    faded = fading ** np.arange(len(rows))
    return Reduction(factors, fading ** len(rows) * reduction.samples + float(faded.sum()))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveLeastSquares(Estimator):
    r"""Weighted least squares updated from sample to sample, with optional forgetting.

    Without forgetting the last estimate equals weighted least squares up to rounding; with a
    `forgetting` time T a row of age t has the weight :math:`e^{-t / T}` [1]_, so that drifting
    parameters are tracked, with the variance of a fit of 2 T of data. `follow` yields the estimates
    of logs that come in parts.

    References
    ----------
    .. [1] Ljung, Söderström (1983), "Theory and practice of recursive identification", MIT Press.
    """

    forgetting: float | None = None
    """Time after which the weight of a row is 1/e [s]; None for no forgetting."""
    rounds: int = 5
    """Number of weight estimates."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("recursive least squares needs", self.rounds, self.block)
        if self.forgetting is not None and not 0.0 < self.forgetting < np.inf:
            raise OptionError(f"the forgetting time must be positive, got {self.forgetting} s")

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit all rows; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began = time.perf_counter()
        running = RunningFit.start(problem).update(problem, self._compute_fading(problem))
        common: dict[str, Any] = {
            "name": "recursive-least-squares",
            "rounds": self.rounds,
            "options": asdict(self),
            "reduction": running.reduction,
        }
        fit = fit_rows(problem, block=self.block, **common)
        if self.forgetting is not None and fit.success:
            block = choose_block_length(problem, fit.beta, self.block)
            weight = np.sqrt(self._compute_fading(problem) ** np.arange(problem.samples)[::-1])
            faded = map_rows(problem, lambda rows: rows * weight[:, None, None])
            # Whole blocks that end with the last row
            length = min(max(1, round(block / problem.dt)), problem.samples)
            whole_blocks = slice(problem.samples % length * problem.dof, None)
            faded = replace(
                faded,
                W=faded.W[whole_blocks],
                y=faded.y[whole_blocks],
                random=None if faded.random is None else faded.random[whole_blocks],
                instruments=None,
                period=None,
            )
            fit = fit_rows(faded, block=block, **common)
            blocks = (
                row_blocks_of(problem, block)
                * running.double_rate_reduction.samples
                / problem.samples
            )
            dof = np.full(len(fit.beta), max(2.0 * blocks - len(fit.beta) / problem.dof, 1.0))
            fit = replace(
                fit, dof=dof, cov_white=_white_covariance(running, fit), rows=len(problem.y)
            )
        return replace(fit, seconds=time.perf_counter() - began)

    def follow(self, parts: Iterable[LinearProblem]) -> Iterator[Estimate]:
        """Yield the estimate after every part of a log that comes in parts.

        Only the covariance for white residuals is computed, because the rows are not kept.
        Estimates have ``success=False`` until the rows determine all parameters.
        """
        running, rows = None, 0
        for part in parts:
            before = RunningFit.start(part) if running is None else running
            running = before.update(part, self._compute_fading(part))
            rows += len(part.y)
            result = make_result(part, "recursive-least-squares", rows, asdict(self))
            fit = fit_reduction(running.reduction, self.rounds, result, _unit_noise_covariance)
            yield replace(
                fit, cov=None, cov_white=_white_covariance(running, fit) if fit.success else None
            )

    def _compute_fading(self, problem: LinearProblem) -> float:
        """Compute the factor of the weight of a row per sample of age."""
        return 1.0 if self.forgetting is None else math.exp(-problem.dt / self.forgetting)


def _unit_noise_covariance(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
    del beta, weights
    return np.asarray(inverse @ inverse.T)


def _white_covariance(running: RunningFit, fit: Estimate) -> Float2D:
    """Compute the covariance for white residuals with forgetting, shape (b, b)."""
    weights = weights_of(fit)
    inverse = np.linalg.inv(running.reduction.solve(weights)[1])
    return white_covariance(running.double_rate_reduction, weights, fit.noise_std, inverse)
