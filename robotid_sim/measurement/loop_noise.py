"""Whether the controller of a log saw the noise that the log has: torques follow it then.

Where it did, the true motion follows the noise of the encoders, and torque noise is correlated with
it: estimators that take the two for independent lose accuracy.
"""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.measurement.log import Log

DIFFERENCES = 4
"""Differences that leave of smooth motion and torque nothing beside their noise."""

LATEST = 3
"""Samples by which a torque is looked for after the position that it answers."""

SIGNIFICANT = 5.0
"""Standard deviations of a correlation by chance from which it is none."""

LEAST = 0.05
"""Correlation below which it does no harm."""

WHITE = 0.1
"""Deviation of the first autocorrelation from that of white noise up to which noise is white."""

FEWEST = 1000
"""Samples below which nothing is said."""

_WEIGHTS = np.poly([1.0] * DIFFERENCES)
_CORRELATION = np.correlate(_WEIGHTS, _WEIGHTS, "full") / (_WEIGHTS @ _WEIGHTS)
"""Autocorrelation of white noise that was differenced."""


class LoopNoise(NamedTuple):
    """Torques that follow the noise of the encoders."""

    joint: str
    """Where they do so most."""
    correlation: float
    """Largest of its differenced position and torque."""
    share: float
    """Noise of the torques over their RMS, median joint."""

    def sentence(self) -> str:
        """Return it in words."""
        return (
            f"The controller saw the encoders' noise: the torque of {self.joint} follows it "
            f"(correlation {self.correlation:.2f}; noise is {self.share:.2g} of the torques)."
        )


def loop_noise(log: Log) -> LoopNoise | None:
    r"""Return where torques follow the white noise of their encoders; None if they do not.

    Positions and torques are differenced four times, which leaves noise, and correlated from the
    same sample on; of independent white noise the correlation scatters by
    :math:`(\sum_k \rho_k^2 / N)^{1/2}`, :math:`\rho` being that of the differences. A position
    without white noise, such as a clean or a quantized one, says nothing.
    """
    if log.t.size < FEWEST or log.torque_times is not None:
        return None
    q, tau = _differenced(log.q), _differenced(log.tau_meas)
    limit = max(LEAST, SIGNIFICANT * float(np.sqrt((_CORRELATION**2).sum() / len(q))))
    found = np.max([_correlation(q, tau, lag) for lag in range(LATEST + 1)], axis=0)
    found[~_white(q)] = 0.0
    j = int(found.argmax())
    if found[j] <= limit:
        return None
    noise = np.sqrt((tau**2).mean(axis=0) / (_WEIGHTS @ _WEIGHTS))
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    share = float(np.median(noise / np.maximum(size, np.finfo(float).tiny)))
    return LoopNoise(log.joint_names[j], float(found[j]), share)


def _differenced(x: Float2D) -> Float2D:
    differences = np.diff(np.where(np.isfinite(x), x, 0.0), DIFFERENCES, axis=0)
    return np.asarray(differences - differences.mean(axis=0))


def _correlation(q: Float2D, tau: Float2D, lag: int) -> Float1D:
    """Return the size of the correlation of every joint with the torque `lag` samples later."""
    product = (q[: len(q) - lag] * tau[lag:]).sum(axis=0)
    size = np.sqrt((q**2).sum(axis=0) * (tau**2).sum(axis=0))
    return np.asarray(np.abs(product) / np.maximum(size, np.finfo(float).tiny))


def _white(differences: Float2D) -> Bool1D:
    """Return whether what was differenced was white, by its first autocorrelation, shape (n,)."""
    size = np.maximum((differences**2).sum(axis=0), np.finfo(float).tiny)
    first = (differences[1:] * differences[:-1]).sum(axis=0) / size
    return np.asarray(np.abs(first - _CORRELATION[DIFFERENCES + 1]) < WHITE)
