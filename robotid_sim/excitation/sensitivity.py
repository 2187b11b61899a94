r"""Exact derivatives of torques and regressors by the motion, with few evaluations.

Torques of rigid bodies are trigonometric polynomials of degree two in the angle of a revolute
joint, quadratic in the position of a prismatic one and in the velocities, and affine in the
accelerations. Therefore finite differences with large steps are exact up to rounding. For the
angle, four shifts give the derivative by the formula of Riesz [1]_ for degree two,

.. math:: f'(q) = \sum_{m=1}^{4} \frac{(-1)^{m-1}}{8 \sin^2\frac{(2m-1)\pi}{8}}
    f\!\left(q + \frac{(2m-1)\pi}{4}\right) .

References
----------
.. [1] Riesz (1914), "Formule d'interpolation pour la dérivée d'un polynome trigonométrique",
   C. R. Acad. Sci. Paris 158, 1152-1154.
"""

from collections.abc import Callable

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, MotionArrays
from robotid_sim.dynamics.dynamics import rigid_body_torque, torque_regressor
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot

_ODD_NUMBERS = np.arange(1.0, 8.0, 2.0)
REVOLUTE_SHIFTS = _ODD_NUMBERS * np.pi / 4.0
REVOLUTE_WEIGHTS = np.array([1.0, -1.0, 1.0, -1.0]) / (
    8.0 * np.sin(_ODD_NUMBERS * np.pi / 8.0) ** 2
)
QUADRATIC_SHIFTS = np.array([1.0, -1.0])
QUADRATIC_WEIGHTS = np.array([0.5, -0.5])


def polynomial_derivatives(
    function: Callable[[Float2D, Float2D, Float2D], Float], motion: MotionArrays, robot: Robot
) -> tuple[Float, Float, Float]:
    """Return the derivatives of a rigid-body function of the motion, each of shape (n, N, ...).

    The function goes from batches of positions, velocities and accelerations, shape (K, N, n), to
    values of shape (K, N, ...) that have the polynomial form above, sample by sample; the
    derivatives are at the motion, each part of shape (N, n).
    """
    here = function(*(part[None] for part in motion))[0]
    slopes: tuple[list[Float], list[Float], list[Float]] = ([], [], [])
    for j in range(robot.dof):
        prismatic = robot.prismatic[j]
        shifts = QUADRATIC_SHIFTS if prismatic else REVOLUTE_SHIFTS
        weights = QUADRATIC_WEIGHTS if prismatic else REVOLUTE_WEIGHTS
        first, second = shifts.size, shifts.size + 2
        moved = [np.repeat(part[None], second + 1, axis=0) for part in motion]
        moved[0][:first, :, j] += shifts[:, None]
        moved[1][first:second, :, j] += QUADRATIC_SHIFTS[:, None]
        moved[2][second, :, j] += 1.0
        values = function(*moved)
        slopes[0].append(np.tensordot(weights, values[:first], axes=1))
        slopes[1].append(np.tensordot(QUADRATIC_WEIGHTS, values[first:second], axes=1))
        slopes[2].append(values[second] - here)
    return np.array(slopes[0]), np.array(slopes[1]), np.array(slopes[2])


def regressor_sensitivity(
    robot: Robot, columns: Int1D, motion: MotionArrays, gradient: Float
) -> tuple[Float2D, Float2D, Float2D]:
    r"""Return the gradient with respect to the motion of a function of the regressor.

    The columns of W are `columns`, shape (b,), of the regressor, and the `gradient` is :math:`G =
    \partial f / \partial W`, shape (N, n, b). The result is by position, velocity and acceleration,
    each of shape (N, n).
    """
    n, N = robot.dof, len(gradient)
    coulomb = {int(parameters.joint_slice(j, n).start) + 1: j for j in range(n)}
    tanh_columns = [(k, coulomb[c]) for k, c in enumerate(columns.tolist()) if c in coulomb]
    G = gradient.copy()
    G[:, :, [k for k, _ in tanh_columns]] = 0.0

    def contract(q: Float2D, dq: Float2D, ddq: Float2D) -> Float:
        flat = [part.reshape(-1, n) for part in (q, dq, ddq)]
        W = torque_regressor(robot, flat[0], flat[1], flat[2], columns)
        rows = W.reshape(-1, N, 1, G[0].size)
        return np.asarray((rows @ G.reshape(N, -1, 1))[:, :, 0, 0])

    by_q, by_dq, by_ddq = (s.T for s in polynomial_derivatives(contract, motion, robot))
    for k, j in tanh_columns:
        by_dq[:, j] += gradient[:, j, k] * _tanh_slope(motion[1][:, j], robot.eps[j])
    return by_q, by_dq, by_ddq


def torque_sensitivity(robot: Robot, motion: MotionArrays) -> tuple[Float, Float, Float]:
    """Return the derivatives of the joint torques with respect to the motion.

    Each has shape (n, N, n): the first index is the joint that moves, the last the joint whose
    torque changes.
    """
    n, phi = robot.dof, robot.parameters()

    def torque(q: Float2D, dq: Float2D, ddq: Float2D) -> Float:
        flat = (part.reshape(-1, n) for part in (q, dq, ddq))
        return rigid_body_torque(robot, *flat).reshape(q.shape)

    by_q, by_dq, by_ddq = polynomial_derivatives(torque, motion, robot)
    for j in range(n):
        Fv, Fc, _, Ia = phi[parameters.joint_slice(j, n)]
        by_dq[j, :, j] += Fv + Fc * _tanh_slope(motion[1][:, j], robot.eps[j])
        by_ddq[j, :, j] += Ia
    return by_q, by_dq, by_ddq


def _tanh_slope(dq: Float1D, eps: float) -> Float1D:
    """Return the derivative of tanh(dq / eps)."""
    return np.asarray((1.0 - np.tanh(dq / eps) ** 2) / eps)
