"""How far a preprocessor is from the truth of a log: torque, velocity, acceleration, parameters."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import binary_dilation

from robotid_sim.arrays import Float, Float1D, Float2D, rms
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.problem import Estimator, build_problem
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion, interpolate_samples
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.kalman_torque import KalmanTorque
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.validation.prediction import clean_log

NEAR_REVERSAL = 0.06
"""Time around a reversal of a joint within which its friction turns around [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class PreprocessorScore:
    """One preprocessor on one log; RMS errors have the shape (n,)."""

    torque_error: Float1D
    """Of its torque, of a Kalman filter the filtered one, away from reversals [N m]."""
    torque_error_reversals: Float1D
    """The same near reversals [N m]."""
    velocity_error: Float1D
    """[rad/s or m/s]."""
    acceleration_error: Float1D
    """[rad/s^2 or m/s^2]."""
    beta: Float1D
    """Parameters of the fit, shape (b,)."""
    seconds: float
    """Computing time without the fit, tuning included [s]."""
    message: str
    """What the preprocessor decided."""


def score_preprocessor(
    preprocessor: Preprocessor,
    log: Log,
    nominal: Robot,
    basis: BaseParameters,
    estimator: Estimator,
) -> PreprocessorScore:
    """Return the errors of a preprocessor, untuned, against the truth of a log.

    The true motion at any time is a spline through the engine's positions, whose own error is
    hundredths of what the finest encoder leaves.

    Parameters
    ----------
    preprocessor : Preprocessor
        Is tuned to the log first.
    log : Log
        A log with truth.
    nominal : Robot
        The model that the preprocessor gets.
    basis : BaseParameters
        Parameters of the fit.
    estimator : Estimator
        The method of the fit.
    """
    clean = clean_log(log)
    began = time.perf_counter()
    tuned = preprocessor.tune(log, nominal)
    motion = tuned(log, nominal)
    seconds = time.perf_counter() - began
    tau = tuned.filter_torque(log, nominal) if isinstance(tuned, KalmanTorque) else motion.tau
    use = motion.row_filter.sample_slice if motion.row_filter is not None else slice(None)
    true = CubicSpline(log.t, clean.q)
    dq, ddq = (motion_error(true, motion, order)[use] for order in (1, 2))
    # Compensated delays move the times at which torques hold together with the motion.
    late = (motion.t - log.t - log.torque_time_offset) / log.dt
    wrong = tau - interpolate_samples(clean.tau_meas, np.arange(log.t.size) + late)
    near = near_reversals(true(log.t, 1), log.dt)
    beta = estimator.fit(build_problem(motion, nominal, basis), np.random.default_rng(0)).beta
    return PreprocessorScore(
        torque_error=_masked_rms(wrong[use], ~near[use]),
        torque_error_reversals=_masked_rms(wrong[use], near[use]),
        velocity_error=rms(dq),
        acceleration_error=rms(ddq),
        beta=beta,
        seconds=seconds,
        message=tuned.message,
    )


def motion_error(true: CubicSpline, motion: Motion, order: int) -> Float2D:
    """Return the error of a motion against a spline, of the derivative of order 0 to 2, (N, n)."""
    return np.asarray((motion.q, motion.dq, motion.ddq)[order] - true(motion.t, order))


def near_reversals(dq: Float2D, dt: float) -> NDArray[np.bool_]:
    """Return which samples of each joint are near a change of sign of its velocity, (N, n)."""
    turns = np.zeros(dq.shape, dtype=bool)
    turns[1:] = np.diff(np.sign(dq), axis=0) != 0.0
    width = 2 * round(NEAR_REVERSAL / dt) + 1
    return np.asarray(binary_dilation(turns, np.ones((width, 1), dtype=bool)))


def _masked_rms(x: Float2D, mask: NDArray[np.bool_]) -> Float1D:
    """Return the root mean square over the first axis where the mask is true."""
    total: Float = np.where(mask, x**2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(total / np.maximum(mask.sum(axis=0), 1)))
