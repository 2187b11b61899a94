"""Preprocessors side by side: how close to the truth, and what they do to the parameters."""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.problem import Estimator, LinearProblem, build_problem
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.kalman_torque import KalmanTorque, five_point_cubic
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.validation.prediction import clean_log, rms


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

    The log has a truth; `true` are the true base parameters, shape (b,), `bound` is their
    Cramér-Rao bound, shape (b, b). The smoother of the motion is tuned. Motion and problem that
    were `fitted` serve again if it makes the same motion.
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
