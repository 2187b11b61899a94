"""The periods of a log that repeats: where they lie, their mean, and whether they do repeat."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.errors import LogError
from robotid_sim.measurement.log import Log

WHOLE = 1e-3
"""Largest deviation of a period from a whole number of samples."""

REPEATS = 1.5
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

    def of_others(self, x: Float2D) -> Float2D:
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
    if abs(samples - round(samples)) > WHOLE:
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
    allowed = REPEATS * noise**2 + (1e-12 * np.abs(log.q).max()) ** 2
    return bool((periods.variance(log.q) <= allowed).all())
