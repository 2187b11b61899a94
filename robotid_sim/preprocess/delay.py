"""Torque delay, estimated from a log alone and corrected."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import LogError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import (
    Motion,
    RowFilter,
    add_gate,
    interpolate_samples,
    remove_gate,
)
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.misfit import RowFit, standard_torque_of

MAX_DELAY = 0.02
"""Largest absolute delay of the search [s]; the edges that the rows exclude are longer."""

MIN_DELAY_RATIO = 5.0
"""Minimum significant delay, over its standard deviation."""

MIN_VARIANCE = 1e-300

MIN_DELAY = 0.05
"""Minimum delay that is corrected [samples]."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Delay of the torque after the time stated in the log."""

    value: float
    """Delay [s]."""
    std: float
    """Standard deviation [s]; large where the joints disagree."""
    dt: float
    """Sample time of the log [s]."""

    @property
    def is_significant(self) -> bool:
        """Whether it is significant and large enough for a correction."""
        return abs(self.value) > max(MIN_DELAY_RATIO * self.std, MIN_DELAY * self.dt)

    @property
    def correction(self) -> float:
        """Correction of the torque [s]."""
        return self.value if self.is_significant else 0.0

    @property
    def verdict(self) -> str:
        """Action taken, as text."""
        return "corrected" if self.is_significant else "is not significant"

    @property
    def message(self) -> str:
        """Estimate and its standard deviation, as text."""
        return f"{self.value / self.dt:.3f} ± {self.std / self.dt:.3f} samples"


@dataclass(frozen=True, slots=True, eq=False)
class _LowPassedTorque:
    """Torque after the low-pass of the rows, at every sample; a shift can follow the low-pass."""

    tau: Float2D
    at: Float1D
    """Indices of the samples that become rows."""
    dt: float

    @classmethod
    def from_log(cls, log: Log, row_filter: RowFilter) -> Self:
        full = replace(row_filter, step=1, edge=0)
        tau = full.apply(log.tau_meas[full.sample_slice])
        return cls(tau, np.arange(len(tau), dtype=float)[row_filter.rows], log.dt)

    def rows(self, delay: float) -> Float2D:
        """Compute the rows of the torque that is recorded `delay` [s] later in the log."""
        return interpolate_samples(self.tau, self.at + delay / self.dt)


def estimate_delay(log: Log, motion: Motion, robot: Robot) -> Delay:
    r"""Estimate the delay between position and torque by maximum likelihood.

    .. math:: \hat d = \arg\min_d \min_\beta \sum_j \sigma_j^{-2}
        \lVert F \tau_j(t + d) - F W_j(t) \beta \rVert^2

    with the shared low-pass F of the rows; the minimum over beta is a projection, so that only the
    torque has to be shifted in the search [1]_. Correlation with the torque of the nominal model
    does not suffice: an error of its viscous friction resembles a delay of gravity by several
    samples. The weights follow from the residuals, first without delay, then twice with it.

    The log has no outliers; the motion is at the torque times of the log and has a row filter.
    Only kinematics and transition velocities of the robot are used.

    References
    ----------
    .. [1] Golub, Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least
       squares problems whose variables separate", SIAM J. Numerical Analysis 10(2), 413-432,
       doi:10.1137/0710036 (variable projection).
    """
    assert motion.row_filter is not None
    # A gate does not shift with the torque; a gate of a whole joint need not shift.
    row_filter = add_gate(
        remove_gate(motion.row_filter), np.broadcast_to(log.torque_measured, log.q.shape)
    )
    row_fit = RowFit.from_motion(replace(motion, row_filter=row_filter), robot)
    low = _LowPassedTorque.from_log(log, row_filter)
    delay = 0.0
    for _ in range(3):
        sigma = row_fit.noise(low.rows(delay))
        cost = partial(_cost, row_fit, low, sigma, row_fit.basis(sigma))
        result = minimize_scalar(
            cost, bounds=(-MAX_DELAY, MAX_DELAY), method="bounded", options={"xatol": 1e-4 * log.dt}
        )
        delay = float(result.x)
    basis, step = row_fit.basis(sigma), 0.5 * low.dt
    late, center, early = (
        row_fit.residual(low.rows(delay + shift), sigma, basis) for shift in (step, 0.0, -step)
    )
    return Delay(delay, _standard_deviation((late - early) / (2.0 * step), center), log.dt)


def estimate_remaining_delay(motion: Motion, robot: Robot) -> Delay:
    r"""Estimate the remaining torque delay of a motion, which is small against its periods.

    To first order a delay d adds the column :math:`-F \dot\tau` to the rows, with the torque
    :math:`\tau` of the parameters that fit the rows best. If the rows are whitened by the noise of
    the motion, as in `ErrorsInVariables`, the estimate is unbiased; the noise of a smoothed motion
    biases it by a tenth of a sample.

    Only kinematics and transition velocities of the robot are used.
    """
    fit = RowFit.from_motion(motion, robot)
    standard = standard_torque_of(motion, robot)
    y = fit.rows(standard)
    sigma = fit.noise(y)
    basis = fit.basis(sigma)
    slope = fit.rows(-np.gradient(fit.torque(motion, robot, standard), motion.dt, axis=0))
    slope, residual = (fit.residual(rows, sigma, basis) for rows in (slope, y))
    delay = float((slope * residual).sum()) / max(float((slope**2).sum()), MIN_VARIANCE)
    return Delay(delay, _standard_deviation(slope, residual - delay * slope), motion.dt)


def _standard_deviation(slope: Float2D, residual: Float2D) -> float:
    r"""Compute the larger of the white and the clustered standard deviation of a delay [s].

    With weighted residuals r and their slope D over the delay, both of shape (N, n), the white one
    is :math:`(\sum D^2)^{-1/2}`. If the joints disagree, another effect resembles a delay, such as
    a smoothed stop of a sticking joint: the sandwich with a cluster per joint [1]_, :math:`\sqrt{n
    / (n - 1) \sum_j (D_j^T r_j)^2} / \sum D^2`, is then large.

    References
    ----------
    .. [1] Liang, Zeger (1986), "Longitudinal data analysis using generalized linear models",
       Biometrika 73(1), 13-22, doi:10.1093/biomet/73.1.13.
    """
    information = max(float((slope**2).sum()), MIN_VARIANCE)
    scores = (slope * residual).sum(axis=0)
    joints = len(scores) / max(len(scores) - 1, 1)
    clustered = np.sqrt(joints * (scores**2).sum()) / information
    return float(max(information**-0.5, clustered))


def _cost(
    row_fit: RowFit, low: _LowPassedTorque, sigma: Float1D, basis: Float2D, delay: float
) -> float:
    """Return half the weighted squared residual, the negative log-likelihood."""
    residual = row_fit.residual(low.rows(delay), sigma, basis)
    return 0.5 * float((residual**2).sum())


def remove_delay(log: Log, delay: float) -> Log:
    """Shift the torque of a log to earlier times by a delay.

    The torque is shifted by whole samples; `torque_time_offset` represents the remaining fraction.
    Samples without torque at the end repeat the last torque; rows exclude the ends.

    `delay` is the time from the action of a torque to its record [s]. Raises `LogError` if it is
    longer than the log.
    """
    if delay == 0.0:
        return log
    shift = round(delay / log.dt)
    if abs(shift) >= log.t.size:
        raise LogError(f"a torque delay of {delay:g} s is longer than the log")
    source = np.clip(np.arange(log.t.size) + shift, 0, log.t.size - 1)
    remaining = delay - shift * log.dt
    times = log.torque_times
    return replace(
        log,
        tau_meas=log.tau_meas[source],
        torque_times=None if times is None else times[source] - shift * log.dt,
        torque_time_offset=log.torque_time_offset - remaining,
        truth=None,  # the truth no longer belongs to these torques
    )
