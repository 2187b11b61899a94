"""Joining of the motions of several logs of one robot, with row weights by log."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from robotid_sim.arrays import Float, Float2D, Int1D
from robotid_sim.errors import LogError
from robotid_sim.measurement.motion import Motion, RowFilter

RATE_TOLERANCE = 0.01
"""Maximum relative difference of sample times of joined logs."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRowFilter(RowFilter):
    """Row filter of joined logs: filters the samples of each log separately.

    A low-pass across the border of two logs would not suppress the noise of the acceleration there.
    Cut-off and step of this filter apply to every log.
    """

    parts: tuple[RowFilter, ...] = ()
    """Filters of the logs, each with the range of samples it uses."""
    weights: Float2D | None = None
    """Weights of the rows of every log and joint, shape (logs, n); None for 1."""

    @property
    def filters(self) -> list[RowFilter]:
        """The filters of the logs with the common cut-off and step."""
        cutoff, cutoffs, step = self.cutoff, self.cutoffs, self.step
        return [replace(part, cutoff=cutoff, cutoffs=cutoffs, step=step) for part in self.parts]

    @property
    def row_samples(self) -> Int1D:
        """Indices of the joined samples that become rows."""
        parts = [np.arange(part.stop - part.first)[part.rows] for part in self.filters]
        starts = np.cumsum([0, *(part.stop - part.first for part in self.parts[:-1])])
        return np.concatenate([rows + at for rows, at in zip(parts, starts, strict=True)])

    @property
    def log_indices(self) -> Int1D:
        """Index of the log of every row."""
        counts = [len(range(part.stop - part.first)[part.rows]) for part in self.filters]
        return np.repeat(np.arange(len(counts)), counts)

    def filter_parts(self, parts: Iterable[Float]) -> Float:
        """Filter the signal of all logs, given in consecutive parts; see `RowFilter`."""
        by_log = _split(parts, [part.stop - part.first for part in self.parts])
        rows = [
            part.filter_parts(signal) for part, signal in zip(self.filters, by_log, strict=True)
        ]
        if self.weights is not None:
            shape = self.weights.shape[1:] + (1,) * (rows[0].ndim - 2)
            rows = [signal * w.reshape(shape) for signal, w in zip(rows, self.weights, strict=True)]
        return np.concatenate(rows)


def _split(parts: Iterable[Float], lengths: Sequence[int]) -> Iterator[Iterator[Float]]:
    """Split a signal in parts into signals of these lengths; consume each before the next."""
    stream, remaining = iter(parts), list[Float]()

    def take(length: int) -> Iterator[Float]:
        while length:
            part = remaining.pop() if remaining else next(stream)
            if len(part) > length:
                remaining.append(part[length:])
            yield part[:length]
            length -= min(length, len(part))

    return (take(length) for length in lengths)


def join_motions(motions: Sequence[Motion]) -> Motion:
    """Join motions one after the other, on one continued time grid.

    Raises `LogError` if the motions differ in joints or sample rate, or have no row filter.
    """
    first = motions[0]
    if len(motions) == 1:
        return first
    filters = tuple(_require_compatible(motion, first) for motion in motions)
    t, q, dq, ddq, tau = (
        np.concatenate(
            [getattr(m, name)[part.sample_slice] for m, part in zip(motions, filters, strict=True)]
        )
        for name in ("t", "q", "dq", "ddq", "tau")
    )
    options = {field.name: getattr(filters[0], field.name) for field in fields(RowFilter)}
    options |= {"first": 0, "stop": t.size, "parts": filters}
    return Motion(
        t=t[0] + first.dt * np.arange(t.size),
        q=q,
        dq=dq,
        ddq=ddq,
        tau=tau,
        joint_names=first.joint_names,
        row_filter=JoinedRowFilter(**options),
    )


def _require_compatible(motion: Motion, first: Motion) -> RowFilter:
    """Check that a motion can be joined with the first one; return its row filter."""
    if motion.row_filter is None or motion.joint_names != first.joint_names:
        raise LogError("motions can be joined only if they have the same joints and a row filter")
    if abs(motion.dt - first.dt) > RATE_TOLERANCE * first.dt:
        raise LogError(
            f"logs of {1.0 / first.dt:.6g} and {1.0 / motion.dt:.6g} Hz cannot be fitted "
            "together; record them at one rate, or identify them separately and `compare`"
        )
    return motion.row_filter
