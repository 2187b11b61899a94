"""The log of an experiment: what the cell recorded, and for virtual ones the truth for scoring.

Whether the controller of a log saw the noise that the log has: torques follow it then.

Where it did, the true motion follows the noise of the encoders, and torque noise is correlated with
it: estimators that take the two for independent lose accuracy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, freeze, linear_at
from robotid_sim.errors import LogError, ShapeError
from robotid_sim.frames import data_frame
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value

if TYPE_CHECKING:
    import pandas

LOG_ORIGINS = ("machine", "virtual")

STEP_TOLERANCE = 1e-6
"""Largest deviation of a time step from the usual one, relative."""

MAX_SAMPLE = 1e12
"""Largest size of a sample, in any unit that a file may have."""

MIN_SAMPLES = 10
"""Fewest samples of a log."""

MIN_MOTION_RANGE = 0.01
"""Range of positions above which a joint moves, whatever its encoder's noise [rad or m]."""

MAX_TIME_OFFSET = 1.0
"""Longest time between a position and its torque [s]."""

SLOWEST, USUAL = 0.2, 0.02
"""Longest time between samples of a robot, and a usual one, that tells the unit of times [s]."""

MIN_STEP = 5e-6
"""Shortest time between samples that is believed [s]; a shorter one has another unit."""

PRINTED_TIME_TOLERANCE = 1.1e-6
"""Deviation that times printed with six decimals have [s]."""


def not_uniform_after(t: Float1D) -> float | None:
    """Return the time after which stamps [s] leave a uniform grid, None if they do not."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    bad = np.abs(steps - usual) > STEP_TOLERANCE * abs(usual) + PRINTED_TIME_TOLERANCE
    drift = abs(t[-1] - t[0] - usual * steps.size) > 0.5 * abs(usual)
    return float(t[int(np.argmax(bad))]) if bad.any() or drift or usual <= 0.0 else None


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What happened in the engine; only scoring may look at it.

    Attributes
    ----------
    q, dq, ddq : ndarray, shape (N, n)
        State at which the torque of every sample acts exactly in the plant's equation of motion:
        the first sub-step, at its mid-step velocity.
    tau : ndarray, shape (N, n)
        Torque that the drives applied, after clipping [N m].
    friction : ndarray, shape (N, n), optional
        Friction torque that acted, if the plant's friction was not that of its robot or its joints
        were not rigid [N m]: tau is that of the rigid bodies and rotors plus this.
    link_q, link_dq, link_ddq : ndarray, shape (N, n), optional
        State of the bodies, if joints were not rigid; q, dq and ddq are those of the rotors.
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
        """Return the samples of a slice or a mask."""
        names = [field.name for field in fields(self)]
        return Truth(**_cut(self, names, use))


@old_members(recorded="recording")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Samples of an experiment on a uniform time grid.

    Time zero is the start of the first period of the excitation; an approach has negative times.
    The torque of sample k acts, on average, at ``t[k] + torque_time_offset``, or at
    ``torque_times[k] + torque_time_offset`` where it was recorded at times of its own.
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
    """Delay of the torque's time of action behind the position sample [s]."""
    torque_times: Float1D | None = None
    """Time of each torque [s], shape (N,), if that is not `t`: of a machine with uneven stamps."""
    recorded_times: Float1D | None = None
    """Uneven stamps of the torques of the file [s], shape (M,), of a log that was resampled."""
    recorded_torques: Float2D | None = None
    """Those torques, shape (M, n), before lines between them smoothed their noise."""
    period: float | None = None
    """Period of the excitation [s], if it repeats."""
    dq: Float2D | None = None
    """Measured velocity, if the cell records it."""
    tau_cmd: Float2D | None = None
    """Commanded torque, if the cell records it."""
    current: Float2D | None = None
    """Measured motor current [A], if the torque was taken from it."""
    torque_constant: Float1D | None = None
    """Torque per current that the cell believes in [N m/A or N/A], shape (n,); with `current`."""
    origin: Literal["machine", "virtual"] = "machine"
    """Whether a machine was measured or a plant in the engine."""
    seed: int | None = None
    """Seed of a virtual experiment, if it is known."""
    truth: Truth | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """How the log came about: free keys with JSON values."""

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
                    f"log: {name} has a sample of {worst:g}, which nothing measures; remove or "
                    "repair it"
                )
        if self.origin not in LOG_ORIGINS:
            raise LogError(f"log: origin '{self.origin}' is none of {', '.join(LOG_ORIGINS)}")
        if self.truth is not None and self.truth.q.shape != self.q.shape:
            raise LogError(f"log: truth has shape {self.truth.q.shape}, expected {self.q.shape}")
        if (self.current is None) != (self.torque_constant is None):
            raise LogError("log: motor currents and torque constants are of use only together")
        if len(self.joint_units) != n:
            raise LogError(f"log: {n} joints but {len(self.joint_units)} units")
        if t.size < MIN_SAMPLES:
            raise LogError(f"log: only {t.size} samples; an identification needs seconds of data")
        at = not_uniform_after(t)
        if at is not None:
            raise LogError(
                f"log: time does not advance uniformly after t = {at:g} s; `robotid import` "
                "resamples a log"
            )

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
        """Stamps [s] and torques as recorded; None if `tau_meas` is not what is between them."""
        times, torques = self.recorded_times, self.recorded_torques
        if times is None or torques is None:
            return None
        at = self.t if self.torque_times is None else self.torque_times
        lines = linear_at(at, times, torques)
        return (times, torques) if np.allclose(lines, self.tau_meas, rtol=1e-9, atol=0.0) else None

    def to_frame(self) -> "pandas.DataFrame":
        """Return the samples as a data frame: t, and q, dq, tau_cmd, tau_meas of every joint.

        Raises `MissingExtraError` if pandas is not installed.
        """
        columns: dict[str, Float1D] = {"t": self.t}
        for channel in ("q", "dq", "tau_cmd", "tau_meas"):
            if (values := getattr(self, channel)) is not None:
                names = (f"{channel}.{joint}" for joint in self.joint_names)
                columns |= dict(zip(names, values.T, strict=True))
        return data_frame(columns)

    def cut(self, rows: slice) -> Self:
        """Return the samples of a slice; the period stays where they begin with the log.

        A filter may look for the second period of a motion that repeats from there.
        """
        truth = None if self.truth is None else self.truth.rows(rows)
        names = ("t", "torque_times", "q", "tau_meas", "dq", "tau_cmd", "current")
        period = self.period if rows.indices(self.t.size)[0] == 0 else None
        return replace(self, truth=truth, period=period, **_cut(self, names, rows))

    def require_robot(self, robot: Robot) -> Self:
        """Return the log if it is of this robot; raise `LogError` if the joints differ."""
        if self.joint_names != robot.joint_names or self.joint_units != robot.joint_units:
            ours, theirs = (
                ", ".join(f"{n} [{u}]" for n, u in zip(x.joint_names, x.joint_units, strict=True))
                for x in (self, robot)
            )
            raise LogError(
                f"the log is of another robot: its joints are {ours}; those of '{robot.name}' are "
                f"{theirs}"
            )
        return self

    @property
    def torque_measured(self) -> Bool1D:
        """Whether the torque of a joint was recorded, (n,): not if it is zero in all samples."""
        return np.asarray(self.tau_meas.any(axis=0))

    def require_torques(self) -> Self:
        """Return the log; raise `LogError` if the torque of a joint that moves never changes.

        Joints without any torque, see `torque_measured`, have no say in a fit, if others have.
        """
        moves, measured = np.ptp(self.q, axis=0) > MIN_MOTION_RANGE, self.torque_measured
        still = moves & (np.ptp(self.tau_meas, axis=0) == 0.0)
        still &= measured | ~measured.any()
        if still.any():
            names = ", ".join(np.array(self.joint_names)[still])
            raise LogError(
                f"the measured torque of {names} is the same in all samples, although it moves; "
                "record the torque, or the current with its torque constant"
            )
        return self

    def require_plausible_times(self) -> Self:
        """Return the log if its period and torque time can be those of its samples.

        Raises `LogError` if they cannot; the text names the key.
        """
        if self.dt > SLOWEST:
            units = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
            fits = [unit for unit, size in units.items() if self.dt * size <= USUAL]
            advice = f"in {fits[0]}, multiply it by {units[fits[0]]:g}; " if fits else ""
            raise LogError(
                f"'t' is in seconds and has a sample every {self.dt:g} s; if it is {advice}if it "
                "counts samples, divide it by their rate [Hz]"
            )
        if self.dt < MIN_STEP:
            raise LogError(
                f"'t' is in seconds and has a sample every {self.dt:g} s, {1.0 / self.dt:.3g} Hz; "
                "if its column is in s though its name says ms or us, say so in a map: time_unit = "
                '"s"'
            )
        length = float(self.t[-1] - self.t[0]) + self.dt
        check_period(self.period, length, self.dt)
        offset, most = self.torque_time_offset, min(MAX_TIME_OFFSET, length)
        if not abs(offset) < most:
            raise LogError(
                f"'torque_time_offset' is {offset:g} s; it is the time from a position sample to "
                f"when its torque acts, less than {most:g} s: give it in seconds, or leave it out"
            )
        if self.torque_times is not None and not (abs(self.torque_times - self.t) < most).all():
            raise LogError(f"'torque_times' are not all within {most:g} s of 't'; give both in s")
        return self


def check_period(period: float | None, length: float, dt: float) -> None:
    """Require a period that can be that of a log of a length [s], samples dt apart [s].

    Raises `LogError` if it is shorter than two samples or longer than the log.
    """
    if period is not None and not 2.0 * dt <= period <= length + 0.5 * dt:
        raise LogError(
            f"'period' is {period:g} s in a log of {length:g} s, a sample every "
            f"{dt:g} s; give the time after which the motion repeats, or leave it out"
        )


def _cut(source: object, names: Sequence[str], rows: slice | Bool1D) -> dict[str, Any]:
    """Return the arrays of some names, cut; None stays None."""
    arrays = {name: getattr(source, name) for name in names}
    return {name: None if array is None else array[rows] for name, array in arrays.items()}


DIFFERENCE_ORDER = 4
"""Differences that leave of smooth motion and torque nothing beside their noise."""

MAX_LAG = 3
"""Samples by which a torque is looked for after the position that it answers."""

MIN_CORRELATION_RATIO = 5.0
"""Standard deviations of a correlation by chance from which it is none."""

MIN_CORRELATION = 0.05
"""Correlation below which it does no harm."""

WHITENESS_TOLERANCE = 0.1
"""Deviation of the first autocorrelation from that of white noise up to which noise is white."""

MIN_NOISE_SAMPLES = 1000
"""Samples below which nothing is said."""

_DIFFERENCE_WEIGHTS = np.poly([1.0] * DIFFERENCE_ORDER)
_DIFFERENCE_CORRELATION = np.correlate(_DIFFERENCE_WEIGHTS, _DIFFERENCE_WEIGHTS, "full") / (
    _DIFFERENCE_WEIGHTS @ _DIFFERENCE_WEIGHTS
)
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
            f"Encoder noise is fed back by the controller: the torque of {self.joint} correlates "
            f"with it (correlation {self.correlation:.2f}; noise is {self.share:.2g} of the "
            f"torques)."
        )


def loop_noise(log: Log) -> LoopNoise | None:
    r"""Return where torques follow the white noise of their encoders; None if they do not.

    Positions and torques are differenced four times, which leaves noise, and correlated from the
    same sample on; of independent white noise the correlation scatters by
    :math:`(\sum_k \rho_k^2 / N)^{1/2}`, :math:`\rho` being that of the differences. A position
    without white noise, such as a clean or a quantized one, says nothing.
    """
    if log.t.size < MIN_NOISE_SAMPLES or log.torque_times is not None:
        return None
    q, tau = _difference(log.q), _difference(log.tau_meas)
    limit = max(
        MIN_CORRELATION,
        MIN_CORRELATION_RATIO * float(np.sqrt((_DIFFERENCE_CORRELATION**2).sum() / len(q))),
    )
    found = np.max([_correlation(q, tau, lag) for lag in range(MAX_LAG + 1)], axis=0)
    power = np.maximum((q**2).sum(axis=0), np.finfo(float).tiny)
    first = (q[1:] * q[:-1]).sum(axis=0) / power  # autocorrelation, of what was white or not
    found[
        ~(np.abs(first - _DIFFERENCE_CORRELATION[DIFFERENCE_ORDER + 1]) < WHITENESS_TOLERANCE)
    ] = 0.0
    j = int(found.argmax())
    if found[j] <= limit:
        return None
    noise = np.sqrt((tau**2).mean(axis=0) / (_DIFFERENCE_WEIGHTS @ _DIFFERENCE_WEIGHTS))
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    share = float(np.median(noise / np.maximum(size, np.finfo(float).tiny)))
    return LoopNoise(log.joint_names[j], float(found[j]), share)


def _difference(x: Float2D) -> Float2D:
    differences = np.diff(np.where(np.isfinite(x), x, 0.0), DIFFERENCE_ORDER, axis=0)
    return np.asarray(differences - differences.mean(axis=0))


def _correlation(q: Float2D, tau: Float2D, lag: int) -> Float1D:
    """Return the size of the correlation of every joint with the torque `lag` samples later."""
    product = (q[: len(q) - lag] * tau[lag:]).sum(axis=0)
    size = np.sqrt((q**2).sum(axis=0) * (tau**2).sum(axis=0))
    return np.asarray(np.abs(product) / np.maximum(size, np.finfo(float).tiny))
