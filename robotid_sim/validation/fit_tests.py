r"""Tests of the statistics of an identification, with stated rates of false alarms.

All are ratios of sums of squares, F-distributed under the null hypothesis. A covariance from B
blocks of residuals is itself random, and the squared error :math:`e^T \hat\Sigma^{-1} e` of b
parameters then follows Hotelling's distribution [1]_,

.. math:: \frac{B - b}{B b} \, e^T \hat\Sigma^{-1} e \sim F(b, B - b) .

The difference of two independent estimates also does, with the degrees of freedom from
`robotid_sim.validation.agreement`; the mean over several pairs is approximated by the F variable of
equal mean and variance. The share of its parameters within their intervals has a variance of no
more than :math:`p (1 - p) \sum_{ij} \rho_{ij}^2 / b^2`: indicators of two normal variables with the
correlation :math:`\rho` have a covariance of at most :math:`\rho^2` (Mehler's expansion, which has
even powers only [3]_).

A fit under constraints that the true robot satisfies costs at most as much as the truth, whose
excess cost over the minimum is b times a variable F(b, N - b): a likelihood ratio [2]_.

References
----------
.. [1] Anderson (2003), "An Introduction to Multivariate Statistical Analysis", 3rd ed., sec. 5.2.
.. [2] Seber, Lee (2003), "Linear Regression Analysis", 2nd ed., theorem 3.5 and section 4.3.
.. [3] Lancaster (1957), "Some properties of the bivariate normal distribution considered in the
   form of a contingency table", Biometrika 44, doi:10.1093/biomet/44.1-2.289.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri, ndtr, ndtri

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.block_sandwich import block_of, row_blocks_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem, build_problem
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import Sensor, fix_sensors, replicate_measurement
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.validation.agreement import CONFIDENCE_LEVEL, Difference
from robotid_sim.validation.prediction import clean_log


@dataclass(frozen=True, slots=True)
class ResidualNoise:
    """Residuals of a fit and expected from sensor noise, RMS over rows and replicates, shape (n,).

    Rows with noise above the average are divided by their ratio.
    """

    estimated: Float1D
    """Residuals, with the degrees of freedom of the fit [N m]."""
    expected: Float1D
    """Deviation of the rows due to torque noise and propagated encoder noise [N m]."""
    replicates: int
    """Number of logs behind both values."""

    @property
    def ratio(self) -> Float1D:
        """Estimated over expected residual: 1 if the residual is noise only."""
        return np.asarray(self.estimated / np.maximum(self.expected, np.finfo(float).tiny))


def residual_noise(
    plant: Robot,
    nominal: Robot,
    log: Log,
    sensors: Sequence[Sensor],
    preprocessor: Preprocessor,
    motion: Motion,
    problem: LinearProblem,
    estimator: Estimator,
    rngs: Sequence[np.random.Generator],
) -> ResidualNoise:
    """Fit replicates of a log and compare residuals with the spread between replicates.

    A replicate is another measurement of the same true motion; the log itself is the first. All are
    processed by the same fixed filters. The spread between replicates consists of torque noise and
    of encoder noise propagated through the true model, without common errors, such as filter bias,
    a delay or a wrong friction law; the residuals contain these too. Propagated encoder noise is
    large only near friction reversals, where few rows would dominate both sums: for a slow joint
    they only reflect the curvature of its friction law.

    `plant` and the truth of `log` serve for scoring only; the preprocessor is fixed, see
    `Preprocessor.tune`. `motion` and `problem` are its results for the log, and each of `rngs`
    makes a further replicate.
    """
    # The sensors are the same ones, not others of the same type.
    clean, cell_sensors = clean_log(log), fix_sensors(sensors, log)
    parts = [_compute_residuals(plant, estimator, motion, problem)]
    for k, rng in enumerate(rngs, start=1):
        again = preprocessor(
            replicate_measurement(clean, cell_sensors, rng, k / (len(rngs) + 1.0)), nominal
        )
        rows_again = build_problem(again, nominal, problem.basis)
        parts.append(_compute_residuals(plant, estimator, again, rows_again))
    residuals, rows = (list(each) for each in zip(*parts, strict=True))
    spread = np.std(np.array(rows), axis=0, ddof=1)
    share = np.maximum(spread / np.maximum(rms(spread), np.finfo(float).tiny), 1.0)
    freedom = 1.0 - problem.basis.rank / problem.y.size
    estimated = rms(np.concatenate(residuals / share)) / np.sqrt(max(freedom, 1e-9))
    return ResidualNoise(estimated, rms(spread / share), len(rows))


def _compute_residuals(
    plant: Robot, estimator: Estimator, motion: Motion, problem: LinearProblem
) -> tuple[Float2D, Float2D]:
    """Compute the residuals of a fit and of the true model."""
    beta = estimator.fit(problem, np.random.default_rng(0)).beta
    model = joint_torque(plant, motion.q, motion.dq, motion.ddq)
    if motion.row_filter is not None:
        model = motion.row_filter.apply(model[motion.row_filter.sample_slice])
    return problem.unstack_rows(problem.y - problem.W @ beta), problem.unstack_rows(
        problem.y
    ) - model


MAX_NEES_RATIO = 1.5
"""Maximum ratio of the NEES without an alarm: intervals are then a fifth too narrow."""

MAX_RESIDUAL_RATIO = 1.05
"""Maximum harmless ratio of residual to expected residual."""


class Range(NamedTuple):
    """Range of a number, except for a given share of sound runs."""

    lower: float
    upper: float


def nees_range(problem: LinearProblem, estimate: Estimate, false_alarm: float) -> Range:
    """Compute the range of the NEES per parameter of a least-squares estimate [1].

    The rows give the number of blocks; the share `false_alarm` of sound runs may lie outside. The
    range is widened by `MAX_NEES_RATIO`.
    """
    b = len(estimate.beta)
    B = row_blocks_of(problem, block_of(estimate)) * problem.dof
    freedom = max(B - b, 3)
    scale = B / freedom
    half = 0.5 * false_alarm
    return Range(
        float(fdtri(b, freedom, half)) * scale / MAX_NEES_RATIO,
        float(fdtri(b, freedom, 1.0 - half)) * scale * MAX_NEES_RATIO,
    )


def difference_range(pairs: Sequence[Difference], false_alarm: float) -> Range:
    """Compute the range of the squared difference per direction, mean over independent pairs.

    The range is widened by `MAX_NEES_RATIO`; the share `false_alarm` of sound runs may lie outside.
    """
    ranks = np.array([pair.rank for pair in pairs], dtype=float)
    freedom = np.array([pair.f_dof for pair in pairs], dtype=float)
    means = (freedom + ranks - 1.0) / (freedom - 2.0)
    relative = 2.0 * (ranks + freedom - 2.0) / (ranks * (freedom - 4.0))
    mean = float(means.mean())
    spread = float((relative * means**2).sum()) / (len(pairs) * mean) ** 2
    first = float(ranks.sum())
    # The F variable of equal relative variance; for one pair, its own distribution.
    second = 4.0 + 2.0 * (first + 2.0) / max(spread * first - 2.0, 1e-9)
    scale, half = mean * (second - 2.0) / second, 0.5 * false_alarm
    return Range(
        float(fdtri(first, second, half)) * scale / MAX_NEES_RATIO,
        float(fdtri(first, second, 1.0 - half)) * scale * MAX_NEES_RATIO,
    )


def share_limit(pairs: Sequence[Difference], false_alarm: float) -> float:
    """Compute the minimum share, 0 to 1, of differences of independent pairs within intervals.

    Pairs of more parameters have more weight; variances may be `MAX_NEES_RATIO` times as large as
    stated. The share `false_alarm` of sound sets of pairs may be below.
    """
    counts = np.array([len(pair.names) for pair in pairs], dtype=float)
    independent = np.array([pair.effective_count for pair in pairs])
    share = 2.0 * float(ndtr(ndtri(0.5 + 0.5 * CONFIDENCE_LEVEL) / np.sqrt(MAX_NEES_RATIO))) - 1.0
    weights = counts / counts.sum()
    std = np.sqrt(share * (1.0 - share) * float((weights**2 / independent).sum()))
    return max(0.0, share + float(ndtri(false_alarm)) * float(std))


def compute_constraint_cost(problem: LinearProblem, constrained: Estimate, free: Estimate) -> float:
    """Compute the increase of the weighted squared residual by constraints, per parameter.

    The unit is the noise variance of the unconstrained fit; not below zero.
    """
    costs = []
    for beta in (constrained.beta, free.beta):
        residual = problem.unstack_rows(problem.y - problem.W @ beta) / free.noise_std
        costs.append(float((residual**2).sum()))
    return max(0.0, costs[0] - costs[1]) / len(free.beta)


def compute_constraint_limit(problem: LinearProblem, false_alarm: float) -> float:
    """Compute the limit of `compute_constraint_cost` in sound runs [2]."""
    b = problem.basis.rank
    return float(fdtri(b, max(len(problem.y) - b, 1), 1.0 - false_alarm))


def residual_limit(problem: LinearProblem, noise: ResidualNoise, false_alarm: float) -> float:
    """Compute the limit of the largest ratio of residual to expected noise in sound runs.

    It is for the worst joint, replicates of the noise give the degrees of freedom, and the share
    `false_alarm` of sound runs may exceed it. It is `MAX_RESIDUAL_RATIO` for many rows.
    """
    rows, R = problem.samples - problem.basis.rank / problem.dof, noise.replicates
    freedom = max(rows, 1.0) * R, max(rows, 1.0) * (R - 1)
    return float(MAX_RESIDUAL_RATIO * np.sqrt(fdtri(*freedom, 1.0 - false_alarm / problem.dof)))
