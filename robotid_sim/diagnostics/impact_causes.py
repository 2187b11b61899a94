"""Backlash that a log shows by its blows: torques jump where the load of a joint changes sign.

A rotor that leaves one flank of its gear runs freely, hits the other one, and rattles for a while.
The loop answers with short peaks, which the search for faulty samples takes for outliers; those
come at any time.
"""

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.signal import butter, sosfiltfilt

from robotid_sim.arrays import Bool1D, Bool2D
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.section import percent

OUTLIERS = "torque-outliers"
"""Kind of the causes that backlash may explain."""

SLOW = 5.0
"""Cut-off frequency of the load [Hz]: blows and rattle would change its sign again and again."""

BEFORE, AFTER = 0.05, 0.25
"""How long before and after a change of its sign blows may come [s]: the load is the nominal one,
and the way through the play takes time."""

MOST_OF = 0.6
"""Least share of the blows there."""

TOGETHER = 0.02
"""Time from one outlier to the next within a blow [s]."""

SURE = 8.0
"""Least gain of the log-likelihood."""


def with_backlash(
    causes: Sequence[Cause], outliers: Bool2D, motion: Motion, nominal: Robot
) -> tuple[Cause, ...]:
    """Return causes with backlash in place of outliers of the torque that it explains.

    `outliers` are those of the torque, shape (N, n), and `motion` is that of the same samples. A
    joint has backlash if its own blows come where its own load changes sign, and not rather where
    that of another one with backlash does, which strikes it too.
    """
    if not any(cause.kind == OUTLIERS for cause in causes) or outliers.shape != motion.q.shape:
        return tuple(causes)
    rate = 1.0 / float(np.median(np.diff(motion.t)))  # torques may have stamps of their own
    near, blows = _near_reversals(motion, nominal, rate), _blows(outliers, rate)
    joints = range(nominal.dof)
    gain = np.array([[_gain(blows[:, i], near[:, j]) for j in joints] for i in joints])
    loose: list[int] = []
    for j in sorted(np.flatnonzero(gain.diagonal() > SURE).tolist(), key=lambda j: -gain[j, j]):
        if (gain[j, loose] < gain[j, j]).all():
            loose.append(j)
    names = nominal.joint_names
    struck = {(names[i],) for i in joints if (gain[i, loose] > SURE).any()}
    left = [c for c in causes if c.kind != OUTLIERS or c.joints not in struck]
    return (*(_cause(names[j], blows[:, j], near[:, j]) for j in sorted(loose)), *left)


def _near_reversals(motion: Motion, nominal: Robot, rate: float) -> Bool2D:
    """Return the samples about a change of sign of the loads, shape (N, n)."""
    load = rigid_body_torque(nominal, motion.q, motion.dq, motion.ddq)
    slow = sosfiltfilt(butter(2, min(SLOW, 0.4 * rate), fs=rate, output="sos"), load, axis=0)
    turns = np.zeros(load.shape, dtype=bool)
    turns[1:] = (slow[1:] >= 0.0) != (slow[:-1] >= 0.0)
    before, after = round(BEFORE * rate), round(AFTER * rate)
    size = before + after + 1
    # A filter's window reaches as far back as forward; its origin moves it.
    return np.asarray(maximum_filter1d(turns, size, axis=0, origin=size // 2 - before))


def _blows(outliers: Bool2D, rate: float) -> Bool2D:
    """Return the first outlier of every blow, shape (N, n)."""
    first = np.zeros_like(outliers)
    for j, each in enumerate(outliers.T):
        at = np.flatnonzero(each)
        first[at[np.diff(at, prepend=-np.inf) > TOGETHER * rate], j] = True
    return first


def _gain(blows: Bool1D, near: Bool1D) -> float:
    """Return the log-likelihood gained by more blows near reversals; 0 if most are elsewhere."""
    count, usual = int(blows.sum()), float(near.mean())
    if count == 0 or not 0.0 < usual < 1.0:
        return 0.0
    share = float(near[blows].mean())
    if share < max(MOST_OF, usual):
        return 0.0
    rest = 0.0 if share == 1.0 else (1.0 - share) * np.log((1.0 - share) / (1.0 - usual))
    return float(count * (share * np.log(share / usual) + rest))


def _cause(joint: str, blows: Bool1D, near: Bool1D) -> Cause:
    count, at = int(blows.sum()), int((blows & near).sum())
    return Cause(
        kind="backlash",
        joints=(joint,),
        finding="the torque jumps where the load of the joint changes sign: backlash",
        evidence=f"{at} of {count} blows in its torque come at most {AFTER:g} s after its load "
        f"has changed sign, where {percent(float(near.mean()))} of all samples are",
        remedy="adjust the gear, or measure on the side of the link",
    )
