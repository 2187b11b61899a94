"""Sensors of the joint positions: noise, eccentricity, resolution and the time of sampling."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.measurement import sensors
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import interpolate_samples
from robotid_sim.measurement.sensors import HarmonicSensor, PerJoint, Sensor

DEFAULT_RESOLUTION = 2.0 * np.pi / 2**17  # [rad]

MAX_BITS = 52
"""Maximum bits per revolution of an encoder: positions are numbers of 52 bits."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderNoise(Sensor):
    """White Gaussian noise on the joint positions.

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

    revolute: PerJoint = 1e-4
    prismatic: PerJoint = 1e-5
    """Standard deviation of revolute joints [rad] and of prismatic ones [m]."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "revolute", "prismatic")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add noise to `q`."""
        std = sensors.expand_by_joint_type(self, log)
        return sensors.record_sensor(self, log, q=log.q + std * rng.standard_normal(log.q.shape))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderColoredNoise(Sensor):
    r"""Colored noise on the joint positions: a first-order Gauss-Markov process.

    .. math:: e_{k+1} = a e_k + \sigma \sqrt{1 - a^2}\, w_k, \qquad a = e^{-\Delta t / T}

    with white w of unit variance and a stationary start [1]_: standard deviation sigma, correlation
    :math:`e^{-|t| / T}`. Smoothers for white noise underestimate it.

    References
    ----------
    .. [1] Uhlenbeck, Ornstein (1930), "On the theory of the Brownian motion", Physical Review 36,
       823-841, doi:10.1103/PhysRev.36.823.
    """

    revolute: PerJoint = 5e-5
    prismatic: PerJoint = 5e-6
    """Standard deviation of revolute joints [rad] and of prismatic ones [m]."""
    correlation_time: float = 0.02
    """Time T after which the correlation has fallen to 1/e [s]."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "revolute", "prismatic")
        sensors.keep_numbers(self, "correlation_time", positive=True)

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add noise to `q`."""
        memory = np.exp(-log.dt / self.correlation_time)
        drive = rng.standard_normal(log.q.shape)
        drive[1:] *= np.sqrt(1.0 - memory**2)
        noise = sensors.expand_by_joint_type(self, log) * scipy.signal.lfilter(
            [1.0], [1.0, -memory], drive, axis=0
        )
        return sensors.record_sensor(self, log, q=log.q + noise)


@document_attributes
@dataclass(frozen=True, kw_only=True)
class EncoderHarmonics(HarmonicSensor):
    r"""Position errors with the period of the encoder, as of an eccentric disk.

    .. math:: e(q) = A \sum_k s_k \sin(k \alpha + \varphi_k), \qquad \alpha = G q

    An eccentric disk causes one period per revolution, a tilted or oval disk two; harmonic drives
    have two per revolution of their wave generator [1]_. Phases are random. Apply it before noise.

    References
    ----------
    .. [1] Ghorbel, Gandhi, Alpeter (2001), "On the kinematic error in harmonic drive gears",
       J. Mechanical Design 123(1), 90-97, doi:10.1115/1.1334379.
    """

    revolute: PerJoint = 1e-4
    prismatic: PerJoint = 1e-5
    """Amplitude A at the joint: of revolute joints [rad] and of prismatic ones [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        sensors.keep_numbers(self, "revolute", "prismatic")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Add the error to `q`."""
        error, phase = self.harmonics(log, rng)
        return sensors.record_sensor(
            self, log, {"phase": phase}, q=log.q + sensors.expand_by_joint_type(self, log) * error
        )


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderQuantization(Sensor):
    """Rounding of the joint positions to the encoder's resolution.

    The resolution of revolute joints is given in rad, or in bits per revolution of an encoder that
    turns `gear` times per revolution of the joint.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> coarse = rid.measure(log, rid.EncoderQuantization(bits=12))
    >>> round(float(np.abs(coarse.q - log.q).max() / (2.0 * np.pi / 2**12)), 2)
    0.5
    """

    random: ClassVar[bool] = False

    revolute: PerJoint = DEFAULT_RESOLUTION
    """Resolution of revolute joints [rad]; 0 for none. Not together with `bits`."""
    prismatic: PerJoint = 1e-6
    """Resolution of prismatic joints [m]; 0 for none."""
    bits: PerJoint | None = None
    """Bits per revolution of the encoder of revolute joints."""
    gear: PerJoint = 1.0
    """Revolutions of the encoder per revolution of the joint; used with `bits` only."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "revolute", "prismatic")
        sensors.keep_numbers(self, "gear", positive=True)
        if self.bits is not None:
            sensors.keep_numbers(self, "bits")
            if not all(1.0 <= bits <= MAX_BITS for bits in np.atleast_1d(self.bits)):
                raise OptionError(
                    f"EncoderQuantization bits must lie between 1 and {MAX_BITS}, got {self.bits}"
                )
            if self.revolute != DEFAULT_RESOLUTION:
                raise OptionError(
                    "EncoderQuantization takes revolute [rad] or bits per revolution, not both"
                )

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Round `q` to the nearest count."""
        del rng
        step = self._steps(log)
        counts = np.divide(log.q, step, out=np.zeros_like(log.q), where=step > 0.0)
        return sensors.record_sensor(
            self, log, q=np.where(step > 0.0, np.round(counts) * step, log.q)
        )

    def again(self, log: Log, rng: np.random.Generator, share: float) -> Log:
        """Round `q` on shifted steps, because a replicate of the motion is not exact to a step.

        Parameters
        ----------
        log : Log
            As for a call.
        rng : numpy.random.Generator
            Not used.
        share : float
            Shift of the steps, over the size of a step.

        Returns
        -------
        measured : Log
            Its `truth` is unchanged.
        """
        shift = share * self._steps(log)
        rounded = self(replace(log, q=log.q + shift), rng)
        return replace(rounded, q=rounded.q - shift)

    def _steps(self, log: Log) -> Float1D:
        """Compute the resolution of every joint [rad or m], shape (n,)."""
        step = sensors.expand_by_joint_type(self, log)
        if self.bits is None:
            return step
        turn = 2.0 * np.pi / sensors.expand_option(self, "gear", log)
        bits = sensors.expand_option(self, "bits", log)
        return np.asarray(np.where(sensors.is_prismatic(log), step, turn / 2.0**bits))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJitter(Sensor):
    """Positions sampled early or late, with a uniform time grid in the log.

    The encoders of all joints are latched together, so all joints of a sample share one timing
    error, white and Gaussian. Positions between samples are interpolated with a relative error of
    1e-7 for motion at a twentieth of the sample rate. Apply it before noise, because noise cannot
    be interpolated.
    """

    std: float = 1e-5
    """Standard deviation of the sampling time [s]."""

    def __post_init__(self) -> None:
        sensors.keep_numbers(self, "std")

    def __call__(self, log: Log, rng: np.random.Generator) -> Log:
        """Replace `q` by the positions at the true sampling times."""
        late = self.std * rng.standard_normal(log.t.size)
        position = np.arange(log.t.size) + late / log.dt
        facts = {"rms": float(np.sqrt((late**2).mean()))}
        return sensors.record_sensor(self, log, facts, q=interpolate_samples(log.q, position))
