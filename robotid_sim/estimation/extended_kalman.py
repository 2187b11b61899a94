"""The extended Kalman filter of motion and parameters."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics import kernels
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import PROBLEM_REMEDY, WeightedLeastSquares
from robotid_sim.estimation.output_error import estimate_torque_noise
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import (
    FIRST_BANDWIDTH,
    MAX_INNOVATION,
    MISSING_RECORDING_MESSAGE,
    can_simulate,
    constant_gains,
    friction_slopes,
    make_simulated_robot,
    predict,
    replace_parameters,
    rigid_slopes,
    share_of_step,
    start_covariance,
    start_state,
)
from robotid_sim.model.friction_law import COLUMNS, coefficients_of
from robotid_sim.model.parameters import joint_slice
from robotid_sim.model.robot import Robot


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedKalman(Estimator):
    r"""Positions, velocities and parameters as one state, estimated sample by sample.

    .. math:: \ddot q = M(q; \beta)^{-1} (\tau + v - h(q, \dot q; \beta)), \qquad
        \dot\beta = 0, \qquad z = q + n

    with white noise v of the torques and n of the positions [1]_; the former is estimated by
    maximum likelihood, see `robotid_sim.estimation.output_error`. The equations are linearized
    about the latest estimate, except for the slopes of the rigid bodies by position and velocity,
    which are evaluated along a prediction by the first model. Covariances are updated one position
    after the other in Joseph's form, with parameters in units of their standard deviations at the
    start.

    A filter that is linearized far from the truth diverges, and [1]_ found that it depends on its
    start. It starts from weighted least squares, with its correlations and its standard deviations
    times `spread`: the data count twice, the first time with the weight ``1 / spread**2``.

    The covariance holds for white noise and a model without errors; where innovations exceed their
    predicted size, it is scaled accordingly, but not for their correlation, in contrast to output
    error. With the same noise its estimate is close to that of output error; it reads the log once
    and in order, as on a moving robot.

    References
    ----------
    .. [1] Gautier, Poignet (2001), "Extended Kalman filtering and weighted least squares dynamic
       identification of robot", Control Engineering Practice 9(12),
       doi:10.1016/S0967-0661(01)00105-8.
    """

    uses_recordings: ClassVar[bool] = True

    spread: float = 30.0
    """Standard deviations at the start, over those of weighted least squares."""

    def __post_init__(self) -> None:
        if not 1.0 <= self.spread < np.inf:
            raise OptionError(f"the spread at the start must be at least 1, got {self.spread}")

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began = time.perf_counter()
        wls = WeightedLeastSquares().fit(problem, rng)
        labels: dict[str, Any] = {"estimator": "extended-kalman", "options": asdict(self)}
        if not wls.success or not can_simulate(problem):
            return replace(wls, message=wls.message or MISSING_RECORDING_MESSAGE, **labels)
        kalman_filter, message = _Filter(problem, wls, self.spread), ""
        for recording in problem.recordings:
            message = message or kalman_filter.run(recording)
        labels["seconds"] = time.perf_counter() - began
        if message:
            return replace(wls, success=False, message=message, **labels)
        white = kalman_filter.covariance
        cov = white * max(1.0, kalman_filter.square_sum / max(kalman_filter.measured, 1))
        dof = np.full(len(wls.beta), float(max(kalman_filter.measured - len(wls.beta), 1)))
        estimate = replace_parameters(problem, wls, kalman_filter.beta, cov, white, dof)
        return replace(estimate, rows=kalman_filter.measured, block=None, **labels)


class _Filter:
    """The state of a filter over recordings, one after the other."""

    def __init__(self, problem: LinearProblem, wls: Estimate, spread: float) -> None:
        assert wls.cov is not None
        self._problem = problem
        self._start = wls.beta
        self._unit = spread * wls.std
        self._x = np.zeros(2 * problem.dof + len(wls.beta))
        self._P = np.zeros((self._x.size, self._x.size))
        self._P[2 * problem.dof :, 2 * problem.dof :] = wls.cov / np.outer(wls.std, wls.std)
        self.square_sum = 0.0
        """Sum of squared innovations over their standard deviations."""
        self.measured = 0
        """Number of innovations."""

    @property
    def beta(self) -> Float1D:
        """Base parameters, shape (b,)."""
        return np.asarray(self._start + self._unit * self._x[2 * self._problem.dof :])

    @property
    def covariance(self) -> Float2D:
        """Covariance of the base parameters, shape (b, b)."""
        n = self._problem.dof
        return np.asarray(self._P[2 * n :, 2 * n :] * np.outer(self._unit, self._unit))

    def run(self, recording: RecordedLog) -> str:
        """Filter a recording; return an error message, empty on success."""
        robot = make_simulated_robot(self._problem, self.beta)
        gains = constant_gains(FIRST_BANDWIDTH, recording)
        motion = predict(robot, recording, gains)
        if motion is None:
            return "the model of weighted least squares does not follow the motion"
        columns = self._problem.basis.columns
        noise = estimate_torque_noise(robot, recording, motion, gains, columns)
        rigid = rigid_slopes(robot, motion.q, motion.dq, motion.ddq, recording.dt)
        n, x, P = robot.dof, self._x, self._P
        x[: 2 * n] = start_state(recording)
        P[: 2 * n] = P[:, : 2 * n] = 0.0
        P[: 2 * n, : 2 * n] = start_covariance(recording)
        step, e = _Step(robot, self._problem, self.beta, recording.dt), np.zeros(n)
        position = recording.position_noise**2
        for k in range(recording.samples):
            z, valid = recording.q[k], recording.valid[k]
            filter_kernels.update(x, P, z, recording.lead, position, valid, e)
            self.square_sum += float(e @ e)
            ok = step.has_advanced(
                x[: 2 * n], self.beta, recording.tau[k], rigid[0][k], rigid[1][k]
            )
            if not ok or not np.abs(x[:n] - z).max() < MAX_INNOVATION:
                lost_time = k * recording.dt
                return (
                    f"the filter loses the motion after {lost_time:.3g} s; its start is inaccurate"
                )
            filter_kernels.propagate(P, step.A, step.B * self._unit, step.G * noise, recording.dt)
        self.measured += int(recording.valid.sum())
        return ""


class _Step:
    """Steps of a model whose parameters change."""

    def __init__(self, robot: Robot, problem: LinearProblem, beta: Float1D, dt: float) -> None:
        n, b = robot.dof, problem.basis.rank
        self._robot, self._columns, self._dt = robot, problem.basis.columns, dt
        self._phi, self._beta = robot.parameters().copy(), beta.copy()
        self._initial_leading = self._phi[self._columns].copy()
        self._rows = coefficients_of(robot)
        self._joint_columns = np.array(
            [np.arange(14 * n)[joint_slice(j, n)] for j in range(n)], dtype=np.intp
        )
        self._slopes = (np.zeros((1, n, 2 * n)), np.zeros((1, n, b)), np.zeros((1, n, n)))
        self.A, self.B, self.G = (part[0] for part in self._slopes)
        self._Y = np.zeros((1, n, b))

    def has_advanced(
        self, x: Float1D, beta: Float1D, tau: Float1D, T_q: Float2D, T_v: Float2D
    ) -> bool:
        """Advance the state x (2 n,) in place and linearize the step; False if that failed."""
        # The leading parameters of the base change, see `BaseParameters`.
        self._phi[self._columns] = self._initial_leading + beta - self._beta
        Fv, Fc, Fo, _ = self._phi[self._joint_columns].T
        self._rows[:, 0:2] = Fv[:, None]
        self._rows[:, 2:6] = Fc[:, None]
        self._rows[:, COLUMNS.index("Fo")] = Fo
        robot, h, n = self._robot, self._dt, len(tau)
        middle, dq = x[:n] + 0.5 * h * x[n:], x[n:].copy()
        model = (robot.geometry, robot.gravity, self._phi)
        _, ddq, v, _, ok = kernels.plant_step(*model, self._rows, middle, dq, tau, h)
        if not ok:
            return False
        state = (middle[None], v[None], ddq[None])
        kernels.regressor(*model[:2], robot.eps, *state, self._columns, self._Y)
        M = kernels.mass_matrix(robot.geometry, self._phi, state[0])
        M[0] += np.diag(self._phi[self._joint_columns[:, 3]])
        T_v = T_v + np.diag(friction_slopes(self._rows, v))
        share = share_of_step(dq, v, ddq, h)[None]
        filter_kernels.fill_slopes(M, T_q[None], T_v[None], share, self._Y, h, *self._slopes)
        x[:n] += h * dq + 0.5 * h * h * ddq
        x[n:] += h * ddq
        return True
