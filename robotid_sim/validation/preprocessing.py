"""Preprocessors side by side: how close to the truth, and what they do to the parameters."""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import binary_dilation

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import between_samples
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.kalman_torque import KalmanTorque, five_point_cubic
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.validation.prediction import clean_log, rms

NEAR_REVERSAL = 0.06
"""Time around a reversal of a joint within which its friction turns around [s]."""


@dataclass(frozen=True, slots=True, eq=False)
class FilterScore:
    """One torque filter."""

    name: str
    torque_error: Float1D
    """RMS error of the filtered torque against the noise-free one [N m], shape (n,)."""
    parameter_error: float
    """RMS over the parameters of |error| over the Cramér-Rao standard deviation."""


def compare_torque_filters(
    log: Log,
    nominal: Robot,
    basis: BaseParameters,
    true: Float1D,
    bound: Float2D,
    estimator: Estimator,
    rows: Rows,
    motion: RtsSmoother,
    fitted: tuple[Motion, LinearProblem] | None = None,
) -> list[FilterScore]:
    """Return the scores of no filter, five-point, Kalman literal and compensated, RTS.

    All share the motion behind the regressor and the rows of the fit; only the torque differs, and
    in the compensated form the filter that torque and regressor share.

    Parameters
    ----------
    log : Log
        A log with truth.
    nominal : Robot
        Predicts the torque.
    basis : BaseParameters
        Parameters of the fit.
    true : ndarray, shape (b,)
        True base parameters.
    bound : ndarray, shape (b, b)
        Cramér-Rao bound.
    estimator : Estimator
        The method of the fit.
    rows : Rows
        Rows of the fit.
    motion : RtsSmoother
        Smoother of the motion, tuned.
    fitted : tuple of Motion and LinearProblem, optional
        Those of the fit, which serve again if the smoother makes the same motion.
    """
    clean = clean_log(log).tau_meas
    kalman = KalmanTorque(motion=motion, rows=rows).tuned(log, nominal)
    smoothed = replace(motion, rows=rows)(log, nominal)
    if fitted is not None and _same(fitted[0], smoothed):
        problem = fitted[1]
    else:
        problem = build_problem(smoothed, nominal, basis)
    causal = kalman.filtered(log, nominal)
    torques = {
        "none": log.tau_meas,
        "five-point": five_point_cubic(log.tau_meas),
        "kalman-literal": causal,
        "kalman-compensated": causal,
        "rts": replace(kalman, form="smoother").filtered(log, nominal),
    }
    use = smoothed.row_filter.used if smoothed.row_filter is not None else slice(None)
    scores = []
    for name, tau in torques.items():
        if name == "kalman-compensated":
            filtered = build_problem(kalman(log, nominal), nominal, basis)
        else:
            filtered = _with_torque(problem, smoothed, tau)
        beta = estimator.fit(filtered, np.random.default_rng(0)).beta
        error = float(rms((beta - true) / np.sqrt(np.diag(bound))))
        scores.append(FilterScore(name, rms(tau[use] - clean[use]), error))
    return scores


def _same(first: Motion, second: Motion) -> bool:
    """Return whether two motions give the same rows."""
    arrays = all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("t", "q", "dq", "ddq", "tau")
    )
    return arrays and first.row_filter == second.row_filter


def _with_torque(problem: LinearProblem, motion: Motion, tau: Float2D) -> LinearProblem:
    """Return the problem with another torque behind the same regressor."""
    row_filter = motion.row_filter
    rows = tau if row_filter is None else row_filter.apply(tau[row_filter.used])
    return replace(problem, y=rows.ravel())


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
    tuned = preprocessor.tuned(log, nominal)
    motion = tuned(log, nominal)
    seconds = time.perf_counter() - began
    tau = tuned.filtered(log, nominal) if isinstance(tuned, KalmanTorque) else motion.tau
    use = motion.row_filter.used if motion.row_filter is not None else slice(None)
    true = CubicSpline(log.t, clean.q)
    dq, ddq = (motion_error(true, motion, order)[use] for order in (1, 2))
    # Compensated delays move the times at which torques hold together with the motion.
    late = (motion.t - log.t - log.torque_time_offset) / log.dt
    wrong = tau - between_samples(clean.tau_meas, np.arange(log.t.size) + late)
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
