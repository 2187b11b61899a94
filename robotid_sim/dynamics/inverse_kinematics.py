"""Inverse kinematics by damped Newton steps, warm-started from pose to pose along a path."""

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.kinematics import tip_jacobian, tip_pose
from robotid_sim.model.robot import Robot

STEPS = 60
POSE_TOLERANCE = 1e-10
"""Largest error of position [m] and orientation [rad] of a solution."""

DAMPING = 1e-8
LONGEST_STEP = 0.3
"""Largest change of a joint in one step [rad or m]."""

SETTLING = 60
SETTLING_RATE = 0.2
"""Null-space steps of a redundant arm at the first pose of a path, and the share of each."""

NULL_SPACE_RATE = 0.02
"""Share of the distance to the middle of the ranges that a redundant arm moves back per step."""


def inverse_kinematics(robot: Robot, T_root_tip: Float2D, q_start: Float1D) -> tuple[Float1D, bool]:
    r"""Return joint positions that put the tip into a pose, near a start.

    Damped Newton steps :math:`\Delta q = J^T (J J^T + \mu 1)^{-1} \Delta x`; a redundant arm moves
    toward the middle of its ranges in the null space meanwhile.

    Parameters
    ----------
    robot : Robot
        At least six joints for an arbitrary pose.
    T_root_tip : ndarray, shape (4, 4)
        Wanted pose in the root frame.
    q_start : ndarray, shape (n,)
        Where the search starts.

    Returns
    -------
    q : ndarray, shape (n,)
        The last iterate.
    found : bool
        Whether it reaches the pose within POSE_TOLERANCE.
    """
    q = np.array(q_start, dtype=float)
    for step in range(STEPS):
        error = pose_error(T_root_tip, tip_pose(robot, q))
        if np.abs(error).max() < POSE_TOLERANCE:
            return q, True
        J = tip_jacobian(robot, q)
        inverse = J.T @ np.linalg.inv(J @ J.T + DAMPING * np.eye(6))
        change = inverse @ error
        if robot.dof > 6 and step < STEPS // 2:
            back = NULL_SPACE_RATE * (robot.limits.middle - q)
            change += back - inverse @ (J @ back)
        q += change * min(1.0, LONGEST_STEP / max(float(np.abs(change).max()), 1e-12))
    return q, False


def solve_path(robot: Robot, poses: Float, q_start: Float1D) -> Float2D | None:
    """Return joint positions along a sequence of poses, shape (M, n), or None if one fails.

    Every solution starts from the one before, so that the arm keeps its configuration; limits of
    position must hold all along.
    """
    limits = robot.limits
    path = np.empty((len(poses), robot.dof))
    q = np.array(q_start, dtype=float)
    if robot.dof > 6:  # lest the path begins with a swing of the elbow
        q = _settled(robot, poses[0], q)
    for k, pose in enumerate(poses):
        q, found = inverse_kinematics(robot, pose, q)
        if not found or (q < limits.lower).any() or (q > limits.upper).any():
            return None
        path[k] = q
    return path


def _settled(robot: Robot, pose: Float2D, q: Float1D) -> Float1D:
    """Return joint positions for a pose with the null space at rest near the middle of ranges."""
    for _ in range(SETTLING):
        q, _ = inverse_kinematics(robot, pose, q)
        J = tip_jacobian(robot, q)
        back = SETTLING_RATE * (robot.limits.middle - q)
        q = q + back - np.linalg.pinv(J) @ (J @ back)
    return q


def pose_error(T_wanted: Float2D, T_actual: Float2D) -> Float1D:
    """Return position error [m] and rotation vector [rad] to the wanted pose, root frame, (6,)."""
    R = T_wanted[:3, :3] @ T_actual[:3, :3].T
    vee = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(vee)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    turn = vee * (angle / sine) if sine > 1e-12 else vee
    return np.concatenate([T_wanted[:3, 3] - T_actual[:3, 3], turn])


def singularity_index(robot: Robot, q: Float1D) -> float:
    """Return kappa(J) = |J| |J^-1|, the condition number of the tip Jacobian.

    The index of Fazilat, Zioui (2025), Mathematics 13(16), 2631, doi:10.3390/math13162631.
    """
    values = np.linalg.svd(tip_jacobian(robot, q), compute_uv=False)
    rank = min(6, robot.dof)
    return float(values[0] / values[rank - 1]) if values[rank - 1] > 0.0 else np.inf
