r"""Likelihood of a log under a wide prior about the nominal model.

An unconstrained fit explains a wrong sign, unit, zero or column of a short log by wrong bodies.
Here the base parameters have a wide Gaussian prior about the nominal ones,
:math:`\beta = \beta_0 + L z` with :math:`z \sim N(0, 1)`, and the logarithm of the marginal
likelihood [1]_, eq. (2.30), at the noise :math:`\sigma_j` of maximum likelihood at the mode, is

.. math:: F = \frac{1}{T} \Big( -\sum_j m_j \log \sigma_j - \frac12 \sum_j
    \frac{|y_j - A_j z|^2}{\sigma_j^2} \Big) - \frac12 |z|^2 - \frac12 \log\det H

with the matrix H of the normal equations. T, the variance of an estimate over that for white
residuals, accounts for correlated neighbors. Friction and rotors, often missing from a nominal
model, have a prior of mean zero and of the size of the measured torque.

References
----------
.. [1] Rasmussen, Williams (2006), "Gaussian Processes for Machine Learning", MIT Press, ch. 2.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.torque_causes import COLORED_VARIANCE_RATIO
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.term_torques import compute_presliding_share
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

NOMINAL_STD = 1.0
"""Standard deviation of a nominal inertial parameter, over the size of its kind for the body.
"""

OFFSET_STD = 0.3
"""Standard deviation of a torque offset, and of a spring at its RMS displacement, over the RMS
torque of the joint."""

PRESLIDING_DISTANCE = 0.01
"""Distance after a reversal over which Coulomb friction may build up [rad or m]."""

UNMODELED_STD = (OFFSET_STD, OFFSET_STD, 1.0, 1.0)
"""Standard deviations, over the RMS torque, of four unmodeled torques: offset, spring, friction
against the last motion, and friction that builds up after a reversal. Without them a log at rest
suggests a wrong sign, zero or delay."""

MIN_NOISE_SHARE = 0.02
"""Minimum noise of a joint over its RMS torque; models of real robots are not more accurate."""

NOISE_ROUNDS = 8
"""Number of noise estimates."""

MIN_MASS, MIN_GYRATION_RADIUS = 1e-3, 1e-2
"""Minimum mass [kg] and radius of gyration [m] for the uncertainty of a body."""

MAX_LIMIT_EXCESS = 0.1
"""Distance beyond a position limit above which a position is implausible [rad or m]."""

MAX_TORQUE_RATIO = 2.0
"""Maximum plausible torque over the effort limit; drives exceed their limit briefly."""

LIMIT_PENALTY = 13.0
"""Reduction of the log-likelihood for positions, or torques, beyond limits: too small to decide
alone, because limits in a URDF are often invented."""


@dataclass(frozen=True, slots=True, eq=False)
class MotionSizes:
    """Size of the motion of a log."""

    speed: Float1D
    """RMS velocity [rad/s or m/s], shape (n,)."""
    acceleration: Float1D
    """RMS acceleration [rad/s^2 or m/s^2], shape (n,)."""
    is_beyond_limits: bool
    """Whether a position is beyond a limit."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Compute the size of the motion of a log."""
        limits, q = evidence.nominal.limits, evidence.q
        outside = (q.min(axis=0) < limits.lower - MAX_LIMIT_EXCESS) | (
            q.max(axis=0) > limits.upper + MAX_LIMIT_EXCESS
        )
        speed, acceleration = (
            np.sqrt((x**2).mean(axis=0)) + 1e-6 for x in (evidence.dq, evidence.ddq)
        )
        return cls(speed, acceleration, bool(outside.any()))


@dataclass(frozen=True, slots=True, eq=False)
class WidePrior:
    """Wide prior of the base parameters about the nominal model."""

    basis: BaseParameters
    center: Float1D
    """Mean, shape (b,)."""
    bodies: Float2D
    """Factor of the covariance of the inertial base parameters."""

    @classmethod
    def from_nominal(cls, nominal: Robot, basis: BaseParameters) -> Self:
        """Build the prior of a nominal model."""
        bodies = slice(0, basis.inertial_rank)
        center = np.zeros(basis.rank)
        phi = nominal.parameters()
        center[bodies] = basis.project(phi)[bodies]
        spread = np.zeros(phi.size)  # standard deviations of inertial parameters only
        for k in range(nominal.dof):
            body = parameters.inertial_slice(k)
            mass, com, _ = inertia.unpack(phi[body])
            moment = 0.5 * float(np.trace(inertia.inertia_matrix(phi[body])))
            mass = max(mass, MIN_MASS)
            moment += mass * MIN_GYRATION_RADIUS**2
            radius = max(float(np.linalg.norm(com)), float(np.sqrt(max(moment, 0.0) / mass)))
            spread[body] = NOMINAL_STD * np.array([mass, *3 * [mass * radius], *6 * [moment]])
        B = basis.B[bodies] * spread
        std = np.linalg.norm(B, axis=1)
        B = B / np.where(std > 0.0, std, 1.0)[:, None]
        correlation = B @ B.T + 1e-9 * np.eye(len(B))
        return cls(basis, center, std[:, None] * np.linalg.cholesky(correlation))

    def compute_factor(self, sizes: MotionSizes, size: Float1D) -> Float2D:
        """Compute the factor L of the covariance; friction torques have the measured size."""
        L, rank = np.zeros((self.basis.rank, self.basis.rank)), self.basis.inertial_rank
        L[:rank, :rank] = self.bodies
        per_unit = {"Fv": sizes.speed, "Ia": sizes.acceleration}
        symbols = [self.basis.symbols[column] for column in self.basis.columns[rank:]]
        joint = [(symbol[:2], int(symbol[2:]) - 1) for symbol in symbols]
        ones = np.ones(len(size))
        L[rank:, rank:] = np.diag([size[j] / per_unit.get(kind, ones)[j] for kind, j in joint])
        return L


@dataclass(frozen=True, slots=True, eq=False)
class MarginalLikelihood:
    """Logarithm of the marginal likelihood of a log and of corrections of it.

    Products of the regressor are shared by all corrections that do not change it.
    """

    evidence: Evidence
    gram: Float
    """Products of its columns, see `_compute_gram`."""
    prior: WidePrior
    motion: MotionSizes

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Prepare the scoring of corrections of a log."""
        prior = WidePrior.from_nominal(evidence.nominal, evidence.basis)
        return cls(evidence, _compute_gram(evidence), prior, MotionSizes.from_evidence(evidence))

    def __call__(self, corrected: Evidence) -> float:
        """Compute the logarithm of the likelihood of the log after a correction."""
        shared = corrected.W is self.evidence.W and corrected.use is self.evidence.use
        gram = self.gram if shared else _compute_gram(corrected)
        same = corrected.nominal is self.evidence.nominal
        prior = self.prior if same else WidePrior.from_nominal(corrected.nominal, corrected.basis)
        sizes = (
            self.motion if corrected.q is self.evidence.q else MotionSizes.from_evidence(corrected)
        )
        n, b, use = corrected.dof, corrected.basis.rank, corrected.use
        size = np.maximum(corrected.rms_torque, np.finfo(float).tiny)
        center, L = prior.center, prior.compute_factor(sizes, size)
        # Columns of joint j in units of the prior, then those of unmodeled torque.
        unmodeled, k = _make_unmodeled_columns(corrected), len(UNMODELED_STD)
        to_prior = np.zeros((n, b + k, b + k * n))
        to_prior[:, :b, :b] = L
        for i, std in enumerate(UNMODELED_STD):
            to_prior[np.arange(n), b + i, b + k * np.arange(n) + i] = std * size
        W = corrected.W[:, :, :b]
        y = (corrected.y - W @ center) * use
        products = to_prior.transpose(0, 2, 1) @ gram @ to_prior
        columns = (np.concatenate([W, unmodeled], axis=2) * y[:, :, None]).sum(axis=0)
        moments = np.einsum("jkp,jk->jp", to_prior, columns)
        count, p, yy = use.sum(axis=0), b + k * n, (y**2).sum(axis=0)
        sigma = OFFSET_STD * size
        for _ in range(NOISE_ROUNDS):
            H = np.tensordot(1.0 / (COLORED_VARIANCE_RATIO * sigma**2), products, 1) + np.eye(p)
            z = np.linalg.solve(H, (1.0 / (COLORED_VARIANCE_RATIO * sigma**2)) @ moments)
            squares = np.maximum(yy - 2.0 * moments @ z + (products @ z) @ z, 0.0)
            sigma = np.sqrt(squares / np.maximum(count, 1) + (MIN_NOISE_SHARE * size) ** 2)
        H = np.tensordot(1.0 / (COLORED_VARIANCE_RATIO * sigma**2), products, 1) + np.eye(p)
        likelihood = float(-(count * np.log(sigma)).sum() - 0.5 * (squares / sigma**2).sum())
        likelihood += corrected.volume * float(count.mean())
        likelihood /= COLORED_VARIANCE_RATIO
        likelihood -= 0.5 * float(z @ z) + 0.5 * float(np.linalg.slogdet(H)[1])
        max_torque = MAX_TORQUE_RATIO * corrected.nominal.limits.effort  # drive capability
        too_strong = bool((np.abs(corrected.y).max(axis=0) > max_torque).any())
        return likelihood - LIMIT_PENALTY * (int(sizes.is_beyond_limits) + int(too_strong))


def _compute_gram(evidence: Evidence) -> Float:
    """Compute products of columns, with those of unmodeled torque, shape (n, b + 4, b + 4)."""
    W = evidence.W[:, :, : evidence.basis.rank]
    rows = np.concatenate([W, _make_unmodeled_columns(evidence)], axis=2) * evidence.use[:, :, None]
    by_joint = rows.transpose(1, 2, 0)
    return np.asarray(by_joint @ by_joint.transpose(0, 2, 1))


def _make_unmodeled_columns(evidence: Evidence) -> Float:
    """Make columns of offset, spring, and friction, immediate and building up, shape (N, n, 4)."""
    q, dq, dof = evidence.q, evidence.dq, evidence.dof
    spring = (q - q.mean(axis=0)) / np.maximum(q.std(axis=0), np.finfo(float).tiny)
    moves = np.abs(dq) > [joint.friction.eps for joint in evidence.nominal.joints]
    last = np.maximum.accumulate(np.where(moves, np.arange(len(q))[:, None], 0), axis=0)
    direction = np.take_along_axis(np.sign(dq) * moves, last, axis=0)
    slow = compute_presliding_share(q, np.zeros(dof), np.full(dof, PRESLIDING_DISTANCE))
    return np.stack([np.ones_like(q), spring, direction, slow], axis=2)[evidence.rows.rows]
