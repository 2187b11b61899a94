"""Backlash that a log shows by its blows: torques jump where the load of a joint changes sign.

A rotor that leaves one flank of its gear runs freely and hits the other one. The loop answers with
short peaks, which the search for faulty samples takes for outliers; those come at any time.
"""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Bool1D, Bool2D
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.section import percent

OUTLIERS = "torque-outliers"
"""Kind of the causes that backlash may explain."""

REVERSAL = 0.1
"""Share of the largest load within which it changes sign."""

MOST_OF = 0.4
"""Least share of the outliers at reversals."""

OFTEN = 3.0
"""Their share over that of all samples."""

SURE = 12.0
"""Least gain of the log-likelihood; outliers come in groups of two to four."""


def with_backlash(
    causes: Sequence[Cause], outliers: Bool2D, motion: Motion, nominal: Robot
) -> tuple[Cause, ...]:
    """Return causes with backlash in place of outliers of the torque that it explains.

    `outliers` are those of the torque, shape (N, n), and `motion` is that of the same samples. A
    joint has backlash if its own outliers come where its own load changes sign.
    """
    if not any(cause.kind == OUTLIERS for cause in causes) or outliers.shape != motion.q.shape:
        return tuple(causes)
    load = np.abs(rigid_body_torque(nominal, motion.q, motion.dq, motion.ddq))
    near = load < REVERSAL * load.max(axis=0)
    names, said = nominal.joint_names, {c.joints for c in causes if c.kind == OUTLIERS}
    loose = [
        j
        for j, name in enumerate(names)
        if (name,) in said and _crowded(outliers[:, j], near[:, j])
    ]
    struck = {
        (name,)
        for i, name in enumerate(names)
        if any(_crowded(outliers[:, i], near[:, j]) for j in loose)
    }
    left = [c for c in causes if c.kind != OUTLIERS or c.joints not in struck]
    return (*(_cause(names[j], outliers[:, j], near[:, j]) for j in loose), *left)


def _crowded(outliers: Bool1D, near: Bool1D) -> bool:
    """Return whether outliers come at reversals of a load, by a likelihood ratio."""
    count, usual = int(outliers.sum()), float(near.mean())
    if count == 0 or not 0.0 < usual < 1.0:
        return False
    share = float(near[outliers].mean())
    if share < max(MOST_OF, OFTEN * usual):
        return False
    rest = 0.0 if share == 1.0 else (1.0 - share) * np.log((1.0 - share) / (1.0 - usual))
    return bool(count * (share * np.log(share / usual) + rest) > SURE)


def _cause(joint: str, outliers: Bool1D, near: Bool1D) -> Cause:
    count, at = int(outliers.sum()), int((outliers & near).sum())
    return Cause(
        kind="backlash",
        joints=(joint,),
        finding="the torque jumps where the load of the joint changes sign: backlash",
        evidence=f"{at} of {count} outliers of its torque lie where its load is below "
        f"{percent(REVERSAL)} of the largest, and {percent(float(near.mean()))} of all samples",
        remedy="adjust the gear, or measure on the side of the link",
    )
