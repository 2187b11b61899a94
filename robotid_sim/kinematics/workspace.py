"""Where the tip of an arm can be, and how it can move there; by kinematics and limits alone.

For a robot without geometry, a link is a capsule along its kinematics.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import PathError
from robotid_sim.kinematics.forward import tip_jacobian, tip_pose
from robotid_sim.kinematics.inverse import (
    POSE_DEMAND,
    RANK_TOLERANCE,
    Demand,
    inverse_kinematics,
    singularity_index,
)
from robotid_sim.model.geometry import GeometryShape, transform
from robotid_sim.model.robot import Robot

CENTER_COUNT = 40
"""Number of random configurations around which a shape is tried, besides the home pose."""

START_COUNT = 12
"""Number of configurations from which a path at a place is tried, besides the home pose."""


def configurations(robot: Robot) -> list[Float1D]:
    """Return the home pose and seeded random configurations within the limits."""
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    limits = robot.limits
    room = 0.6 * np.minimum(limits.half_range, np.pi)
    drawn = limits.middle + room * rng.uniform(-1.0, 1.0, (CENTER_COUNT, robot.dof))
    return [robot.home, *drawn]


def tip_demand(robot: Robot) -> Demand:
    """Choose the target of a path: the pose of the tip with 6 or more joints, else its position."""
    if robot.dof >= 6:
        return POSE_DEMAND
    ranks = [
        np.linalg.matrix_rank(tip_jacobian(robot, q)[:3], rtol=RANK_TOLERANCE)
        for q in configurations(robot)
    ]
    return Demand(rows=3, rank=max(1, int(max(ranks))))


def reach(robot: Robot) -> float:
    """Return how far the tip gets from the first joint [m], stretched out."""
    lengths = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints[1:]]
    if robot.dof < 6:  # strokes of a gantry; a rail under a six-joint arm adds no reach
        strokes = robot.limits.half_range[np.array(robot.prismatic)]
        lengths += [float(stroke) for stroke in strokes]
    return sum(lengths) + float(np.linalg.norm(robot.T_last_tip[:3, 3]))


def motion_axes(robot: Robot, demand: Demand) -> Float2D:
    """Return orthonormal directions in which the tip can move, as rows, shape (2 or 3, 3).

    The axes of the root frame if the tip moves in space; for a planar arm, directions in its plane
    that are nearest to them. The plane is spanned by the left singular vectors of the position
    Jacobian where that is best conditioned. Raises `PathError` if the tip moves along a single
    curve.
    """
    if demand.rank >= 3:
        return np.eye(3)
    if demand.rank == 1:
        raise PathError(
            f"the tip of '{robot.name}' moves along a single curve; choose a task in joint space"
        )
    normal = np.linalg.svd(tip_jacobian(robot, sort_by_condition(robot, demand)[0])[:3])[0][:, 2]
    projections = np.eye(3) - np.outer(normal, normal)
    first = projections[0] if normal[0] ** 2 < 0.5 else projections[1]
    first = first / np.linalg.norm(first)
    second = np.cross(normal, first)
    return np.array([first, second * np.sign(second[np.abs(second).argmax()])])


def sort_by_condition(robot: Robot, demand: Demand) -> list[Float1D]:
    """Return the configurations, the best conditioned first."""
    return sorted(configurations(robot), key=lambda q: singularity_index(robot, q, demand))


def path_starts(
    robot: Robot, position: Float1D, demand: Demand, R: Float2D | None = None
) -> Iterator[tuple[Float2D, Float1D]]:
    """Yield poses (4, 4) at a position, and joint positions near them.

    They are found from the home pose, then from the best conditioned configurations; the
    orientation is that of the configuration unless `R` is given. A pose that is not found is
    yielded with the start of its search, so that the path reports why.
    """
    for q in (robot.home, *sort_by_condition(robot, demand)[:START_COUNT]):
        pose = tip_pose(robot, q)
        pose[:3, 3] = position
        if R is not None:
            pose[:3, :3] = R
        solved, reached = inverse_kinematics(robot, pose, q, demand)
        turns = np.round((solved - robot.limits.middle) / (2.0 * np.pi))
        turns[np.array(robot.prismatic)] = 0.0
        yield pose, (solved - 2.0 * np.pi * turns if reached else q)


CAPSULE_THICKNESS = 0.04
"""Radius of a capsule over the reach of the arm."""

MIN_RADIUS = 1e-3
"""Least radius [m], for an arm whose tip is on its one axis."""


def make_capsules(robot: Robot) -> list[GeometryShape]:
    """Return a capsule for every link, from its joint to the next one or to the tip.

    Their radius is `CAPSULE_THICKNESS` of the reach. A link whose ends coincide, as in a wrist, is
    a sphere.
    """
    radius = max(CAPSULE_THICKNESS * reach(robot), MIN_RADIUS)
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
