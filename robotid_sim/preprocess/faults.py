"""Detection and repair of faulty samples: lost samples and outliers."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import maximum_filter1d, median_filter

from robotid_sim.arrays import Bool1D, Bool2D, Float1D, Float2D
from robotid_sim.measurement.log import Log

OUTLIER_THRESHOLD = 8.0
"""Minimum deviation of an outlier, in robust standard deviations; Gaussian noise stays below."""

MEDIAN_WINDOW = 0.045
"""Length of the window of the local median [s]; torques change more slowly."""

MEDIAN_SAMPLES = (3, 11)
"""Minimum and maximum number of samples of the local median."""

MAX_GAP_SAMPLES = 20
"""Maximum number of consecutive lost samples; a longer repetition is a robot at rest."""

MAX_PASSES = 5
"""Maximum number of searches for position outliers; an outlier hides neighboring outliers."""

TORQUE_FLOOR = 0.01
"""Minimum spread of the torque about its local median, over its RMS."""

POSITION_FLOOR = 1e-4
"""Minimum spread of the position about its neighbors, over the RMS deviation from its mean."""

ROUNDING_RATIO = 1.5
"""Maximum deviation of a rounded position from its neighbors, over the resolution, with margin."""

MAD_TO_STD = 1.4826
"""Standard deviation of a Gaussian over its median absolute deviation."""


@dataclass(frozen=True, slots=True, eq=False)
class Faults:
    """Faulty samples of a log."""

    lost: Bool1D
    """Samples that repeat the previous one in all channels, shape (N,)."""
    torque: Bool2D
    """Outliers of the torque, shape (N, n)."""
    position: Bool2D
    """Outliers of the position, shape (N, n)."""

    @property
    def any(self) -> bool:
        """Whether there are faulty samples."""
        return bool(self.lost.any() or self.torque.any() or self.position.any())

    @property
    def sound(self) -> Bool2D:
        """Mask of samples that were not lost and whose torque is no outlier, shape (N, n)."""
        return np.asarray(~(self.torque | self.lost[:, None]))

    @property
    def message(self) -> str:
        """Counts of the faults, as text."""
        return (
            f"{int(self.lost.sum())} lost samples, {int(self.torque.sum())} torque and "
            f"{int(self.position.sum())} position outliers"
        )


def find_faults(log: Log, threshold: float = OUTLIER_THRESHOLD) -> Faults:
    """Find the faulty samples of a log; the threshold is in robust standard deviations."""
    lost = find_lost_samples(log)
    position = position_outliers(
        _interpolate_faults(log, np.repeat(lost[:, None], log.dof, 1)).q, threshold
    )
    return Faults(lost, torque_outliers(log, threshold), position)


def repair_log(log: Log, faults: Faults) -> Log:
    """Interpolate the faulty positions of a log and replace its faulty torques by medians.

    Interpolating smooth positions is harmless. Replaced torques must be excluded from a fit with
    ``faults.sound``.
    """
    if not faults.any:
        return log
    bridged = _interpolate_faults(log, faults.position | faults.lost[:, None])
    middle = _local_median(log)
    return replace(bridged, tau_meas=np.where(faults.sound, log.tau_meas, middle))


def find_lost_samples(log: Log) -> Bool1D:
    """Mark samples that repeat the previous one in position and torque of all joints, (N,)."""
    channels = np.concatenate([log.q, log.tau_meas], axis=1)
    same = np.concatenate([[False], (np.diff(channels, axis=0) == 0.0).all(axis=1)])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(int), [0]])))
    for begin, end in edges.reshape(-1, 2):
        if end - begin > MAX_GAP_SAMPLES:
            same[begin:end] = False
    return same


def torque_outliers(log: Log, threshold: float = OUTLIER_THRESHOLD) -> Bool2D:
    r"""Mark torques that deviate from the median of their neighbors, shape (N, n).

    The spread about the local median is robust, 1.4826 times the median absolute deviation [1]_ of
    all samples that have a deviation: a short median equals one of its samples. The median follows
    friction reversals, in contrast to a smooth prediction.

    References
    ----------
    .. [1] Pearson (2002), "Outliers in process modeling and identification", IEEE Trans. Control
       Systems Technology 10(1), 55-63, doi:10.1109/87.974338, the Hampel filter.
    """
    off = np.abs(log.tau_meas - _local_median(log))
    floor = TORQUE_FLOOR * np.sqrt((log.tau_meas**2).mean(axis=0))
    usual = np.array([np.median(x[x > 0.0]) if x.any() else 0.0 for x in off.T])
    return np.asarray(off > threshold * np.maximum(MAD_TO_STD * usual, floor))


def _local_median(log: Log) -> Float2D:
    """Compute the median of every torque and its neighbors, shape (N, n)."""
    samples = int(np.clip(2 * round(0.5 * MEDIAN_WINDOW / log.dt - 0.5) + 1, *MEDIAN_SAMPLES))
    return np.asarray(median_filter(log.tau_meas, size=(samples, 1), mode="nearest"))


def position_outliers(q: Float2D, threshold: float = OUTLIER_THRESHOLD) -> Bool2D:
    r"""Mark positions that deviate from the cubic through their four neighbors, (N, n).

    The distance is a fourth difference, :math:`(x_{-2} - 4 x_{-1} + 6 x_0 - 4 x_1 + x_2) / 6`; it
    is nearly zero for the motion of a robot. Of neighboring outliers the largest counts; it is
    repaired before the next search. The effect of rounding, up to 4/3 of a step, is excluded: the
    position of a slow joint hardly changes, so that the median distance is zero.
    """
    outliers, x = np.zeros(q.shape, dtype=bool), np.array(q)
    floor = POSITION_FLOOR * q.std(axis=0)
    rounding = ROUNDING_RATIO * resolution(q)
    for _ in range(MAX_PASSES):
        off = np.zeros(q.shape)
        off[2:-2] = (x[:-4] - 4.0 * x[1:-3] + 6.0 * x[2:-2] - 4.0 * x[3:-1] + x[4:]) / 6.0
        size = np.abs(off)
        limit = threshold * np.maximum(MAD_TO_STD * np.median(size, axis=0), floor)
        limit = np.maximum(limit, rounding)
        peaks = maximum_filter1d(size, 5, axis=0, mode="constant")
        new = (size > limit) & (size == peaks)
        if not new.any():
            break
        outliers |= new
        x = np.where(new, x - off, x)
    return outliers


def resolution(q: Float2D) -> Float1D:
    """Compute the smallest change between samples, shape (n,); nearly zero without rounding."""
    steps = np.abs(np.diff(q, axis=0))
    nonzero = steps > np.finfo(float).eps * np.abs(q).max(axis=0) * 8.0
    return np.where(nonzero.any(axis=0), np.where(nonzero, steps, np.inf).min(axis=0), 0.0)


def _interpolate_faults(log: Log, bad: Bool2D) -> Log:
    """Interpolate the positions of a log that are marked in `bad`, shape (N, n)."""
    if not bad.any():
        return log
    q = np.array(log.q)
    for j in np.flatnonzero(bad.any(axis=0)):
        good = ~bad[:, j]
        q[bad[:, j], j] = CubicSpline(log.t[good], q[good, j])(log.t[bad[:, j]])
    return replace(log, q=q)
