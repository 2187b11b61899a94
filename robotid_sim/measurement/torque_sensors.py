"""Sensors of the joint torques: noise, offset, ripple, motor current and delay."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.measurement import sensors
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import interpolate_samples
from robotid_sim.measurement.sensors import HarmonicSensor, PerJoint, Sensor

MAX_DELAY = 10.0
"""Maximum delay of a channel [s]."""

PEAK_CURRENT = 10.0
"""Current at the largest torque of a log, if no torque constant is given [A]; assumed."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueNoise(Sensor):
    """White Gaussian noise on the joint torques, relative to their size or absolute.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> noisier = rid.measure(log, rid.TorqueNoise(relative=0.02), rng)
    >>> noise = np.std(noisier.tau_meas - log.tau_meas, axis=0)
    >>> bool(np.all(noise < 0.03 * np.std(log.tau_meas, axis=0)))
    True
    """

    relative: PerJoint = 0.01
    """Standard deviation over the RMS torque of the joint."""
    absolute: PerJoint = 0.0
    """Additional standard deviation [N m]."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "relative", "absolute")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add noise to `tau_meas`."""
        noise = _scale_by_torque(self, log) * rng.standard_normal(log.q.shape)
        return sensors.record_sensor(self, log, tau_meas=log.tau_meas + noise)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueOffset(Sensor):
    """Constant error of the joint torques: the sum of `offset` and a random error.

    It resembles the offset `Fo` of a friction model, and gravity where a joint hardly moves.
    """

    offset: PerJoint = 0.0
    """Known part of the error [N m], of either sign."""
    relative: PerJoint = 0.005
    """Standard deviation of the random error over the RMS torque of the joint."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "offset", signed=True)
        sensors.keep_numbers(self, "relative")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add the offset to `tau_meas`."""
        std = sensors.expand_option(self, "relative", log) * sensors.torque_rms(log)
        offset = sensors.expand_option(self, "offset", log) + std * rng.standard_normal(log.dof)
        return sensors.record_sensor(self, log, {"offset": offset}, tau_meas=log.tau_meas + offset)

    def fix_draws(self, drawn: Mapping[str, Any]) -> Sensor:
        """Fix the offset; see `Sensor`."""
        return replace(self, offset=drawn["offset"], relative=0.0)


@document_attributes
@dataclass(frozen=True, kw_only=True)
class TorqueRipple(HarmonicSensor):
    r"""Torque errors that repeat with every revolution of the motor.

    .. math:: e(q) = A \sum_k s_k \sin(k \alpha + \varphi_k), \qquad \alpha = G q

    A torque computed from the motor current omits cogging and the ripple of the torque constant; a
    harmonic drive causes two periods per revolution of its wave generator [1]_. Phases are random.
    The ripple depends on the positions of the log: apply it before sensors of the positions.

    References
    ----------
    .. [1] Ghorbel, Gandhi, Alpeter (2001), "On the kinematic error in harmonic drive gears",
       J. Mechanical Design 123(1), 90-97, doi:10.1115/1.1334379.
    """

    relative: PerJoint = 0.01
    """Amplitude A over the RMS torque of the joint."""
    absolute: PerJoint = 0.0
    """Additional amplitude [N m]."""
    gear: PerJoint = 100.0
    """Revolutions G of the motor per revolution of the joint, or of the screw."""

    def __post_init__(self) -> None:
        super().__post_init__()
        sensors.keep_numbers(self, "relative", "absolute")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add the ripple to `tau_meas`."""
        error, phase = self.harmonics(log, rng)
        ripple = _scale_by_torque(self, log) * error
        return sensors.record_sensor(self, log, {"phase": phase}, tau_meas=log.tau_meas + ripple)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class MotorCurrent(Sensor):
    r"""Torque computed from the motor current with a wrong torque constant.

    .. math:: i = \frac{\tau}{K (1 + \delta)} + i_0 + w, \qquad \tau_{meas} = K i

    K is the assumed constant at the joint: torque constant of the motor times gear ratio [1]_; the
    true constant is :math:`K (1 + \delta)`. The identified parameters of the joint are then wrong
    by the factor :math:`1 / (1 + \delta)`, with or without noise. The log contains i and K.

    References
    ----------
    .. [1] Gautier, Briot (2014), "Global identification of joint drive gains and dynamic parameters
       of robots", J. Dynamic Systems, Measurement, and Control 136(5), 051025,
       doi:10.1115/1.4027506.
    """

    torque_constant: PerJoint | None = None
    """Assumed constant K [N m/A or N/A]; by default the largest torque of the log over 10 A."""
    error: PerJoint = 0.0
    """Known part of delta, of either sign."""
    error_std: PerJoint = 0.02
    """Standard deviation of the random part of delta."""
    noise: PerJoint = 0.02
    """Standard deviation of white noise w on the current [A]."""
    offset: PerJoint = 0.0
    """Offset i0 of the current [A], of either sign."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "error", "offset", signed=True)
        sensors.keep_numbers(self, "error_std", "noise")
        if self.torque_constant is not None:
            sensors.keep_numbers(self, "torque_constant", positive=True)

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Compute `tau_meas` from the current; add `current` and `torque_constant` to the log."""
        if self.torque_constant is not None:
            assumed = sensors.expand_option(self, "torque_constant", log)
        else:
            peak = np.abs(log.tau_meas).max(axis=0)
            assumed = np.where(peak > 0.0, peak / PEAK_CURRENT, 1.0)
        drawn = sensors.expand_option(self, "error_std", log) * rng.standard_normal(log.dof)
        delta = sensors.expand_option(self, "error", log) + drawn
        delta = np.maximum(delta, -0.9)  # a drive with inverted torque would not run
        noise = sensors.expand_option(self, "noise", log) * rng.standard_normal(log.q.shape)
        offset = sensors.expand_option(self, "offset", log)
        current = log.tau_meas / (assumed * (1.0 + delta)) + offset + noise
        return sensors.record_sensor(
            self,
            log,
            {"error": delta, "torque_constant": assumed},
            tau_meas=assumed * current,
            current=current,
            torque_constant=assumed,
        )

    def fix_draws(self, drawn: Mapping[str, Any]) -> Sensor:
        """Fix the torque constants; see `Sensor`."""
        constant = drawn["torque_constant"]
        return replace(self, error=drawn["error"], error_std=0.0, torque_constant=constant)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class TorqueDelay(Sensor):
    """A delayed torque channel: each torque sample was taken before its time stamp.

    Fractions of a sample are interpolated, see `interpolate_samples`: up to a tenth of the sample
    rate the error of the delay is 1e-5 samples. The first samples have no earlier torque and repeat
    the first torque.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> late = rid.measure(log, rid.TorqueDelay(samples=2))
    >>> bool(np.allclose(late.tau_meas[2:], log.tau_meas[:-2]))
    True
    """

    check_options: ClassVar[Mapping[str, Any]] = {"delay": 2.5e-3}

    random: ClassVar[bool] = False

    delay: float = 0.0
    """Delay after the positions [s]."""
    samples: float = 0.0
    """Additional delay in samples; may be a fraction."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "delay", "samples")
        if self.delay > MAX_DELAY or self.samples > 1e5:
            text = f"a torque delay of {self.delay:g} s and {self.samples:g} samples is implausible"
            raise OptionError(f"{text}; give up to {MAX_DELAY:g} s and 1e5 samples")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Shift `tau_meas` to later samples."""
        del rng
        delay = self.delay / log.dt + self.samples
        samples = round(delay)
        delay = samples if abs(delay - samples) < 1e-9 else delay  # rounding error of the mean step
        position = np.arange(log.t.size) - delay
        return sensors.record_sensor(
            self, log, tau_meas=interpolate_samples(log.tau_meas, position)
        )


def _scale_by_torque(sensor: Sensor, log: Log) -> Float1D:
    """Return the options `relative`, times the RMS torque, plus `absolute` [N m], shape (n,)."""
    relative, absolute = (sensors.expand_option(sensor, n, log) for n in ("relative", "absolute"))
    return relative * sensors.torque_rms(log) + absolute
