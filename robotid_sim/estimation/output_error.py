"""Output error: predicted positions against measured ones."""

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Int1D
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.block_sandwich import check_block
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.least_squares import PROBLEM
from robotid_sim.estimation.prediction_error import (
    Observer,
    fit_predictions,
    settled,
    slopes_by_part,
)
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import (
    FIRST_BANDWIDTH,
    PredictedMotion,
    constant_gains,
    predict,
    start_covariance,
)
from robotid_sim.estimation.torque_noise import likely_torque_noise
from robotid_sim.model.robot import Robot


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputError(Estimator):
    r"""Parameters whose simulated positions are closest to the measured ones.

    The robot is simulated under the measured torques, and its loop is closed around the *measured*
    positions by a correction gain, so that no controller has to be known (methods that simulate the
    robot in its loop need the one of the machine [1]_). Minimized is, over all samples,

    .. math:: \sum_k \| S_k^{-1/2} (z_k - q_k(\beta)) \|^2

    with the one-sample predictions q of `robotid_sim.estimation.simulation`. By default gains and
    covariances S of the innovations are those of a Kalman filter of the noise of both channels,
    computed once along the motion: innovations of the true model are then white, which makes this
    maximum likelihood up to first order [2]_. Gauss-Newton steps start from weighted least squares;
    the sensitivities follow :math:`\partial \ddot q / \partial \beta = -\tilde M^{-1} Y` through
    the linearized loop. The covariance is the block sandwich of the last step.

    Positions need no differentiation and no low-pass, so that there is nothing to tune. Where the
    controller has seen the noise that the log has, torques go with past noise; white innovations do
    not, those by a constant `bandwidth` do, and bias the estimate. Torque noise enters as noise of
    the input, which shrinks the estimate by the square of its size over that of the torque, both
    below the bandwidth: next to nothing. What the model lacks is not allowed for in the parameters;
    in their covariance it is where it repeats, for blocks hold one phase of all periods.

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
            raise OptionError(f"a correction needs a positive bandwidth, got {self.bandwidth}")
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Return the estimate; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM)
        found = fit_predictions(problem, self._observer, self.block)
        return replace(found, estimator="output-error", options=asdict(self))

    def _observer(self, robot: Robot, recording: RecordedLog, columns: Int1D) -> Observer | None:
        gains = constant_gains(self.bandwidth or FIRST_BANDWIDTH, recording)
        if self.bandwidth is not None:
            held = settled(self.bandwidth, recording)
            return Observer(recording, gains, np.tile(held[:, None], recording.q.shape[1]))
        motion = predict(robot, recording, gains)
        if motion is None:
            return None
        noise = likely_torque_noise(robot, recording, motion, gains, columns)
        return _kalman(robot, recording, motion, noise, columns)


def _kalman(
    robot: Robot, recording: RecordedLog, motion: PredictedMotion, noise: Float1D, columns: Int1D
) -> Observer:
    """Return the observer with the gains of a Kalman filter for the torque noise, (n,)."""
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
            recording.sound[part],
            P,
            gains[part],
            variance[part],
        )
    return Observer(recording, gains, 1.0 / np.sqrt(variance))
