"""Preprocessors with one linear filter for all joints: Butterworth and Savitzky-Golay."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy
from scipy.ndimage import convolve1d

from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import RowPreprocessor

MAX_ORDER = 20
"""Maximum numerically stable order of a filter or polynomial."""


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class Butterworth(RowPreprocessor):
    """Forward-backward Butterworth filter of positions, then central differences.

    It is common practice and serves for comparison: all joints have the same cut-off, although they
    need different ones.

    References
    ----------
    .. [1] Swevers, Verdonck, De Schutter (2007), "Dynamic model identification for industrial
       robots", IEEE Control Systems Magazine, doi:10.1109/MCS.2007.904659.
    .. [2] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316:
       differences of the positions, then a Butterworth low-pass of unstated order and
       corner; the filters are linear, so the order of applying them does not matter.
    """

    exactness: ClassVar[float] = 0.05  # central differences

    cutoff: float = 20.0
    """Cut-off frequency [Hz]."""
    order: int = 4
    """Order of one pass; both passes together have twice this order."""

    def __post_init__(self) -> None:
        if not self.cutoff > 0.0 or not 1 <= self.order <= MAX_ORDER:
            text = (
                f"a Butterworth filter needs a positive cut-off and an order from 1 to {MAX_ORDER}"
            )
            raise OptionError(f"{text}, got {self.cutoff} Hz and {self.order}")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the filtered motion at the torque times."""
        del robot
        if not 2.0 * self.cutoff * log.dt < 1.0:
            raise OptionError(
                f"a cut-off of {self.cutoff:g} Hz needs a log above {2 * self.cutoff:g} Hz, got "
                f"{1.0 / log.dt:g} Hz"
            )
        sos = scipy.signal.butter(self.order, 2.0 * self.cutoff * log.dt, output="sos")
        q = scipy.signal.sosfiltfilt(sos, log.q, axis=0)
        dq = np.gradient(q, log.dt, axis=0)
        ddq = np.gradient(dq, log.dt, axis=0)
        offset = log.torque_time_offset
        motion = self.motion_of(
            log,
            q + offset * dq + 0.5 * offset**2 * ddq,
            dq + offset * ddq,
            ddq + offset * np.gradient(ddq, log.dt, axis=0),
        )
        return replace(motion, row_filter=self.rows.filter_for(log, dq))


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class SavitzkyGolay(RowPreprocessor):
    r"""Least-squares polynomial in a moving window; velocity and acceleration are its derivatives.

    The polynomial is evaluated at the torque time, not at the sample, so that no delay remains. A
    window of half-width M samples and order p has its corner at about
    :math:`f_c = (p + 1) / (3.2 M - 4.6) \cdot f_s / 2` [2]_: 22 Hz by default. It is the same for
    all joints. The torque passes with the regressor through the low-pass of the rows.

    References
    ----------
    .. [1] Savitzky, Golay (1964), "Smoothing and differentiation of data by simplified least
       squares procedures", Analytical Chemistry 36(8), 1627-1639, doi:10.1021/ac60214a047.
    .. [2] Schafer (2011), "What is a Savitzky-Golay filter?", IEEE Signal Processing Magazine
       28(4), 111-117, doi:10.1109/MSP.2011.941097, eq. (12).
    """

    exactness: ClassVar[float] = 0.01  # polynomials of a finite window

    window: float = 0.075
    """Length of the window [s]; the odd number of samples nearest to it."""
    order: int = 4
    """Order of the polynomial."""

    def __post_init__(self) -> None:
        if not 0.0 < self.window < np.inf or not 2 <= self.order <= MAX_ORDER:
            raise OptionError(
                "a Savitzky-Golay filter needs a positive window and a polynomial of order 2 to "
                f"{MAX_ORDER}, got {self.window} s and {self.order}"
            )

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the motion of the polynomials at the torque times."""
        del robot
        half = round(0.5 * (self.window / log.dt - 1.0))
        if 2 * half < self.order:
            raise OptionError(
                f"a window of {self.window:g} s has {2 * half + 1} samples of this log, too few "
                f"for a polynomial of order {self.order}; make it longer"
            )
        if 2 * half + 1 > log.t.size:
            raise LogError(f"the log is too short for a Savitzky-Golay window of {self.window:g} s")
        x = np.arange(-half, half + 1) / half  # a well-conditioned basis
        fit = np.linalg.pinv(np.vander(x, self.order + 1, increasing=True))
        torque_time, powers = log.torque_time_offset / (half * log.dt), np.arange(self.order + 1)
        value = torque_time**powers
        slope = powers * torque_time ** np.maximum(powers - 1, 0) / (half * log.dt)
        curvature = (
            powers * (powers - 1) * torque_time ** np.maximum(powers - 2, 0) / (half * log.dt) ** 2
        )
        taps = [weights @ fit for weights in (value, slope, curvature)]
        # At the ends, which rows exclude, the outermost positions replace missing ones.
        q, dq, ddq = (convolve1d(log.q, tap[::-1], axis=0, mode="nearest") for tap in taps)
        return self.motion_of(log, q, dq, ddq)
