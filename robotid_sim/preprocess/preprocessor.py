"""The base class of preprocessors, and the selection of regressor rows."""

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
"""Minimum number of samples that the filters of this package need."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Options for the rows of a fit: times to drop, samples to mask, low-pass, decimation.

    The rows are those of torque and regressor. Masked samples are excluded before the low-pass,
    joint by joint, see `GatedRowFilter`.
    """

    cutoff: float = 5.0
    """Cut-off of the low-pass of torque and regressor [Hz]."""
    rate: float = 10.0
    """Rows per second after decimation [Hz]; at least twice `cutoff`."""
    tail: float = 0.3
    """Time dropped at the start of the motion and at the end of the log, before filtering [s]."""
    edge: float = 0.1
    """Time dropped at both ends after filtering [s]."""
    outliers: float = 0.0
    """Robust standard deviations beyond which a torque is masked as an outlier; 0 for no mask."""
    low_velocity: float = 0.0
    """Speed below which samples of a joint are masked, over the RMS speed of the joint, because
    friction models are inaccurate there; 0 for no mask."""
    cutoffs: tuple[float, ...] = ()
    """Cut-off of every joint [Hz], at most `cutoff`; empty for `cutoff` everywhere."""

    def __post_init__(self) -> None:
        if not (0.0 < 2.0 * self.cutoff <= self.rate and self.tail >= 0.0 and self.edge >= 0.0):
            raise OptionError(
                f"the rate of rows, {self.rate:g} Hz, must be at least twice the cut-off, "
                f"{self.cutoff:g} Hz; times must not be negative"
            )
        if not all(0.0 < cutoff <= self.cutoff for cutoff in self.cutoffs):
            raise OptionError(
                f"cut-offs of rows are {', '.join(f'{c:g}' for c in self.cutoffs)} Hz; each must "
                f"lie above 0 and up to {self.cutoff:g} Hz"
            )
        if not (0.0 <= self.outliers < np.inf and 0.0 <= self.low_velocity < 1.0):
            raise OptionError(
                "masks of rows need outliers >= 0 and low_velocity from 0 to below 1; got "
                f"{self.outliers:g} and {self.low_velocity:g}"
            )

    def cutoffs_per_sample(self, dt: float) -> tuple[float, ...] | None:
        """Return the cut-offs [cycles per sample], for samples dt [s] apart.

        None if all joints share `cutoff`.
        """
        return tuple(cutoff * dt for cutoff in self.cutoffs) or None

    def require_joints(self, count: int) -> None:
        """Raise `OptionError` unless `cutoffs` is empty or has one cut-off for each joint."""
        if self.cutoffs and len(self.cutoffs) != count:
            raise OptionError(
                f"preprocess.cutoffs has {len(self.cutoffs)} numbers for {count} joints; give one "
                f"per joint"
            )

    def shortest_period(self, dt: float, rows: int) -> float:
        """Compute the minimum period of an excitation with enough rows for a fit [s].

        A single period must have enough rows, because models are tested on a single period. `dt` is
        the sample time [s], `rows` the number of rows that a fit needs.
        """
        step = max(1, round(1.0 / (self.rate * dt)))
        samples = 2 * round(self.edge / dt) + max(MIN_ROWS, rows) * step + 1
        return max(samples, MIN_SAMPLES) * dt + 2.0 * self.tail

    def samples(self, log: Log, begin: float) -> slice:
        """Return the samples of a log from the time `begin` [s] on, without `tail` at its end."""
        first = int((log.t < begin - 0.5 * log.dt).sum())
        return slice(first, log.t.size - round(self.tail / log.dt))

    def filter_for(
        self, log: Log, dq: Float2D | None = None, samples: slice | None = None
    ) -> RowFilter:
        """Make the row filter of a log, without the samples before time zero.

        Before time zero the robot moves to its start. `low_velocity` needs the velocity dq, shape
        (N, n); `samples`, if given, replaces the slice that omits `tail` at both ends. Raises
        `LogError` if the log is too short, and `OptionError` if it is sampled too slowly, or joints
        have no cut-off.
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
            cutoffs=self.cutoffs_per_sample(log.dt),
        )
        row_filter = add_gate(row_filter, np.broadcast_to(log.torque_measured, log.q.shape))
        if self.outliers:
            row_filter = add_gate(row_filter, ~torque_outliers(log, self.outliers))
        if self.low_velocity and dq is not None:
            rms = np.sqrt((dq[row_filter.sample_slice] ** 2).mean(axis=0))
            row_filter = add_gate(row_filter, np.abs(dq) >= self.low_velocity * rms)
        return row_filter


class Preprocessor(ABC):
    """Computes motion and torque for an estimator from a log.

    Its inputs are those of a real robot: the log without its truth, and the nominal model. If it
    has a field `rows` of type `Rows`, it is built with the rows of the configuration; else it
    chooses its rows. In both cases the motion has a row filter, see `motion_of_log`.
    """

    needs_period: ClassVar[bool] = False
    """Whether the preprocessor needs periodic logs."""
    exactness: ClassVar[float] = 1e-4
    """Maximum error of a parameter from a log without noise, over the Cramér–Rao bound at 1 %
    torque noise; the smaller, the more exact. The default allows for rounding errors only."""

    delay: float | None = None
    """Torque delay that the preprocessor corrects [s]; None if unknown."""
    message: str = ""
    """Decisions and reasons, after `tune`; empty if there are none."""

    @abstractmethod
    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the motion at the times where the torque acts; `robot` is the nominal model."""

    def tune(self, log: Log, robot: Robot) -> Self:
        """Determine all quantities that depend on the log; return the preprocessor with them.

        Parameters
        ----------
        log : Log
            Log to tune to.
        robot : Robot
            The nominal model.

        Returns
        -------
        tuned : Preprocessor
            With fixed quantities: a linear filter, through which noise can be propagated.
        """
        del log, robot
        return self


def has_rows(cls: type[Preprocessor]) -> bool:
    """Return whether a preprocessor class has a field for the configured rows."""
    entry: Any = cls  # a dataclass by contract
    return any(option.name == "rows" and option.init for option in fields(entry))


def motion_of_log(preprocessor: Preprocessor, log: Log, robot: Robot) -> Motion:
    """Call a preprocessor, which may be a user's, and check its result.

    Raises `ArgumentTypeError` if the result is not a motion, `ShapeError` if an array of the motion
    has a wrong shape or is not finite, and `OptionError` if the motion has different samples or
    joints, or no row filter, which joined logs and predictive bands need.
    """
    name = type(preprocessor).__name__
    result_name = f"the result of {name}"
    try:
        motion = preprocessor(log, robot)
    except ShapeError as error:
        raise ShapeError(f"preprocessor {name}: {error}; correct its __call__") from error
    require_type(motion, Motion, result_name, "a preprocessor returns a Motion")
    if motion.q.shape != log.q.shape or motion.joint_names != log.joint_names:
        raise OptionError(
            f"{result_name} has different samples or joints; return one row per sample of the log"
        )
    if motion.row_filter is None:
        raise OptionError(f"{result_name} has no row_filter; set row_filter=Rows().filter_for(log)")
    return motion


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class RowPreprocessor(Preprocessor):
    """A preprocessor with an option for the rows of the fit."""

    rows: Rows = field(default_factory=Rows)
    """Rows that enter the fit."""

    def motion_of(self, log: Log, q: Float2D, dq: Float2D, ddq: Float2D) -> Motion:
        """Build the motion of a log with its torque.

        The state, arrays of shape (N, n), is at `torque_time_offset` after every sample; it is
        interpolated to separate torque times.
        """
        if log.torque_times is not None:
            spline = CubicSpline(log.t + log.torque_time_offset, np.stack([q, dq, ddq], axis=1))
            q, dq, ddq = spline(log.action_times).swapaxes(0, 1)
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
