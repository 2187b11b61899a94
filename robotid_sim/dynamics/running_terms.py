"""Torques of joint terms during a motion, state by state, for plants and controllers.

They equal those of `robotid_sim.dynamics.term_torques`, which needs a whole motion.
"""

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

ABSENT_DISTANCE = 1.0
"""Constant of joints without a term, whose parameters are zero."""


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
    duration : float
        Time after which the joints have warmed up [s].
    whole : bool
        The terms contain all friction that builds up: the caller subtracted it from the immediate
        Coulomb friction.
    """

    def __init__(
        self,
        robot: Robot,
        terms: Sequence[JointTerm],
        duration: float = np.inf,
        *,
        whole: bool = False,
    ) -> None:
        self._robot, self._phi, self._duration = robot, robot.parameters(), duration
        self._whole = whole
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
        self._own: dict[tuple[str, int], tuple[Float2D, Float1D]] = {}
        seen: dict[tuple[str, str], int] = {}
        for term in terms:
            if term.partner is not None or TERM_KINDS[term.kind].table:
                continue
            layer = seen[term.kind, term.joint] = seen.get((term.kind, term.joint), -1) + 1
            size, j = (robot.dof, len(term.values)), names.index(term.joint)
            values, shape = self._own.setdefault(
                (term.kind, layer), (np.zeros(size), np.full(robot.dof, ABSENT_DISTANCE))
            )
            values[j] = term.values
            shape[j] = ABSENT_DISTANCE if term.shape is None else term.shape
        self._loaded = any(kind == LOADED for kind, _ in self._own)
        self._last: Float1D | None = None
        self._z: dict[int, Float1D] = {}

    def __bool__(self) -> bool:
        """Return whether there are any terms."""
        return bool(self._own or self._coupled or self._tables)

    def reset(self) -> None:
        """Reset, with Coulomb friction that has not built up."""
        self._last, self._z = None, {}

    def __call__(
        self, q: Float1D, dq: Float1D, ddq: Float1D, t: float = 0.0, *, inertia: bool = True
    ) -> Float1D:
        """Return the torques at a state [N m], shape (n,), which follows the previous state.

        Without `inertia` the torque of shared motors' inertia is omitted, see `rotor_coupling`.
        """
        robot, torque = self._robot, np.zeros(q.size)
        load: Float2D = np.zeros((1, q.size))
        if self._loaded:
            model = (robot.geometry, robot.gravity, self._phi)
            load = kernels.inverse_dynamics(*model, q[None], dq[None], ddq[None])
        sign = np.tanh(dq / robot.eps)[None]
        state = (q[None], dq[None], ddq[None], sign, load, robot.eps, self._turn)
        states = TermStates(*state, in_order=False)
        for (kind, layer), (values, shape) in self._own.items():
            if kind == PRESLIDING:
                before = q if self._last is None else self._last
                z = self._z.get(layer, np.zeros(q.size))
                self._z[layer] = compute_presliding_share(np.array([before, q]), z, shape)[1]
                torque += values[:, 0] * (self._z[layer] - (0.0 if self._whole else sign[0]))
            elif kind == WARMING:
                torque += values[:, 0] * dq * min(t, self._duration)
            else:
                torque += (term_signals(kind, states, shape)[0] * values).sum(axis=1)
        for j, rows in self._tables:
            torque[j] += balance_torque(rows, q[[j]])[0]
        for j, k, side, numbers in self._coupled:
            columns = term_columns(COUPLED, states, j, side, k)[0]
            torque += columns[:, 1:] @ numbers[1:] + (columns[:, 0] * numbers[0] if inertia else 0)
        self._last = q
        return torque
