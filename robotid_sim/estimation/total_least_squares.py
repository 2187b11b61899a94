"""Generalized total least squares, with the noise of regressor and torque from the periods."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import require_type
from robotid_sim.estimation.block_sandwich import check_rounds, choose_block_length, row_blocks_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import PROBLEM_REMEDY, WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.reduction import Reduction, reduce_rows
from robotid_sim.estimation.simulation import replace_parameters

MISSING_PERIODS_MESSAGE = (
    "the noise is unknown, because the rows do not repeat; this is weighted least squares"
)

NOISE_MESSAGE = (
    "the noise of the regressor is as large as its signal in some direction; record more periods"
)

PERIOD_TOLERANCE = 1e-3
"""Maximum deviation of a period from a whole number of rows."""

MIN_PAIR_SHARE = 0.5
"""Minimum number of pairs of samples one period apart, over the number of samples of a period."""

RESIDUAL_TOLERANCE = 1e-12
"""Residual over torque below which the residual counts as rounding error."""

MIN_SIGNAL_SHARE = 0.1
"""Minimum share of the signal in the Gram matrix of the regressor, in every direction."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class TotalLeastSquares(Estimator):
    r"""Generalized total least squares with the noise estimated from the periods of a log.

    Rows one period apart differ by noise alone, of the regressor and of the torque: half the mean
    square of their differences :math:`\Delta` is the covariance of the noise of :math:`[W\ y]`,
    correlations included. The ratio of the residual to its noise is minimized [1]_,

    .. math:: \hat\beta = \arg\min_\beta
        \frac{\| [W\ y]\, v \|^2}{\| \Delta\, v \|^2}, \qquad v = (\beta, -1),

    a generalized singular value problem, with rows weighed by the residuals of their joints. Motion
    that does not repeat but follows the model, such as measurement noise fed back by the
    controller, has no effect: there :math:`\Delta v` is zero. Classical total least squares, with
    equal noise in all columns, would depend on their units; so without periods this is weighted
    least squares, as its message states.

    The covariance is a block sandwich of the estimating equations
    :math:`W^T r - \lambda \Delta_W^T \Delta_r = 0` about the solution, with the noise
    subtracted from the regressor.

    References
    ----------
    .. [1] Van Huffel, Vandewalle (1991), "The total least squares problem: computational aspects
       and analysis", SIAM.
    """

    rounds: int = 5
    """Number of weight estimates."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("total least squares needs", self.rounds, self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began = time.perf_counter()
        wls = WeightedLeastSquares(rounds=self.rounds, block=self.block).fit(problem, rng)
        labels: dict[str, Any] = {"estimator": "total-least-squares", "options": asdict(self)}
        noise = None if not wls.success else difference_rows(problem)
        if noise is None:
            return replace(wls, message=wls.message or MISSING_PERIODS_MESSAGE, **labels)
        rows, noise_rows = reduce_rows(problem), reduce_rows(noise)
        beta, ratio = wls.beta, 1.0
        for _ in range(self.rounds):
            weights = 1.0 / _compute_rms(problem, beta)
            beta, ratio = _minimize_ratio(rows.whole(weights), noise_rows.whole(weights), beta)
        weights = 1.0 / _compute_rms(problem, beta)
        bread = _bread(rows, noise_rows, weights, ratio)
        if bread is None:
            return replace(wls, success=False, message=NOISE_MESSAGE, **labels)
        block = choose_block_length(problem, beta, self.block)
        blocks = row_blocks_of(problem, block)
        scores = _sum_scores(problem, noise, beta, weights, ratio, blocks)
        small_sample_factor = len(scores) / max(len(scores) - len(beta), 1)
        weighted_scores, R = scores @ bread, rows.whole(weights)[:-1, :-1] @ bread
        degrees_of_freedom = np.full(len(beta), max(blocks - len(beta) / problem.dof, 1.0))
        cov = small_sample_factor * weighted_scores.T @ weighted_scores
        estimate = replace_parameters(problem, wls, beta, cov, R.T @ R, degrees_of_freedom)
        return replace(estimate, block=block, seconds=time.perf_counter() - began, **labels)


def difference_rows(problem: LinearProblem) -> LinearProblem | None:
    r"""Subtract rows a period apart; the result has the Gram matrix of the noise.

    The m differences of N samples are scaled by :math:`\sqrt{N / 2 m}`. None if the rows do not
    repeat often enough.
    """
    if problem.period is None:
        return None
    lag = round(problem.period / problem.dt)
    pairs = problem.samples - lag
    if abs(problem.period / problem.dt - lag) > PERIOD_TOLERANCE or pairs < MIN_PAIR_SHARE * lag:
        return None
    if pairs * problem.dof <= problem.basis.rank:
        return None
    scale, shift = np.sqrt(0.5 * problem.samples / pairs), lag * problem.dof
    W = scale * (problem.W[shift:] - problem.W[:-shift])
    y = scale * (problem.y[shift:] - problem.y[:-shift])
    return replace(problem, W=W, y=y, random=None, instruments=None, recordings=(), period=None)


def _compute_rms(problem: LinearProblem, beta: Float1D) -> Float1D:
    """Compute the RMS residual of every joint [N m], one where it is zero, shape (n,)."""
    rms = np.sqrt((problem.unstack_rows(problem.y - problem.W @ beta) ** 2).mean(axis=0))
    return np.where(rms > 0.0, rms, 1.0)


def _minimize_ratio(R: Float2D, noise: Float2D, beta: Float1D) -> tuple[Float1D, float]:
    """Find the parameters of the smallest ratio of residual to noise, and its square.

    `R` and `noise` are triangular factors of [W y], shape (b + 1, b + 1). Where residuals are
    rounding errors, `beta` is the solution.
    """
    if abs(R[-1, -1]) < RESIDUAL_TOLERANCE * np.linalg.norm(R[:, -1]):
        return beta, 1.0
    _, s, Vt = np.linalg.svd(noise @ np.linalg.inv(R))
    v = np.linalg.solve(R, Vt[0])
    return -v[:-1] / v[-1], float(1.0 / max(s[0], np.finfo(float).tiny ** 0.25) ** 2)


def _bread(rows: Reduction, noise: Reduction, weights: Float1D, ratio: float) -> Float2D | None:
    """Invert the Gram matrix of the regressor without its noise, shape (b, b).

    None if a direction is mostly noise.
    """
    R, D = (x.whole(weights)[:-1, :-1] for x in (rows, noise))
    inverse = np.linalg.inv(R)
    share = np.sqrt(ratio) * D @ inverse
    signal = np.eye(len(R)) - share.T @ share
    if np.linalg.eigvalsh(signal)[0] < MIN_SIGNAL_SHARE:
        return None
    return np.asarray(inverse @ np.linalg.solve(signal, inverse.T))


def _sum_scores(
    problem: LinearProblem,
    noise: LinearProblem,
    beta: Float1D,
    weights: Float1D,
    ratio: float,
    blocks: int,
) -> Float2D:
    """Sum the estimating equations over the blocks of every joint, shape (n blocks, b)."""

    def products(rows: LinearProblem) -> Float2D:
        residual = rows.unstack_rows(rows.y - rows.W @ beta) * weights**2
        return np.asarray(rows.unstack_rows(rows.W) * residual[:, :, None])

    equations, noise_products = products(problem), products(noise)
    equations[: noise.samples] -= ratio * noise_products
    edges = np.linspace(0, problem.samples, blocks + 1).round().astype(int)[:-1]
    sums = np.add.reduceat(equations, edges, axis=0)
    return np.asarray(sums.reshape(-1, problem.basis.rank))
