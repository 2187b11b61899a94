"""The periods of a periodic log: their samples, their mean, and a test of repetition.

Two preprocessors use them: one averages the periods of a log before smoothing, the other fits
Fourier series to them, with exact derivatives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import chdtri

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import Preprocessor, RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.registry import Registry
from robotid_sim.representation import public_value

PERIOD_TOLERANCE = 1e-3
"""Maximum deviation of a period from a whole number of samples."""

MAX_VARIANCE_RATIO = 1.5
"""Maximum variance between periods over the variance of the encoder noise."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Whole periods of a log; the first period is excluded."""

    first: int
    """Sample at which the second period begins."""
    samples: int
    """Samples of a period."""
    count: int
    """Number of whole periods from `first` on; at least one."""

    def mean(self, x: Float2D) -> Float2D:
        """Average a signal (N, n) over the periods, shape (samples, n)."""
        used = x[self.first : self.first + self.count * self.samples]
        return np.asarray(used.reshape(self.count, self.samples, -1).mean(axis=0))

    def phase(self, samples: int) -> Int1D:
        """Map every sample of the log to a sample of the period, shape (samples,)."""
        return np.asarray((np.arange(samples) - self.first) % self.samples)

    def average_others(self, x: Float2D) -> Float2D:
        """Replace every period of a signal (N, n) by the mean of the other periods; needs two.

        Samples outside the periods are replaced by the mean of all periods.
        """
        used = slice(self.first, self.first + self.count * self.samples)
        mean = self.mean(x)
        averaged = np.asarray(mean[self.phase(len(x))])
        blocks = x[used].reshape(self.count, self.samples, -1)
        averaged[used] = ((self.count * mean - blocks) / (self.count - 1)).reshape(-1, x.shape[1])
        return averaged

    def variance(self, x: Float2D) -> Float1D:
        """Compute the variance of a signal about its mean period, shape (n,); needs two periods."""
        used = x[self.first : self.first + self.count * self.samples]
        blocks = used.reshape(self.count, self.samples, -1)
        return np.asarray(np.var(blocks, axis=0, ddof=1).mean(axis=0))


def periods_of(log: Log, user: str) -> Periods | None:
    """Find the whole periods after the first; None if there are none.

    Messages name the `user` of the periods. Raises `LogError` if the log has no period, or one that
    is not a whole number of samples.
    """
    if log.period is None:
        raise LogError(f"{user} needs a periodic log; state its period")
    if log.torque_times is not None:
        raise LogError(
            f"{user} needs a uniform sample time; use errors-in-variables or rts for this log"
        )
    samples = log.period / log.dt
    if abs(samples - round(samples)) > PERIOD_TOLERANCE:
        raise LogError(
            f"{user} needs a period of a whole number of samples; {log.period:g} s are "
            f"{samples:.3f} samples of this log; resample it, or use rts"
        )
    first = int((log.t < log.period - 0.5 * log.dt).sum())
    count = (log.t.size - first) // round(samples)
    return Periods(first, round(samples), count) if count else None


def repeats(log: Log, periods: Periods, noise: Float1D) -> bool | None:
    """Return whether positions repeat up to encoder noise, shape (n,); None for a single period."""
    if periods.count < 2:
        return None
    # Rounding of positions without noise must not count as a difference.
    allowed = MAX_VARIANCE_RATIO * noise**2 + (1e-12 * np.abs(log.q).max()) ** 2
    return bool((periods.variance(log.q) <= allowed).all())


AVERAGING_NAME = "the preprocessor period-averaging"

SMOOTHING_METHODS: Registry[Preprocessor] = Registry(
    "smoothing method",
    Preprocessor,
    {
        "butterworth": "robotid_sim.preprocess.linear_filters:Butterworth",
        "fourier-fit": "robotid_sim.preprocess.periods:FourierFit",
        "rts": "robotid_sim.preprocess.rts:RtsSmoother",
        "savitzky-golay": "robotid_sim.preprocess.linear_filters:SavitzkyGolay",
    },
)
"""Preprocessors that do not change the torque."""


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodAveraging(RowPreprocessor):
    r"""Mean of positions and torques over all periods except the first, then any smoother.

    Averaging reduces the noise of M periods by :math:`1 / \sqrt{M}` and does not change periodic
    motion, without any model [1]_. The mean period replaces every period, so that the smoother has
    no ends; one period becomes rows. A log without a second period is smoothed only.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, sec. IV.
    """

    needs_period: ClassVar[bool] = True

    method: str = "rts"
    """Smoother of the mean: a preprocessor of the motion alone."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the smoother."""
    smoother: Preprocessor | None = None
    """Tuned smoother; it replaces `method` and `options`."""

    def __post_init__(self) -> None:
        self._build_smoother()

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the motion of the mean period and its torque, repeated over the log."""
        periods = periods_of(log, AVERAGING_NAME)
        if periods is None:
            return self._build_smoother()(log, robot)
        mean = average_periods(log, periods)
        motion = self._build_smoother()(mean, robot)
        edge = round(self.rows.edge / log.dt)
        first = periods.first - periods.samples // 2 - edge
        stop = first + periods.samples + 2 * edge
        if first < 0 or stop > log.t.size:
            raise LogError(
                f"{AVERAGING_NAME}: a period of {log.period:g} s is too short for the edges of the "
                f"rows"
            )
        row_filter = self.rows.filter_for(mean, motion.dq, slice(first, stop))
        return replace(motion, row_filter=row_filter)

    def tune(self, log: Log, robot: Robot) -> Self:
        """Tune the smoother to the mean of `log`."""
        if self.smoother is not None:
            return self
        periods = periods_of(log, AVERAGING_NAME)
        mean = log if periods is None else average_periods(log, periods)
        return replace(self, smoother=self._build_smoother().tune(mean, robot))

    def _build_smoother(self) -> Preprocessor:
        if self.smoother is not None:
            return self.smoother
        return SMOOTHING_METHODS.build(self.method, **{**self.options, "rows": self.rows})


def average_periods(log: Log, periods: Periods) -> Log:
    """Replace every period of a log by the mean period."""
    phase = periods.phase(log.t.size)
    q, tau = (periods.mean(x)[phase] for x in (log.q, log.tau_meas))
    return replace(log, q=q, tau_meas=tau, dq=None, truth=None)


FOURIER_FIT_NAME = "the preprocessor fourier-fit"

CONFIDENCE = 0.98
"""Confidence of the test for harmonics; a false detection only doubles the order."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class FourierFit(RowPreprocessor):
    r"""Least-squares Fourier series on all periods except the first, of data-driven order.

    .. math:: q(t) = \sum_{k=-H}^{H} c_k e^{i k \omega t}, \qquad
        c_k = \frac{1}{N} \sum_m \bar q_m e^{-i k \omega t_m}

    with the mean period :math:`\bar q`: the samples of a period are orthogonal, so the transform is
    the least-squares fit of every order at once, and derivatives are exact [1]_. Per joint the
    order minimizes :math:`N \log(RSS_H / N) + (2 H + 1) \log N` [2]_, and is then doubled while the
    added harmonics exceed the noise, by a chi-squared test. The criterion selects the best
    position; friction with a wrong model causes motion with many small harmonics, which the torque
    at reversals needs and which are significant only together. A short series stays short.

    The transient has decayed after the first period; a log without a second one, such as that of a
    validation motion, is smoothed by `otherwise`.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, sec. IV.
    .. [2] Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2),
       461-464, doi:10.1214/aos/1176344136.
    """

    needs_period: ClassVar[bool] = True

    orders: tuple[int, ...] | None = None
    """Number of harmonics H per joint; by default chosen from the log."""
    highest: float = 50.0
    """Maximum frequency of a series [Hz]."""
    otherwise: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of logs without a second period."""

    def __post_init__(self) -> None:
        if not self.highest > 0.0 or any(order < 1 for order in self.orders or ()):
            raise OptionError("a Fourier fit needs orders of at least 1 and a positive frequency")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the fitted motion at the torque times, repeated over the whole log."""
        periods = periods_of(log, FOURIER_FIT_NAME)
        if periods is None:
            return replace(self.otherwise, rows=self.rows)(log, robot)
        orders = self.tune(log, robot).orders
        assert orders is not None
        c = np.fft.rfft(periods.mean(log.q), axis=0)
        k = np.arange(len(c))
        c[k[:, None] > np.array(orders)] = 0.0
        speed = 2j * np.pi * k / (periods.samples * log.dt)
        c *= np.exp(speed * log.torque_time_offset)[:, None]
        phase = periods.phase(log.t.size)
        spectra = (c * speed[:, None] ** order for order in range(3))
        states = (np.fft.irfft(s, n=periods.samples, axis=0)[phase] for s in spectra)
        motion = self.motion_of(log, *states)
        later = self.rows.samples(log, float(log.t[periods.first]))
        return replace(motion, row_filter=self.rows.filter_for(log, motion.dq, later))

    def tune(self, log: Log, robot: Robot) -> Self:
        """Fix the orders to those for `log`."""
        if self.orders is not None:
            if len(self.orders) != log.dof:
                raise OptionError(f"{len(self.orders)} Fourier orders for {log.dof} joints")
            return self
        periods = periods_of(log, FOURIER_FIT_NAME)
        if periods is None:
            return replace(self, otherwise=self.otherwise.tune(log, robot))
        assert log.period is not None
        most = min(round(self.highest * log.period), (periods.samples - 1) // 4)
        orders = tuple(int(h) for h in likely_orders(periods.mean(log.q), max(most, 1)))
        return replace(self, orders=orders, otherwise=self.otherwise.tune(log, robot))


def likely_orders(z: Float2D, most: int) -> Int1D:
    """Choose the order of a Fourier series for every column of a period; see `FourierFit`.

    The period z has shape (N, n); `most` is the largest order, at most (N - 1) / 4: harmonics above
    estimate the noise.
    """
    samples = len(z)
    power = np.abs(np.fft.rfft(z, axis=0)) ** 2 / samples
    power[1 : (samples + 1) // 2] *= 2.0  # both signs of a frequency; half the rate has only one
    tail_power = np.cumsum(power[::-1], axis=0)[::-1]
    rounding = (np.finfo(float).eps * np.abs(z).max()) ** 2
    orders = np.arange(1, most + 1)
    rss = np.maximum(tail_power[2 : most + 2], samples * rounding)
    bic = samples * np.log(rss / samples) + (2.0 * orders[:, None] + 1.0) * np.log(samples)
    order = orders[np.argmin(bic, axis=0)]
    # The power of white noise is its variance times chi-squared of 2 degrees of freedom.
    variance = np.median(power[most + 1 :], axis=0) / chdtri(2, 0.5)
    variance = np.maximum(variance, rounding)
    return np.array(
        [_double_order(int(h), power[:, j] / variance[j], most) for j, h in enumerate(order)]
    )


def _double_order(order: int, power: Float1D, most: int) -> int:
    """Double the order while the added harmonics exceed the noise; `power` is relative to noise."""
    while order < most:
        wider = min(2 * order, most)
        added = power[order + 1 : wider + 1]
        if added.sum() <= chdtri(2 * added.size, 1.0 - CONFIDENCE):
            break
        order = wider
    return order
