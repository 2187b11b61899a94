"""Kinematics of a Robot: poses and the geometric Jacobian."""

import numpy as np

from robotid_sim.arrays import ArrayLike, Float, Float2D, states
from robotid_sim.dynamics import kernels
from robotid_sim.model.robot import Robot


def link_poses(robot: Robot, q: ArrayLike) -> Float:
    """Compute the pose of every movable body in the root frame.

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,)
        Position [rad or m].

    Returns
    -------
    T : ndarray, shape (n, 4, 4)
        Link frames in the root frame [m].

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.link_poses(robot, [0.3, 0.2]).shape
    (2, 4, 4)
    """
    (batch,), _ = states(q, dof=robot.dof, names=("q",))
    return np.asarray(kernels.link_poses(robot.geometry, batch[0]))


def tip_pose(robot: Robot, q: ArrayLike) -> Float2D:
    """Compute the pose of the tip in the root frame.

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,)
        Position [rad or m].

    Returns
    -------
    T : ndarray, shape (4, 4)
        Frame of the tip in the root frame [m].

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.tip_pose(robot, [0.0, 0.0]).shape
    (4, 4)
    """
    return np.asarray(link_poses(robot, q)[-1] @ robot.T_last_tip)


def tip_position(robot: Robot, q: ArrayLike) -> Float2D:
    """Compute tip positions in the root frame [m], shape (N, 3), at joint positions (N, n)."""
    batch, _ = states(q, dof=robot.dof, names=("q",))
    poses = (kernels.link_poses(robot.geometry, sample)[-1] for sample in batch[0])
    tip = np.append(robot.T_last_tip[:3, 3], 1.0)
    return np.array([pose[:3] @ tip for pose in poses])


def tip_jacobian(robot: Robot, q: ArrayLike) -> Float2D:
    """Compute the geometric Jacobian of the tip in the root frame.

    Maps joint velocities [rad/s or m/s] to the velocity of the tip's origin [m/s] and the angular
    velocity [rad/s].

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,)
        Position [rad or m].

    Returns
    -------
    J : ndarray, shape (6, n)
        Three rows of the velocity, then three of the angular velocity.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.tip_jacobian(robot, [0.3, 0.2]).shape
    (6, 2)
    """
    (batch,), _ = states(q, dof=robot.dof, names=("q",))
    point = np.ascontiguousarray(robot.T_last_tip[:3, 3])
    return np.asarray(kernels.jacobian(robot.geometry, batch[0], point))
