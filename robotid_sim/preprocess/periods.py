"""The periods of a log that repeats: where they lie, their mean, and whether they do repeat.

Mean over the periods of a log before anything else.

Fourier series fitted to the periods of a log: what really repeats, derivatives exact.
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
"""Largest deviation of a period from a whole number of samples."""

MAX_VARIANCE_RATIO = 1.5
"""Largest variance between periods over that of the encoder noise."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Whole periods of a log after the first one."""

    first: int
    """Sample at which the second period begins."""
    samples: int
    """Samples of a period."""
    count: int
    """Whole periods from there on; at least one."""

    def mean(self, x: Float2D) -> Float2D:
        """Return the mean period of a signal (N, n), shape (samples, n)."""
        used = x[self.first : self.first + self.count * self.samples]
        return np.asarray(used.reshape(self.count, self.samples, -1).mean(axis=0))

    def phase(self, samples: int) -> Int1D:
        """Return the sample of the period that every sample of the log is at, shape (samples,)."""
        return np.asarray((np.arange(samples) - self.first) % self.samples)

    def average_others(self, x: Float2D) -> Float2D:
        """Return a signal (N, n) whose periods are the mean of the others; needs two.

        Before the first whole period it is the mean of all.
        """
        used = slice(self.first, self.first + self.count * self.samples)
        mean = self.mean(x)
        found = np.asarray(mean[self.phase(len(x))])
        blocks = x[used].reshape(self.count, self.samples, -1)
        found[used] = ((self.count * mean - blocks) / (self.count - 1)).reshape(-1, x.shape[1])
        return found

    def variance(self, x: Float2D) -> Float1D:
        """Return the variance of a signal about its mean period, shape (n,); needs two periods."""
        used = x[self.first : self.first + self.count * self.samples]
        blocks = used.reshape(self.count, self.samples, -1)
        return np.asarray(np.var(blocks, axis=0, ddof=1).mean(axis=0))


def periods_of(log: Log, user: str) -> Periods | None:
    """Return the whole periods after the first; None if there are none.

    Messages name the `user` who needs them. Raises `LogError` if the log has no period, or one that
    is no whole number of samples.
    """
    if log.period is None:
        raise LogError(f"{user} needs a log that repeats, and this one has no period")
    if log.torque_times is not None:
        raise LogError(
            f"{user} needs samples at even times, and those of this log are not; use "
            "errors-in-variables or rts"
        )
    samples = log.period / log.dt
    if abs(samples - round(samples)) > PERIOD_TOLERANCE:
        raise LogError(
            f"{user} needs a period of a whole number of samples; {log.period:g} s are "
            f"{samples:.3f} samples of this log: resample it, or use rts"
        )
    first = int((log.t < log.period - 0.5 * log.dt).sum())
    count = (log.t.size - first) // round(samples)
    return Periods(first, round(samples), count) if count else None


def repeats(log: Log, periods: Periods, noise: Float1D) -> bool | None:
    """Return whether positions repeat up to encoder noise (n,); None with one period only."""
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
"""The preprocessors that leave the torque alone."""


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodAveraging(RowPreprocessor):
    r"""Mean over all periods but the first, of position and torque alike, then any smoother.

    Averaging takes :math:`1 / \sqrt{M}` of the noise of M periods and nothing of a motion that
    repeats, without any model of it [1]_. The mean period stands in place of every one, so that the
    smoother has no ends; one period of it becomes rows. A log without a second period is smoothed
    as it is.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, sec. IV.
    """

    needs_period: ClassVar[bool] = True

    method: str = "rts"
    """What smooths the mean: a preprocessor of the motion alone."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its options."""
    smoother: Preprocessor | None = None
    """The smoother itself, tuned; then `method` and `options` have no effect."""

    def __post_init__(self) -> None:
        self._build_smoother()

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the motion of the mean period and its torque, repeated over the log."""
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
                f"{AVERAGING_NAME}: a period of {log.period:g} s is too short for the rows' edges"
            )
        row_filter = self.rows.filter_for(mean, motion.dq, slice(first, stop))
        return replace(motion, row_filter=row_filter)

    def tune(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with its smoother tuned to the mean of `log`."""
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
    """Return the log with its mean period in place of every one."""
    phase = periods.phase(log.t.size)
    q, tau = (periods.mean(x)[phase] for x in (log.q, log.tau_meas))
    return replace(log, q=q, tau_meas=tau, dq=None, truth=None)


FOURIER_FIT_NAME = "the preprocessor fourier-fit"

CONFIDENCE = 0.98
"""Of the test for harmonics; a false one doubles a short series, which does little harm."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class FourierFit(RowPreprocessor):
    r"""Least-squares Fourier series on all periods but the first, its order from the data.

    .. math:: q(t) = \sum_{k=-H}^{H} c_k e^{i k \omega t}, \qquad
        c_k = \frac{1}{N} \sum_m \bar q_m e^{-i k \omega t_m}

    with the mean period :math:`\bar q`: the samples of a period are orthogonal, so the transform is
    the least-squares fit of every order at once, and derivatives are exact [1]_. Per joint the
    order minimizes :math:`N \log(RSS_H / N) + (2 H + 1) \log N` [2]_, and is then doubled as long
    as the harmonics that this adds hold more than noise, by a chi-squared test. The criterion looks
    for the best position; friction under a wrong model makes motion of many small harmonics, which
    the torque at reversals needs and which only show together. A short series stays short.

    The transient is gone after the first period; a log without a second one, such as that of an
    unseen motion, has nothing to average and is left to `otherwise`.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, sec. IV.
    .. [2] Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2),
       461-464, doi:10.1214/aos/1176344136.
    """

    needs_period: ClassVar[bool] = True

    orders: tuple[int, ...] | None = None
    """Harmonics H per joint, if they are to be fixed."""
    highest: float = 50.0
    """Highest frequency of a series [Hz]."""
    otherwise: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of logs without a second period."""

    def __post_init__(self) -> None:
        if not self.highest > 0.0 or any(order < 1 for order in self.orders or ()):
            raise OptionError("a Fourier fit needs orders of at least 1 and a positive frequency")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the fitted motion at the torque times; it repeats before and after, too."""
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
        """Return the fit with its orders fixed to those it chooses for `log`."""
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
    """Return the order of a Fourier series for every column of a period; see `FourierFit`.

    The period z has shape (N, n); `most` is the largest order, at most (N - 1) / 4: what lies
    above tells the noise.
    """
    samples = len(z)
    power = np.abs(np.fft.rfft(z, axis=0)) ** 2 / samples
    power[1 : (samples + 1) // 2] *= 2.0  # both signs of a frequency; half the rate has but one
    left = np.cumsum(power[::-1], axis=0)[::-1]
    rounding = (np.finfo(float).eps * np.abs(z).max()) ** 2
    orders = np.arange(1, most + 1)
    rss = np.maximum(left[2 : most + 2], samples * rounding)
    bic = samples * np.log(rss / samples) + (2.0 * orders[:, None] + 1.0) * np.log(samples)
    order = orders[np.argmin(bic, axis=0)]
    # The power of white noise is its variance times chi-squared of 2 degrees of freedom.
    variance = np.median(power[most + 1 :], axis=0) / chdtri(2, 0.5)
    variance = np.maximum(variance, rounding)
    return np.array(
        [_double_order(int(h), power[:, j] / variance[j], most) for j, h in enumerate(order)]
    )


def _double_order(order: int, power: Float1D, most: int) -> int:
    """Return the order after doublings that add more than noise, of power in its variance."""
    while order < most:
        wider = min(2 * order, most)
        added = power[order + 1 : wider + 1]
        if added.sum() <= chdtri(2 * added.size, 1.0 - CONFIDENCE):
            break
        order = wider
    return order
