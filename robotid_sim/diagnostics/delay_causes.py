"""Candidate causes: torque that is late or early against the positions, of all joints or of one."""

from dataclasses import replace
from functools import partial

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.diagnostics.cause import Amendment, Wording
from robotid_sim.diagnostics.evidence import LONGEST_DELAY, Correction, Evidence
from robotid_sim.diagnostics.screening import Remainder

STEPS = 3
"""Steps of Gauss-Newton from the best delay on the grid."""


def delay_causes(evidence: Evidence, projection: Remainder, least: float) -> list[Amendment]:
    """Return the likeliest delay of all joints together, and of every joint alone.

    Those that gain less than `least` at a first look are left out.
    """
    dof = evidence.dof
    every = np.ones((1, dof), dtype=bool)
    alone = np.eye(dof, dtype=bool) if dof > 1 else np.zeros((0, dof), dtype=bool)
    candidates = []
    for which in np.vstack([every, alone]):
        delay = _likeliest(evidence, projection, which, least)
        if delay is None:
            continue
        joints = () if which.all() else (int(which.argmax()),)
        words = partial(delay_words, evidence.offset, joints)
        candidates.append(Amendment("torque-delay", joints, delayed(delay * which), words))
    return candidates


def delay_words(offset: float, joints: tuple[int, ...], correction: Correction) -> Wording:
    """Return the delay in words; the log says that torques act `offset` [s] late."""
    delay = float(correction.delay[list(joints)].mean() if joints else correction.delay.mean())
    side = "late" if delay > 0.0 else "early"
    remedy = "correct the time stamps of its torque"
    if not joints:
        remedy = (
            f"correct the time stamps, or set `torque_time_offset` of the log to "
            f"{offset - delay:.4g}"
        )
    return Wording(f"the measured torque is {1e3 * abs(delay):.3g} ms {side}", remedy)


def delayed(delay: Float1D) -> Correction:
    """Return the correction of late torques [s], shape (n,)."""
    return replace(Correction.none(len(delay)), delay=np.asarray(delay))


def _likeliest(
    evidence: Evidence, projection: Remainder, which: Bool1D, least: float
) -> float | None:
    """Return the likeliest delay of some joints [s]; None if it gains less than `least`."""
    most = round(LONGEST_DELAY / evidence.dt)
    tau = evidence.torque
    at = np.arange(len(tau))[evidence.rows.rows]
    shifts = np.arange(-most, most + 1)
    late = tau[np.clip(at + shifts[:, None], 0, len(tau) - 1)] - tau[at]
    moved = projection.left(np.moveaxis(evidence.y + np.where(which, late, 0.0), 0, 2))
    gain = 0.5 * (moved[:, most] @ moved[:, most] - (moved**2).sum(axis=0))
    # Between the steps of the grid, by a parabola through its neighbors.
    best = int(np.clip(gain.argmax(), 1, 2 * most - 1))
    before, here, after = gain[best - 1 : best + 2]
    bend = max(float(2.0 * here - before - after), 1e-300)
    if here + 0.125 * (after - before) ** 2 / bend < least:
        return None
    delay = evidence.dt * (shifts[best] + float(np.clip(0.5 * (after - before) / bend, -1.0, 1.0)))
    step = 0.5 * evidence.dt
    for _ in range(STEPS):
        early, now, later = (evidence.late(d * which) for d in (delay - step, delay, delay + step))
        slope = projection.left((later - early) / (2.0 * step))[:, 0]
        change = -(slope @ projection.left(now)[:, 0]) / max(float(slope @ slope), 1e-300)
        delay += float(np.clip(change, -2.0 * step, 2.0 * step))
    return float(np.clip(delay, -LONGEST_DELAY, LONGEST_DELAY))
