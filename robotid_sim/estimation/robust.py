"""Robust least squares: M-estimation with calibrated intervals."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation.block_sandwich import check_block
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import MIN_NOISE, PROBLEM_REMEDY, WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.preprocess.faults import MAD_TO_STD

RobustLoss = Literal["huber", "student"]

TUNING_CONSTANTS = {"huber": 1.345, "student": 4.0}
"""Corner of Huber's loss, with 95 % efficiency for Gaussian noise, and the degrees of freedom of
Student's distribution."""

MAX_ITERATIONS, MAX_FREE_ITERATIONS = 100, 30
"""Iterations, and those in which the scale is estimated. Scale and slope jump with the set of
outliers, so that the parameters may alternate; with both constant the equations are smooth."""

DAMPING_SHARE = 0.75
"""Share of the previous pseudo-torques that is kept in iterations with constant scale."""

STEP_TOLERANCE = 1e-3
"""Maximum change of a parameter at convergence, in its standard deviations."""

MIN_SLOPE = 0.1
"""Minimum mean slope of the score; below, most rows are outliers."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class RobustLeastSquares(Estimator):
    r"""M-estimate: the weight of a row decreases with its residual over the noise of its joint.

    With the residuals r of a joint over their robust scale :math:`\sigma` and the score
    :math:`\psi`, pseudo-torques

    .. math:: y^* = W \beta + \sigma\, \psi(r / \sigma) / \overline{\psi'}

    are fitted by weighted least squares and updated until convergence [1]_. Their covariance and
    intervals are those of the M-estimate, including correlation of the residuals, so that they are
    valid with outliers. For ``huber`` the score is r up to 1.345, and constant beyond; for
    ``student`` it is :math:`(\nu + 1) r / (\nu + r^2)`, which ignores large outliers.

    References
    ----------
    .. [1] Huber (1973), "Robust regression: asymptotics, conjectures and Monte Carlo", Annals of
       Statistics 1(5), doi:10.1214/aos/1176342503.
    .. [2] Lange, Little, Taylor (1989), "Robust statistical modeling using the t distribution",
       J. American Statistical Association 84(408), doi:10.1080/01621459.1989.10478852.
    """

    loss: RobustLoss = "huber"
    """``huber`` or ``student``."""
    tuning: float | None = None
    """Corner of Huber's score, in deviations, or Student's degrees of freedom; None: 1.345, 4."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        if self.loss not in TUNING_CONSTANTS:
            raise OptionError(f"unknown loss '{self.loss}'; known: {', '.join(TUNING_CONSTANTS)}")
        if self.tuning is not None and not 0.0 < self.tuning < np.inf:
            raise OptionError(f"the tuning of a robust loss must be positive, got {self.tuning}")
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit robustly; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began, wls = time.perf_counter(), WeightedLeastSquares(block=self.block)
        fitted = wls.fit(problem, rng)
        labels: dict[str, Any] = {
            "estimator": "robust",
            "options": asdict(self),
            "criterion": self.loss,
        }
        pseudo, iterations = problem.y, 0
        while fitted.success:
            if iterations == MAX_ITERATIONS:
                message = f"the parameters have not converged after {MAX_ITERATIONS} iterations"
                return replace(fitted, success=False, message=message, **labels)
            iterations += 1
            residual = problem.unstack_rows(problem.y - problem.W @ fitted.beta)
            is_free = iterations <= MAX_FREE_ITERATIONS
            if is_free:
                sigma = self._scale(residual, len(fitted.beta))
                slope = self._score(residual / sigma)[1].mean(axis=0)
            steps = sigma * self._score(residual / sigma)[0] / np.maximum(slope, MIN_SLOPE)
            target = problem.W @ fitted.beta + steps.ravel()
            pseudo = target if is_free else DAMPING_SHARE * pseudo + (1.0 - DAMPING_SHARE) * target
            previous, fitted = fitted, wls.fit(replace(problem, y=pseudo), rng)
            if (
                fitted.success
                and (abs(fitted.beta - previous.beta) < STEP_TOLERANCE * fitted.std).all()
            ):
                break
        residual = problem.unstack_rows(problem.y - problem.W @ fitted.beta)
        return replace(
            fitted,
            **labels,
            torque_rms=np.sqrt((residual**2).mean(axis=0)),
            pseudo=pseudo if fitted.success else None,
            seconds=time.perf_counter() - began,
        )

    def _scale(self, residual: Float2D, parameter_count: int) -> Float1D:
        """Estimate the robust scale of the residuals (N, n) of every joint, shape (n,)."""
        sigma = MAD_TO_STD * np.median(np.abs(residual), axis=0)
        sigma /= np.sqrt(1.0 - parameter_count / residual.size)
        return np.asarray(np.maximum(sigma, max(1e-9 * sigma.max(), MIN_NOISE)))

    def _score(self, u: Float2D) -> tuple[Float2D, Float2D]:
        """Return the score of residuals over their scale, and its slope."""
        c = TUNING_CONSTANTS[self.loss] if self.tuning is None else self.tuning
        if self.loss == "huber":
            return np.clip(u, -c, c), (np.abs(u) < c).astype(float)
        denominator = c + u**2
        return (c + 1.0) * u / denominator, (c + 1.0) * (c - u**2) / denominator**2
