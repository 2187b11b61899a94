"""Motions of several logs of one robot as one, whose rows weigh by log."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from robotid_sim.arrays import Float, Float2D, Int1D
from robotid_sim.errors import LogError
from robotid_sim.measurement.motion import Motion, RowFilter

RATE_TOLERANCE = 0.01
"""Relative difference of sample times up to which logs are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRowFilter(RowFilter):
    """Row filters of several logs one after the other: each sees its own samples.

    A low-pass across the seams would leave noise of accelerations there, which is small only
    where it is whole. Cut-off and step are those of this filter for every log.
    """

    parts: tuple[RowFilter, ...] = ()
    """The filter of every log, with the samples that it uses."""
    weights: Float2D | None = None
    """What the rows of every log and joint are multiplied by, shape (logs, n); None for one."""

    @property
    def filters(self) -> list[RowFilter]:
        """The filters of the logs with the common cut-off and step."""
        cutoff, cutoffs, step = self.cutoff, self.cutoffs, self.step
        return [replace(part, cutoff=cutoff, cutoffs=cutoffs, step=step) for part in self.parts]

    @property
    def row_samples(self) -> Int1D:
        """Samples that become rows."""
        each = [np.arange(part.stop - part.first)[part.rows] for part in self.filters]
        starts = np.cumsum([0, *(part.stop - part.first for part in self.parts[:-1])])
        return np.concatenate([rows + at for rows, at in zip(each, starts, strict=True)])

    @property
    def log_of(self) -> Int1D:
        """Which log every row is of."""
        counts = [len(range(part.stop - part.first)[part.rows]) for part in self.filters]
        return np.repeat(np.arange(len(counts)), counts)

    def filter_parts(self, parts: Iterable[Float]) -> Float:
        """Return the rows of a signal of all logs that comes in parts; see `RowFilter`."""
        by_log = _split(parts, [part.stop - part.first for part in self.parts])
        rows = [part.filter_parts(own) for part, own in zip(self.filters, by_log, strict=True)]
        if self.weights is not None:
            shape = self.weights.shape[1:] + (1,) * (rows[0].ndim - 2)
            rows = [own * w.reshape(shape) for own, w in zip(rows, self.weights, strict=True)]
        return np.concatenate(rows)


def _split(parts: Iterable[Float], lengths: Sequence[int]) -> Iterator[Iterator[Float]]:
    """Yield the parts of signals that follow one another, to be used up one signal at a time."""
    coming, left = iter(parts), list[Float]()

    def of(length: int) -> Iterator[Float]:
        while length:
            part = left.pop() if left else next(coming)
            if len(part) > length:
                left.append(part[length:])
            yield part[:length]
            length -= min(length, len(part))

    return (of(length) for length in lengths)


def join_motions(motions: Sequence[Motion]) -> Motion:
    """Return motions one after the other, as one on a time grid that goes on.

    Raises `LogError` if the motions differ in joints or sample rate, or have no row filter.
    """
    first = motions[0]
    if len(motions) == 1:
        return first
    filters = tuple(_require_alike(motion, first) for motion in motions)
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


def _require_alike(motion: Motion, first: Motion) -> RowFilter:
    """Return the row filter of a motion that can be joined with the first one."""
    if motion.row_filter is None or motion.joint_names != first.joint_names:
        raise LogError("only motions of the same joints, with a row filter, can be joined")
    if abs(motion.dt - first.dt) > RATE_TOLERANCE * first.dt:
        raise LogError(
            f"logs of {1.0 / first.dt:.6g} and {1.0 / motion.dt:.6g} Hz cannot be fitted "
            "together; record them at one rate, or identify them apart and `compare`"
        )
    return motion.row_filter
