"""Inverse kinematics by damped Newton steps, warm-started from pose to pose along a path."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.kinematics.forward import tip_jacobian, tip_pose
from robotid_sim.model.robot import Robot

MAX_STEPS = 60
POSE_TOLERANCE = 1e-10
"""Largest error of position [m] and orientation [rad] of a solution."""

DAMPING_FACTOR = 1e-8
MAX_STEP = 0.3
"""Largest change of a joint in one step [rad or m]."""

SETTLING_STEPS = 60
SETTLING_RATE = 0.2
"""Null-space steps of a redundant arm at the first pose of a path, and the share of the distance
to the middle of the ranges in each."""

NULL_SPACE_RATE = 0.02
"""Share of the distance to the middle of the ranges that a redundant arm moves back per step."""


RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest belong to directions without motion."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a path asks of the tip: its whole pose, or its position alone."""

    rows: int
    """Leading rows of the tip Jacobian that count: 6 for a pose, 3 for a position."""
    rank: int
    """Independent directions among them that the arm moves in; 2 for a planar arm's position."""


POSE_DEMAND = Demand(rows=6, rank=6)


@dataclass(frozen=True, slots=True, eq=False)
class PathSolution:
    """Joint positions along a sequence of poses, up to the first that cannot be reached."""

    q: Float2D
    """Positions [rad or m], shape (M, n); fewer rows if a pose cannot be reached."""
    singularity_index: Float1D
    """Singularity index at every position, shape (M,)."""
    pose_count: int
    """Number of poses to reach."""
    failure: str | None = None
    """Reason for the first unreachable pose, as text; None if all are reachable."""
    within_reach: bool = True
    """False if that pose is out of reach."""

    @property
    def share(self) -> float:
        """Share of the poses that are reached."""
        return len(self.q) / self.pose_count


def inverse_kinematics(
    robot: Robot, T_root_tip: Float2D, q_start: Float1D, demand: Demand = POSE_DEMAND
) -> tuple[Float1D, bool]:
    r"""Return joint positions that put the tip into a pose, near a start.

    Damped Newton steps :math:`\Delta q = J^T (J J^T + \mu 1)^{-1} \Delta x`; a redundant arm moves
    toward the middle of its ranges in the null space meanwhile. The damping also covers directions
    in which the tip cannot move, such as across the plane of a planar arm.

    The pose T_root_tip has shape (4, 4), and the search starts at `q_start`; an arbitrary pose
    needs six joints. The last iterate is returned, and whether it reaches what is demanded, the
    pose or only the position, within POSE_TOLERANCE.
    """
    q = np.array(q_start, dtype=float)
    for step in range(MAX_STEPS):
        error = pose_error(T_root_tip, tip_pose(robot, q))[: demand.rows]
        if np.abs(error).max() < POSE_TOLERANCE:
            return q, True
        J = tip_jacobian(robot, q)[: demand.rows]
        inverse = J.T @ np.linalg.inv(J @ J.T + DAMPING_FACTOR * np.eye(demand.rows))
        change = inverse @ error
        if robot.dof > demand.rank and step < MAX_STEPS // 2:
            back = NULL_SPACE_RATE * (robot.limits.middle - q)
            change += back - inverse @ (J @ back)
        q += change * min(1.0, MAX_STEP / max(float(np.abs(change).max()), 1e-12))
    return q, False


def solve_path(
    robot: Robot,
    poses: Float,
    q_start: Float1D,
    demand: Demand = POSE_DEMAND,
    largest_index: float = np.inf,
) -> PathSolution:
    """Return joint positions along a sequence of poses, up to the first that cannot be reached.

    Every solution starts from the one before, so that the arm keeps its configuration.

    `poses` are those of the tip in the root frame, shape (M, 4, 4); `q_start` and `demand` are as
    for `inverse_kinematics`, for the first pose. No position may exceed the singularity index
    `largest_index`.
    """
    path = np.empty((len(poses), robot.dof))
    index = np.empty(len(poses))
    q = np.array(q_start, dtype=float)
    if robot.dof > demand.rank:  # so that the path does not begin with a null-space motion
        q = _center_joints(robot, poses[0], q, demand)
    for k, pose in enumerate(poses):
        q, reached = inverse_kinematics(robot, pose, q, demand)
        failure = find_exceeded_limit(robot, q) if reached else f"is out of reach of '{robot.name}'"
        if failure is None:
            path[k], index[k] = q, singularity_index(robot, q, demand)
            if index[k] > largest_index:
                failure = (
                    f"has a singularity index of {index[k]:.3g}, above {largest_index:g} "
                    "(near-singular)"
                )
        if failure is not None:
            text = f"{pose_label(poses, k)} {failure}"
            return PathSolution(path[:k], index[:k], len(poses), text, within_reach=reached)
    return PathSolution(path, index, len(poses))


def pose_label(poses: Float, k: int) -> str:
    """Format the number of a pose, from one, and its position [m]."""
    x, y, z = np.round(poses[k, :3, 3], 3) + 0.0  # no negative zero
    return f"point {k + 1} of {len(poses)} at ({x:g}, {y:g}, {z:g})"


def find_exceeded_limit(robot: Robot, q: Float1D) -> str | None:
    """Describe the first exceeded position limit, base to tip, as text; None if there is none."""
    for joint, unit, value in zip(robot.joints, robot.joint_units, q, strict=True):
        for exceeds, word, limit in (
            (value < joint.lower, "below its lower", joint.lower),
            (value > joint.upper, "above its upper", joint.upper),
        ):
            if exceeds:
                pairs = ((f"{value:.{d}g}", f"{limit:.{d}g}") for d in (4, 7, 17))
                got, allowed = next(pair for pair in pairs if pair[0] != pair[1])
                return f"needs {joint.name} at {got} {unit}, {word} limit {allowed} {unit}"
    return None


def _center_joints(robot: Robot, pose: Float2D, q: Float1D, demand: Demand) -> Float1D:
    """Return joint positions for a pose after null-space motion toward the middle of the ranges."""
    for _ in range(SETTLING_STEPS):
        q, reached = inverse_kinematics(robot, pose, q, demand)
        if not reached:
            return q
        J = tip_jacobian(robot, q)[: demand.rows]
        back = SETTLING_RATE * (robot.limits.middle - q)
        q = q + back - np.linalg.pinv(J, RANK_TOLERANCE) @ (J @ back)
    return q


def pose_error(T_wanted: Float2D, T_actual: Float2D) -> Float1D:
    """Return position error [m] and rotation vector [rad] to the wanted pose, root frame, (6,)."""
    R = T_wanted[:3, :3] @ T_actual[:3, :3].T
    vee = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(vee)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    turn = vee * (angle / sine) if sine > 1e-12 else vee
    return np.concatenate([T_wanted[:3, 3] - T_actual[:3, 3], turn])


def singularity_index(robot: Robot, q: Float1D, demand: Demand = POSE_DEMAND) -> float:
    """Return kappa(J) = |J| |J^-1|, the condition number of the tip Jacobian.

    Only rows and directions that `demand` names count: for a planar arm's position, the Jacobian in
    its plane. The index of Fazilat, Zioui (2025), Mathematics 13(16), 2631,
    doi:10.3390/math13162631.
    """
    values = np.linalg.svd(tip_jacobian(robot, q)[: demand.rows], compute_uv=False)
    least = values[min(demand.rank, robot.dof) - 1]
    return float(values[0] / least) if least > 0.0 else np.inf
