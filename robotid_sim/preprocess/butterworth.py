"""Zero-phase Butterworth low-pass on position, then central differences."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.signal import butter, sosfiltfilt

from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import RowPreprocessor


@dataclass(frozen=True, kw_only=True, eq=False)
class Butterworth(RowPreprocessor):
    """Forward-backward Butterworth on position and central differences; one corner for all joints.

    Joints need different corners at once, which one filter cannot have; it is the common practice
    and stands beside the smoother for comparison.

    References
    ----------
    .. [1] Swevers, Verdonck, De Schutter (2007), "Dynamic model identification for industrial
       robots", IEEE Control Systems Magazine, doi:10.1109/MCS.2007.904659.
    .. [2] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316:
       differences of the positions, then a Butterworth low-pass of unstated order and
       corner; the filters are linear, so their order in time does not matter.
    """

    exactness: ClassVar[float] = 0.05  # central differences

    cutoff: float = 20.0
    """Cut-off frequency [Hz]."""
    order: int = 4
    """Order of one pass; the two passes have twice that."""

    def __post_init__(self) -> None:
        if not self.cutoff > 0.0 or self.order < 1:
            raise OptionError("a Butterworth filter needs a positive cut-off and order")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the filtered motion at the torque times."""
        del robot
        if not 2.0 * self.cutoff * log.dt < 1.0:
            raise OptionError(
                f"a cut-off of {self.cutoff:g} Hz needs a log above {2 * self.cutoff:g} Hz; this "
                f"one has {1.0 / log.dt:g} Hz"
            )
        sos = butter(self.order, 2.0 * self.cutoff * log.dt, output="sos")
        q = sosfiltfilt(sos, log.q, axis=0)
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
