r"""Torque of joint terms, in addition to the standard parameters, along a motion.

With the smooth sign s of the joint, the torque l that its gear passes on, and the parameters in
the order of `robotid_sim.model.joint_terms.TERM_KINDS`:

=========================== ======================================================================
offset                      :math:`T_o`
asymmetric-friction         :math:`dF_v |\dot q| + dF_c |s|`
transition-velocity         :math:`F_e (\tanh(\dot q / w) - s)`
stribeck                    :math:`F_p e^{-(\dot q / v_s)^2} s`
curved-viscous              :math:`F_a |\dot q|^a s`
load-dependent-friction     :math:`\mu |l| s`
position-dependent-friction :math:`(F_s \sin k q + F_k \cos k q) s`
cogging                     :math:`T_s \sin k q + T_k \cos k q`
presliding                  :math:`F_d (z - s)` with :math:`z' = (\mathrm{sgn}\,\dot q - z) / d`
                            along the path [1]_
spring                      :math:`k_s q + T_{s0}`
counterbalance              :math:`-T(q)` with its torque T on the joint, linear between
                            the rows of its table and constant beyond them
warming                     :math:`F_t \dot q\, t` with the time t from the middle of the log on
coupled-joints              :math:`I_m \ddot q_i + F_{vm} \dot q_i + F_{cm}
                            \tanh((\dot q_i \pm \dot q_j) / \epsilon)` with i and j either joint
=========================== ======================================================================

References
----------
.. [1] Dahl (1968), "A solid friction model", Aerospace Corp. TOR-0158(3107-18)-1; exponent one.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.dynamics import kernels
from robotid_sim.errors import OptionError
from robotid_sim.model.joint_terms import LOADED, TERM_KINDS, JointTerm
from robotid_sim.model.robot import Robot


class TermStates(NamedTuple):
    """Arguments of the terms, arrays of shape (N, n)."""

    q: Float2D
    dq: Float2D
    ddq: Float2D
    sign: Float2D
    """Smooth sign of the velocity."""
    load: Float2D
    """Torque that the gears pass on to the bodies [N m]."""
    eps: Float1D
    """Velocity of the smooth sign, shape (n,)."""
    turn: Float1D
    """Angle per unit of position [rad], shape (n,): a stroke of 1 m counts as a turn."""
    in_order: bool
    """Whether the samples are consecutive samples of one motion."""
    t: Float1D | None = None
    """Time [s], shape (N,); None if unknown."""

    @classmethod
    def from_motion(
        cls,
        robot: Robot,
        q: Float2D,
        dq: Float2D,
        ddq: Float2D,
        *,
        in_order: bool = True,
        t: Float1D | None = None,
        has_load: bool = True,
    ) -> Self:
        """Return the states of a motion of a robot; loads are zero if not requested."""
        model, eps = (robot.geometry, robot.gravity, robot.parameters()), robot.eps
        load = kernels.inverse_dynamics(*model, q, dq, ddq) if has_load else np.zeros_like(q)
        turn = np.where(robot.prismatic, 2.0 * np.pi, 1.0)
        return cls(q, dq, ddq, np.tanh(dq / eps), load, eps, turn, in_order, t)

    def select_joint(self, j: int) -> "TermStates":
        """Return the states of one joint, arrays of shape (N, 1)."""
        q, dq, ddq, sign, load = (part[:, [j]] for part in self[:5])
        return TermStates(
            q, dq, ddq, sign, load, self.eps[[j]], self.turn[[j]], self.in_order, self.t
        )


def balance_torque(values: Sequence[float], q: Float1D) -> Float1D:
    """Return the drive torque against a counterbalance with the table `values` [N m], as `q`."""
    return -np.interp(q, values[::2], values[1::2])


def term_signals(kind: str, states: TermStates, shape: Float1D | None) -> Float:
    """Return the torque of every joint per unit of every parameter of a term, shape (N, n, k).

    The constants `shape` have the shape (n,). The torque of coupled joints is in `term_columns`.
    """
    q, dq, s = states.q, states.dq, states.sign
    constant = np.ones(q.shape[1]) if shape is None else shape
    match kind:
        case "offset":
            parts = [np.ones_like(q)]
        case "asymmetric-friction":
            parts = [np.abs(dq), np.abs(s)]
        case "transition-velocity":
            parts = [np.tanh(dq / constant) - s]
        case "stribeck":
            parts = [np.exp(-((dq / constant) ** 2)) * s]
        case "curved-viscous":
            parts = [np.abs(dq) ** constant * s]
        case "load-dependent-friction":
            parts = [np.abs(states.load) * s]
        case "position-dependent-friction" | "cogging":
            angle = constant * states.turn * q
            size = s if kind == "position-dependent-friction" else np.ones_like(s)
            parts = [size * np.sin(angle), size * np.cos(angle)]
        case "presliding":
            parts = [
                compute_presliding_share(q, s[0], constant) - s
                if states.in_order
                else np.zeros_like(s)
            ]
        case "spring":
            parts = [q, np.ones_like(q)]
        case "warming":
            parts = [dq * (0.0 if states.t is None else states.t[:, None])]
        case _:
            raise OptionError(
                f"'{kind}' is not a term of one joint; known: {', '.join(TERM_KINDS)}"
            )
    return np.stack(parts, axis=2)


def term_columns(
    kind: str, states: TermStates, j: int, shape: float | None, partner: int | None = None
) -> Float:
    """Return the torque of all joints per unit of every parameter of a term, shape (N, n, k)."""
    N, n = states.q.shape
    columns_of_terms = np.zeros((N, n, len(TERM_KINDS[kind].symbols)))
    if partner is None:
        constant = None if shape is None else np.array([shape])
        columns_of_terms[:, j] = term_signals(kind, states.select_joint(j), constant)[:, 0]
        return columns_of_terms
    side = -1.0 if shape is not None and shape < 0.0 else 1.0
    sign_of_sum = np.tanh((states.dq[:, j] + side * states.dq[:, partner]) / states.eps[j])
    for joint, other, sign in ((j, partner, sign_of_sum), (partner, j, side * sign_of_sum)):
        columns_of_terms[:, joint, 0] = side * states.ddq[:, other]
        columns_of_terms[:, joint, 1] = side * states.dq[:, other]
        columns_of_terms[:, joint, 2] = sign
    return columns_of_terms


def terms_torque(
    robot: Robot,
    terms: Sequence[JointTerm],
    q: Float2D,
    dq: Float2D,
    ddq: Float2D,
    *,
    in_order: bool = True,
    t: Float1D | None = None,
) -> Float2D:
    """Return the torque of terms along a motion [N m], shape (N, n).

    If the samples are not `in_order`, presliding friction is fully built up; without
    their times `t` [s], shape (N,), terms that change with time are omitted.
    """
    torque = np.zeros(q.shape)
    if not terms:
        return torque
    has_load = any(term.kind == LOADED for term in terms)
    states = TermStates.from_motion(robot, q, dq, ddq, in_order=in_order, t=t, has_load=has_load)
    names = robot.joint_names
    for term in terms:
        if TERM_KINDS[term.kind].table:
            j = names.index(term.joint)
            torque[:, j] += balance_torque(term.values, q[:, j])
            continue
        partner = None if term.partner is None else names.index(term.partner)
        columns = term_columns(term.kind, states, names.index(term.joint), term.shape, partner)
        torque += columns @ np.array(term.values)
    return torque


def term_slopes(robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D) -> Float:
    """Return the derivatives of terms by the joint's own q, dq and ddq, shape (3, N, n).

    Coulomb friction is assumed to be fully built up.
    """
    columns_of_terms = np.zeros((3, *q.shape))
    for j, name in enumerate(robot.joint_names):
        joint_terms = [term for term in robot.terms if name in (term.joint, term.partner)]
        for kind in (0, 1) if joint_terms else ():
            sides = []
            for sign in (1.0, -1.0):
                moved = [q, dq, ddq]
                moved[kind] = moved[kind].copy()
                moved[kind][:, j] += sign * 1e-5
                sides.append(terms_torque(robot, joint_terms, *moved, in_order=False)[:, j])
            columns_of_terms[kind, :, j] = (sides[0] - sides[1]) / 2e-5
    return columns_of_terms


def standard_torque(robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D, tau: Float2D) -> Float2D:
    """Return torques along a motion without the torques of the robot's terms, shape (N, n).

    They equal its regressor times its parameters.
    """
    if not robot.terms:
        return tau
    return np.asarray(tau - terms_torque(robot, robot.terms, q, dq, ddq))


@jit
def compute_presliding_share(q: Float2D, start: Float1D, distance: Float1D) -> Float2D:
    """Compute the share of Coulomb friction that has built up along a path, shape (N, n).

    It has the shares `start`, (n,), at the first sample, and follows the sign of the motion over
    the distance of every joint, (n,).
    """
    z = np.empty(q.shape)
    for j in range(q.shape[1]):
        z[0, j] = start[j]
        for k in range(1, q.shape[0]):
            step = q[k, j] - q[k - 1, j]
            toward = 1.0 if step > 0.0 else -1.0
            z[k, j] = toward + (z[k - 1, j] - toward) * np.exp(-abs(step) / distance[j])
    return z
