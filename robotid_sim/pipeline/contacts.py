"""Which links a motion drives into one another, by the geometry of the robot."""

from collections.abc import Iterable, Mapping

import numpy as np

from robotid_sim.engine.proximity import Proximity
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import ContactResult
from robotid_sim.trajectory.reference import Trajectory

CUTOFF = 0.01
"""Distances that are looked at [m]."""

SAMPLES = 400
"""Poses of a motion at which contacts are looked for."""

ADVICE = (
    "In the engine links pass through one another; no real arm may run this. Let the design keep "
    "them apart (design.constraints), and check every motion before it is run."
)


def contacts(
    robot: Robot, motions: Mapping[str, Trajectory], floor: float | None = None
) -> list[ContactResult]:
    """Return the pairs of links that touch on motions, each where it is deepest.

    By the convex hulls of the links; those that touch at home already do not count.

    The floor has a height in the root frame [m], or there is none.
    """
    found = []
    with Proximity(robot, floor=floor, cutoff=CUTOFF) as proximity:
        apart = proximity(robot.home)[0] > 0.0
        for name, motion in motions.items():
            t = np.linspace(motion.start, motion.duration, SAMPLES)
            distances = proximity.along(motion(t).q)[0]
            for k in np.flatnonzero(apart & (distances.min(axis=0) < 0.0)):
                at, pair = int(distances[:, k].argmin()), proximity.pairs[k]
                depth, when = -float(distances[at, k]), float(t[at])
                links = (pair.first, pair.second)
                found.append(ContactResult(motion=name, links=links, depth_m=depth, t_s=when))
    return found


def contact_notes(found: Iterable[ContactResult]) -> list[str]:
    """Return one line a motion, which links touch most deeply, and what to do about it."""
    by_motion: dict[str, list[ContactResult]] = {}
    for contact in found:
        by_motion.setdefault(contact.motion, []).append(contact)
    lines = []
    for motion, pairs in by_motion.items():
        deepest = max(pairs, key=lambda contact: contact.depth_m)
        count = f" (of {len(pairs)} pairs)" if len(pairs) > 1 else ""
        lines.append(f"CONTACT in {motion}: {deepest}{count}")
    return [*lines, ADVICE] if lines else []
