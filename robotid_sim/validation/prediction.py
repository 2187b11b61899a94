"""Scores of torque predictions on data that was not used in the fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, rms
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.errors import LogError
from robotid_sim.estimation.problem import Estimator, LinearProblem, build_problem
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.kalman_torque import KalmanTorque, five_point_cubic
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Torques predicted on a log; scores have the shape (n,)."""

    joint_names: tuple[str, ...]
    torque_units: tuple[str, ...]
    """``N m`` or ``N``, one per joint."""
    t: Float1D
    """Times of the rows [s], shape (N,)."""
    measured: Float2D
    """Measured torque, filtered like the rows of a fit, shape (N, n)."""
    predicted: Float2D
    """Predicted torque with the same filter, shape (N, n)."""
    torque_rms: Float1D
    """RMS of measured minus predicted torque [N m]."""
    torque_rms_relative: Float1D
    """`torque_rms` over the RMS of the measured torque."""
    model_error_relative: Float1D | None
    """RMS error of the model on the true motion over the RMS of the noise-free torque."""


def predict(
    beta: Float1D, log: Log, nominal: Robot, basis: BaseParameters, preprocessor: Preprocessor
) -> Prediction:
    """Compare predicted torques with those of a log; see `predict_all`."""
    return predict_all([beta], log, preprocessor(log, nominal), nominal, basis)[0]


def predict_all(
    betas: Sequence[Float1D], log: Log, motion: Motion, nominal: Robot, basis: BaseParameters
) -> list[Prediction]:
    """Compare the torques that several models predict with those of a log, by base parameters.

    The log was not used in the fits; its truth gives the model error.
    """
    problem = build_problem(motion, nominal, basis)
    measured = problem.unstack_rows(problem.y)
    units = tuple("N" if unit == "m" else "N m" for unit in log.joint_units)
    size, truth = rms(measured), None
    if log.truth is not None:
        truth = true_rows(log, log.t >= 0.0)
        state = (truth.q, truth.dq, truth.ddq)
        W = torque_regressor(nominal, *state, basis.columns)
        standard = standard_torque(nominal, *state, truth.tau)
    rows = []
    for beta in betas:
        predicted = problem.unstack_rows(problem.W @ beta)
        residual = rms(measured - predicted)
        error = None if truth is None else rms(standard - W @ beta) / rms(truth.tau)
        scores = (residual, scale_by_measured(residual, size), error)
        rows.append(
            Prediction(log.joint_names, units, motion.row_times, measured, predicted, *scores)
        )
    return rows


def predictions(
    beta: Float1D, log: Log, motion: Motion, nominal: Robot, basis: BaseParameters
) -> tuple[Prediction, Prediction]:
    """Predict a log by the estimate and by the nominal model; see `predict_all`."""
    before = basis.project(nominal.parameters())
    identified, old = predict_all([beta, before], log, motion, nominal, basis)
    return identified, old


def stack_predictions(parts: Sequence[Prediction]) -> Prediction:
    """Stack predictions of several logs of one robot, rows one after the other."""
    stacks = ("t", "measured", "predicted")
    t, measured, predicted = (
        np.concatenate([getattr(part, name) for part in parts]) for name in stacks
    )
    residual, first = rms(measured - predicted), parts[0]
    scores = (residual, scale_by_measured(residual, rms(measured)), None)
    return Prediction(first.joint_names, first.torque_units, t, measured, predicted, *scores)


def add_torque(prediction: Prediction, torque: Float2D) -> Prediction:
    """Add a torque to a prediction, rows as of the prediction, shape (N, n)."""
    predicted = prediction.predicted + torque
    residual = rms(prediction.measured - predicted)
    return replace(
        prediction,
        predicted=predicted,
        torque_rms=residual,
        torque_rms_relative=scale_by_measured(residual, rms(prediction.measured)),
        model_error_relative=None,
    )


def scale_by_measured(x: Float1D, size: Float1D) -> Float1D:
    """Divide x by the size of measured torques; NaN for joints without a measured torque."""
    return np.divide(x, size, out=np.full_like(x, np.nan), where=size > 0.0)


def clean_log(log: Log) -> Log:
    """Make the log of ideal sensors."""
    if log.truth is None:
        raise LogError("the log has no truth; use one of a virtual experiment")
    return replace(log, q=log.truth.q, tau_meas=log.truth.tau, current=None, torque_constant=None)


def true_rows(log: Log, use: Bool1D) -> Truth:
    """Select true samples by a mask."""
    if log.truth is None:
        raise LogError("the log has no truth; use one of a virtual experiment")
    return log.truth.rows(use)


def exact_problem(log: Log, nominal: Robot, basis: BaseParameters, first: float) -> LinearProblem:
    """Build the problem of the exact motion from time `first`, at the full rate."""
    truth = true_rows(log, log.t >= first - 0.5 * log.dt)
    state = (truth.q, truth.dq, truth.ddq)
    W = torque_regressor(nominal, *state, basis.columns).reshape(-1, basis.rank)
    tau = standard_torque(nominal, *state, truth.tau)
    return LinearProblem(W, tau.ravel(), basis, log.joint_names, log.dt, nominal)


@dataclass(frozen=True, slots=True, eq=False)
class FilterScore:
    """Score of a torque filter."""

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
    """Score torque filters: none, five-point, Kalman literal and compensated, RTS.

    All share the motion of the regressor and the rows of the fit; only the torque differs, and in
    the compensated form also the common filter of torque and regressor.

    The log has a truth; `true` are the true base parameters, shape (b,), `bound` is their
    Cramér-Rao bound, shape (b, b). The smoother of the motion is tuned. Motion and problem of
    `fitted` are reused if the motion is the same.
    """
    clean = clean_log(log).tau_meas
    kalman = KalmanTorque(motion=motion, rows=rows).tune(log, nominal)
    smoothed = replace(motion, rows=rows)(log, nominal)
    if fitted is not None and _is_same_motion(fitted[0], smoothed):
        problem = fitted[1]
    else:
        problem = build_problem(smoothed, nominal, basis)
    causal = kalman.filter_torque(log, nominal)
    torques = {
        "none": log.tau_meas,
        "five-point": five_point_cubic(log.tau_meas),
        "kalman-literal": causal,
        "kalman-compensated": causal,
        "rts": replace(kalman, form="smoother").filter_torque(log, nominal),
    }
    row_filter, scores = smoothed.row_filter, []
    samples = slice(None) if row_filter is None else row_filter.sample_slice
    for name, tau in torques.items():
        if name == "kalman-compensated":
            filtered = build_problem(kalman(log, nominal), nominal, basis)
        else:
            by_row = tau if row_filter is None else row_filter.apply(tau[samples])
            filtered = replace(problem, y=by_row.ravel())
        beta = estimator.fit(filtered, np.random.default_rng(0)).beta
        error = float(rms((beta - true) / np.sqrt(np.diag(bound))))
        scores.append(FilterScore(name, rms(tau[samples] - clean[samples]), error))
    return scores


def _is_same_motion(first: Motion, second: Motion) -> bool:
    """Return whether two motions give the same rows."""
    arrays = all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("t", "q", "dq", "ddq", "tau")
    )
    return arrays and first.row_filter == second.row_filter
