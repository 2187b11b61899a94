"""Fourier series fitted to the periods of a log: what really repeats, derivatives exact."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import chdtri

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.periods import Periods, periods_of
from robotid_sim.preprocess.preprocessor import RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.representation import public_value

USER = "the preprocessor fourier-fit"

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
        periods = periods_of(log, USER)
        if periods is None:
            return replace(self.otherwise, rows=self.rows)(log, robot)
        orders = self.tuned(log, robot).orders
        assert orders is not None
        motion = self.motion_of(log, *_series(log, periods, orders))
        later = self.rows.samples(log, float(log.t[periods.first]))
        return replace(motion, row_filter=self.rows.filter_for(log, motion.dq, later))

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the fit with its orders fixed to those it chooses for `log`."""
        if self.orders is not None:
            if len(self.orders) != log.dof:
                raise OptionError(f"{len(self.orders)} Fourier orders for {log.dof} joints")
            return self
        periods = periods_of(log, USER)
        if periods is None:
            return replace(self, otherwise=self.otherwise.tuned(log, robot))
        assert log.period is not None
        most = min(round(self.highest * log.period), (periods.samples - 1) // 4)
        orders = tuple(int(h) for h in likely_orders(periods.mean(log.q), max(most, 1)))
        return replace(self, orders=orders, otherwise=self.otherwise.tuned(log, robot))


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
        [_doubled(int(h), power[:, j] / variance[j], most) for j, h in enumerate(order)]
    )


def _doubled(order: int, power: Float1D, most: int) -> int:
    """Return the order after doublings that add more than noise, of power in its variance."""
    while order < most:
        wider = min(2 * order, most)
        added = power[order + 1 : wider + 1]
        if added.sum() <= chdtri(2 * added.size, 1.0 - CONFIDENCE):
            break
        order = wider
    return order


def _series(log: Log, periods: Periods, orders: tuple[int, ...]) -> list[Float2D]:
    """Return position, velocity and acceleration at the torque times, each of shape (N, n)."""
    c = np.fft.rfft(periods.mean(log.q), axis=0)
    k = np.arange(len(c))
    c[k[:, None] > np.array(orders)] = 0.0
    speed = 2j * np.pi * k / (periods.samples * log.dt)
    c *= np.exp(speed * log.torque_time_offset)[:, None]
    phase = periods.phase(log.t.size)
    return [
        np.fft.irfft(c * speed[:, None] ** d, n=periods.samples, axis=0)[phase] for d in range(3)
    ]
