r"""Gauss-Newton steps of estimators that predict the positions of a recording, sample by sample.

The cost is that of innovations, measured minus predicted positions of
`robotid_sim.estimation.simulation`, with weights of the estimator. Their sensitivities follow
:math:`\partial \ddot q / \partial \beta = -\tilde M^{-1} Y` through the linearized loop that
corrects the prediction.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from robotid_sim.arrays import PART, Bool1D, Float, Float1D, Int1D
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.block_sandwich import block_of, row_blocks_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import (
    MISSING_RECORDING_MESSAGE,
    AccelerationSlopes,
    PredictedMotion,
    can_simulate,
    make_simulated_robot,
    predict,
    replace_parameters,
    slopes_along,
)
from robotid_sim.model.robot import Robot

MAX_ROUNDS = 20
"""Maximum number of Gauss-Newton steps; three to five are usual."""

MAX_HALVINGS = 8
"""Maximum number of halvings of a step that does not reduce the cost."""

STEP_TOLERANCE = 1e-2
"""Maximum step at convergence, in standard deviations of the parameters."""

ROW_TIME = 5e-3
"""Time over which innovations are averaged to a row [s]; sensitivities change more slowly."""

MIN_STEP = 1e-7
"""Minimum torque of a step over the whole torque; a smaller step is a rounding error."""

SETTLING_TIME_CONSTANTS = 5.0
"""Time constants of constant gains after which the start has decayed."""

MAX_GAP_TIME_CONSTANTS = 0.05
"""Maximum time without positions, in time constants, that needs no settling."""


class Observer(NamedTuple):
    """Correction gains of the prediction of a recording, and weights of its innovations."""

    recording: RecordedLog
    gains: Float
    """Shape (N, 2 n, n)."""
    weights: Float
    """Factors of innovations: joint by joint, shape (N, n), or as vectors, shape (N, n, n); in any
    unit that is equal for all samples of a joint."""

    def weigh(self, part: slice, x: Float) -> Float:
        """Weight innovations (m, n), or their sensitivities (m, n, b), of some samples."""
        weights, flat = self.weights[part], x.reshape(*x.shape[:2], -1)
        product = weights[:, :, None] * flat if weights.ndim == 2 else weights @ flat
        return np.asarray(product.reshape(x.shape))


Observe = Callable[[Robot, RecordedLog, Int1D], Observer | None]
"""Makes the observer from a model, a recording and the estimated columns of the regressor; None if
the model loses the motion."""


def find_settled_samples(bandwidth: float, recording: RecordedLog) -> Bool1D:
    """Find the samples at which constant gains of a bandwidth [rad/s] have settled, shape (N,).

    Samples without positions, and those before the effect of the start or of a gap has decayed, are
    excluded.
    """
    valid, step = recording.valid.all(axis=1), bandwidth * recording.dt
    gap_time = np.where(valid, 0.0, step)
    gap_time[0] += MAX_GAP_TIME_CONSTANTS * np.exp(SETTLING_TIME_CONSTANTS)
    decaying_gap_time = scipy.signal.lfilter([1.0], [1.0, -np.exp(-step)], gap_time)
    return np.asarray(valid & (decaying_gap_time <= MAX_GAP_TIME_CONSTANTS))


def slopes_by_part(
    robot: Robot, recording: RecordedLog, motion: PredictedMotion, columns: Int1D
) -> Iterator[tuple[slice, AccelerationSlopes]]:
    """Yield the slopes of the acceleration along a prediction, a part of the samples at a time."""
    for begin in range(0, recording.samples, PART):
        part = slice(begin, begin + PART)
        yield part, slopes_along(robot, motion, part, columns, recording.dt)


def fit_predictions(problem: LinearProblem, observe: Observe, block: float | None) -> Estimate:
    """Minimize the weighted innovations, starting from least squares.

    The covariance is the block sandwich of the last step. Without recordings of a whole robot the
    fit is weighted least squares, as its message states.
    """
    began, method = time.perf_counter(), WeightedLeastSquares(block=block)
    wls = method.fit(problem)
    if not wls.success or not can_simulate(problem):
        return replace(wls, message=wls.message or MISSING_RECORDING_MESSAGE)
    search = _GaussNewton(problem, observe, method)
    beta, fit, message = search.run(wls.beta)
    wls = replace(wls, nfev=search.evaluations, seconds=time.perf_counter() - began)
    if message or fit is None or fit.cov is None or fit.cov_white is None:
        return replace(wls, success=False, message=message)
    # Unmodeled torque repeats with every period, so periods are not independent.
    rows = replace(search.latest, period=problem.period, repeats=problem.period is not None)
    fit = WeightedLeastSquares(block=fit.block).fit(rows)
    assert fit.cov is not None
    assert fit.cov_white is not None
    blocks = row_blocks_of(rows, block_of(fit)) - len(beta) / problem.dof
    dof = np.full(len(beta), max(blocks, 1.0))
    estimate = replace_parameters(problem, wls, beta, fit.cov, fit.cov_white, dof)
    seconds = time.perf_counter() - began
    return replace(estimate, cond=fit.cond, block=fit.block, rows=fit.rows, seconds=seconds)


class _GaussNewton:
    """Gauss-Newton steps of one fit."""

    def __init__(self, problem: LinearProblem, observe: Observe, wls: WeightedLeastSquares) -> None:
        self.problem = problem
        self.observe = observe
        self.wls = wls
        self.evaluations = 0
        self.latest = problem

    def run(self, beta: Float1D) -> tuple[Float1D, Estimate | None, str]:
        """Iterate from a start (b,); return parameters and last fit, or an error message."""
        robot, columns = make_simulated_robot(self.problem, beta), self.problem.basis.columns
        results = [self.observe(robot, recording, columns) for recording in self.problem.recordings]
        observers = [observer for observer in results if observer is not None]
        rows = self._linearize(observers, beta) if len(observers) == len(results) else None
        if rows is None:
            return beta, None, "the model of weighted least squares does not follow the motion"
        for _ in range(MAX_ROUNDS):
            self.latest = rows
            fit = self.wls.fit(rows)
            if not fit.success:
                return beta, None, fit.message
            step = fit.beta - beta
            # Without noise, standard deviations vanish; then a constant torque shows convergence.
            change, size = (np.linalg.norm(x) for x in (self.problem.W @ step, self.problem.y))
            if change < MIN_STEP * size or (np.abs(step) < STEP_TOLERANCE * fit.std).all():
                return fit.beta, fit, ""
            better = self._descend(observers, rows, beta, step, fit.noise_std)
            if better is None:
                return beta, None, "no step reduces the innovations"
            beta, rows = better
        return beta, None, f"the innovations have not converged after {MAX_ROUNDS} steps"

    def _descend(
        self,
        observers: list[Observer],
        rows: LinearProblem,
        beta: Float1D,
        step: Float1D,
        noise: Float1D,
    ) -> tuple[Float1D, LinearProblem] | None:
        """Halve a step until it reduces the cost; return the parameters and their rows."""
        before = _compute_cost(rows, beta, noise)
        for k in range(MAX_HALVINGS):
            new = beta + 0.5**k * step
            new_rows = self._linearize(observers, new)
            if new_rows is not None and _compute_cost(new_rows, new, noise) < before:
                return new, new_rows
        return None

    def _linearize(self, observers: list[Observer], beta: Float1D) -> LinearProblem | None:
        """Linearize the problem about `beta`; None if the model diverges from the motion."""
        self.evaluations += 1
        robot, columns = make_simulated_robot(self.problem, beta), self.problem.basis.columns
        sensitivities, errors = [], []  # weighted, of shapes (m, n, b) and (m, n)
        for observer in observers:
            recording = observer.recording
            motion = predict(robot, recording, observer.gains)
            if motion is None:
                return None
            b, n = len(columns), recording.q.shape[1]
            step, D = _samples_per_row(recording), np.zeros((2 * n, b))
            psi = np.empty((recording.samples, n, b))
            for part, slopes in slopes_by_part(robot, recording, motion, columns):
                filter_kernels.sensitivities(
                    slopes.A,
                    slopes.B,
                    recording.dt,
                    recording.lead,
                    np.ascontiguousarray(observer.gains[part]),
                    recording.valid[part],
                    D,
                    psi[part],
                )
                psi[part] = observer.weigh(part, psi[part])
            sensitivities.append(_sum_samples(psi, step))
            errors.append(_sum_samples(observer.weigh(slice(None), motion.innovations), step))
        W = np.concatenate(sensitivities).reshape(-1, len(beta))
        e = np.concatenate(errors).ravel()
        step = _samples_per_row(observers[0].recording)
        return replace(
            self.problem,
            W=W,
            y=e + W @ beta,
            dt=step * observers[0].recording.dt,
            random=None,
            instruments=None,
            recordings=(),
            period=None,
        )


def _samples_per_row(recording: RecordedLog) -> int:
    """Compute the number of samples per row."""
    return max(1, round(ROW_TIME / recording.dt))


def _sum_samples(x: Float, step: int) -> Float:
    """Sum `step` samples and divide by its root, so that white noise keeps its variance."""
    used = len(x) // step * step
    return np.asarray(x[:used].reshape(-1, step, *x.shape[1:]).sum(axis=1) / np.sqrt(step))


def _compute_cost(rows: LinearProblem, beta: Float1D, noise: Float1D) -> float:
    """Compute the mean square of the innovations over that of their noise."""
    residual = rows.unstack_rows(rows.y - rows.W @ beta)
    return float(((residual / noise) ** 2).mean())
