r"""Tests of what an identification says of itself, with stated rates of false alarms.

All are ratios of sums of squares, F-distributed where the statement is right. A covariance from B
blocks of residuals is itself a draw, and the squared error :math:`e^T \hat\Sigma^{-1} e` of b
parameters then follows Hotelling's distribution [1]_,

.. math:: \frac{B - b}{B b} \, e^T \hat\Sigma^{-1} e \sim F(b, B - b) .

So does the difference of two independent estimates, with the degrees of freedom that
`robotid_sim.validation.agreement` gives it; the mean over several pairs is taken as the F variable
of the same mean and variance. The share of its parameters within their intervals has a variance of
no more than :math:`p (1 - p) \sum_{ij} \rho_{ij}^2 / b^2`: indicators of two normal variables with
the correlation :math:`\rho` have one of no more than :math:`\rho^2` (Mehler's expansion, which has
even powers only [3]_).

A fit under constraints that the true robot keeps costs no more than the truth does, whose cost over
the least one is b times a variable F(b, N - b): a likelihood ratio [2]_.

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
    """Residuals of a fit beside what sensor noise causes, RMS over rows and replicates, each (n,).

    Rows where noise is larger than on average are divided by their share of it.
    """

    estimated: Float1D
    """Residuals, the freedom of the fit accounted for [N m]."""
    expected: Float1D
    """Deviation of the rows that torque noise and propagated encoder noise cause [N m]."""
    replicates: int
    """Logs behind both numbers."""

    @property
    def ratio(self) -> Float1D:
        """Estimated over expected: 1 where the model and the filters leave nothing but noise."""
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
    """Fit replicates of a log anew and compare residuals with the spread between replicates.

    A replicate is the same true motion measured anew; the log itself is the first. All pass the
    same fixed filters. The spread between replicates holds the torque noise and the encoder noise
    propagated through the true model, and nothing that is the same in all of them, such as a
    filter's bias, a delay or a wrong friction law; the residuals hold that too. Propagated encoder
    noise is large only near friction reversals, where few rows would carry most of both sums: a
    joint that creeps through one shows nothing but the bend of its friction curve there.

    `plant` and the truth of `log` serve for scoring only; the preprocessor holds everything that it
    learnt from the log fixed, see `Preprocessor.tune`. `motion` and `problem` are what it made of
    the log, and each of `rngs` makes a further replicate.
    """
    # Sensors are of the same cell, not of another one of its kind.
    clean, own = clean_log(log), fix_sensors(sensors, log)
    parts = [_compute_residuals(plant, estimator, motion, problem)]
    for k, rng in enumerate(rngs, start=1):
        again = preprocessor(replicate_measurement(clean, own, rng, k / (len(rngs) + 1.0)), nominal)
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
    """Return the residuals of a fit, and what the true model leaves of the rows."""
    beta = estimator.fit(problem, np.random.default_rng(0)).beta
    model = joint_torque(plant, motion.q, motion.dq, motion.ddq)
    if motion.row_filter is not None:
        model = motion.row_filter.apply(model[motion.row_filter.sample_slice])
    return problem.unstack_rows(problem.y - problem.W @ beta), problem.unstack_rows(
        problem.y
    ) - model


MAX_NEES_RATIO = 1.5
"""NEES beyond what chance explains that is no alarm: intervals a fifth too narrow."""

MAX_RESIDUAL_RATIO = 1.05
"""Residual over the expected one that harms no parameter."""


class Range(NamedTuple):
    """Where a number lies but for a given share of sound runs."""

    lower: float
    upper: float


def nees_range(problem: LinearProblem, estimate: Estimate, false_alarm: float) -> Range:
    """Return where the NEES per parameter of a least-squares estimate lies [1].

    The rows give the number of blocks; the share `false_alarm` of sound runs may lie outside. The
    range is widened by `MAX_NEES_RATIO`.
    """
    b = len(estimate.beta)
    B = row_blocks_of(problem, block_of(estimate)) * problem.dof
    rest = max(B - b, 3)
    scale = B / rest
    half = 0.5 * false_alarm
    return Range(
        float(fdtri(b, rest, half)) * scale / MAX_NEES_RATIO,
        float(fdtri(b, rest, 1.0 - half)) * scale * MAX_NEES_RATIO,
    )


def difference_range(pairs: Sequence[Difference], false_alarm: float) -> Range:
    """Return where the squared difference per direction lies, the mean over independent pairs.

    It is widened by `MAX_NEES_RATIO`; the share `false_alarm` of sound runs may lie outside.
    """
    ranks = np.array([pair.rank for pair in pairs], dtype=float)
    freedom = np.array([pair.f_dof for pair in pairs], dtype=float)
    means = (freedom + ranks - 1.0) / (freedom - 2.0)
    relative = 2.0 * (ranks + freedom - 2.0) / (ranks * (freedom - 4.0))
    mean = float(means.mean())
    spread = float((relative * means**2).sum()) / (len(pairs) * mean) ** 2
    first = float(ranks.sum())
    # The F variable of the same relative variance; of one pair it is the pair's own.
    second = 4.0 + 2.0 * (first + 2.0) / max(spread * first - 2.0, 1e-9)
    scale, half = mean * (second - 2.0) / second, 0.5 * false_alarm
    return Range(
        float(fdtri(first, second, half)) * scale / MAX_NEES_RATIO,
        float(fdtri(first, second, 1.0 - half)) * scale * MAX_NEES_RATIO,
    )


def share_limit(pairs: Sequence[Difference], false_alarm: float) -> float:
    """Return the least share, 0 to 1, of differences of independent pairs within their intervals.

    Pairs of more parameters count more; variances may be `MAX_NEES_RATIO` times as large as stated.
    The share `false_alarm` of sound sets of pairs may fall short.
    """
    counts = np.array([len(pair.names) for pair in pairs], dtype=float)
    independent = np.array([pair.independent for pair in pairs])
    share = 2.0 * float(ndtr(ndtri(0.5 + 0.5 * CONFIDENCE_LEVEL) / np.sqrt(MAX_NEES_RATIO))) - 1.0
    weights = counts / counts.sum()
    std = np.sqrt(share * (1.0 - share) * float((weights**2 / independent).sum()))
    return max(0.0, share + float(ndtri(false_alarm)) * float(std))


def compute_constraint_cost(problem: LinearProblem, constrained: Estimate, free: Estimate) -> float:
    """Return by how much constraints raise the weighted squared residual, per parameter.

    In units of the noise variance of the free fit, not below zero.
    """
    costs = []
    for beta in (constrained.beta, free.beta):
        left = problem.unstack_rows(problem.y - problem.W @ beta) / free.noise_std
        costs.append(float((left**2).sum()))
    return max(0.0, costs[0] - costs[1]) / len(free.beta)


def compute_constraint_limit(problem: LinearProblem, false_alarm: float) -> float:
    """Return what `compute_constraint_cost` does not exceed in sound runs [2].

    The share `false_alarm` of them may.
    """
    b = problem.basis.rank
    return float(fdtri(b, max(len(problem.y) - b, 1), 1.0 - false_alarm))


def residual_limit(problem: LinearProblem, noise: ResidualNoise, false_alarm: float) -> float:
    """Return what the largest ratio of residual to expected noise does not exceed in sound runs.

    The joint is the worst of all, replicates of the noise give the freedom, and the share
    `false_alarm` of sound runs may exceed it. It is `MAX_RESIDUAL_RATIO` for many rows.
    """
    rows, R = problem.samples - problem.basis.rank / problem.dof, noise.replicates
    freedom = max(rows, 1.0) * R, max(rows, 1.0) * (R - 1)
    return float(MAX_RESIDUAL_RATIO * np.sqrt(fdtri(*freedom, 1.0 - false_alarm / problem.dof)))
