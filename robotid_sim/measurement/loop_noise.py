"""Detection of measurement noise that is fed back by the controller.

With feedback the true motion follows the noise of the encoders, and the torques correlate with this
noise: estimators that assume independent noise lose accuracy.
"""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.measurement.log import Log

DIFFERENCE_ORDER = 4
"""Order of the differences that remove smooth motion and torque, so that noise remains."""

MAX_LAG = 3
"""Maximum number of samples from a position to the torque that responds to it."""

MIN_CORRELATION_RATIO = 5.0
"""Minimum significant correlation, over its standard deviation for independent noise."""

MIN_CORRELATION = 0.05
"""Minimum correlation that reduces the accuracy of estimates."""

WHITENESS_TOLERANCE = 0.1
"""Maximum deviation of the first autocorrelation from that of white noise."""

MIN_NOISE_SAMPLES = 1000
"""Minimum number of samples for the test."""

_DIFFERENCE_WEIGHTS = np.poly([1.0] * DIFFERENCE_ORDER)
_DIFFERENCE_CORRELATION = np.correlate(_DIFFERENCE_WEIGHTS, _DIFFERENCE_WEIGHTS, "full") / (
    _DIFFERENCE_WEIGHTS @ _DIFFERENCE_WEIGHTS
)
"""Autocorrelation of differenced white noise."""


class LoopNoise(NamedTuple):
    """Correlation of the torques with the noise of the encoders."""

    joint: str
    """Joint with the largest correlation."""
    correlation: float
    """Largest correlation of the differenced position and torque of this joint."""
    share: float
    """Noise of the torque over its RMS, median over the joints."""

    def sentence(self) -> str:
        """Describe the result."""
        return (
            f"Encoder noise is fed back by the controller: the torque of {self.joint} correlates "
            f"with it (correlation {self.correlation:.2f}; torque noise is {self.share:.2g} of the "
            f"RMS torque)."
        )


def loop_noise(log: Log) -> LoopNoise | None:
    r"""Find torques that follow the white noise of their encoders; None if there are none.

    Positions and torques are differenced four times to isolate noise, and correlated at lags from
    zero; the correlation of independent white noise scatters by
    :math:`(\sum_k \rho_k^2 / N)^{1/2}`, with the autocorrelation :math:`\rho` of the differences. A
    position without white noise, such as a clean or a quantized one, is ignored.
    """
    if log.t.size < MIN_NOISE_SAMPLES or log.torque_times is not None:
        return None
    q, tau = _difference(log.q), _difference(log.tau_meas)
    limit = max(
        MIN_CORRELATION,
        MIN_CORRELATION_RATIO * float(np.sqrt((_DIFFERENCE_CORRELATION**2).sum() / len(q))),
    )
    correlation = np.max([_correlation(q, tau, lag) for lag in range(MAX_LAG + 1)], axis=0)
    power = np.maximum((q**2).sum(axis=0), np.finfo(float).tiny)
    first = (q[1:] * q[:-1]).sum(axis=0) / power  # autocorrelation of the differences
    correlation[
        ~(np.abs(first - _DIFFERENCE_CORRELATION[DIFFERENCE_ORDER + 1]) < WHITENESS_TOLERANCE)
    ] = 0.0
    j = int(correlation.argmax())
    if correlation[j] <= limit:
        return None
    noise = np.sqrt((tau**2).mean(axis=0) / (_DIFFERENCE_WEIGHTS @ _DIFFERENCE_WEIGHTS))
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    share = float(np.median(noise / np.maximum(size, np.finfo(float).tiny)))
    return LoopNoise(log.joint_names[j], float(correlation[j]), share)


def _difference(x: Float2D) -> Float2D:
    differences = np.diff(np.where(np.isfinite(x), x, 0.0), DIFFERENCE_ORDER, axis=0)
    return np.asarray(differences - differences.mean(axis=0))


def _correlation(q: Float2D, tau: Float2D, lag: int) -> Float1D:
    """Compute the absolute correlation of positions and torques `lag` samples later, shape (n,)."""
    product = (q[: len(q) - lag] * tau[lag:]).sum(axis=0)
    size = np.sqrt((q**2).sum(axis=0) * (tau**2).sum(axis=0))
    return np.asarray(np.abs(product) / np.maximum(size, np.finfo(float).tiny))
