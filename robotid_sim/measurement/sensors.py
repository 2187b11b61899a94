"""The base class of sensors: each converts a clean log into one that a real cell would record.

Sensors compose: `measure` applies them one after the other with one generator, so that a seed fixes
every bit. The order is part of the experiment, and should be that of the cell: errors of the
measured quantity (eccentricity, jitter), then noise, then quantization, then recording faults
(delay, outliers, lost samples). Each sensor adds a note to the provenance of the log.

The presets are sensors of typical cells, in one table, ``presets.toml``. The numbers are orders of
magnitude, chosen so that the presets differ; without a source they are assumptions.
`describe_presets` gives the table with the reasons.
"""

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any, ClassVar, TypeAlias

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import LogError, OptionError, ShapeError, UnknownNameError, require_type
from robotid_sim.measurement.log import Log
from robotid_sim.renamed import warn_of_name

PROVENANCE_KEY = "measured_by"
"""Key, in the provenance of a log, of the list of sensors with options and random values."""

PerJoint = float | tuple[float, ...]
"""One number for all joints, or one per joint."""


class Sensor(ABC):
    """One imperfection of the measurement; a frozen dataclass of its parameters."""

    check_options: ClassVar[Mapping[str, Any]] = {}
    """Options with which `robotid_sim.testing` tests it on a short log."""

    random: ClassVar[bool] = True
    """Whether it uses random numbers."""

    @abstractmethod
    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Apply this imperfection to a log; `truth` is unchanged."""

    def fix_draws(self, drawn: Mapping[str, Any]) -> "Sensor":
        """Fix the random values that are constant for a cell to `drawn`; most sensors have none.

        The values for a log are in its provenance.
        """
        del drawn
        return self

    def again(self, log: Log, rng: np.random.Generator, share: float) -> Log:
        """Apply this imperfection as in a replicate of the experiment.

        Most sensors are called with a different generator. Deterministic sensors still differ
        between replicates if they depend on details of the motion that do not repeat. These details
        are represented by `share`, from 0 to 1 and evenly spaced over replicates.

        Parameters
        ----------
        log : Log
            As for a call.
        rng : numpy.random.Generator
            Source of noise.
        share : float
            Value for this replicate, between 0 and 1.

        Returns
        -------
        measured : Log
            Its `truth` is unchanged.
        """
        del share
        return self(log, rng)


def measure(
    log: Log, sensors: Sensor | Sequence[Sensor], rng: np.random.Generator | None = None
) -> Log:
    """Measure a clean log with one sensor, or with several sensors in their order.

    Logs of different noise seeds differ only by the generator.

    Parameters
    ----------
    log : Log
        A clean log.
    sensors : Sensor or sequence of Sensor
        Applied in this order.
    rng : numpy.random.Generator, optional
        Source of all noise; deterministic sensors need none.

    Returns
    -------
    log : Log
        Measured log; the clean one is its truth.

    Raises
    ------
    OptionError
        If a random sensor has no generator, or a sensor changes the samples or joints.
    LogError
        If the result of a sensor is not a valid log; the message names the sensor.
    ArgumentTypeError
        If the log or a sensor has a wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> noisier = rid.measure(log, rid.EncoderNoise(revolute=1e-3), rng)
    >>> round(float(np.std(noisier.q - log.q)), 4)
    0.001
    """
    require_type(log, Log, "log", "give what rollout or load_log returned")
    for sensor in (sensors,) if isinstance(sensors, Sensor) else sensors:
        require_type(sensor, Sensor, "a sensor", "give objects such as EncoderNoise()")
        if rng is None and sensor.random:
            raise OptionError(f"{type(sensor).__name__} needs random numbers; give rng")
        draw = rng if rng is not None else np.random.default_rng(0)
        log = _call_sensor(sensor, log, partial(sensor, log, draw))
    return log


def _call_sensor(sensor: Sensor, log: Log, sense: Callable[[], Log]) -> Log:
    """Call a sensor, which may be a user's, and check its result."""
    result_name = f"the result of {type(sensor).__name__}"
    try:
        measured = sense()
    except LogError as error:  # its cause names the fault of the samples
        reason = str(error.__cause__ or error).removeprefix("log: ")
        result_name = f"sensor {type(sensor).__name__} makes an invalid log"
        raise LogError(f"{result_name}: {reason}; correct its options or its __call__") from error
    require_type(measured, Log, result_name, "a sensor returns a Log")
    if measured.q.shape != log.q.shape or measured.joint_names != log.joint_names:
        raise OptionError(f"{result_name} has different samples or joints; a sensor must keep them")
    return measured


def replicate_measurement(
    log: Log, sensors: Sequence[Sensor], rng: np.random.Generator, share: float
) -> Log:
    """Measure a clean log as in a replicate of the experiment.

    Sensors apply in this order; `fix_sensors` gives the sensors of the same cell. `share`, between
    0 and 1, is the shift of encoder steps in this replicate. The truth is the same.
    """
    for sensor in sensors:
        log = _call_sensor(sensor, log, partial(sensor.again, log, rng, share))
    return log


def fix_sensors(sensors: Sequence[Sensor], log: Log) -> tuple[Sensor, ...]:
    """Fix the sensors that measured a log, so that another log can be measured with the same cell.

    Torque constants, offsets and phases of harmonics are constant for a cell: in a replicate of the
    experiment only the noise differs. The sensors are unchanged if the log has no notes of them,
    such as a log of a machine.
    """
    notes = log.provenance.get(PROVENANCE_KEY, [])
    if [note["sensor"] for note in notes] != [type(sensor).__name__ for sensor in sensors]:
        return tuple(sensors)
    pairs = zip(sensors, notes, strict=True)
    return tuple(sensor.fix_draws(note.get("drawn", {})) for sensor, note in pairs)


def record_sensor(
    sensor: Sensor, log: Log, facts: Mapping[str, Any] | None = None, **channels: Any
) -> Log:
    """Replace channels of a log and note the sensor in its provenance.

    A new torque also changes the motor current, because torque is current times constant.

    `facts` are random values or counts of the sensor; the note contains its options and facts.
    """
    if "tau_meas" in channels and "current" not in channels and log.torque_constant is not None:
        channels["current"] = channels["tau_meas"] / log.torque_constant
    note = {"sensor": type(sensor).__name__, **_jsonable(asdict(sensor))}  # type: ignore[call-overload]
    if facts:
        note["drawn"] = _jsonable(facts)
    before = log.provenance.get(PROVENANCE_KEY, [])
    return replace(log, provenance={**log.provenance, PROVENANCE_KEY: [*before, note]}, **channels)


def __getattr__(name: str) -> Any:
    """Return a function by its old name, for sensors of users."""
    if name == "applied":
        warn_of_name("applied", "record_sensor")
        return record_sensor
    raise AttributeError(name)


def _jsonable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arrays and tuples to lists, as in a file."""
    return {k: np.asarray(v).tolist() if np.ndim(v) else v for k, v in values.items()}


def keep_numbers(sensor: Sensor, *names: str, signed: bool = False, positive: bool = False) -> None:
    """Check options that are one number or one per joint, and freeze lists into tuples.

    Raises `OptionError` if one is not a number, not finite, negative unless `signed`, or zero if it
    must be `positive`.
    """
    for name in names:
        value = getattr(sensor, name)
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise OptionError(f"{type(sensor).__name__} {name} is not a number: {value}") from error
        low = array <= 0.0 if positive else array < 0.0
        if array.ndim > 1 or not np.isfinite(array).all() or (low.any() and not signed):
            rule = "finite" if signed else "positive" if positive else "finite and not negative"
            raise OptionError(f"{type(sensor).__name__} {name} must be {rule}, got {value}")
        if array.ndim == 1:
            object.__setattr__(sensor, name, tuple(array.tolist()))


def expand_option(sensor: Sensor, name: str, log: Log) -> Float1D:
    """Expand an option to one number per joint of the log, shape (n,).

    Raises `OptionError` if it does not have one entry per joint.
    """
    value = np.asarray(getattr(sensor, name), dtype=float)
    if value.ndim == 1 and value.size != log.dof:
        raise OptionError(
            f"{type(sensor).__name__} {name} has {value.size} entries for {log.dof} joints; give "
            "one per joint or a single number"
        )
    return np.array(np.broadcast_to(value, (log.dof,)))


def expand_by_joint_type(sensor: Sensor, log: Log) -> Float1D:
    """Return the option `revolute` or `prismatic` of the sensor for each joint, shape (n,)."""
    both = (expand_option(sensor, name, log) for name in ("prismatic", "revolute"))
    return np.asarray(np.where(is_prismatic(log), *both))


def is_prismatic(log: Log) -> Bool1D:
    """Return which joints of a log are prismatic, shape (n,)."""
    return np.array([unit == "m" for unit in log.joint_units])


def torque_rms(log: Log) -> Float1D:
    """Compute the RMS torque of every joint from time zero [N m], or of a log before time zero."""
    motion = log.t >= 0.0 if (log.t >= 0.0).any() else log.t < 0.0
    return np.asarray(np.sqrt((log.tau_meas[motion] ** 2).mean(axis=0)))


_Phases: TypeAlias = tuple[tuple[float, ...], ...]
"""Phases of harmonics, one list per order with one number per joint."""


@document_attributes
@dataclass(frozen=True, kw_only=True)
class HarmonicSensor(Sensor):
    r"""A sensor whose error depends on the angle :math:`\alpha = G q` of the encoder or the motor.

    The error is :math:`e = A \sum_k s_k \sin(k \alpha + \varphi_k)`; of a prismatic joint with a
    screw of lead p the angle is :math:`2 \pi G q / p`. Phases are random.
    """

    orders: tuple[float, ...] = (1.0, 2.0)
    """Periods k per revolution of the encoder or the motor."""
    shares: tuple[float, ...] = (1.0, 0.5)
    """Amplitude of each order over A."""
    gear: PerJoint = 1.0
    """Revolutions G of encoder or motor per revolution of the joint or screw."""
    lead: PerJoint = 0.01
    """Travel of a prismatic joint per revolution of its screw [m]."""
    phase: _Phases | None = None
    """Phases [rad], one list per order with one number per joint; random by default."""

    def __post_init__(self) -> None:
        keep_numbers(self, "orders", "shares")
        keep_numbers(self, "gear", "lead", positive=True)
        orders, shares = self.orders, self.shares
        lists = isinstance(orders, tuple) and isinstance(shares, tuple)
        if not lists or len(orders) != len(shares):
            raise OptionError(
                f"{type(self).__name__} orders and shares must be lists of the same length, got "
                f"{orders} and {shares}"
            )

    def harmonics(self, log: Log, rng: np.random.Generator) -> tuple[Float2D, Float2D]:
        """Compute the error over its amplitude, (N, n), and the phases, (len(orders), n) [rad].

        Phases are random if not given. Raises `OptionError` if given phases are not one per order
        and joint.
        """
        shape = (len(self.orders), log.dof)
        if self.phase is None:
            phase: Float2D = rng.uniform(0.0, 2.0 * np.pi, shape)
        else:
            try:
                phase = readonly(self.phase, shape=shape, name="phase")
            except ShapeError as error:
                message = f"phases of harmonics, one per order and joint: {error}"
                raise OptionError(message) from error
        gear, lead = expand_option(self, "gear", log), expand_option(self, "lead", log)
        angle = log.q * gear * np.where(is_prismatic(log), 2.0 * np.pi / lead, 1.0)
        terms = zip(self.orders, self.shares, phase, strict=True)
        return np.asarray(sum(share * np.sin(k * angle + p) for k, share, p in terms)), phase

    def fix_draws(self, drawn: Mapping[str, Any]) -> Sensor:
        """Fix the phases; see `Sensor`."""
        return replace(self, phase=drawn["phase"])


_PRESET_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    (files(__package__) / "presets.toml").read_text("utf-8")
)
"""Reason, and options by preset, of every sensor, in order of application."""

_PRESET_NAMES = ("lab", "industrial", "harsh")

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ideal": {},
    **{
        name: {s: row[name] for s, row in _PRESET_TABLE.items() if name in row}
        for name in _PRESET_NAMES
    },
}
"""Sensors with their options, by preset, in order of application; `ideal` has none."""


def preset(name: str) -> dict[str, dict[str, Any]]:
    """Return the sensors of a preset with their options, a copy.

    Raises `UnknownNameError` if there is no such preset; the message lists the known ones.
    """
    if name not in PRESETS:
        raise UnknownNameError.from_names("sensor preset", name, PRESETS)
    return {sensor: dict(options) for sensor, options in PRESETS[name].items()}


def describe_presets() -> list[dict[str, Any]]:
    """List all presets, one row per preset and sensor, with the options and their reason."""
    return [
        {"preset": name, "sensor": s, "options": options, "reason": _PRESET_TABLE[s]["reason"]}
        for name in _PRESET_NAMES
        for s, options in preset(name).items()
    ]
