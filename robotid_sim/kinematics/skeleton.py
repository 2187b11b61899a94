"""Bodies for a robot without geometry: a capsule a link, along its kinematics."""

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D
from robotid_sim.kinematics.workspace import reach
from robotid_sim.model.geometry import GeometryShape, transform
from robotid_sim.model.robot import Robot

THICKNESS = 0.04
"""Radius of a capsule over the reach of the arm."""

LEAST_RADIUS = 1e-3
"""Least radius [m], for an arm whose tip is on its one axis."""


def skeleton(robot: Robot) -> list[GeometryShape]:
    """Return a capsule for every link, from its joint to the next one or to the tip.

    Their radius is THICKNESS of the reach. A link whose ends coincide, as in a wrist, is a sphere.
    """
    radius = max(THICKNESS * reach(robot), LEAST_RADIUS)
    ends = [joint.T_parent_joint[:3, 3] for joint in robot.joints[1:]]
    return [_capsule(end, radius) for end in (*ends, robot.T_last_tip[:3, 3])]


def _capsule(end: Float1D, radius: float) -> GeometryShape:
    """Return a capsule from the origin to a point of its body."""
    length = float(np.linalg.norm(end))
    if length <= radius:
        place = transform(np.eye(3), 0.5 * end)
        return GeometryShape("sphere", (radius,), place, collision=True)
    turn, _ = Rotation.align_vectors(end[None] / length, [[0.0, 0.0, 1.0]])
    place = transform(turn.as_matrix(), 0.5 * end)
    return GeometryShape("capsule", (radius, length), place, collision=True)
