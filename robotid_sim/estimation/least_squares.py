"""Ordinary and weighted least squares with covariance for colored residuals.

Logs that do not fit into memory are read in parts, which are linear problems of some seconds: one
pass over them gives one small triangular factor per joint, from which weights and parameters
follow; a second pass adds up the covariance, whose blocks must lie within parts.

The module also weights the rows of several logs by the noise of each log and joint.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import require_type
from robotid_sim.estimation.block_sandwich import (
    block_sandwich,
    check_block,
    check_rounds,
    choose_block_length,
)
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem, weights_of
from robotid_sim.estimation.reduction import Reduction, reduce_parts, reduce_rows
from robotid_sim.threads import one_blas_thread

ProblemStream = Callable[[], Iterable[LinearProblem]]
"""Returns the parts of a log from the first one; called once per pass.

Motions with a row filter should overlap by twice its `edge`, which is dropped at both ends.
"""

MIN_NOISE = 1e-150
"""Minimum noise in divisions [N m]."""

PROBLEM_REMEDY = "make one with build_problem(motion, nominal, basis)"
"""Remedy where a problem was expected."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinaryLeastSquares(Estimator):
    """Ordinary least squares: all joints have equal weight.

    References
    ----------
    .. [1] Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads
       and links", Int. J. Robotics Research, doi:10.1177/027836498600500306.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> rid.OrdinaryLeastSquares().fit(problem).success
    True
    """

    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem by least squares; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        return fit_rows(problem, "ols", rounds=0, block=self.block, options=asdict(self))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedLeastSquares(Estimator):
    r"""Weighted least squares: the weight of a joint is the inverse of its noise.

    Starts from ordinary least squares, estimates :math:`\hat\sigma_j` of every joint from its
    residuals, and minimizes :math:`\sum_j |y_j - W_j \beta|^2 / \hat\sigma_j^2`, `rounds` times.

    References
    ----------
    .. [1] Gautier, Poignet (2001), "Extended Kalman filtering and weighted least squares dynamic
       identification of robot", Control Engineering Practice, doi:10.1016/S0967-0661(01)00105-8.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> estimate = rid.WeightedLeastSquares().fit(problem)
    >>> true = basis.project(setup.cell.plant.parameters())
    >>> bool(np.all(np.abs(estimate.beta - true) < 5.0 * estimate.std))
    True
    """

    rounds: int = 5
    """Number of weight estimates; two do not suffice where torques differ by 1e4."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("weighted least squares needs", self.rounds, self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem by weighted least squares; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        return fit_rows(problem, "wls", rounds=self.rounds, block=self.block, options=asdict(self))


@one_blas_thread()
def fit_rows(
    problem: LinearProblem,
    name: str,
    *,
    rounds: int,
    block: float | None,
    options: dict[str, Any],
    reduction: Reduction | None = None,
) -> Estimate:
    """Fit a problem by least squares; ``success=False`` where the rank is deficient.

    Weights are estimated in `rounds`; 0 is ordinary least squares. `block` is the length of the
    blocks of the covariance [s]; None: by the correlation of the residuals. Name and options are
    stored in the estimate.
    """
    began = time.perf_counter()
    result = make_result(problem, name, len(problem.W), options)

    def sandwich(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
        length = choose_block_length(problem, beta, block)
        return block_sandwich(problem, beta, weights, inverse, length)

    if reduction is None:
        reduction = reduce_rows(problem)
    estimate = fit_reduction(reduction, rounds, result, sandwich)
    if not estimate.success:
        return estimate
    estimate = replace(estimate, block=choose_block_length(problem, estimate.beta, block))
    if problem.random is not None:  # covariances include random effects
        assert estimate.cov is not None
        assert estimate.cov_white is not None
        weights = weights_of(estimate)
        half = random_errors(problem, weights, np.linalg.inv(reduction.solve(weights)[1]))
        extra = half @ half.T
        estimate = replace(estimate, cov=estimate.cov + extra, cov_white=estimate.cov_white + extra)
    return replace(estimate, seconds=time.perf_counter() - began)


def fit_stream(parts: ProblemStream, estimator: WeightedLeastSquares | None = None) -> Estimate:
    """Fit a log in parts by weighted least squares, in two passes.

    The result equals that of all rows at once, except for rounding and for covariance blocks at the
    bounds of the parts. If the estimator has no `block`, the residuals of the first part determine
    the length of the blocks.

    The function `parts` returns the parts from the first one at each call. Raises `LogError` if
    there are none. The estimate has ``success=False`` where the motion does not excite every
    parameter.
    """
    began, method = time.perf_counter(), estimator or WeightedLeastSquares()
    first = next(iter(parts()), None)
    reduction = reduce_parts(parts())
    assert first is not None
    result = make_result(first, "wls", round(reduction.samples) * reduction.dof, asdict(method))
    del first

    def length(beta: Float1D) -> float:
        return choose_block_length(next(iter(parts())), beta, method.block)

    def sandwich(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
        block = length(beta)
        scores = (block_sandwich(p, beta, weights, inverse, block) for p in parts())
        return sum(scores, np.zeros_like(inverse))

    estimate = fit_reduction(reduction, method.rounds, result, sandwich)
    if estimate.success:
        estimate = replace(estimate, block=length(estimate.beta))
    return replace(estimate, seconds=time.perf_counter() - began)


def make_result(
    problem: LinearProblem, name: str, rows: int, options: dict[str, Any]
) -> Callable[..., Estimate]:
    """Make the constructor of an estimate for `fit_reduction`.

    Name, number of rows and options are stored in the estimate.
    """
    return partial(
        Estimate,
        estimator=name,
        names=problem.basis.names,
        units=problem.basis.units,
        joint_names=problem.joint_names,
        rows=rows,
        options=options,
    )


def fit_reduction(
    reduction: Reduction,
    rounds: int,
    result: Callable[..., Estimate],
    sandwich: Callable[[Float1D, Float1D, Float2D], Float2D],
) -> Estimate:
    """Fit rows by least squares, given their triangular factors.

    Weights are estimated in `rounds`; 0 is ordinary least squares. `result` makes the estimate, see
    `make_result`; `sandwich` returns the covariance for colored residuals, shape (b, b),
    from solution, shape (b,), weights, shape (n,), and the inverse of the triangular factor. The
    result has ``success=False`` where the rows are rank-deficient.
    """
    weights: Float1D = np.ones(reduction.dof)
    rank = reduction.factors.shape[2] - 1
    try:
        beta, R = reduction.solve(weights)
        sigma = noise_std(reduction, beta, rank)
        for _ in range(rounds):
            weights = 1.0 / sigma
            beta, R = reduction.solve(weights)
            sigma = noise_std(reduction, beta, rank)
    except np.linalg.LinAlgError as error:
        zero = np.zeros(rank)
        rms = np.sqrt(reduction.compute_squared_residuals(zero) / reduction.samples)
        message = f"{error}: the motion does not excite every parameter"
        return result(beta=zero, torque_rms=rms, noise_std=rms, success=False, message=message)
    inverse = np.linalg.inv(R)
    return result(
        beta=beta,
        torque_rms=np.sqrt(reduction.compute_squared_residuals(beta) / reduction.samples),
        noise_std=sigma,
        cov=sandwich(beta, weights, inverse),
        cov_white=white_covariance(reduction, weights, sigma, inverse),
        cond=float(np.linalg.cond(R / np.linalg.norm(R, axis=0))),
        weights=None if rounds else weights,
    )


def noise_std(reduction: Reduction, beta: Float1D, rank: float) -> Float1D:
    """Estimate the noise of the rows per joint [N m or N], shape (n,), always positive.

    The `rank` parameters of the fit reduce the degrees of freedom of all joints equally.
    """
    squares = reduction.compute_squared_residuals(beta)
    sigma = np.sqrt(squares / max(reduction.samples - rank / reduction.dof, 1.0))
    return np.asarray(np.maximum(sigma, max(1e-9 * sigma.max(), MIN_NOISE)))


def white_covariance(
    reduction: Reduction, weights: Float1D, sigma: Float1D, inverse: Float2D
) -> Float2D:
    r"""Compute the covariance of a weighted fit with white residuals.

    .. math:: A \Big( \sum_j w_j^4 \sigma_j^2 W_j^T W_j \Big) A, \qquad
        A = \Big( \sum_j w_j^2 W_j^T W_j \Big)^{-1}.

    Weights w and noise sigma [N m or N] are by joint; ``A = inverse inverse^T``. The result has
    shape (b, b).
    """
    scaled = reduction.factors[:, :, :-1] * (weights**2 * sigma)[:, None, None]
    half = scaled.reshape(-1, scaled.shape[2]) @ (inverse @ inverse.T)
    return np.asarray(half.T @ half)


def random_errors(problem: LinearProblem, weights: Float1D, inverse: Float2D) -> Float2D:
    """Compute the parameter errors by one standard deviation of random effects, shape (b, k).

    `weights` are those of the joints in the fit; `inverse` is the inverse of the triangular factor
    of the weighted regressor.
    """
    if problem.random is None:
        return np.zeros((len(inverse), 0))
    scale = np.tile(weights, problem.samples)[:, None]
    return np.asarray(inverse @ (inverse.T @ ((problem.W * scale).T @ (problem.random * scale))))


NOISE_ROUNDS = 3
"""Number of estimates of the noise of logs."""

MAX_WEIGHT_RATIO = 20.0
"""Maximum ratio of weights: a log with an exact fit by chance must not dominate."""


def weights_by_log(problem: LinearProblem, log_of: Int1D) -> Float2D:
    """Compute weights that equalize the noise of logs, one per log and joint, shape (logs, n).

    They are iterated weighted least squares with one variance per log and joint: the noise of the
    weighted rows of a joint is the same in all logs.

    The rows of the problem are not yet weighted; `log_of` is the index of the log of every sample.
    """
    logs = int(log_of.max()) + 1
    weights = np.ones((logs, problem.dof))
    for _ in range(NOISE_ROUNDS):
        scale = weights[log_of].ravel()
        rows = replace(problem, W=problem.W * scale[:, None], y=problem.y * scale)
        fit = WeightedLeastSquares().fit(rows)
        if not fit.success:
            return np.ones((logs, problem.dof))
        squares = problem.unstack_rows(problem.y - problem.W @ fit.beta) ** 2
        noise = np.sqrt([squares[log_of == k].mean(axis=0) for k in range(logs)])
        pooled = np.sqrt(squares.mean(axis=0))
        floor = np.maximum(pooled / MAX_WEIGHT_RATIO, np.finfo(float).tiny)
        weights = pooled / np.maximum(noise, floor)
    return weights
