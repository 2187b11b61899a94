"""What a preprocessor is, and the rows that every one of them passes on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion, RowFilter
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Which rows of a log enter the fit: times to drop, parallel low-pass, decimation."""

    cutoff: float = 5.0
    """Cut-off of the low-pass that torque and regressor share [Hz]."""
    rate: float = 10.0
    """Rows per second after decimation [Hz]; at least twice `cutoff`."""
    tail: float = 0.3
    """Time dropped at the end of the log, and at its start if it does not repeat [s]."""
    edge: float = 0.1
    """Time dropped at both ends after filtering [s]."""

    def __post_init__(self) -> None:
        if not (0.0 < 2.0 * self.cutoff <= self.rate and self.tail >= 0.0 and self.edge >= 0.0):
            raise OptionError(
                f"rows at {self.rate:g} Hz cannot carry a low-pass at {self.cutoff:g} Hz; the rate "
                "must be at least twice the cut-off, the times not negative"
            )

    def filter_for(self, log: Log) -> RowFilter:
        """Return the row filter of a log; the first of several periods is dropped.

        Raises
        ------
        LogError
            If the log is too short.
        OptionError
            If it is sampled too slowly.
        """
        repeats = log.period is not None and log.t[-1] > 1.5 * log.period
        begin = float(log.period) if repeats and log.period else max(0.0, log.t[0]) + self.tail
        first = int((log.t < begin - 0.5 * log.dt).sum())
        stop = log.t.size - round(self.tail / log.dt)
        return RowFilter(
            first=first,
            stop=stop,
            step=max(1, round(1.0 / (self.rate * log.dt))),
            edge=round(self.edge / log.dt),
            cutoff=self.cutoff * log.dt,
        )


class Preprocessor(ABC):
    """From a log to the motion and torque that an estimator fits.

    A preprocessor sees what a real robot gives: the log without its truth, and the nominal model.
    """

    @abstractmethod
    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the motion at the times where the torque acts; `robot` is the nominal model."""

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with everything it learns from a log held fixed.

        The result is a linear filter; the noise that it passes on can be computed with it.
        """
        del log, robot
        return self
