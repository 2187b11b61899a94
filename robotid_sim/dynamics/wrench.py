"""Wrenches transmitted by the joints, as force sensors in the joints would measure."""

import numpy as np

from robotid_sim.arrays import ArrayLike, Float, states
from robotid_sim.dynamics import kernels
from robotid_sim.model import parameters
from robotid_sim.model.inertia import inertia_matrix
from robotid_sim.model.robot import Robot

_UNIT_VECTORS = np.eye(3)
_UNIT_TENSORS = [inertia_matrix(unit) for unit in np.eye(parameters.INERTIAL_COUNT)[4:]]


def wrench_regressor(robot: Robot, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Float:
    r"""Compute the regressor of wrenches at the joints, linear in the inertial parameters.

    The torque of a drive is the component of its wrench along the joint's axis [1]_, eq. (14)-(17).
    Parameters are those of `robotid_sim.dynamics.dynamics.rigid_body_torque`.

    Returns
    -------
    W : ndarray, shape (n, 6, 10 n) or (N, n, 6, 10 n)
        Force [N], then moment [N m] about the origin of each body, in the frame of the body; the
        columns are the inertial ones of `Robot.parameter_names`.

    References
    ----------
    .. [1] Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads
       and links", Int. J. Robotics Research, doi:10.1177/027836498600500306.
    """
    batch, single = states(q, dq, ddq, dof=robot.dof, names=("q", "dq", "ddq"))
    n, width = robot.dof, parameters.INERTIAL_COUNT
    T = np.array([kernels.link_poses(robot.geometry, pose) for pose in batch[0]])
    R, origin = T[:, :, :3, :3], T[:, :, :3, 3]
    bodies = _body_wrenches(robot, R, origin, batch[1], batch[2])
    W = np.zeros((len(T), n, 6, width * n))
    for i in range(n):
        for j in range(i, n):  # wrench of body j at joint i
            turn = R[:, i].transpose(0, 2, 1) @ R[:, j]
            lever = np.einsum("krc,kr->kc", R[:, i], origin[:, j] - origin[:, i])
            force = turn @ bodies[:, j, :3]
            columns = slice(width * j, width * (j + 1))
            W[:, i, :3, columns] = force
            W[:, i, 3:, columns] = turn @ bodies[:, j, 3:] + np.cross(
                lever[:, :, None], force, axis=1
            )
    return W[0] if single else W


def _body_wrenches(robot: Robot, R: Float, origin: Float, dq: Float, ddq: Float) -> Float:
    """Return the wrench of every body by itself, in its frame, shape (N, n, 6, 10); see [1]_."""
    w, dw = np.zeros((2, len(dq), 3))
    a = np.broadcast_to(-robot.gravity, w.shape)  # as if the base accelerated upward
    last, wrenches = origin[:, 0], []
    for j, joint in enumerate(robot.joints):
        r, z = origin[:, j] - last, R[:, j] @ joint.axis
        a = a + np.cross(dw, r) + np.cross(w, np.cross(w, r))
        v, dv = z * dq[:, j, None], z * ddq[:, j, None]
        if joint.prismatic:
            a = a + dv + 2.0 * np.cross(w, v)
        else:
            dw = dw + dv + np.cross(w, v)
            w = w + v
        last = origin[:, j]
        wrenches.append(_columns(*(np.einsum("krc,kr->kc", R[:, j], part) for part in (w, dw, a))))
    return np.stack(wrenches, axis=1)


def _columns(w: Float, dw: Float, a: Float) -> Float:
    """Return force and moment of a body per unit of each parameter, shape (N, 6, 10)."""
    zeros = np.zeros_like(a)
    columns = [np.hstack([a, zeros])]
    for unit in _UNIT_VECTORS:
        e = np.broadcast_to(unit, a.shape)
        columns.append(np.hstack([np.cross(dw, e) + np.cross(w, np.cross(w, e)), np.cross(e, a)]))
    for E in _UNIT_TENSORS:
        columns.append(np.hstack([zeros, dw @ E + np.cross(w, w @ E)]))
    return np.stack(columns, axis=2)
