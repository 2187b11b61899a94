"""Candidate causes: torque that is late or early against the positions, of all joints or of one."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float, Float1D
from robotid_sim.diagnostics.cause import Repair, Wording
from robotid_sim.diagnostics.evidence import LONGEST_DELAY, Correction, Evidence
from robotid_sim.diagnostics.screening import Projection

STEPS = 3
"""Steps of Gauss-Newton from the best delay on the grid."""


def delay_causes(evidence: Evidence, projection: Projection) -> list[Repair]:
    """Return the delay of largest likelihood of all joints together and of every joint alone."""
    dof = evidence.dof
    every = np.ones((1, dof), dtype=bool)
    alone = np.eye(dof, dtype=bool) if dof > 1 else np.zeros((0, dof), dtype=bool)
    candidates = []
    for which in np.vstack([every, alone]):
        delay = _refined(evidence, projection, which, _on_grid(evidence, projection, which))
        joints = () if which.all() else (int(which.argmax()),)
        words = _words(evidence, delay, joints)
        candidates.append(Repair("torque-delay", joints, delayed(delay * which), words))
    return candidates


def _words(evidence: Evidence, delay: float, joints: tuple[int, ...]) -> Wording:
    side = "late" if delay > 0.0 else "early"
    remedy = "correct the time stamps of its torque"
    if not joints:
        offset = evidence.offset - evidence.correction.delay.mean() - delay
        remedy = f"correct the time stamps, or set `torque_time_offset` of the log to {offset:.4g}"
    return Wording(f"the measured torque is {1e3 * abs(delay):.3g} ms {side}", remedy)


def delayed(delay: Float1D) -> Correction:
    """Return the correction of late torques [s], shape (n,)."""
    return replace(Correction.none(len(delay)), delay=np.asarray(delay))


def _on_grid(evidence: Evidence, projection: Projection, which: Float1D) -> float:
    """Return the delay of least cost on the coarse grid, which is that of the torque."""
    most = round(LONGEST_DELAY / evidence.dt)
    at = np.arange(len(evidence.low))[evidence.rows.rows]
    tau = evidence.low @ evidence.correction.torque
    shifts = np.arange(-most, most + 1)
    late: Float = tau[np.clip(at + shifts[:, None], 0, len(tau) - 1)] - tau[at]
    moved = evidence.y + np.where(which, late, 0.0)
    cost = (projection.left(np.moveaxis(moved, 0, 2)) ** 2).sum(axis=0)
    return float(shifts[cost.argmin()] * evidence.dt)


def _refined(evidence: Evidence, projection: Projection, which: Float1D, delay: float) -> float:
    step = 0.5 * evidence.dt
    for _ in range(STEPS):
        early, here, late = (
            evidence.corrected(delayed((delay + d) * which)).y for d in (-step, 0.0, step)
        )
        slope = projection.left((late - early) / (2.0 * step))[:, 0]
        change = -(slope @ projection.left(here)[:, 0]) / max(float(slope @ slope), 1e-300)
        delay += float(np.clip(change, -2.0 * step, 2.0 * step))
    return float(np.clip(delay, -LONGEST_DELAY, LONGEST_DELAY))
