"""Compute a smooth path of the joints that follows a path of the tip within tolerances."""

from collections.abc import Callable

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.inverse import (
    Demand,
    PathSolution,
    find_exceeded_limit,
    pose_error,
    pose_label,
    singularity_index,
    solve_path,
)
from robotid_sim.model.robot import Robot

Poses = Callable[[Float1D], Float]
"""Function: poses of the tip, shape (M, 4, 4), at phases from 0 to 2 pi."""

MIN_POINTS = 121
"""Smallest number of poses at which a path is solved; between them is a quintic spline."""

MAX_REFINEMENTS = 4
"""Number of halvings of the steps between poses if the spline leaves the path."""

POSITION_TOLERANCE = 2e-5
"""Largest distance [m] of the tip from its path, halfway between solved poses."""

ANGLE_TOLERANCE = 2e-4
"""Largest error of the orientation of the tip there [rad]."""

JOINT_TOLERANCE = 1e-5
"""Largest distance of a joint from a curve in joint space there [rad or m]."""

MAX_ERROR_RATIO = 0.7
"""Share of the error that remains after halving the steps, above which there is a jump."""

CORNER_MESSAGE = (
    "is followed by a stretch that the joints cannot follow smoothly: the arm would change its "
    "configuration there, or the path has a corner"
)

SAMPLES_PER_POSE = 10
"""Samples of the spline per solved pose at which the limits are checked."""


def phase_spline(points: Float2D) -> BSpline:
    """Return the quintic spline through positions at equal steps of the phase, 0 to 2 pi."""
    return make_interp_spline(np.linspace(0.0, 2.0 * np.pi, len(points)), points, k=5)


def make_rest_to_rest_spline(parameter: Float1D, points: Float2D) -> BSpline:
    """Return the quintic spline through points whose first two derivatives vanish at both ends."""
    still = [(nu, np.zeros(points.shape[1])) for nu in (1, 2)]
    # Vector derivatives are documented, but missing in the stubs of scipy.
    return make_interp_spline(parameter, points, k=5, bc_type=(still, still))  # type: ignore[arg-type]


def follow(
    robot: Robot,
    poses: Poses,
    q_start: Float1D,
    demand: Demand,
    largest_index: float,
    points: int = MIN_POINTS,
) -> PathSolution:
    """Compute joint positions along a path of the tip such that a spline through them follows it.

    Limits also hold between the positions. If the tip leaves the path between them, the steps are
    halved; if that does not help, the arm would change its configuration: an obstacle. Arguments
    are as in `solve_path`, except for the path and the initial number of points.
    """
    before = np.inf
    for refinement in range(MAX_REFINEMENTS + 1):
        phase = np.linspace(0.0, 2.0 * np.pi, (points - 1) * 2**refinement + 1)
        targets = poses(phase)
        solution = solve_path(robot, targets, q_start, demand, largest_index)
        if solution.failure is not None:
            return solution
        spline = phase_spline(solution.q)
        violation = _violation(robot, spline, len(phase))
        if violation is not None:
            return _cut(solution, targets, *violation)
        middle = 0.5 * (phase[1:] + phase[:-1])
        pairs = zip(poses(middle), spline(middle), strict=True)
        error = np.array([pose_error(target, tip_pose(robot, q)) for target, q in pairs])
        distance = np.linalg.norm(error[:, :3], axis=1) / POSITION_TOLERANCE
        angle = np.linalg.norm(error[:, 3 : demand.rows], axis=1) / ANGLE_TOLERANCE
        off = np.asarray(np.maximum(distance, angle))
        if off.max() <= 1.0:
            return solution
        if off.max() > MAX_ERROR_RATIO * before:
            break
        before = off.max()
    return _cut(solution, targets, int(off.argmax()), CORNER_MESSAGE)


def follow_joints(
    robot: Robot, curve: Callable[[Float1D], Float2D], demand: Demand, points: int = MIN_POINTS
) -> PathSolution:
    """Compute joint positions along a curve in joint space, from phases (M,) to positions (M, n).

    Between the positions limits also hold, and the spline follows the curve.
    """
    for refinement in range(MAX_REFINEMENTS + 1):
        phase = np.linspace(0.0, 2.0 * np.pi, (points - 1) * 2**refinement + 1)
        q = curve(phase)
        spline = phase_spline(q)
        middle = 0.5 * (phase[1:] + phase[:-1])
        off = np.abs(spline(middle) - curve(middle)).max(axis=1)
        if off.max() <= JOINT_TOLERANCE:
            break
    index = np.array([singularity_index(robot, sample, demand) for sample in q])
    solution = PathSolution(q, index, len(q))
    violation = _violation(robot, spline, len(q))
    if violation is None and off.max() > JOINT_TOLERANCE:
        violation = int(off.argmax()), CORNER_MESSAGE
    if violation is None:
        return solution
    return _cut(solution, np.array([tip_pose(robot, sample) for sample in q]), *violation)


def _violation(robot: Robot, spline: BSpline, points: int) -> tuple[int, str] | None:
    """Find the first point before which the spline leaves the limits, and the violation."""
    dense = spline(np.linspace(0.0, 2.0 * np.pi, SAMPLES_PER_POSE * (points - 1) + 1))
    outside = ((dense < robot.limits.lower) | (dense > robot.limits.upper)).any(axis=1)
    if not outside.any():
        return None
    first = int(outside.argmax())
    reason = find_exceeded_limit(robot, dense[first])
    assert reason is not None
    return first // SAMPLES_PER_POSE, reason


def _cut(solution: PathSolution, targets: Float, k: int, reason: str) -> PathSolution:
    """Return a solution up to point k, with the obstacle there."""
    text = f"{pose_label(targets, k)} {reason}"
    return PathSolution(solution.q[:k], solution.singularity_index[:k], solution.pose_count, text)
