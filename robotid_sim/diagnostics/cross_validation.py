"""Cross-validation between periods: fit on all but one period of a log, predict that one."""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.errors import LogError, OptionError
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem

SHORTEST = 0.5
"""Smallest share of a period that is one of its own; less is added to the one before."""

OVERFIT = 1.2
"""Ratio of predicted to fitted residuals from which a fit is said to know its data too well."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Residuals of periods that were left out of the fit, beside those of the fits."""

    joint_names: tuple[str, ...]
    predicted: Float2D
    """RMS residual of every period, left out, and joint [N m], shape (periods, n)."""
    fitted: Float2D
    """RMS residual of the same joint in the periods that were fitted [N m], shape (periods, n)."""
    expected: float
    """Ratio of the two that white residuals would have on average, for the degrees of freedom."""

    @property
    def ratio(self) -> Float1D:
        """Predicted over fitted residual of every joint, shape (n,)."""
        predicted, fitted = (np.sqrt((x**2).mean(axis=0)) for x in (self.predicted, self.fitted))
        return np.asarray(predicted / np.maximum(fitted, np.finfo(float).tiny))

    def sentences(self) -> list[str]:
        """Return the comparison in words."""
        worst = int(self.ratio.argmax())
        ratio, name = self.ratio[worst], self.joint_names[worst]
        sentences = (
            f"Periods left out of the fit are predicted with {ratio:.2f} times the residual of the "
            f"fit on the worst joint, {name}; {self.expected:.2f} is to be expected."
        )
        if ratio < OVERFIT * self.expected:
            return [sentences]
        return [sentences, f"The fit does not carry over from period to period on {name}."]


def cross_validate(
    problem: LinearProblem, period: float, estimator: Estimator | None = None
) -> CrossValidation:
    r"""Fit a log without one of its periods and predict that one, for all periods.

    For white residuals and m fitted rows the ratio of predicted to fitted RMS is
    :math:`\sqrt{(1 + b/m) / (1 - b/m)}` on average.

    Parameters
    ----------
    problem : LinearProblem
        Rows of at least one and a half periods.
    period : float
        Period of the motion [s].
    estimator : Estimator, optional
        What is fitted; by default weighted least squares. It gets a fixed seed.

    Raises
    ------
    LogError
        If the rows hold no two periods, or one alone does not determine the parameters.
    """
    fold = folds(problem, period)
    method = estimator or WeightedLeastSquares()
    W, y = problem.by_joint(problem.W), problem.by_joint(problem.y)
    predicted, fitted = [], []
    for left_out in range(int(fold.max()) + 1):
        use = fold != left_out
        part = replace(problem, W=W[use].reshape(-1, W.shape[2]), y=y[use].ravel())
        estimate = method.fit(part, np.random.default_rng(0))
        if not estimate.success:
            raise LogError(f"without period {left_out + 1} the fit failed: {estimate.message}")
        residual = y - W @ estimate.beta
        predicted.append(np.sqrt((residual[~use] ** 2).mean(axis=0)))
        fitted.append(np.sqrt((residual[use] ** 2).mean(axis=0)))
    used = problem.basis.rank / (len(problem.y) * (1.0 - 1.0 / len(predicted)))
    expected = float(np.sqrt((1.0 + used) / max(1.0 - used, 1e-3)))
    return CrossValidation(problem.joint_names, np.array(predicted), np.array(fitted), expected)


def folds(problem: LinearProblem, period: float) -> Int1D:
    """Return the period that every sample belongs to, from 0, shape (N,)."""
    if not period > 0.0:
        raise OptionError(f"a period is positive, got {period} s")
    fold = (np.arange(problem.samples) * problem.dt / period + 1e-9).astype(np.intp)
    last = int(fold.max())
    if last and (fold == last).sum() < SHORTEST * period / problem.dt:
        fold[fold == last] = last - 1
    if not fold.max():
        raise LogError(
            f"{problem.samples * problem.dt:.3g} s of rows hold no two periods of {period:g} s; "
            "record more periods"
        )
    return fold
