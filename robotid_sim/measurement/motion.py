"""Motion and torque after preprocessing, and the row filters that regressor and torque share.

The module also interpolates signals.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self

import numpy as np
import scipy

from robotid_sim.arrays import Bool1D, Bool2D, Float, Float1D, Float2D, Int1D, freeze, parts_of
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import LogError, OptionError, ShapeError
from robotid_sim.representation import public_value

RINGING_TIME_RATIO = 8.0
"""Ringing time of a low-pass over the period of its cut-off frequency."""

MAX_DENSE_STEP = 4
"""Maximum step between rows for which filtering all samples is faster."""

MIN_ROWS = 10
"""Minimum number of rows of a fit."""

MIN_PERIODS = 1.9
"""Minimum number of periods in the rows of a periodic motion; filters shorten two periods."""


@document_attributes
@dataclass(frozen=True, slots=True)
class RowFilter:
    """Zero-phase low-pass and decimation of regressor columns and torque.

    Filtering the torque alone biases the friction parameters by many standard deviations; the same
    linear filter on both sides of ``tau = W beta`` keeps the equation true.
    """

    first: int
    """First used sample."""
    stop: int
    """One past the last used sample."""
    step: int
    """Every `step`-th filtered sample becomes a row."""
    edge: int
    """Number of filtered samples dropped at each end, where the filter rings."""
    cutoff: float
    """Cut-off frequency times the sample time [cycles per sample]."""
    order: int = 4
    gains: tuple[float, ...] | None = None
    """Gain of a first-order low-pass ``y += gain (x - y)`` before this filter, per joint."""
    cutoffs: tuple[float, ...] | None = None
    """Cut-off of every joint, none above `cutoff`; None for `cutoff` everywhere."""

    def __post_init__(self) -> None:
        if not 0.0 < self.cutoff < 0.5:
            raise OptionError(
                f"row filter cut-off is {self.cutoff:g} of the sample rate; it must lie below 0.5"
            )
        if not all(0.0 < cutoff <= self.cutoff for cutoff in self.cutoffs or ()):
            raise OptionError(
                f"cut-offs of joints {self.cutoffs} must lie above 0 and up to {self.cutoff:g}"
            )
        used, padding = self.stop - self.first, 3 * (2 * self.order + 1)
        most = max(padding, 2 * self.edge + MIN_ROWS * self.step)
        if used <= most:
            raise LogError(
                f"the log is too short for {MIN_ROWS} rows, one every {self.step} samples; "
                f"{most + 1 - used} more samples are needed"
            )

    @property
    def sample_slice(self) -> slice:
        """Samples that enter the filter."""
        return slice(self.first, self.stop)

    @property
    def lowest(self) -> float:
        """Lowest cut-off of all joints [cycles per sample]."""
        return min(self.cutoffs or (self.cutoff,))

    def scale_cutoffs(self, factor: float, **changes: Any) -> Self:
        """Scale all cut-offs by `factor`; `changes` are new values of other fields."""
        cutoffs = self.cutoffs and tuple(factor * cutoff for cutoff in self.cutoffs)
        return replace(self, cutoff=factor * self.cutoff, cutoffs=cutoffs, **changes)

    @property
    def rows(self) -> slice:
        """Slice of the samples that become rows, counted from the start of `sample_slice`."""
        return slice(self.edge, self.stop - self.first - self.edge, self.step)

    @property
    def row_samples(self) -> Int1D:
        """Indices of the samples that become rows, counted from the start of `sample_slice`."""
        return np.arange(self.stop - self.first)[self.rows]

    def apply(self, x: Float) -> Float:
        """Filter a signal of the samples in `sample_slice`, shape (N, n, ...), along axis 0."""
        return self.filter_parts(parts_of(x))

    def filter_parts(self, parts: Iterable[Float]) -> Float:
        """Filter a signal that is given in consecutive parts; see `apply`."""
        if self.gains is not None:
            parts = parts_of(first_order(np.concatenate([*parts]), self.gains))
        if self.cutoffs is None:
            return filter_rows(parts, low_pass(self.order, self.cutoff), self.row_samples)
        x = np.concatenate([*parts])
        if len(self.cutoffs) != x.shape[1]:
            raise OptionError(f"{len(self.cutoffs)} cut-offs of rows for {x.shape[1]} joints")
        by_joint = (
            filter_rows([x[:, [j]]], low_pass(self.order, cutoff), self.row_samples)
            for j, cutoff in enumerate(self.cutoffs)
        )
        return np.concatenate([*by_joint], axis=1)


@cache
def low_pass(order: int, cutoff: float) -> Float1D:
    r"""Compute the impulse response of a Butterworth filter forward and backward.

    Its spectrum is :math:`1 / (1 + (\tan \pi f / \tan \pi f_c)^{2 m})`.

    The cut-off :math:`f_c` is in cycles per sample, m the order. The response has shape (2 k + 1,)
    and ends where it has decayed to about 1e-9.
    """
    reach = round(RINGING_TIME_RATIO / cutoff)
    warped = np.tan(np.pi * np.fft.rfftfreq(8 * reach)) / np.tan(np.pi * cutoff)
    response = np.fft.irfft(1.0 / (1.0 + warped ** (2 * order)))[: reach + 1]
    return np.concatenate([response[:0:-1], response])


def filter_rows(parts: Iterable[Float], kernel: Float1D, samples: Int1D) -> Float:
    """Filter a signal, given in consecutive parts, by a symmetric `kernel`; return `samples` of it.

    Beyond its ends the signal counts as zero; a reflected signal would depend on the noise of the
    first sample. Only the requested samples are computed, as sums over the parts.

    Each part has the shape (length, ...), the kernel the shape (2 k + 1,), and the evenly spaced
    indices `samples` the shape (M,).
    """
    step = int(samples[1] - samples[0]) if len(samples) > 1 else 1
    if step < MAX_DENSE_STEP:
        x = np.concatenate([*parts])
        length = scipy.fft.next_fast_len(len(x) + len(kernel) - 1, real=True)
        gain = np.fft.rfft(kernel, length).reshape(-1, *(1,) * (x.ndim - 1))
        convolved = np.fft.irfft(np.fft.rfft(x, length, axis=0) * gain, length, axis=0)
        return np.ascontiguousarray(convolved[len(kernel) // 2 :][: len(x)][samples])
    half, begin, rows = len(kernel) // 2, 0, np.zeros(0)
    for part in parts:
        if begin == 0:
            rows = np.zeros((len(samples), *part.shape[1:]))
        end = begin + len(part)
        selected = slice(*np.searchsorted(samples, [begin - half, end + half]))
        shifted = np.lib.stride_tricks.sliding_window_view(np.pad(kernel, len(part)), len(part))
        filtered = shifted[half + end - samples[selected]] @ part.reshape(len(part), -1)
        rows[selected] += filtered.reshape(-1, *part.shape[1:])
        begin = end
    return rows


def first_order(x: Float, gains: Sequence[float]) -> Float:
    """Filter a signal, shape (N, n, ...), by ``y += gain (x - y)`` from rest, one gain per joint.

    Raises `OptionError` unless there is one gain per joint.
    """
    if len(gains) != x.shape[1]:
        raise OptionError(f"{len(gains)} filter gains for {x.shape[1]} joints")
    filtered = np.empty_like(x)
    for j, gain in enumerate(gains):
        filtered[:, j] = scipy.signal.lfilter([gain], [1.0, gain - 1.0], x[:, j], axis=0)
    return filtered


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Joint motion and torque reconstructed from a log, on a uniform time grid."""

    t: Float1D
    """Time of motion and torque [s], shape (N,)."""
    q: Float2D
    dq: Float2D
    ddq: Float2D
    """Position [rad or m], velocity [rad/s or m/s], acceleration [rad/s^2 or m/s^2], all (N, n)."""
    tau: Float2D
    """Torque [N m], shape (N, n)."""
    joint_names: tuple[str, ...]
    row_filter: RowFilter | None = None
    """Filter of every column of the regressor W and of tau; None: all samples, unfiltered."""
    mask: Bool1D | None = None
    """Samples that may be used, shape (N,)."""
    period: float | None = None
    """Period [s], if the motion repeats."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "t")
        freeze(self, (self.t.size, len(self.joint_names)), "q", "dq", "ddq", "tau")
        if self.mask is not None and self.row_filter is not None:
            raise OptionError("a row filter needs all samples; give a mask or a filter, not both")

    @property
    def dt(self) -> float:
        """Sample time [s]."""
        return float((self.t[-1] - self.t[0]) / (self.t.size - 1))

    @property
    def repeats(self) -> float | None:
        """Period [s], if the rows of a fit contain two periods; else None."""
        used = slice(None) if self.row_filter is None else self.row_filter.sample_slice
        if self.period is None or np.ptp(self.t[used]) < MIN_PERIODS * self.period:
            return None
        return self.period

    @property
    def from_middle(self) -> Float1D:
        """Time from the middle of the motion [s], shape (N,)."""
        return np.asarray(self.t - 0.5 * (self.t[0] + self.t[-1]))

    @property
    def row_times(self) -> Float1D:
        """Times of the samples that become rows of a fit [s]."""
        if self.row_filter is not None:
            return self.t[self.row_filter.sample_slice][self.row_filter.row_samples]
        return self.t if self.mask is None else self.t[self.mask]


MIN_OPEN_SHARE = 0.05
"""Lower bound of the share of open samples in the denominator; rows with fewer are smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class GatedRowFilter(RowFilter):
    r"""Row filter that excludes samples joint by joint.

    With the low-pass F and the gate :math:`g \in \{0, 1\}` of a joint the result is

    .. math:: F(g x) / \sqrt{F g}

    of torque and of every column of the regressor: the applicability function of normalized
    convolution [1]_. The same linear map applies to both sides, so ``tau = W beta`` stays exact for
    any gate, without invented samples. [1]_ divides by the open share F g; its root makes the
    variance of white noise equal in all rows, as least squares assumes.

    References
    ----------
    .. [1] Knutsson, Westin (1993), "Normalized and differential convolution", IEEE Conf. Computer
       Vision and Pattern Recognition, 515-523, doi:10.1109/CVPR.1993.341081.
    """

    gate: Bool2D | None = None
    """Whether each sample in `sample_slice` is used (open), shape (stop - first, n)."""

    def __post_init__(self) -> None:
        # A slotted dataclass replaces the class of its body: no bare super().
        RowFilter.__post_init__(self)
        if self.gate is None or len(self.gate) != self.stop - self.first:
            raise ShapeError(f"the gate of a row filter needs {self.stop - self.first} samples")

    def filter_parts(self, parts: Iterable[Float]) -> Float:
        """Filter the open samples of a signal given in parts; see `RowFilter`."""
        assert self.gate is not None
        share = RowFilter.filter_parts(self, parts_of(self.gate.astype(float)))
        rows = RowFilter.filter_parts(self, self._open(parts))
        return np.asarray(rows / np.sqrt(np.maximum(_expand_axes(share, rows), MIN_OPEN_SHARE)))

    def _open(self, parts: Iterable[Float]) -> Iterator[Float]:
        """Yield the parts with zeros in place of closed samples."""
        assert self.gate is not None
        begin = 0
        for part in parts:
            yield np.where(_expand_axes(self.gate[begin : begin + len(part)], part), part, 0.0)
            begin += len(part)


def _expand_axes(x: Any, other: Float) -> Any:
    """Add axes to `x`, shape (N, n), until it has as many as `other`, shape (N, n, ...)."""
    return x.reshape(x.shape + (1,) * (other.ndim - 2))


def remove_gate(row_filter: RowFilter) -> RowFilter:
    """Remove the gate of a row filter."""
    options = {field.name: getattr(row_filter, field.name) for field in fields(RowFilter)}
    return RowFilter(**options)


def add_gate(row_filter: RowFilter, gate: Bool2D) -> RowFilter:
    """Add a gate, False for excluded samples, to a row filter."""
    open_samples = gate[row_filter.sample_slice]
    if open_samples.all():
        return row_filter
    if isinstance(row_filter, GatedRowFilter) and row_filter.gate is not None:
        open_samples = open_samples & row_filter.gate
    options = {field.name: getattr(row_filter, field.name) for field in fields(RowFilter)}
    return GatedRowFilter(**options, gate=open_samples)


TAP_COUNT = 8
"""Number of samples from which a value is interpolated."""


def interpolate_samples(x: Float2D, position: Float1D) -> Float2D:
    r"""Interpolate a signal at fractional sample positions by Lagrange interpolation of order 7.

    .. math:: x(p) = \sum_{n=0}^{7} x_{i+n} \prod_{k \neq n} \frac{p - i - k}{n - k}

    with the eight samples around p, the fractional-delay filter that is maximally flat at frequency
    zero [1]_. It is exact at the samples and for polynomials of degree 7; half-way between samples
    the error of a sinusoid of angular frequency w [rad per sample] is at most :math:`1.1 \cdot
    10^{-3} w^8` of its amplitude (the truncation error): 3e-5 at a tenth of the sample rate, 1e-7
    at a twentieth. A step, such as friction at a reversal, rings by at most a tenth over three
    samples. At the ends of the signal the eight samples lie on one side.

    The signal x has at least eight samples, shape (N, n); positions are counted in samples from the
    first, and are clipped to the first and last one.

    References
    ----------
    .. [1] Laakso, Valimaki, Karjalainen, Laine (1996), "Splitting the unit delay: tools for
       fractional delay filter design", IEEE Signal Processing Magazine 13(1), 30-60,
       doi:10.1109/79.482137.
    """
    position = np.clip(position, 0.0, len(x) - 1.0)
    first = np.clip(np.floor(position).astype(int) - (TAP_COUNT // 2 - 1), 0, len(x) - TAP_COUNT)
    local = position - first
    value = np.zeros((position.size, x.shape[1]))
    for n in range(TAP_COUNT):
        weight = np.ones(position.size)
        for k in range(TAP_COUNT):
            if k != n:
                weight *= (local - k) / (n - k)
        value += weight[:, None] * x[first + n]
    return value
