"""Torques of joint terms computed state by state, for plants and controllers.

They equal the torques of `robotid_sim.dynamics.term_torques`, which needs a whole motion.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.term_torques import (
    TermStates,
    balance_torque,
    compute_presliding_share,
    term_columns,
    term_signals,
)
from robotid_sim.model.joint_terms import (
    COUPLED,
    LOADED,
    PRESLIDING,
    TERM_KINDS,
    WARMING,
    JointTerm,
)
from robotid_sim.model.robot import Robot

ABSENT_SHAPE = 1.0
"""Placeholder for the shape constant of joints without a term; their coefficients are zero."""


def rotor_coupling(robot: Robot, terms: Sequence[JointTerm]) -> Float2D | None:
    """Return the inertia of motors that joints share [kg m^2], shape (n, n); None without any."""
    coupled = [term for term in terms if TERM_KINDS[term.kind].coupled]
    if not coupled:
        return None
    matrix = np.zeros((robot.dof, robot.dof))
    for term in coupled:
        j, k = (robot.joint_names.index(str(name)) for name in (term.joint, term.partner))
        matrix[j, k] += term.values[0] * np.sign(term.shape or 1.0)
        matrix[k, j] = matrix[j, k]
    return matrix


class RunningTerms:
    """Terms of a robot, with the state of friction that builds up.

    Parameters
    ----------
    robot : Robot
        Its bodies give the loads.
    terms : sequence of JointTerm
        Its terms.
    warm_up_time : float
        Time after which the joints have warmed up [s].
    replaces_coulomb : bool
        Whether presliding terms replace their share of Coulomb friction, which the caller has
        subtracted; by default their torque is the difference from Coulomb friction.
    """

    def __init__(
        self,
        robot: Robot,
        terms: Sequence[JointTerm],
        warm_up_time: float = np.inf,
        *,
        replaces_coulomb: bool = False,
    ) -> None:
        self._robot, self._phi, self._warm_up_time = robot, robot.parameters(), warm_up_time
        self._replaces_coulomb = replaces_coulomb
        # Radians per unit of position, as in `TermStates`.
        self._turn = np.where(robot.prismatic, 2.0 * np.pi, 1.0)
        names = robot.joint_names
        self._coupled = [
            (names.index(term.joint), names.index(term.partner), term.shape, np.array(term.values))
            for term in terms
            if term.partner is not None
        ]
        self._tables = [
            (names.index(term.joint), term.values) for term in terms if TERM_KINDS[term.kind].table
        ]
        # Values (n, k) and shapes (n,) by kind and number of the term, if a joint has several.
        self._single_joint_terms: dict[tuple[str, int], tuple[Float2D, Float1D]] = {}
        counts = Counter[tuple[str, str]]()
        for term in terms:
            if term.partner is not None or TERM_KINDS[term.kind].table:
                continue
            number = counts[term.kind, term.joint]
            counts[term.kind, term.joint] += 1
            size, j = (robot.dof, len(term.values)), names.index(term.joint)
            values, shape = self._single_joint_terms.setdefault(
                (term.kind, number), (np.zeros(size), np.full(robot.dof, ABSENT_SHAPE))
            )
            values[j] = term.values
            shape[j] = ABSENT_SHAPE if term.shape is None else term.shape
        self._needs_load = any(kind == LOADED for kind, _ in self._single_joint_terms)
        self._previous_q: Float1D | None = None
        self._z: dict[int, Float1D] = {}

    def __bool__(self) -> bool:
        """Return whether there are any terms."""
        return bool(self._single_joint_terms or self._coupled or self._tables)

    def reset(self) -> None:
        """Reset to the state before a motion, in which no presliding friction has built up."""
        self._previous_q, self._z = None, {}

    def __call__(
        self, q: Float1D, dq: Float1D, ddq: Float1D, t: float = 0.0, *, inertia: bool = True
    ) -> Float1D:
        """Return the torques at a state [N m], shape (n,), which follows the previous state.

        Without `inertia`, the inertial torque of motors that joints share is omitted, see
        `rotor_coupling`.
        """
        robot, torque = self._robot, np.zeros(q.size)
        load: Float2D = np.zeros((1, q.size))
        if self._needs_load:
            model = (robot.geometry, robot.gravity, self._phi)
            load = kernels.inverse_dynamics(*model, q[None], dq[None], ddq[None])
        sign = np.tanh(dq / robot.eps)[None]
        state = (q[None], dq[None], ddq[None], sign, load, robot.eps, self._turn)
        states = TermStates(*state, in_order=False)
        for (kind, number), (values, shape) in self._single_joint_terms.items():
            if kind == PRESLIDING:
                previous = q if self._previous_q is None else self._previous_q
                z = self._z.get(number, np.zeros(q.size))
                self._z[number] = z = compute_presliding_share(np.array([previous, q]), z, shape)[1]
                torque += values[:, 0] * (z - (0.0 if self._replaces_coulomb else sign[0]))
            elif kind == WARMING:
                torque += values[:, 0] * dq * min(t, self._warm_up_time)
            else:
                torque += (term_signals(kind, states, shape)[0] * values).sum(axis=1)
        for j, rows in self._tables:
            torque[j] += balance_torque(rows, q[[j]])[0]
        for j, k, term_shape, factors in self._coupled:
            columns = term_columns(COUPLED, states, j, term_shape, k)[0]
            torque += columns[:, 1:] @ factors[1:] + (columns[:, 0] * factors[0] if inertia else 0)
        self._previous_q = q
        return torque
