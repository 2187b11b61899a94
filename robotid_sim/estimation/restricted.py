"""Restricted least squares: joint weights, excluded rows, fixed parameters, a ridge and a prior."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, UnknownNameError, require_type
from robotid_sim.estimation.block_sandwich import block_of, block_variance
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import (
    PROBLEM_REMEDY,
    WeightedLeastSquares,
    noise_std,
    white_covariance,
)
from robotid_sim.estimation.problem import Estimator, LinearProblem, get_robot_basis
from robotid_sim.estimation.reduction import (
    SPAN_TOLERANCE,
    Reduction,
    reduce_rows,
    triangular_factor,
)

ESTIMATOR_NAME = "restricted-least-squares"


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedLeastSquares(Estimator):
    r"""Weighted least squares without some rows, with fixed parameters, a ridge or a prior.

    .. math:: \min_\beta \sum_j (f_j / \hat\sigma_j)^2 |y_j - W_j \beta|^2
        + \lambda \sum_k s_k^2 \beta_k^2 + |P (\beta - \beta_0)|^2 / p^2,

    over the remaining samples, with the noise :math:`\hat\sigma_j` of weighted least squares,
    factors :math:`f_j` of the joints, :math:`s_k` the length of the weighted column k [1]_, and
    :math:`P^T P` the inverse covariance of the base parameters of a nominal robot, if the standard
    deviation of every full parameter is its nominal scale; p is the standard deviation over this
    scale. Without options it is weighted least squares. A parameter that the remaining rows do not
    determine keeps its nominal value.

    Residuals are assumed to be as colored as those of the fit of all rows: the covariance is that
    of white residuals, with the standard deviation of every parameter multiplied by its ratio in
    that fit. A prior counts as further measurements.

    References
    ----------
    .. [1] Hoerl, Kennard (1970), "Ridge regression: biased estimation for nonorthogonal problems",
       Technometrics 12(1), doi:10.1080/00401706.1970.10488634.
    """

    joint_weights: Mapping[str, float] = field(default_factory=dict)
    """Factors of the weights of joints, by name; 0 excludes a joint, 1 is the default."""
    without: list[list[float]] = field(default_factory=list)
    """Excluded times, each from and to [s], as in ``[[0.0, 8.0]]``; the times of several logs
    follow one another."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Fixed values of base parameters, by name."""
    ridge: float = 0.0
    """Pull of every parameter to zero, in units of ``W.T @ W`` with columns of unit length."""
    prior: float | None = None
    """Relative standard deviation of the nominal robot's parameters, as of CAD; None: no prior."""
    rounds: int = 5
    """Number of weight estimates."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        for name in ("joint_weights", "fixed"):
            table = getattr(self, name)
            if not isinstance(table, Mapping) or not all(map(_is_number, table.values())):
                raise OptionError(
                    f"{ESTIMATOR_NAME}: {name} must be a table of numbers by name, got {table!r}"
                )
        if any(factor < 0.0 for factor in self.joint_weights.values()):
            raise OptionError(
                f"{ESTIMATOR_NAME}: joint_weights must not be negative, got {self.joint_weights}"
            )
        if not isinstance(self.without, list) or not all(map(_is_window, self.without)):
            raise OptionError(
                f"{ESTIMATOR_NAME}: without must be a list of times from and to, as [[0.0, 8.0]], "
                f"got "
                f"{self.without!r}"
            )
        if not 0.0 <= self.ridge < np.inf:
            raise OptionError(f"{ESTIMATOR_NAME}: the ridge must not be negative, got {self.ridge}")
        if self.prior is not None and not 0.0 < self.prior < np.inf:
            raise OptionError(f"{ESTIMATOR_NAME}: the prior must be positive, got {self.prior}")
        WeightedLeastSquares(rounds=self.rounds, block=self.block)  # checks rounds and block

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used.

        Raises `UnknownNameError` if an option names an unknown joint or parameter, and
        `OptionError` if no joint remains, or a prior is requested without a nominal robot.
        """
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began = time.perf_counter()
        restrictions = self.restrictions(problem)
        full_fit = WeightedLeastSquares(rounds=self.rounds, block=self.block).fit(problem, rng)
        full_fit = replace(
            full_fit, estimator=ESTIMATOR_NAME, options=asdict(self), criterion="restricted"
        )
        if not full_fit.success:
            return full_fit
        is_used = ~is_within(problem.times, self.without)
        reduction = reduce_rows(problem, is_used)
        try:
            fit = restrictions.fit(reduction, self.rounds)
        except np.linalg.LinAlgError as error:
            return replace(full_fit, success=False, message=f"{error}; exclude fewer rows")
        message = _name_undetermined(problem, fit.undetermined, self.prior)
        if fit.undetermined.any() and problem.nominal is None:
            return replace(full_fit, success=False, message=message)
        color, dof = estimate_coloring(problem, full_fit)
        covariance = partial(
            restrictions.covariance,
            reduction,
            fit,
            full_fit.std,
            restrictions.random_errors(problem, is_used, fit),
        )
        return replace(
            full_fit,
            beta=fit.beta,
            torque_rms=np.sqrt(reduction.compute_squared_residuals(fit.beta) / reduction.samples),
            noise_std=fit.sigma,
            cov=covariance(color),
            cov_white=covariance(np.ones_like(color)),
            cond=float(np.linalg.cond(fit.R / np.linalg.norm(fit.R, axis=0))),
            rows=int(is_used.sum()) * int((restrictions.factors > 0.0).sum()),
            weights=fit.weights,
            dof=dof,
            unbiased=not (self.fixed or self.ridge or self.prior or fit.undetermined.any()),
            message=message,
            seconds=time.perf_counter() - began,
        )

    def restrictions(self, problem: LinearProblem) -> "Restrictions":
        """Order the options by a problem's joints and parameters."""
        names, joints = problem.basis.names, problem.joint_names
        for noun, table, known_names in (
            ("joint", self.joint_weights, joints),
            ("base parameter", self.fixed, names),
        ):
            for name in table:
                if name not in known_names:
                    raise UnknownNameError.from_names(noun, name, known_names)
        factors = np.array([float(self.joint_weights.get(name, 1.0)) for name in joints])
        if not factors.any():
            raise OptionError(f"{ESTIMATOR_NAME}: every joint has the weight 0; raise one")
        if self.prior is not None and problem.nominal is None:
            raise OptionError(f"{ESTIMATOR_NAME}: a prior needs the nominal robot of the problem")
        return Restrictions(
            factors=factors,
            free=np.array([name not in self.fixed for name in names]),
            values=np.array([self.fixed.get(name, 0.0) for name in names], dtype=float),
            sizes=np.linalg.norm(problem.W, axis=0),
            nominal=project_nominal(problem),
            ridge=self.ridge,
            prior=self.prior,
        )


def estimate_coloring(problem: LinearProblem, estimate: Estimate) -> tuple[Float1D, Float1D]:
    """Estimate the coloring of the residuals of the weighted fit of all rows, both shape (b,).

    Returns the ratio of standard deviations by blocks to standard deviations for white residuals,
    and the degrees of freedom of the blocks.
    """
    variance, dof = block_variance(
        problem, estimate.beta, 1.0 / estimate.noise_std, block_of(estimate)
    )
    reduction, restrictions = reduce_rows(problem), RestrictedLeastSquares().restrictions(problem)
    fit = restrictions.fit(reduction, int(estimate.options["rounds"]))
    white = white_covariance(reduction, fit.weights, fit.sigma, np.linalg.inv(fit.R))
    return np.sqrt(variance / np.diag(white)), dof


def is_within(times: Float1D, windows: list[list[float]]) -> Bool1D:
    """Return whether times lie within windows, whose ends are excluded, shape (N,)."""
    parts = [(times >= low) & (times < high) for low, high in windows]
    return np.asarray(np.any([np.zeros(times.size, dtype=bool), *parts], axis=0))


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    )


def _is_window(value: Any) -> bool:
    pair = isinstance(value, list | tuple) and len(value) == 2
    return pair and all(map(_is_number, value)) and value[0] < value[1]


def _name_undetermined(problem: LinearProblem, undetermined: Bool1D, prior: float | None) -> str:
    """Name the parameters that the remaining rows do not determine; empty if there are none."""
    if not undetermined.any():
        return ""
    consequence = ", which keep nominal values" if prior is None else ", which follow the prior"
    names = ", ".join(np.array(problem.basis.names)[undetermined])
    return f"the rows do not determine {names}{consequence if problem.nominal is not None else ''}"


FIXED_STD_RATIO = 1e-3
"""Standard deviation of a fixed parameter over its standard deviation in the fit of all rows: not
zero, so that the covariance has an inverse."""


class NominalPrior(NamedTuple):
    """Prior of base parameters: the standard deviation of every full parameter is its scale."""

    beta: Float1D
    """Nominal values, shape (b,)."""
    std: Float1D
    """Standard deviations of the nominal values, shape (b,)."""
    root: Float2D
    """Matrix that whitens the errors of the nominal values, shape (b, b); parameters with zero rows
    have no prior."""


class RestrictedFit(NamedTuple):
    """A fit of the rows of some joints and samples."""

    beta: Float1D
    sigma: Float1D
    """Noise of the rows of every joint [N m], shape (n,)."""
    weights: Float1D
    """Weights of the last round, shape (n,)."""
    R: Float2D
    """Triangular factor of the weighted rows, with those of ridge and prior, shape (p, p)."""
    free: Bool1D
    """Which parameters were estimated, shape (b,)."""
    undetermined: Bool1D
    """Parameters neither fixed nor determined by the rows, shape (b,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Restrictions:
    """Restrictions of a fit, in the order of a problem's joints and base parameters."""

    factors: Float1D
    """Factors of the weights of the joints, shape (n,)."""
    free: Bool1D
    """Which parameters are not fixed, shape (b,)."""
    values: Float1D
    """Values of the fixed parameters, shape (b,)."""
    sizes: Float1D
    """Lengths of the columns in all rows, shape (b,)."""
    nominal: NominalPrior
    ridge: float
    prior: float | None

    def fit(self, reduction: Reduction, rounds: int) -> RestrictedFit:
        """Fit; raise `numpy.linalg.LinAlgError` if the rows are too few or determine nothing.

        The first solution weights rows by the factors of the joints only; its residuals give the
        first noise.
        """
        weights, is_active = self.factors, self.factors > 0.0
        undetermined = self._find_undetermined(reduction.whole(is_active.astype(float)))
        determined = self.free & ~undetermined
        if reduction.samples * is_active.sum() <= determined.sum():
            raise np.linalg.LinAlgError(
                f"{reduction.samples * is_active.sum():g} rows cannot determine {determined.sum()} "
                "parameters"
            )
        values = np.where(undetermined, self.nominal.beta, self.values)
        rank = determined.sum() * reduction.dof / is_active.sum()
        beta, R = _solve(reduction.whole(weights), determined, values)
        sigma = noise_std(reduction, beta, rank)
        free = determined if self.prior is None else self.free
        for _ in range(rounds):
            weights = self.factors / sigma
            data = reduction.whole(weights)
            rows = [data]
            if self.ridge:
                size = np.sqrt(self.ridge) * np.linalg.norm(data[:, :-1], axis=0)
                rows.append(np.column_stack([np.diag(size), np.zeros(size.size)]))
            if self.prior is not None:
                root = self.nominal.root
                rows.append(np.column_stack([root, root @ self.nominal.beta]) / self.prior)
            beta, R = _solve(np.vstack(rows), free, values)
            sigma = noise_std(reduction, beta, rank)
        return RestrictedFit(beta, sigma, weights, R, free, undetermined)

    def _find_undetermined(self, rows: Float2D) -> Bool1D:
        """Find free parameters whose columns depend on previous ones, shape (b,).

        One at a time: a dependent column is removed before the next is tested.
        """
        undetermined = np.zeros_like(self.free)
        while True:
            columns = np.flatnonzero(self.free & ~undetermined)
            R = triangular_factor(rows[:, columns])
            dependent = np.abs(np.diag(R)) <= SPAN_TOLERANCE * self.sizes[columns]
            if not dependent.any():
                return undetermined
            undetermined[columns[dependent.argmax()]] = True

    def random_errors(self, problem: LinearProblem, is_used: Bool1D, fit: RestrictedFit) -> Float2D:
        """Compute the errors of the free parameters by every random effect of a problem, (p, k)."""
        inverse = np.linalg.inv(fit.R)
        if problem.random is None:
            return np.zeros((len(inverse), 0))
        scale = np.outer(is_used, fit.weights).ravel()[:, None]
        cross = (problem.W * scale).T @ (problem.random * scale)
        return np.asarray(inverse @ (inverse.T @ cross[fit.free]))

    def covariance(
        self,
        reduction: Reduction,
        fit: RestrictedFit,
        std: Float1D,
        random_errors: Float2D,
        color: Float1D,
    ) -> Float2D:
        """Compute the covariance of all parameters, shape (b, b).

        `std` are the standard deviations of the fit of all rows, of which fixed parameters have a
        small share. `random_errors` are the errors by random effects, shape (p, k), and `color`
        the standard deviations over those of white residuals.
        """
        inverse, free = np.linalg.inv(fit.R), fit.free
        part = Reduction(reduction.factors[:, :, np.append(free, True)], reduction.samples)
        noise = white_covariance(part, fit.weights, fit.sigma, inverse)
        cov_free = noise * np.outer(color[free], color[free]) + random_errors @ random_errors.T
        if self.prior is not None:  # the prior counts as measurements
            root = self.nominal.root[:, free] / self.prior @ (inverse @ inverse.T)
            cov_free = cov_free + root.T @ root
        cov = np.diag((FIXED_STD_RATIO * std) ** 2)
        cov[fit.undetermined, fit.undetermined] = self.nominal.std[fit.undetermined] ** 2
        cov[np.ix_(free, free)] = cov_free
        return cov


def _solve(rows: Float2D, free: Bool1D, values: Float1D) -> tuple[Float1D, Float2D]:
    """Solve for the free parameters, given values of the others; return them and R."""
    z = rows[:, -1] - rows[:, :-1][:, ~free] @ values[~free]
    factor = triangular_factor(np.column_stack([rows[:, :-1][:, free], z]))
    R, beta = factor[: free.sum(), :-1], values.copy()
    size = np.abs(np.diag(R))
    if not size.size or not size.min() > 1e-13 * size.max():
        raise np.linalg.LinAlgError("the remaining rows do not determine any free parameter")
    beta[free] = np.linalg.solve(R, factor[: free.sum(), -1])
    return beta, R


def project_nominal(problem: LinearProblem) -> NominalPrior:
    """Compute the prior of base parameters from the nominal robot of a problem, if it has one."""
    b = problem.basis.rank
    prior = NominalPrior(np.zeros(b), np.ones(b), np.zeros((b, b)))
    if problem.nominal is None:
        return prior
    program = ConsistentProgram(problem.nominal, get_robot_basis(problem))
    part, cov = slice(len(program.B)), program.B @ program.B.T
    prior.beta[part] = program.basis.project(program.phi0)
    prior.std[part] = np.sqrt(np.diag(cov))
    prior.root[part, part] = np.linalg.inv(np.linalg.cholesky(cov))
    return prior
