"""Ordinary and weighted least squares with covariance for colored residuals.

Logs that do not fit into memory come in parts, linear problems of some seconds that are not kept:
one pass over them leaves one small triangular factor per joint, from which weights and parameters
follow; a second pass adds up the covariance, whose blocks must lie within parts.

What rows of several logs weigh, by the noise of every log and joint.
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
    length_of,
)
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem, weights_of
from robotid_sim.estimation.reduction import Reduction, reduce_parts, reduce_rows
from robotid_sim.threads import one_blas_thread

ProblemStream = Callable[[], Iterable[LinearProblem]]
"""Returns the parts of a log from its first one; called once a pass.

Motions with a row filter should overlap by twice its `edge`, which it drops at both ends.
"""

MIN_NOISE = 1e-150
"""Stands for zero where noise is divided by [N m]."""

PROBLEM_REMEDY = "make one by build_problem(motion, nominal, basis)"
"""What to do where a problem was expected."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinaryLeastSquares(Estimator):
    """Ordinary least squares: all joints weigh alike.

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
        """Return the least-squares estimate; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        return fit_rows(problem, "ols", rounds=0, block=self.block, options=asdict(self))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedLeastSquares(Estimator):
    r"""Weighted least squares: every joint weighs by the inverse of its noise.

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
    """How often weights are estimated anew; two are too few where torques differ by 1e4."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("weighted least squares needs", self.rounds, self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Return the weighted least-squares estimate; `rng` is not used."""
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
    """Return the least-squares estimate of a problem; without success where the rank is deficient.

    Weights are estimated anew in so many rounds; 0 is ordinary least squares. Blocks of the
    covariance have a length [s], or follow from the correlation of the residuals. Name and options
    are what the estimate says of its estimator.
    """
    began = time.perf_counter()
    result = estimate_of(problem, name, len(problem.W), options)

    def sandwich(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
        length = length_of(problem, beta, block)
        return block_sandwich(problem, beta, weights, inverse, length)

    if reduction is None:
        reduction = reduce_rows(problem)
    estimate = fit_reduction(reduction, rounds, result, sandwich)
    if not estimate.success:
        return estimate
    estimate = replace(estimate, block=length_of(problem, estimate.beta, block))
    if problem.random is not None:  # covariances hold its effects
        assert estimate.cov is not None
        assert estimate.cov_white is not None
        weights = weights_of(estimate)
        half = random_errors(problem, weights, np.linalg.inv(reduction.solve(weights)[1]))
        more = half @ half.T
        estimate = replace(estimate, cov=estimate.cov + more, cov_white=estimate.cov_white + more)
    return replace(estimate, seconds=time.perf_counter() - began)


def fit_stream(parts: ProblemStream, estimator: WeightedLeastSquares | None = None) -> Estimate:
    """Return the weighted least-squares estimate of a log that comes in parts, in two passes.

    It is that of all rows at once, but for rounding, and but for covariance blocks that the
    bounds of the parts cut: their length follows the residuals of the first part unless it is
    given.

    The function `parts` returns the parts from the first one, each time that it is called. Raises
    `LogError` if there are none. The estimate has no success where the motion does not excite every
    parameter.
    """
    began, method = time.perf_counter(), estimator or WeightedLeastSquares()
    first = next(iter(parts()), None)
    reduction = reduce_parts(parts())
    assert first is not None
    result = estimate_of(first, "wls", round(reduction.samples) * reduction.dof, asdict(method))
    del first

    def length(beta: Float1D) -> float:
        return length_of(next(iter(parts())), beta, method.block)

    def sandwich(beta: Float1D, weights: Float1D, inverse: Float2D) -> Float2D:
        block = length(beta)
        scores = (block_sandwich(p, beta, weights, inverse, block) for p in parts())
        return sum(scores, np.zeros_like(inverse))

    estimate = fit_reduction(reduction, method.rounds, result, sandwich)
    if estimate.success:
        estimate = replace(estimate, block=length(estimate.beta))
    return replace(estimate, seconds=time.perf_counter() - began)


def estimate_of(
    problem: LinearProblem, name: str, rows: int, options: dict[str, Any]
) -> Callable[..., Estimate]:
    """Return what makes an estimate of the numbers of a fit, for `fit_reduction`.

    Name, number of rows and options are what the estimate says of its fit.
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
    """Return the least-squares estimate of rows that are given by their triangular factors.

    Weights are estimated anew in so many rounds; 0 is ordinary least squares. `result` makes the
    estimate, see `estimate_of`; `sandwich` returns the covariance for colored residuals, shape (b,
    b), from solution, shape (b,), weights, shape (n,), and the inverse of the triangular factor.
    Without success where the rows are rank-deficient.
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
    """Return the noise of every joint's rows [N m or N], shape (n,), nowhere zero.

    The degrees of freedom `rank` of the fit are shared by the joints.
    """
    squares = reduction.compute_squared_residuals(beta)
    sigma = np.sqrt(squares / max(reduction.samples - rank / reduction.dof, 1.0))
    return np.asarray(np.maximum(sigma, max(1e-9 * sigma.max(), MIN_NOISE)))


def white_covariance(
    reduction: Reduction, weights: Float1D, sigma: Float1D, inverse: Float2D
) -> Float2D:
    r"""Return the covariance of a weighted fit whose residuals are white.

    .. math:: A \Big( \sum_j w_j^4 \sigma_j^2 W_j^T W_j \Big) A, \qquad
        A = \Big( \sum_j w_j^2 W_j^T W_j \Big)^{-1}.

    Weights w and noise sigma [N m or N] are by joint; ``A = inverse inverse^T``. The result has
    shape (b, b).
    """
    scaled = reduction.factors[:, :, :-1] * (weights**2 * sigma)[:, None, None]
    half = scaled.reshape(-1, scaled.shape[2]) @ (inverse @ inverse.T)
    return np.asarray(half.T @ half)


def random_errors(problem: LinearProblem, weights: Float1D, inverse: Float2D) -> Float2D:
    """Return the errors of the parameters by one standard deviation of every random effect, (b, k).

    The weights are those of the joints in the fit, the inverse that of the triangular factor of the
    weighted regressor.
    """
    if problem.random is None:
        return np.zeros((len(inverse), 0))
    scale = np.tile(weights, problem.samples)[:, None]
    return np.asarray(inverse @ (inverse.T @ ((problem.W * scale).T @ (problem.random * scale))))


NOISE_ROUNDS = 3
"""How often the noise of logs is estimated anew."""

MAX_WEIGHT_RATIO = 20.0
"""Largest ratio of weights: a log that a fit happens to pass exactly must not be all of it."""


def weights_by_log(problem: LinearProblem, log_of: Int1D) -> Float2D:
    """Return weights that make the noise of logs alike, one a log and joint, shape (logs, n).

    With them the noise of every joint's rows is that of the joint in the fit of all logs: iterated
    weighted least squares with one variance a log and joint.

    The rows are not weighed yet; `log_of` says which log every sample is of, from 0.
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
