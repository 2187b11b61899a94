r"""Output error: estimation by the differences of predicted and measured positions.

Input error: estimation by the torque that makes a simulated robot follow the measured positions.

White torque noise is estimated by the likelihood of innovations of a Kalman filter.

Measurement noise fed back by the controller appears in the torques. Differences of samples cannot
separate it from torque noise, but it moves the robot, and torque noise does not. The innovations e
of a filter, one per sample and joint, with variance s, have the likelihood [1]_

.. math:: -2 \log L = \sum_{k, j} \log s_{kj} + e_{kj}^2 / s_{kj} .

It is searched joint by joint, by parabolas over the logarithm of the noise.

References
----------
.. [1] Schweppe (1965), "Evaluation of likelihood functions for Gaussian signals", IEEE Trans.
   Information Theory 11(1), doi:10.1109/TIT.1965.1053737.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.block_sandwich import check_block
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import PROBLEM_REMEDY
from robotid_sim.estimation.prediction_error import (
    Observer,
    find_settled_samples,
    fit_predictions,
    slopes_by_part,
)
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import (
    FIRST_BANDWIDTH,
    PredictedMotion,
    constant_gains,
    predict,
    slopes_along,
    start_covariance,
)
from robotid_sim.model.robot import Robot


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputError(Estimator):
    r"""Parameters whose simulated positions are closest to the measured ones.

    The robot is simulated under the measured torques, and its loop is closed around the *measured*
    positions by a correction gain, so that the controller need not be known (methods that simulate
    the robot in its loop need it [1]_). The cost over all samples is

    .. math:: \sum_k \| S_k^{-1/2} (z_k - q_k(\beta)) \|^2

    with the one-sample predictions q of `robotid_sim.estimation.simulation`. By default gains and
    covariances S of the innovations are those of a Kalman filter of the noise of both channels,
    computed once along the motion: innovations of the true model are then white, which makes this
    maximum likelihood up to first order [2]_. Gauss-Newton steps start from weighted least squares;
    the sensitivities follow :math:`\partial \ddot q / \partial \beta = -\tilde M^{-1} Y` through
    the linearized loop. The covariance is the block sandwich of the last step.

    Positions need no differentiation and no low-pass, so that nothing needs tuning. If the
    controller receives the noise of the log, torques correlate with past noise. White innovations
    do not correlate with it; innovations of a constant `bandwidth` do, which biases the estimate.
    Torque noise is input noise, which shrinks the estimate by its squared ratio to the torque below
    the bandwidth; this is negligible. Unmodeled torque biases the parameters; their covariance
    includes it where it repeats, because blocks contain one phase of all periods.

    References
    ----------
    .. [1] Gautier, Janot, Vandanjon (2013), "A new closed-loop output error method for parameter
       identification of robot dynamics", IEEE Trans. Control Systems Technology 21(2).
    .. [2] Ljung (1999), "System identification: theory for the user", 2nd ed., Prentice Hall.
    """

    uses_recordings: ClassVar[bool] = True

    bandwidth: float | None = None
    """Bandwidth of the correction [rad/s], the same for all joints; None for the gain of a Kalman
    filter."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the innovations."""

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not 0.0 < self.bandwidth < np.inf:
            raise OptionError(f"the correction bandwidth must be positive, got {self.bandwidth}")
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        estimate = fit_predictions(problem, self._observer, self.block)
        return replace(estimate, estimator="output-error", options=asdict(self))

    def _observer(self, robot: Robot, recording: RecordedLog, columns: Int1D) -> Observer | None:
        gains = constant_gains(self.bandwidth or FIRST_BANDWIDTH, recording)
        if self.bandwidth is not None:
            settled = find_settled_samples(self.bandwidth, recording)
            return Observer(recording, gains, np.tile(settled[:, None], recording.q.shape[1]))
        motion = predict(robot, recording, gains)
        if motion is None:
            return None
        noise = estimate_torque_noise(robot, recording, motion, gains, columns)
        # The gains of a Kalman filter for this noise.
        samples, n = recording.q.shape
        P, gains = start_covariance(recording), np.empty((samples, 2 * n, n))
        variance = np.empty((samples, n))
        for part, slopes in slopes_by_part(robot, recording, motion, columns):
            filter_kernels.kalman_gains(
                slopes.A,
                slopes.G * noise,
                recording.dt,
                recording.lead,
                recording.position_noise**2,
                recording.valid[part],
                P,
                gains[part],
                variance[part],
            )
        return Observer(recording, gains, 1.0 / np.sqrt(variance))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class InputError(Estimator):
    r"""Parameters for which a simulated loop needs only the measured torques.

    The robot is simulated under the measured torques, and a loop of a given bandwidth makes it
    follow the measured positions z. The torque that the loop adds is the input error

    .. math:: \Delta\tau_k(\beta) = \omega^2 \tilde M(q_k) \, (z_k - q_k(\beta)) ,

    and its square over the noise of every joint is minimized, as closed-loop input error methods do
    [1]_, [2]_. These methods simulate the controller of the machine along its reference, which logs
    seldom contain; here controller and reference may be unknown. The mass matrix is that of
    weighted least squares, from which Gauss-Newton steps start, with all sensitivities (DIDIM [1]_
    neglects those of the simulated motion). The covariance is the block sandwich of the last step.

    In contrast to output error it weights torques, in their unit; choose it where torques are
    noisier than positions. The loop is a low-pass filter of both, so that its bandwidth is that of
    the fit: if it is too high, encoder noise grows with its square; if it is too low, friction near
    standstill is lost. If the controller receives the noise of the log, torques correlate with it
    and bias this estimate; then use `output-error`.

    References
    ----------
    .. [1] Gautier, Janot, Vandanjon (2013), "A new closed-loop output error method for parameter
       identification of robot dynamics", IEEE Trans. Control Systems Technology 21(2).
    .. [2] Leboutet, Roux, Janot, Guadarrama-Olvera, Cheng (2021), "Inertial parameter
       identification in robotics: a survey", Applied Sciences 11(9), doi:10.3390/app11094303.
    """

    uses_recordings: ClassVar[bool] = True

    bandwidth: float = 50.0
    """Bandwidth of the loop [rad/s], the same for all joints."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the input error."""

    def __post_init__(self) -> None:
        if not 0.0 < self.bandwidth < np.inf:
            raise OptionError(f"the bandwidth of the loop must be positive, got {self.bandwidth}")
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        estimate = fit_predictions(problem, self._observer, self.block)
        return replace(estimate, estimator="input-error", options=asdict(self))

    def _observer(self, robot: Robot, recording: RecordedLog, columns: Int1D) -> Observer:
        del columns
        return make_observer(robot, recording, self.bandwidth)


def make_observer(robot: Robot, recording: RecordedLog, bandwidth: float) -> Observer:
    """Make the loop with which a simulated robot follows a recording, with innovations as torques.

    All joints have one bandwidth [rad/s]. The weighted innovations are the torques that the loop
    adds [N m or N], zero until the error of the start, or of a gap, has decayed.
    """
    weights = bandwidth**2 * mass_matrix(robot, recording.q)
    weights[~find_settled_samples(bandwidth, recording)] = 0.0
    return Observer(recording, constant_gains(bandwidth, recording), weights)


MAX_SAMPLES = 5000
"""Maximum number of samples of the noise estimate, from the middle of a recording."""

MAX_SWEEPS = 8
"""Maximum number of sweeps over all joints."""

PARABOLA_STEP = 0.7
"""Distance of the points of a parabola, in the logarithm of the noise."""

MAX_LOG_STEP = 2.0
"""Maximum step of the logarithm."""

LOG_TOLERANCE = 0.1
"""Maximum change of the logarithms in a sweep at convergence."""

MIN_NOISE_SHARE = 1e-6
"""Minimum torque noise over the RMS torque."""


def estimate_torque_noise(
    robot: Robot, recording: RecordedLog, motion: PredictedMotion, gains: Float, columns: Int1D
) -> Float1D:
    """Estimate the torque noise [N m] by maximum likelihood along a prediction, shape (n,).

    The prediction was corrected with the gains, shape (N, 2 n, n).
    """
    samples, n = recording.q.shape
    first = max(0, (samples - MAX_SAMPLES) // 2)
    part = slice(first, first + MAX_SAMPLES)
    slopes = slopes_along(robot, motion, part, columns[:0], recording.dt)
    position_variance = recording.position_noise**2
    start = np.diag(np.concatenate([position_variance, position_variance / recording.dt**2]))
    fixed = (recording.dt, recording.lead, position_variance, recording.valid[part])
    prediction = (motion.innovations[part], np.ascontiguousarray(gains[part]))

    def cost(log_noise: Float1D) -> float:
        G = slopes.G * np.exp(log_noise)
        return float(filter_kernels.likelihood(slopes.A, G, *fixed, start.copy(), *prediction))

    minimum = np.log(np.maximum(MIN_NOISE_SHARE * np.sqrt((recording.tau**2).mean(axis=0)), 1e-12))
    x = np.maximum(np.log(np.maximum(estimate_white_noise(recording.tau), 1e-300)), minimum)
    for _ in range(MAX_SWEEPS):
        before = x.copy()
        for j in range(n):
            x[j] = max(x[j] + _compute_step(cost, x, j), minimum[j])
        if np.abs(x - before).max() < LOG_TOLERANCE:
            break
    return np.asarray(np.exp(x))


def _compute_step(cost: Callable[[Float1D], float], x: Float1D, j: int) -> float:
    """Compute the step of coordinate j to the minimum of a parabola through three points."""
    values = []
    for step in (-PARABOLA_STEP, 0.0, PARABOLA_STEP):
        moved = x.copy()
        moved[j] += step
        values.append(cost(moved))
    slope, curvature = values[2] - values[0], values[2] - 2.0 * values[1] + values[0]
    if curvature <= 0.0:
        return MAX_LOG_STEP if slope < 0.0 else -MAX_LOG_STEP
    return float(np.clip(-0.5 * PARABOLA_STEP * slope / curvature, -MAX_LOG_STEP, MAX_LOG_STEP))


def estimate_white_noise(x: Float2D) -> Float1D:
    """Estimate the white noise of signals (N, n) by their third differences, shape (n,)."""
    spread = np.median(np.abs(np.diff(x, 3, axis=0)), axis=0)
    return np.asarray(spread / (0.6745 * np.sqrt(20.0)))
