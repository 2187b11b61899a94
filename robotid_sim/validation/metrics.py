"""Metrics of a closed-loop run."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, PlainSerializer

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.docstrings import document_attributes

SETTLING_SHARE = 0.02
"""Maximum error of a settled response, over the size of the step."""

CHATTERING_FREQUENCY = 50.0
"""Frequency above which torque changes count as chattering [Hz]."""

Share = Annotated[
    float, AfterValidator(lambda percent: percent / 100.0), PlainSerializer(lambda x: 100.0 * x)
]
"""Share from 0 to 1, written to JSON in percent."""


@document_attributes
@dataclass(frozen=True, slots=True)
class StepMetrics:
    """Metrics of a step response; None if it does not reach the setpoint.

    Aliases are the names in JSON.
    """

    rise_time: Annotated[float | None, Field(alias="rise_time_s")]
    """Time from 10 % to 90 % of the step [s]."""
    settling_time: Annotated[float | None, Field(alias="settling_time_s")]
    """Time until the error stays within 2 % of the step [s]."""
    overshoot: Annotated[Share, Field(alias="overshoot_percent")]
    """Largest excess over the setpoint, share of the step."""
    steady_state_error: Annotated[Share, Field(alias="steady_state_error_percent")]
    """Mean distance to the setpoint over the last tenth of the record, share of the step."""


def step_metrics(t: Float1D, error: Float1D) -> StepMetrics:
    """Compute the metrics of one step response at times from the step [s], both of shape (N,).

    The error is the setpoint minus the response; ``error[0]`` is the size of the step, not zero.
    """
    progress = 1.0 - error / error[0]
    rise = None
    if (progress >= 0.9).any():
        rise = _find_time(t, progress, 0.9) - _find_time(t, progress, 0.1)
    outside = np.flatnonzero(np.abs(1.0 - progress) > SETTLING_SHARE)
    settling: float | None = 0.0
    if outside.size:
        last = int(outside[-1])
        settling = None
        if last < t.size - 1:  # between the last sample outside and the next sample sample
            edge = 1.0 + np.copysign(SETTLING_SHARE, progress[last] - 1.0)
            share = (edge - progress[last]) / (progress[last + 1] - progress[last])
            settling = float(t[last] + share * (t[last + 1] - t[last]))
    tail = progress[-max(1, t.size // 10) :]
    return StepMetrics(
        rise_time=rise,
        settling_time=settling,
        overshoot=float(max(0.0, progress.max() - 1.0)),
        steady_state_error=float(np.abs(1.0 - tail).mean()),
    )


def _find_time(t: Float1D, progress: Float1D, level: float) -> float:
    """Find when `progress` first reaches `level`, interpolated."""
    k = int(np.argmax(progress >= level))
    if k == 0:
        return float(t[0])
    share = (level - progress[k - 1]) / (progress[k] - progress[k - 1])
    return float(t[k - 1] + share * (t[k] - t[k - 1]))


def compute_chattering_index(tau: Float2D, dt: float, needed: Float2D | None = None) -> Float1D:
    """Compute the share of torque-rate energy above 50 Hz of every joint, shape (n,).

    The energy above 50 Hz of the torque `needed` for perfect tracking, shape (N, n), is not
    chattering: friction changes sign within milliseconds at a reversal, for any controller. Only
    the excess of the applied torque counts.
    """
    fast = np.fft.rfftfreq(len(tau) - 1, dt) > CHATTERING_FREQUENCY
    energy = _rate_energy(tau)
    chatter, total = energy[fast].sum(axis=0), energy.sum(axis=0)
    if needed is not None:
        chatter = np.maximum(chatter - _rate_energy(needed)[fast].sum(axis=0), 0.0)
    return np.asarray(chatter / np.where(total > 0.0, total, 1.0))


def _rate_energy(tau: Float2D) -> Float2D:
    """Compute the energy of the torque rate by frequency."""
    rate = np.diff(tau, axis=0)
    window = np.hanning(len(rate))[:, None]  # the ends of a run must not count as jumps
    return np.asarray(np.abs(np.fft.rfft(rate * window, axis=0)) ** 2)


def torque_variation(tau: Float2D, dt: float) -> Float1D:
    """Compute the RMS torque rate of every joint [N m/s], shape (n,)."""
    return np.asarray(np.sqrt((np.diff(tau, axis=0) ** 2).mean(axis=0)) / dt)


def step_work(tau: Float2D, q: Float2D) -> Float2D:
    """Compute the work of every drive from sample to sample [J], shape (N - 1, n).

    The torque is held over a sample, so that torque times the change of position is exact.
    """
    return np.asarray(tau[:-1] * np.diff(q, axis=0))


def absolute_energy(tau: Float2D, q: Float2D) -> Float1D:
    """Compute the work done and absorbed by every drive, integral of |tau dq| [J], shape (n,).

    The energy of Fazilat, Zioui (2025), Mathematics 13(16), 2631, doi:10.3390/math13162631, whose
    figures increase monotonically only with the absolute value.
    """
    return np.asarray(np.abs(step_work(tau, q)).sum(axis=0))


def compute_signed_energy(tau: Float2D, q: Float2D) -> Float1D:
    """Compute the net work of every drive, integral of tau dq [J], shape (n,)."""
    return np.asarray(step_work(tau, q).sum(axis=0))


def integral_absolute_error(error: Float, dt: float) -> Float:
    """Compute IAE, the integral of abs(error) over time, of every column."""
    return np.asarray(np.abs(error).sum(axis=0) * dt)


def integral_time_absolute_error(error: Float, dt: float) -> Float:
    """Compute ITAE, the integral of t abs(error) with t from the start of the run."""
    t = np.arange(len(error)) * dt
    return np.asarray((np.abs(error).T @ t) * dt)
