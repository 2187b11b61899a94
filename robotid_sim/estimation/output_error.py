"""Output error: predicted positions against measured ones."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from robotid_sim.arrays import PART, Float, Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.block_sandwich import check_block, row_blocks_of
from robotid_sim.estimation.correlation import block_of
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.least_squares import PROBLEM, WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.sample_fit import NOT_RECORDED, with_parameters_of_its_own
from robotid_sim.estimation.simulation import (
    FIRST_BANDWIDTH,
    AccelerationSlopes,
    PredictedMotion,
    can_simulate,
    constant_gains,
    predict,
    simulated_robot,
    slopes_along,
    start_covariance,
)
from robotid_sim.estimation.torque_noise import likely_torque_noise
from robotid_sim.model.robot import Robot

ROUNDS = 20
"""Most Gauss-Newton steps; three to five are usual."""

HALVINGS = 8
"""How often a step that does not pay is halved."""

SETTLED = 1e-2
"""Largest step, in standard deviations of the parameters, at which the search ends."""

ROW_TIME = 5e-3
"""Time over which innovations are averaged to a row [s]; sensitivities change more slowly."""

LEAST_STEP = 1e-7
"""Torque of a step over the whole one below which it is rounding."""

SETTLING = 5.0
"""Time constants of constant gains after which the start is forgotten."""


class _Observer(NamedTuple):
    """How the prediction of a recording is corrected, and what its innovations weigh."""

    recording: RecordedLog
    gains: Float
    """Shape (N, 2 n, n)."""
    std: Float2D
    """Standard deviation of every innovation, in any unit that is the same for a joint, (N, n)."""


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
        require_type(problem, LinearProblem, "problem", PROBLEM)
        began = time.perf_counter()
        wls = WeightedLeastSquares(block=self.block).fit(problem, rng)
        named: dict[str, Any] = {"estimator": "output-error", "options": asdict(self)}
        if not wls.success or not can_simulate(problem):
            return replace(wls, message=wls.message or NOT_RECORDED, **named)
        search = _GaussNewton(problem, self.bandwidth, WeightedLeastSquares(block=self.block))
        beta, fit, message = search.run(wls.beta)
        named |= {"nfev": search.evaluations, "seconds": time.perf_counter() - began}
        if message or fit is None or fit.cov is None or fit.cov_white is None:
            return replace(wls, success=False, message=message, **named)
        # What the model lacks comes again with every period: in no two of them is it independent.
        rows = replace(search.latest, period=problem.period, repeats=problem.period is not None)
        fit = WeightedLeastSquares(block=fit.block).fit(rows)
        assert fit.cov is not None
        assert fit.cov_white is not None
        blocks = row_blocks_of(rows, block_of(fit)) - len(beta) / problem.dof
        dof = np.full(len(beta), max(blocks, 1.0))
        found = with_parameters_of_its_own(problem, wls, beta, fit.cov, fit.cov_white, dof)
        return replace(found, cond=fit.cond, block=fit.block, rows=fit.rows, **named)


class _GaussNewton:
    """Gauss-Newton steps of one fit."""

    def __init__(
        self, problem: LinearProblem, bandwidth: float | None, wls: WeightedLeastSquares
    ) -> None:
        self.problem = problem
        self.bandwidth = bandwidth
        self.wls = wls
        self.evaluations = 0
        self.latest = problem

    def run(self, beta: Float1D) -> tuple[Float1D, Estimate | None, str]:
        """Return parameters, the last linear fit, and why there is none, from a start (b,)."""
        observers = self._observers(beta)
        rows = None if observers is None else self._rows(observers, beta)
        if observers is None or rows is None:
            return beta, None, "the model of weighted least squares does not follow the motion"
        for _ in range(ROUNDS):
            self.latest = rows
            fit = self.wls.fit(rows)
            if not fit.success:
                return beta, None, fit.message
            step = fit.beta - beta
            if (np.abs(step) < SETTLED * fit.std).all() or self._tiny(step):
                return fit.beta, fit, ""
            better = self._descended(observers, rows, beta, step, fit.noise_std)
            if better is None:
                return beta, None, "no step of the output error makes the innovations smaller"
            beta, rows = better
        return beta, None, f"the output error has not settled after {ROUNDS} steps"

    def _tiny(self, step: Float1D) -> bool:
        """Return whether a step changes no torque, as at the end where there is no noise."""
        size = np.linalg.norm(self.problem.y)
        return bool(np.linalg.norm(self.problem.W @ step) < LEAST_STEP * size)

    def _descended(
        self,
        observers: list[_Observer],
        rows: LinearProblem,
        beta: Float1D,
        step: Float1D,
        noise: Float1D,
    ) -> tuple[Float1D, LinearProblem] | None:
        """Return the parameters after a step, halved until it pays, and their rows."""
        before = _cost(rows, beta, noise)
        for k in range(HALVINGS):
            new = beta + 0.5**k * step
            further = self._rows(observers, new)
            if further is not None and _cost(further, new, noise) < before:
                return new, further
        return None

    def _observers(self, beta: Float1D) -> list[_Observer] | None:
        """Return how every recording is corrected; None if a model (b,) loses its motion."""
        robot = simulated_robot(self.problem, beta)
        constant = self.bandwidth or FIRST_BANDWIDTH
        observers = []
        for recording in self.problem.recordings:
            gains = constant_gains(constant, recording)
            if self.bandwidth is not None:
                std = np.ones(recording.q.shape)
                std[: round(SETTLING / constant / recording.dt)] = np.inf
                observers.append(_Observer(recording, gains, std))
                continue
            motion = predict(robot, recording, gains)
            if motion is None:
                return None
            columns = self.problem.basis.columns
            noise = likely_torque_noise(robot, recording, motion, gains, columns)
            observers.append(self._kalman(robot, recording, motion, noise))
        return observers

    def _kalman(
        self, robot: Robot, recording: RecordedLog, motion: PredictedMotion, noise: Float1D
    ) -> _Observer:
        """Return the observer with the gains of a Kalman filter for the torque noise, (n,)."""
        samples, n = recording.q.shape
        P, gains = start_covariance(recording), np.empty((samples, 2 * n, n))
        variance = np.empty((samples, n))
        for part, slopes in self._slopes(robot, recording, motion):
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
        return _Observer(recording, gains, np.sqrt(variance))

    def _slopes(
        self, robot: Robot, recording: RecordedLog, motion: PredictedMotion
    ) -> Iterator[tuple[slice, AccelerationSlopes]]:
        for begin in range(0, recording.samples, PART):
            part = slice(begin, begin + PART)
            columns = self.problem.basis.columns
            yield part, slopes_along(robot, motion, part, columns, recording.dt)

    def _rows(self, observers: list[_Observer], beta: Float1D) -> LinearProblem | None:
        """Return the linear problem about parameters; None if their model loses the motion."""
        self.evaluations += 1
        robot, parts = simulated_robot(self.problem, beta), []
        for observer in observers:
            motion = predict(robot, observer.recording, observer.gains)
            if motion is None:
                return None
            parts.append(self._rows_of(robot, observer, motion))
        W = np.concatenate([psi for psi, _ in parts]).reshape(-1, len(beta))
        e = np.concatenate([e for _, e in parts]).ravel()
        step = _averaged(observers[0].recording)
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

    def _rows_of(
        self, robot: Robot, observer: _Observer, motion: PredictedMotion
    ) -> tuple[Float, Float2D]:
        """Return sensitivities (m, n, b) and innovations (m, n) in standard deviations."""
        recording, gains, std = observer
        b, n = self.problem.basis.rank, recording.q.shape[1]
        step, D = _averaged(recording), np.zeros((2 * n, b))
        psi = np.empty((recording.samples, n, b))
        for part, slopes in self._slopes(robot, recording, motion):
            filter_kernels.sensitivities(
                slopes.A,
                slopes.B,
                recording.dt,
                recording.lead,
                np.ascontiguousarray(gains[part]),
                recording.sound[part],
                D,
                psi[part],
            )
        psi /= std[:, :, None]
        return _summed(psi, step), _summed(motion.innovations / std, step)


def _averaged(recording: RecordedLog) -> int:
    """Return how many samples become a row."""
    return max(1, round(ROW_TIME / recording.dt))


def _summed(x: Float, step: int) -> Float:
    """Return sums of `step` samples over its root, so that white noise keeps its variance."""
    used = len(x) // step * step
    return np.asarray(x[:used].reshape(-1, step, *x.shape[1:]).sum(axis=1) / np.sqrt(step))


def _cost(rows: LinearProblem, beta: Float1D, noise: Float1D) -> float:
    """Return the mean square of the innovations about parameters over that of their noise."""
    left = rows.by_joint(rows.y - rows.W @ beta)
    return float(((left / noise) ** 2).mean())
