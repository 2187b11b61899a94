"""What a preprocessor is, and the rows that every one of them passes on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy.interpolate import CubicSpline

from robotid_sim.arrays import Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, ShapeError, require_type
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import MIN_ROWS, Motion, RowFilter, add_gate
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.faults import torque_outliers

MIN_SAMPLES = 50
"""Fewest samples that the filters of this package take."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Which rows of a log enter the fit: times to drop, samples to mask, low-pass, decimation.

    Torque and regressor pass it alike. Masked samples are shut out before the low-pass, each joint
    for itself, see `GatedRowFilter`.
    """

    cutoff: float = 5.0
    """Cut-off of the low-pass that torque and regressor share [Hz]."""
    rate: float = 10.0
    """Rows per second after decimation [Hz]; at least twice `cutoff`."""
    tail: float = 0.3
    """Time dropped at the start of the motion and at the end of the log [s]."""
    edge: float = 0.1
    """Time dropped at both ends after filtering [s]."""
    outliers: float = 0.0
    """Robust standard deviations beyond which a torque is masked as an outlier; 0 for no mask."""
    low_velocity: float = 0.0
    """Speed below which samples of a joint are masked, for their friction is modeled badly, over
    the RMS speed of the joint; 0 for no mask."""
    cutoffs: tuple[float, ...] = ()
    """Cut-off of every joint [Hz], none above `cutoff`; nothing for `cutoff` everywhere."""

    def __post_init__(self) -> None:
        if not (0.0 < 2.0 * self.cutoff <= self.rate and self.tail >= 0.0 and self.edge >= 0.0):
            raise OptionError(
                f"rows at {self.rate:g} Hz cannot carry a low-pass at {self.cutoff:g} Hz; the rate "
                "must be at least twice the cut-off, the times not negative"
            )
        if not all(0.0 < cutoff <= self.cutoff for cutoff in self.cutoffs):
            raise OptionError(
                f"cut-offs of rows are {', '.join(f'{c:g}' for c in self.cutoffs)} Hz; every joint "
                f"needs one above 0 and up to the common one, {self.cutoff:g} Hz"
            )
        if not (0.0 <= self.outliers < np.inf and 0.0 <= self.low_velocity < 1.0):
            raise OptionError(
                "masks of rows need thresholds of 0 or more, for the velocity below 1; got "
                f"outliers {self.outliers:g} and low_velocity {self.low_velocity:g}"
            )

    def cycles(self, dt: float) -> tuple[float, ...] | None:
        """Return the cut-offs of the joints in cycles of a time dt [s]; None for one of all."""
        return tuple(cutoff * dt for cutoff in self.cutoffs) or None

    def require_joints(self, count: int) -> None:
        """Raise `OptionError` unless there is a cut-off for each joint, or none."""
        if self.cutoffs and len(self.cutoffs) != count:
            raise OptionError(
                f"preprocess.cutoffs has {len(self.cutoffs)} numbers; the robot has {count} joints"
            )

    def shortest_period(self, dt: float, rows: int) -> float:
        """Return the least period of an excitation that leaves enough for a fit [s].

        That is enough of a single period, on which a model is tried. dt is the sample time [s],
        and `rows` what a fit needs.
        """
        step = max(1, round(1.0 / (self.rate * dt)))
        samples = 2 * round(self.edge / dt) + max(MIN_ROWS, rows) * step + 1
        return max(samples, MIN_SAMPLES) * dt + 2.0 * self.tail

    def samples(self, log: Log, begin: float) -> slice:
        """Return the samples of a log from the time `begin` [s] on, without its tail."""
        first = int((log.t < begin - 0.5 * log.dt).sum())
        return slice(first, log.t.size - round(self.tail / log.dt))

    def filter_for(
        self, log: Log, dq: Float2D | None = None, samples: slice | None = None
    ) -> RowFilter:
        """Return the row filter of a log; the approach before time zero is dropped.

        `low_velocity` needs the velocity dq, shape (N, n); `samples` are used instead of those that
        `tail` leaves. Raises `LogError` if the log is too short, and `OptionError` if it is sampled
        too slowly, or joints have no cut-off.
        """
        self.require_joints(log.dof)
        if samples is None:
            samples = self.samples(log, max(0.0, log.t[0]) + self.tail)
        row_filter = RowFilter(
            first=samples.start,
            stop=samples.stop,
            step=max(1, round(1.0 / (self.rate * log.dt))),
            edge=round(self.edge / log.dt),
            cutoff=self.cutoff * log.dt,
            cutoffs=self.cycles(log.dt),
        )
        row_filter = add_gate(row_filter, np.broadcast_to(log.torque_measured, log.q.shape))
        if self.outliers:
            row_filter = add_gate(row_filter, ~torque_outliers(log, self.outliers))
        if self.low_velocity and dq is not None:
            rms = np.sqrt((dq[row_filter.sample_slice] ** 2).mean(axis=0))
            row_filter = add_gate(row_filter, np.abs(dq) >= self.low_velocity * rms)
        return row_filter


class Preprocessor(ABC):
    """From a log to the motion and torque that an estimator fits.

    A preprocessor sees what a real robot gives: the log without its truth, and the nominal model.
    One with a field `rows` of type `Rows` is built with the rows of the configuration; one without
    chooses them itself. Either way its motion has a row filter, see `motion_of_log`.
    """

    needs_period: ClassVar[bool] = False
    """Whether it takes only logs of motions that repeat."""
    exactness: ClassVar[float] = 1e-4
    """Worst error of a parameter without noise over the Cramér-Rao deviation of 1 % torque noise;
    rounding behind a diffuse start for methods that are exact."""

    delay: float | None = None
    """Delay of the torque that it takes off [s]; None where that is not known or not its task."""
    message: str = ""
    """What it decided and why, after `tune`; empty where nothing was to be decided."""

    @abstractmethod
    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the motion at the times where the torque acts; `robot` is the nominal model."""

    def tune(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with everything it learns from a log held fixed.

        Parameters
        ----------
        log : Log
            What it learns from.
        robot : Robot
            The nominal model.

        Returns
        -------
        tuned : Preprocessor
            A linear filter; the noise that it passes on can be computed with it.
        """
        del log, robot
        return self


def has_rows(cls: type[Preprocessor]) -> bool:
    """Return whether a class of preprocessors has a field for the rows of the configuration."""
    entry: Any = cls  # a dataclass by contract
    return any(option.name == "rows" and option.init for option in fields(entry))


def motion_of_log(preprocessor: Preprocessor, log: Log, robot: Robot) -> Motion:
    """Return what a preprocessor, which may be one of a user, makes of a log.

    Raises `ArgumentTypeError` if it returns another thing than a motion, `ShapeError` if an array
    of the motion has another shape or is not finite, and `OptionError` if the motion is of other
    samples or joints, or has no row filter: the low-pass that torque and regressor share, by which
    logs are joined and predictions have a band.
    """
    name = type(preprocessor).__name__
    what = f"what {name} returned"
    try:
        motion = preprocessor(log, robot)
    except ShapeError as error:
        raise ShapeError(f"preprocessor {name}: {error}; correct its __call__") from error
    require_type(motion, Motion, what, "a preprocessor returns a Motion")
    if motion.q.shape != log.q.shape or motion.joint_names != log.joint_names:
        raise OptionError(
            f"{what} has other samples or joints than its log: a motion has a row for every sample"
        )
    if motion.row_filter is None:
        raise OptionError(
            f"{what} has no row_filter: give the Motion "
            "row_filter=Rows().filter_for(log), or one of your own"
        )
    return motion


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class RowPreprocessor(Preprocessor):
    """A preprocessor that says by an option of its own which rows enter the fit."""

    rows: Rows = field(default_factory=Rows)
    """Rows that enter the fit."""

    def motion_of(self, log: Log, q: Float2D, dq: Float2D, ddq: Float2D) -> Motion:
        """Return the motion of a log with its torque.

        The state, arrays of shape (N, n), is that at `torque_time_offset` behind every sample;
        where the torques have times of their own it is interpolated there.
        """
        if log.torque_times is not None:
            even = CubicSpline(log.t + log.torque_time_offset, np.stack([q, dq, ddq], axis=1))
            q, dq, ddq = even(log.action_times).swapaxes(0, 1)
        return Motion(
            t=log.action_times,
            q=q,
            dq=dq,
            ddq=ddq,
            tau=log.tau_meas,
            joint_names=log.joint_names,
            row_filter=self.rows.filter_for(log, dq),
            period=log.period,
        )
