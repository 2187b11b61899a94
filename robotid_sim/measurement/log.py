"""The log of an experiment: recorded samples and, if virtual, the truth for scoring."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, freeze, linear_at
from robotid_sim.data_frames import data_frame
from robotid_sim.errors import LogError, ShapeError
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value

if TYPE_CHECKING:
    import pandas

LOG_ORIGINS = ("machine", "virtual")

STEP_TOLERANCE = 1e-6
"""Maximum relative deviation of a time step from the median one."""

MAX_SAMPLE = 1e12
"""Maximum absolute sample, in any unit of a file."""

MIN_SAMPLES = 10
"""Minimum number of samples of a log."""

MIN_MOTION_RANGE = 0.01
"""Minimum range of positions of a moving joint [rad or m]."""

MAX_TIME_OFFSET = 1.0
"""Maximum time between a position and its torque [s]."""

MAX_STEP, TYPICAL_STEP = 0.2, 0.02
"""Maximum and typical time between samples [s], to detect the unit of times."""

MIN_STEP = 5e-6
"""Minimum plausible time between samples [s]; a shorter one has a wrong unit."""

PRINTED_TIME_TOLERANCE = 1.1e-6
"""Rounding error of times printed with six decimals [s]."""


def not_uniform_after(t: Float1D) -> float | None:
    """Find the time after which the stamps `t` [s] are not uniform; None if all are uniform."""
    steps = np.diff(t)
    typical = float(np.median(steps))
    bad = np.abs(steps - typical) > STEP_TOLERANCE * abs(typical) + PRINTED_TIME_TOLERANCE
    drift = abs(t[-1] - t[0] - typical * steps.size) > 0.5 * abs(typical)
    return float(t[int(np.argmax(bad))]) if bad.any() or drift or typical <= 0.0 else None


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True state of the simulated plant; for scoring only.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        State that, with `tau`, satisfies the plant's equation of motion exactly: that of the first
        engine sub-step of the sample, with the velocity in the middle of the sub-step.
    tau : ndarray, shape (N, n)
        Torque that the drives applied, after clipping [N m].
    friction : ndarray, shape (N, n), optional
        Friction torque [N m], if the plant's friction differs from that of its robot or joints are
        elastic: `tau` is the sum of this and the torque of rigid bodies and rotors.
    link_q, link_dq, link_ddq : ndarray, shape (N, n), optional
        State of the bodies, if joints were not rigid; q, dq, ddq then belong to the rotors.
    """

    q: Float2D
    dq: Float2D
    ddq: Float2D
    tau: Float2D
    friction: Float2D | None = None
    link_q: Float2D | None = None
    link_dq: Float2D | None = None
    link_ddq: Float2D | None = None

    def __post_init__(self) -> None:
        freeze(self, (None, None), "q", what="truth ")
        freeze(self, self.q.shape, "dq", "ddq", "tau", what="truth ")
        further = ("friction", "link_q", "link_dq", "link_ddq")
        freeze(self, self.q.shape, *further, what="truth ", optional=True)

    def rows(self, use: slice | Bool1D) -> "Truth":
        """Select samples by a slice or a mask."""
        names = [field.name for field in fields(self)]
        return Truth(**_cut(self, names, use))


@old_members(recorded="recording")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Samples of an experiment on a uniform time grid.

    Time zero is the start of the first period of the excitation; the motion to its start pose (the
    approach) has negative times.
    The torque of sample k acts, on average, at ``t[k] + torque_time_offset``, or, if
    `torque_times` is given, at ``torque_times[k] + torque_time_offset``.
    """

    t: Float1D
    """Time [s], shape (N,)."""
    q: Float2D
    """Measured position [rad or m], shape (N, n)."""
    tau_meas: Float2D
    """Measured torque [N m] or force [N], shape (N, n)."""
    joint_names: tuple[str, ...]
    joint_units: tuple[str, ...]
    """``rad`` or ``m``, one per joint."""
    torque_time_offset: float = 0.0
    """Time from a position sample to the action of its torque [s]."""
    torque_times: Float1D | None = None
    """Time of each torque [s], shape (N,), if it differs from `t`, as for uneven time stamps."""
    recorded_times: Float1D | None = None
    """Uneven time stamps of the torques before resampling [s], shape (M,)."""
    recorded_torques: Float2D | None = None
    """Torques at these stamps, shape (M, n), before interpolation smoothed their noise."""
    period: float | None = None
    """Period of the excitation [s], if it repeats."""
    dq: Float2D | None = None
    """Measured velocity, if the cell records it."""
    tau_cmd: Float2D | None = None
    """Commanded torque, if the cell records it."""
    current: Float2D | None = None
    """Measured motor current [A], if the torque was computed from it."""
    torque_constant: Float1D | None = None
    """Assumed torque per current [N m/A or N/A], shape (n,). If it is unknown, it is None and
    `tau_meas` equals `current` [A]."""
    origin: Literal["machine", "virtual"] = "machine"
    """Source of the log: a machine or a plant in the engine."""
    seed: int | None = None
    """Seed of a virtual experiment, if it is known."""
    truth: Truth | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the log: free keys with JSON values."""

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        try:
            freeze(self, (None,), "t")
            t = self.t
            freeze(self, (t.size, n), "q", "tau_meas")
            freeze(self, (t.size, n), "dq", "tau_cmd", "current", optional=True)
            freeze(self, (n,), "torque_constant", optional=True)
            freeze(self, (t.size,), "torque_times", optional=True)
            freeze(self, (None,), "recorded_times", optional=True)
            stamps = 0 if self.recorded_times is None else self.recorded_times.size
            freeze(self, (stamps, n), "recorded_torques", optional=True)
        except ShapeError as error:
            raise LogError(f"log: {error}; remove or repair these samples") from error
        names = ("t", "q", "tau_meas", "dq", "tau_cmd", "current", "torque_times")
        for name in (*names, "recorded_times", "recorded_torques"):
            value = getattr(self, name)
            worst = 0.0 if value is None else float(max(value.max(), -value.min()))
            if worst > MAX_SAMPLE:  # its square would overflow in a fit
                raise LogError(
                    f"log: {name} has a sample of {worst:g}, which is implausible; remove or "
                    f"repair it"
                )
        if self.origin not in LOG_ORIGINS:
            raise LogError(f"log: unknown origin '{self.origin}'; known: {', '.join(LOG_ORIGINS)}")
        if self.truth is not None and self.truth.q.shape != self.q.shape:
            raise LogError(f"log: truth has shape {self.truth.q.shape}, expected {self.q.shape}")
        is_ambiguous = (
            self.current is not None
            and self.torque_constant is None
            and not np.array_equal(self.current, self.tau_meas)
        )
        if is_ambiguous or (self.current is None and self.torque_constant is not None):
            raise LogError("log: motor currents need torque constants, and vice versa; give both")
        if len(self.joint_units) != n:
            raise LogError(f"log: {n} joints have {len(self.joint_units)} units; give one each")
        if t.size < MIN_SAMPLES:
            raise LogError(f"log: only {t.size} samples; identification needs seconds of data")
        at = not_uniform_after(t)
        if at is not None:
            raise LogError(
                f"log: time does not advance uniformly after t = {at:g} s; `robotid import` "
                "resamples a log"
            )

    @property
    def is_in_amperes(self) -> bool:
        """Whether the torques are currents, because the torque constants are not known."""
        return self.current is not None and self.torque_constant is None

    @property
    def dt(self) -> float:
        """Sample time [s]."""
        return float((self.t[-1] - self.t[0]) / (self.t.size - 1))

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def action_times(self) -> Float1D:
        """Time at which the torque of each sample acts [s], shape (N,)."""
        recorded = self.t if self.torque_times is None else self.torque_times
        return np.asarray(recorded + self.torque_time_offset)

    @property
    def recording(self) -> tuple[Float1D, Float2D] | None:
        """Recorded times [s] and torques; None unless `tau_meas` is interpolated from them."""
        times, torques = self.recorded_times, self.recorded_torques
        if times is None or torques is None:
            return None
        at = self.t if self.torque_times is None else self.torque_times
        lines = linear_at(at, times, torques)
        return (times, torques) if np.allclose(lines, self.tau_meas, rtol=1e-9, atol=0.0) else None

    def to_frame(self) -> "pandas.DataFrame":
        """Convert the samples to a data frame: t, and q, dq, tau_cmd, tau_meas of every joint.

        Raises `MissingExtraError` if pandas is not installed.
        """
        columns: dict[str, Float1D] = {"t": self.t}
        for channel in ("q", "dq", "tau_cmd", "tau_meas"):
            if (values := getattr(self, channel)) is not None:
                names = (f"{channel}.{joint}" for joint in self.joint_names)
                columns |= dict(zip(names, values.T, strict=True))
        return data_frame(columns)

    def cut(self, rows: slice) -> Self:
        """Select the samples of a slice; the period stays if the slice starts at the first sample.

        Filters of a periodic motion use its second period, counted from the first sample.
        """
        truth = None if self.truth is None else self.truth.rows(rows)
        names = ("t", "torque_times", "q", "tau_meas", "dq", "tau_cmd", "current")
        period = self.period if rows.indices(self.t.size)[0] == 0 else None
        return replace(self, truth=truth, period=period, **_cut(self, names, rows))

    def require_robot(self, robot: Robot) -> Self:
        """Raise `LogError` if the joints are not those of the robot; return the log."""
        if self.joint_names != robot.joint_names or self.joint_units != robot.joint_units:
            log_joints, robot_joints = (
                ", ".join(f"{n} [{u}]" for n, u in zip(x.joint_names, x.joint_units, strict=True))
                for x in (self, robot)
            )
            raise LogError(
                f"the log is of a different robot: its joints are {log_joints}; those of "
                f"'{robot.name}' are {robot_joints}"
            )
        return self

    @property
    def torque_measured(self) -> Bool1D:
        """Whether each joint has a recorded torque, shape (n,): one that is not always zero."""
        return np.asarray(self.tau_meas.any(axis=0))

    def require_torques(self) -> Self:
        """Raise `LogError` if the torque of a moving joint is constant; return the log.

        Joints without recorded torque (see `torque_measured`) are ignored if other joints have it.
        """
        moves, measured = np.ptp(self.q, axis=0) > MIN_MOTION_RANGE, self.torque_measured
        still = moves & (np.ptp(self.tau_meas, axis=0) == 0.0)
        still &= measured | ~measured.any()
        if still.any():
            names = ", ".join(np.array(self.joint_names)[still])
            raise LogError(
                f"the measured torque of {names} is constant, although it moves; record the "
                f"torque, or the current with its torque constant"
            )
        return self

    def require_plausible_times(self) -> Self:
        """Raise `LogError` if sample times, period or torque times are implausible; return the log.

        The message names the key of the log file.
        """
        if self.dt > MAX_STEP:
            units = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
            fits = [unit for unit, size in units.items() if self.dt * size <= TYPICAL_STEP]
            advice = f"in {fits[0]}, multiply it by {units[fits[0]]:g}; " if fits else ""
            raise LogError(
                f"'t' is in seconds and has a sample every {self.dt:g} s; if it is {advice}if it "
                f"counts samples, divide it by the rate [Hz]"
            )
        if self.dt < MIN_STEP:
            raise LogError(
                f"'t' has a sample every {self.dt:g} s, {1.0 / self.dt:.3g} Hz, which is "
                'implausible; state the unit of its column in a map: time_unit = "s"'
            )
        length = float(self.t[-1] - self.t[0]) + self.dt
        check_period(self.period, length, self.dt)
        offset, most = self.torque_time_offset, min(MAX_TIME_OFFSET, length)
        if not abs(offset) < most:
            raise LogError(
                f"'torque_time_offset' is {offset:g} s; give it in seconds, less than {most:g} s"
            )
        if self.torque_times is not None and not (abs(self.torque_times - self.t) < most).all():
            raise LogError(f"'torque_times' must be within {most:g} s of 't'; give both in s")
        return self


def check_period(period: float | None, length: float, dt: float) -> None:
    """Require a plausible `period` of a log of duration `length` and sample time `dt`, all in s.

    Raises `LogError` if it is shorter than two samples or longer than the log.
    """
    if period is not None and not 2.0 * dt <= period <= length + 0.5 * dt:
        raise LogError(
            f"'period' is {period:g} s in a log of {length:g} s, sampled every {dt:g} s; give the "
            f"time until the motion repeats"
        )


def _cut(source: object, names: Sequence[str], rows: slice | Bool1D) -> dict[str, Any]:
    """Select rows of the attributes `names` of `source`, by name; None stays None."""
    arrays = {name: getattr(source, name) for name in names}
    return {name: None if array is None else array[rows] for name, array in arrays.items()}
