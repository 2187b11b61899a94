r"""Predicted positions along a recording: a model driven by measured torques, with corrections.

A robot that is driven by measured torques alone drifts, and its controller is not known from the
log. So the state is corrected by every measured position, as in an observer (the innovations form
[1]_):

.. math:: \hat x_k = x_k + K_k (z_k - q_k), \qquad x_{k+1} = f(\hat x_k, \tau_k; \beta) .

f is a step of the midpoint rule: torque, positions and friction act in its middle, and friction is
implicit, see `robotid_sim.dynamics.kernels.plant_step`.

Estimates are converted to the form of a least-squares fit.

References
----------
.. [1] Ljung (1999), "System identification: theory for the user", 2nd ed., Prentice Hall.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import mass_matrix, rigid_body_torque, torque_regressor
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import random_errors
from robotid_sim.estimation.problem import LinearProblem, get_robot_basis
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.model.friction_law import coefficients_of, column
from robotid_sim.model.robot import Robot

DERIVATIVE_STEP = 0.02
"""Time between the states at which derivatives of rigid bodies are taken [s]."""

DIFFERENCE_STEP = 1e-5
"""Change of a position or velocity for differences [rad or rad/s]."""

MIN_VELOCITY_CHANGE = 1e-12
"""Minimum change of velocity above rounding errors [rad/s]."""

FIRST_BANDWIDTH = 50.0
"""Bandwidth of the prediction for the noise estimate [rad/s]."""

MAX_INNOVATION = 1.0
"""Maximum innovation of a prediction that follows the motion [rad or m]."""


class AccelerationSlopes(NamedTuple):
    """Derivatives of the acceleration along a prediction."""

    A: Float
    """Derivatives by position and velocity, shape (N, n, 2 n)."""
    B: Float
    """Derivatives by the base parameters, shape (N, n, b)."""
    G: Float
    """Derivatives by the torques, shape (N, n, n)."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictedMotion:
    """Motion that a model predicts from sample to sample, arrays of shape (N, n)."""

    innovations: Float2D
    """Measured minus predicted position of every sample."""
    q: Float2D
    """Position in the middle of the step after every sample."""
    dq: Float2D
    """Velocity at which forces act in that step."""
    ddq: Float2D
    """Acceleration of that step."""
    share: Float2D
    """Share of the step after which the velocity is `dq`."""


def make_simulated_robot(problem: LinearProblem, beta: Float1D) -> Robot:
    """Make the robot with base parameters beta; it may be physically inconsistent."""
    assert problem.nominal is not None
    phi = problem.basis.complete(beta, problem.nominal.parameters())
    return problem.nominal.with_parameters(phi, formal=True)


def can_simulate(problem: LinearProblem) -> bool:
    """Return whether a problem has the recordings and all parameters of a robot."""
    if not problem.recordings or problem.nominal is None:
        return False
    return get_robot_basis(problem).rank == problem.basis.rank


def start_state(recording: RecordedLog) -> Float1D:
    """Compute the state before the first sample, shape (2 n,)."""
    return np.concatenate([recording.q[0], recording.dq])


def start_covariance(recording: RecordedLog) -> Float2D:
    """Compute the covariance of the start state: one position, and a velocity from two, (2 n, 2 n).

    The true velocity error is smaller; the difference vanishes after some samples.
    """
    position = recording.position_noise**2
    return np.diag(np.concatenate([position, 2.0 * position / recording.dt**2]))


def constant_gains(bandwidth: float, recording: RecordedLog) -> Float:
    r"""Compute gains :math:`\sqrt 2 \omega h` and :math:`\omega^2 h` of every joint, (N, 2 n, n).

    The error of the prediction then decays like a Butterworth filter of order two with the
    bandwidth [rad/s].
    """
    h, n = recording.dt, recording.q.shape[1]
    gain = np.vstack([np.sqrt(2.0) * bandwidth * h * np.eye(n), bandwidth**2 * h * np.eye(n)])
    return np.broadcast_to(gain, (recording.samples, 2 * n, n))


def predict(robot: Robot, recording: RecordedLog, gains: Float) -> PredictedMotion | None:
    """Predict a recording; None if the model loses the motion.

    Gains have the shape (N, 2 n, n). A model loses the motion if its mass matrix is not positive
    definite or a position deviates by more than `MAX_INNOVATION`.
    """
    n, h = recording.q.shape[1], recording.dt
    model = (robot.geometry, robot.gravity, robot.parameters(), coefficients_of(robot))
    innovations = np.zeros(recording.q.shape)
    states, velocities, accelerations = (np.empty((recording.samples, k)) for k in (2 * n, n, n))
    x = start_state(recording)
    for k in range(recording.samples):
        z, valid = recording.q[k], recording.valid[k]
        filter_kernels.correct(x, z, recording.lead, valid, gains[k], innovations[k])
        if not np.abs(innovations[k]).max() < MAX_INNOVATION:
            return None
        states[k] = x
        middle = x[:n] + 0.5 * h * x[n:]
        _, ddq, dq, _, ok = kernels.plant_step(*model, middle, x[n:], recording.tau[k], h)
        if not ok:
            return None
        velocities[k], accelerations[k] = dq, ddq
        x[:n] += h * x[n:] + 0.5 * h * h * ddq
        x[n:] += h * ddq
    share = share_of_step(states[:, n:], velocities, accelerations, h)
    middle = states[:, :n] + 0.5 * h * states[:, n:]
    return PredictedMotion(innovations, middle, velocities, accelerations, share)


def slopes_along(
    robot: Robot, motion: PredictedMotion, part: slice, columns: Int1D, dt: float
) -> AccelerationSlopes:
    """Compute the derivatives of the acceleration in some steps of a prediction.

    Derivatives by the parameters are for the given columns of the regressor.
    """
    q, dq, ddq, share = (x[part] for x in (motion.q, motion.dq, motion.ddq, motion.share))
    (samples, n), joints = q.shape, np.arange(robot.dof)
    T_q, T_v = rigid_slopes(robot, q, dq, ddq, dt)
    T_v[:, joints, joints] += friction_slopes(coefficients_of(robot), dq)
    Y = torque_regressor(robot, q, dq, ddq, columns)
    slopes = AccelerationSlopes(
        np.empty((samples, n, 2 * n)), np.empty(Y.shape), np.empty((samples, n, n))
    )
    filter_kernels.fill_slopes(mass_matrix(robot, q), T_q, T_v, share, Y, dt, *slopes)
    return slopes


def friction_slopes(rows: Float2D, dq: Float2D) -> Float2D:
    """Differentiate the friction of every joint by its velocity, shape (N, n).

    The coefficients are those of `coefficients_of`. Where friction decreases the slope counts as
    zero, as in the step itself.
    """
    Fv, Fc, eps = (column(rows, name) for name in ("Fv_forward", "Fc_forward", "eps"))
    return np.asarray(np.maximum(Fv + Fc / eps * (1.0 - np.tanh(dq / eps) ** 2), 0.0))


def share_of_step(dq: Float, target: Float, ddq: Float, dt: float) -> Float:
    """Compute the share of a step from velocity dq after which the velocity is `target`."""
    change = dt * ddq
    moved = np.abs(change) > MIN_VELOCITY_CHANGE
    share = (target - dq) / np.where(moved, change, 1.0)
    return np.asarray(np.where(moved, share, 0.5).clip(0.5, 1.0))


def rigid_slopes(
    robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D, dt: float
) -> tuple[Float, Float]:
    """Differentiate the rigid-body torques by position and velocity, (N, n, n) both.

    The derivatives change slowly; they are interpolated between some of the samples.
    """
    samples = len(q)
    knots = np.unique(
        np.append(np.arange(0, samples, max(1, round(DERIVATIVE_STEP / dt))), samples - 1)
    )
    states = [x[knots] for x in (q, dq, ddq)]
    slopes = np.empty((2, len(knots), robot.dof, robot.dof))
    for kind in (0, 1):
        for j in range(robot.dof):
            sides = []
            for sign in (1.0, -1.0):
                moved = [x.copy() for x in states]
                moved[kind][:, j] += sign * DIFFERENCE_STEP
                sides.append(rigid_body_torque(robot, *moved))
            slopes[kind, :, :, j] = (sides[0] - sides[1]) / (2.0 * DIFFERENCE_STEP)
    if len(knots) == 1:
        return slopes[0], slopes[1]
    q_slopes, v_slopes = make_interp_spline(knots, slopes, k=1, axis=1)(np.arange(samples))
    return q_slopes, v_slopes


MISSING_RECORDING_MESSAGE = (
    "joints or the robot of the recording are unknown; weighted least squares is used"
)


def replace_parameters(
    problem: LinearProblem,
    wls: Estimate,
    beta: Float1D,
    cov: Float2D,
    cov_white: Float2D,
    dof: Float1D,
) -> Estimate:
    """Replace the parameters and covariance of a weighted least-squares estimate.

    Residuals and noise are those of the rows with `beta`, shape (b,). Random effects of the problem
    affect every estimator about as they affect least squares, and widen the covariances, shape
    (b, b), accordingly. The degrees of freedom `dof` of the covariance have the shape (b,).
    """
    residual = problem.unstack_rows(problem.y - problem.W @ beta)
    rms = np.sqrt((residual**2).mean(axis=0))
    freedom_share = 1.0 - len(beta) / len(problem.y)
    noise = np.maximum(rms / np.sqrt(freedom_share), wls.noise_std)
    _, R = reduce_rows(problem).solve(1.0 / noise)
    half = random_errors(problem, 1.0 / noise, np.linalg.inv(R))
    random_cov = half @ half.T
    return replace(
        wls,
        beta=beta,
        torque_rms=rms,
        noise_std=noise,
        cov=cov + random_cov,
        cov_white=cov_white + random_cov,
        dof=dof,
    )
