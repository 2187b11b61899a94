"""Dynamics of a Robot: the public functions over the compiled kernels.

Every function takes one sample, arrays of shape (n,), or a batch, arrays of shape (N, n), and
returns results of the same rank.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from robotid_sim.arrays import ArrayLike, Float, Float1D, Float2D, Int1D, parts_of, states
from robotid_sim.compiled import run_in_threads
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.errors import RankDeficientError, ShapeError
from robotid_sim.model import parameters
from robotid_sim.model.friction_law import coefficients_of
from robotid_sim.model.robot import Robot

MAX_TERM_ITERATIONS = 50
"""Maximum number of iterations for accelerations and the terms that depend on them."""


def rigid_body_torque(robot: Robot, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Float:
    r"""Compute rigid-body torque, :math:`M \ddot q + C \dot q + g`, by recursive Newton-Euler.

    Parameters
    ----------
    robot : Robot
        The robot.
    q, dq, ddq : array_like, shape (n,) or (N, n)
        Position [rad or m], velocity [rad/s or m/s], acceleration [rad/s^2 or m/s^2].

    Returns
    -------
    tau : ndarray, shape (n,) or (N, n)
        Torque [N m or N], without friction and rotor inertia.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.rigid_body_torque(robot, [0.3, 0.2], [1.0, -1.0], [0.0, 2.0]).round(3)
    array([71.905, 33.223])
    """
    batch, single = states(q, dq, ddq, dof=robot.dof, names=("q", "dq", "ddq"))
    tau = kernels.inverse_dynamics(robot.geometry, robot.gravity, robot.parameters(), *batch)
    return tau[0] if single else tau


def joint_torque(robot: Robot, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Float:
    r"""Compute the torque of the drives: rigid bodies, friction and reflected rotor inertia.

    .. math:: \tau = M \ddot q + C \dot q + g + I_a \ddot q + F_v \dot q
        + F_c \tanh(\dot q / \epsilon) + F_o

    Further terms of the robot are included, see `robotid_sim.dynamics.term_torques`; a batch is
    treated as one motion in its order.

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,) or (N, n)
        Position [rad or m].
    dq : array_like, shape (n,) or (N, n)
        Velocity [rad/s or m/s].
    ddq : array_like, shape (n,) or (N, n)
        Acceleration [rad/s^2 or m/s^2].

    Returns
    -------
    tau : ndarray, shape (n,) or (N, n)
        Torque [N m or N].

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.joint_torque(robot, [0.3, 0.2], [1.0, -1.0], [0.0, 2.0]).round(3)
    array([74.105, 31.823])
    """
    batch, single = states(q, dq, ddq, dof=robot.dof, names=("q", "dq", "ddq"))
    phi = robot.parameters()
    tau = kernels.joint_torque(robot.geometry, robot.gravity, phi, robot.eps, *batch)
    if robot.terms:
        tau += terms_torque(robot, robot.terms, *batch, in_order=len(batch[0]) > 1)
    return tau[0] if single else tau


def gravity_torque(robot: Robot, q: ArrayLike) -> Float:
    """Compute the torque that holds the robot still against gravity.

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,) or (N, n)
        Position [rad or m].

    Returns
    -------
    tau : ndarray, shape (n,) or (N, n)
        Torque [N m or N].

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.gravity_torque(robot, [0.3, 0.2]).round(3)
    array([58.629, 25.827])
    """
    still = np.zeros_like(np.asarray(q, dtype=float))
    return rigid_body_torque(robot, q, still, still)


def potential_energy(robot: Robot, q: ArrayLike) -> float:
    """Compute the gravitational energy [J] at a pose, shape (n,); zero with the mass at the root.

    Its gradient is `gravity_torque`.
    """
    (batch,), _ = states(q, dof=robot.dof, names=("q",))
    poses = kernels.link_poses(robot.geometry, batch[0])
    phi = np.array([link.phi for link in robot.links])
    moments = phi[:, :1] * poses[:, :3, 3] + np.einsum("kij,kj->ki", poses[:, :3, :3], phi[:, 1:4])
    return float(-robot.gravity @ moments.sum(axis=0))


def mass_matrix(robot: Robot, q: ArrayLike, *, rotors: bool = True) -> Float:
    """Compute the mass matrix of the bodies and, with `rotors`, of the drives.

    Parameters
    ----------
    robot : Robot
        The robot.
    q : array_like, shape (n,) or (N, n)
        Position [rad or m].
    rotors : bool
        Whether the reflected rotor inertia `Ia` is on its diagonal.

    Returns
    -------
    M : ndarray, shape (n, n) or (N, n, n)
        [kg m^2 or kg]

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> M = rid.mass_matrix(robot, [0.3, 0.2])
    >>> M.shape, bool(np.allclose(M, M.T))
    ((2, 2), True)
    """
    (batch,), single = states(q, dof=robot.dof, names=("q",))
    M = kernels.mass_matrix(robot.geometry, robot.parameters(), batch)
    if rotors:
        M += np.diag([joint.rotor_inertia for joint in robot.joints])
    return M[0] if single else M


def coriolis(robot: Robot, q: ArrayLike, dq: ArrayLike, v: ArrayLike) -> Float1D:
    r"""Compute the product C(q, dq) v with the C of the Christoffel symbols.

    For this C the matrix :math:`\dot M - 2 C` is skew-symmetric, which the stability analysis of
    sliding-mode and adaptive controllers use; with ``v = dq`` it is the velocity torque.

    Parameters
    ----------
    robot : Robot
        The robot.
    q, dq, v : array_like, shape (n,)
        Position [rad or m], velocity [rad/s or m/s], and the vector that C multiplies.

    Returns
    -------
    Cv : ndarray, shape (n,)
        [N m or N]

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> rid.coriolis(robot, [0.3, 0.2], [1.0, -1.0], [1.0, -1.0]).round(3)
    array([0.596, 0.596])
    """
    batch, _ = states(q, dq, v, dof=robot.dof, names=("q", "dq", "v"))
    first = (part[0] for part in batch)
    return np.asarray(kernels.coriolis_product(robot.geometry, robot.parameters(), *first))


def forward_dynamics(robot: Robot, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Float1D:
    """Compute the acceleration under drive torques, with friction and rotor inertia.

    Joint terms are those of sliding joints, with Coulomb friction fully built up.

    Parameters
    ----------
    robot : Robot
        The robot.
    q, dq : array_like, shape (n,)
        Position [rad or m] and velocity [rad/s or m/s].
    tau : array_like, shape (n,)
        Torque of the drives [N m or N].

    Returns
    -------
    ddq : ndarray, shape (n,)
        Acceleration [rad/s^2 or m/s^2].

    Raises
    ------
    RankDeficientError
        If the mass matrix is not positive definite: a joint moves no mass.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> tau = rid.joint_torque(robot, [0.3, 0.2], [1.0, -1.0], [0.5, 2.0])
    >>> rid.forward_dynamics(robot, [0.3, 0.2], [1.0, -1.0], tau).round(6)
    array([0.5, 2. ])
    """
    batch, _ = states(q, dq, tau, dof=robot.dof, names=("q", "dq", "tau"))
    model = (robot.geometry, robot.gravity, robot.parameters(), coefficients_of(robot))
    q0, dq0, tau0 = (part[0] for part in batch)
    ddq: Float1D = np.zeros(robot.dof)
    for _ in range(MAX_TERM_ITERATIONS if robot.terms else 1):
        state = (q0[None], dq0[None], ddq[None])
        further = terms_torque(robot, robot.terms, *state, in_order=False)[0]
        _, new, _, _, ok = kernels.plant_step(*model, q0, dq0, tau0 - further, 0.0)
        if not ok:
            raise RankDeficientError(not_positive_definite(robot))
        is_converged, ddq = np.abs(new - ddq).max() <= 1e-12 * np.abs(new).max(), new
        if is_converged:
            break
    return ddq


def not_positive_definite(robot: Robot) -> str:
    """Return the message for a mass matrix that is not positive definite."""
    return (
        f"the mass matrix of '{robot.name}' is not positive definite: some joint moves no inertia; "
        "give the links beyond it mass, or the joint rotor inertia"
    )


def torque_regressor(
    robot: Robot,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    columns: Sequence[int] | Int1D | None = None,
) -> Float:
    r"""Regressor of the drive torques, linear in the full parameters: :math:`\tau = Y \phi`.

    Built block by block as :math:`Y_{ij} = J_{ji}^T A_j` from the Jacobian and the wrench regressor
    of every body [1]_.

    Parameters
    ----------
    robot : Robot
        The robot.
    q, dq, ddq : array_like, shape (n,) or (N, n)
        Position [rad or m], velocity [rad/s or m/s], acceleration [rad/s^2 or m/s^2].
    columns : sequence of int, optional
        Columns to compute; by default all 14 n. Naming them saves memory for long batches.

    Returns
    -------
    Y : ndarray, shape (n, p) or (N, n, p)
        Columns follow ``robot.parameter_names``; rows give torque [N m] per unit parameter.

    Raises
    ------
    ShapeError
        If all columns are listed out of order, one is not of the robot, or a state
        has a wrong shape.

    References
    ----------
    .. [1] Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads
       and links", Int. J. Robotics Research, doi:10.1177/027836498600500306, eq. (17).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> Y = rid.torque_regressor(robot, [0.3, 0.2], [1.0, -1.0], [0.5, 2.0])
    >>> tau = rid.joint_torque(robot, [0.3, 0.2], [1.0, -1.0], [0.5, 2.0])
    >>> Y.shape, bool(np.allclose(Y @ robot.parameters(), tau))
    ((2, 28), True)
    """
    (q2, dq2, ddq2), single = states(q, dq, ddq, dof=robot.dof, names=("q", "dq", "ddq"))
    every = np.arange(parameters.size(robot.dof))
    selected = every if columns is None else np.array(columns, dtype=np.intp)
    if selected.size == every.size and (selected != every).any():
        raise ShapeError("columns must be fewer than all, or all in their order")
    if selected.size and not 0 <= selected.min() <= selected.max() < every.size:
        raise ShapeError(
            f"columns must lie in 0 to {every.size - 1}, those of a robot with {robot.dof} joints; "
            f"got {selected.min()} to {selected.max()}"
        )
    W = np.zeros((len(q2), robot.dof, selected.size))
    model = (robot.geometry, robot.gravity, robot.eps)

    def fill(part: slice) -> None:
        kernels.regressor(*model, q2[part], dq2[part], ddq2[part], selected, W[part])

    run_in_threads(fill, len(q2))
    return W[0] if single else W


def regressor_parts(
    robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D, columns: Sequence[int] | Int1D
) -> Iterator[Float]:
    """Yield `torque_regressor` of a long motion in parts; as a whole it would fill the memory.

    The motion has shape (N, n), a part (K, n, c): torque per unit parameter of K samples in a row
    [N m or N], of c columns in this order.
    """
    for state in zip(parts_of(q), parts_of(dq), parts_of(ddq), strict=True):
        yield torque_regressor(robot, *state, columns)


def effective_inertia(robot: Robot, q: Float2D) -> Float2D:
    r"""Inertia [kg m^2 or kg], (N, n), of joints with the others free, :math:`1/[M^{-1}]_{jj}`.

    Raises `RankDeficientError` if a mass matrix is not positive definite.
    """
    M = mass_matrix(robot, np.atleast_2d(q))
    if not (np.linalg.eigvalsh(M)[:, 0] > 0.0).all():
        raise RankDeficientError(not_positive_definite(robot))
    return np.asarray(1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2))
