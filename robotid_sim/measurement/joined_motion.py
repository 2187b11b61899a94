"""Motions of several logs of one robot as one, whose rows weigh by log."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float2D, Int1D
from robotid_sim.errors import LogError
from robotid_sim.measurement.motion import GatedRowFilter, Motion, RowFilter

RATES = 0.01
"""Relative difference of sample times up to which logs are joined."""


def joined(motions: Sequence[Motion]) -> Motion:
    """Return motions one after the other, as one on a time grid that goes on.

    Every row is the same linear map of torque and of regressor, also at the seams, where the
    low-pass mixes samples of two logs: ``tau = W beta`` stays exact there.

    Raises
    ------
    LogError
        If the motions differ in joints or sample rate, or have no row filter.
    """
    first = motions[0]
    if len(motions) == 1:
        return first
    for motion in motions:
        if motion.row_filter is None or motion.joint_names != first.joint_names:
            raise LogError("only motions of the same joints, with a row filter, can be joined")
        if abs(motion.dt - first.dt) > RATES * first.dt:
            raise LogError(
                f"logs of {1.0 / first.dt:.6g} and {1.0 / motion.dt:.6g} Hz cannot be fitted "
                "together; record them at one rate, or identify them apart and `compare`"
            )
    cut = [_used(motion) for motion in motions]
    q, dq, ddq, tau = (
        np.concatenate([getattr(part, name) for part in cut]) for name in ("q", "dq", "ddq", "tau")
    )
    gate = np.concatenate([_gate(part) for part in cut])
    assert first.row_filter is not None
    stop, filter_ = len(q), first.row_filter
    row_filter = GatedRowFilter(
        first=0,
        stop=stop,
        step=filter_.step,
        edge=filter_.edge,
        cutoff=filter_.cutoff,
        order=filter_.order,
        gains=filter_.gains,
        gate=gate,
    )
    t = cut[0].t[0] + first.dt * np.arange(stop)
    return Motion(t, q, dq, ddq, tau, first.joint_names, row_filter=row_filter)


def rows_by_log(motions: Sequence[Motion]) -> Int1D:
    """Return which motion the middle of every row of `joined` motions is of, shape (N,)."""
    whole = joined(motions).row_filter
    assert whole is not None
    ends = np.cumsum([len(_used(motion).t) for motion in motions])
    return np.searchsorted(ends, np.arange(whole.stop)[whole.rows], side="right")


def weighted(motion: Motion, motions: Sequence[Motion], weights: Float2D) -> Motion:
    """Return joined motions whose samples weigh by log and joint, weights of shape (logs, n)."""
    counts = [len(_used(part).t) for part in motions]
    assert isinstance(motion.row_filter, GatedRowFilter)
    row_filter = replace(motion.row_filter, weights=np.repeat(weights, counts, axis=0))
    return replace(motion, row_filter=row_filter)


def _used(motion: Motion) -> Motion:
    """Return the samples of a motion that enter its rows, with the row filter of just these."""
    row_filter = motion.row_filter
    assert row_filter is not None
    use = row_filter.used
    parts = (motion.t[use], motion.q[use], motion.dq[use], motion.ddq[use], motion.tau[use])
    cut = replace(row_filter, first=0, stop=row_filter.stop - row_filter.first)
    return Motion(*parts, motion.joint_names, row_filter=cut)


def _gate(motion: Motion) -> np.ndarray:
    row_filter: RowFilter | None = motion.row_filter
    if isinstance(row_filter, GatedRowFilter) and row_filter.gate is not None:
        return row_filter.gate
    return np.ones(motion.q.shape, dtype=bool)
