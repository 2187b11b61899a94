"""Torques of a plant beside rigid bodies, rotors and the friction that drives solve for.

They are those of `robotid_sim.dynamics.term_torques`, taken explicitly at every sub-step: smooth in
position and time, or a small part of the friction.
"""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.term_torques import TermStates, built_up, term_columns, term_signals
from robotid_sim.model.joint_terms import KINDS, JointTerm
from robotid_sim.model.robot import Robot

PRESLIDING, WARMING = "presliding", "warming"

DISTANCE = 1.0
"""Presliding distance of joints without any [rad]; their share is zero."""


def rotor_coupling(robot: Robot, terms: Sequence[JointTerm]) -> Float2D | None:
    """Return the inertia of motors that joints share [kg m^2], shape (n, n); None without any."""
    coupled = [term for term in terms if KINDS[term.kind].coupled]
    if not coupled:
        return None
    found = np.zeros((robot.dof, robot.dof))
    for term in coupled:
        j, k = (robot.joint_names.index(str(name)) for name in (term.joint, term.partner))
        found[j, k] += term.values[0] * np.sign(term.shape or 1.0)
        found[k, j] = found[j, k]
    return found


class FurtherTorques:
    """Terms of a plant, which remember how far dry friction has built up.

    Inertia that joints share is not among them, see `rotor_coupling`, and friction that builds up
    is all of it: the drive has none of that joint.

    Parameters
    ----------
    robot : Robot
        The plant.
    terms : sequence of JointTerm
        Its terms; those that are solved for implicitly are not among them.
    duration : float
        Time over which what warms up does so [s].
    """

    def __init__(self, robot: Robot, terms: Sequence[JointTerm], duration: float) -> None:
        self._eps, self._duration, names = robot.eps, duration, robot.joint_names
        self._turn = np.where(robot.prismatic, 2.0 * np.pi, 1.0)
        self._coupled = [
            (names.index(term.joint), names.index(term.partner), term.shape, term.values)
            for term in terms
            if term.partner is not None
        ]
        self._own: dict[str, tuple[Float2D, Float1D]] = {}
        for term in terms:
            if term.partner is None:
                size = (robot.dof, len(term.values))
                values, shape = self._own.setdefault(
                    term.kind, (np.zeros(size), np.full(robot.dof, DISTANCE))
                )
                j = names.index(term.joint)
                values[j] += term.values
                shape[j] = DISTANCE if term.shape is None else term.shape
        self.reset(robot.home)

    def reset(self, q: Float1D) -> None:
        """Begin at a position with friction that has not built up."""
        self._last, self._z = q, np.zeros(q.size)

    def __call__(self, t: float, q: Float1D, dq: Float1D) -> Float1D:
        """Return the torques at a state [N m], shape (n,), after those of the state before."""
        zero = np.zeros((1, q.size))
        sign = np.tanh(dq / self._eps)
        state = (q[None], dq[None], zero, sign[None], zero, self._eps, self._turn)
        states = TermStates(*state, in_order=False)
        torque = np.zeros(q.size)
        for kind, (values, shape) in self._own.items():
            if kind == PRESLIDING:
                self._z = built_up(np.array([self._last, q]), self._z, shape)[1]
                torque += values[:, 0] * self._z
            elif kind == WARMING:
                torque += values[:, 0] * dq * min(t / self._duration, 1.0)
            else:
                torque += (term_signals(kind, states, shape)[0] * values).sum(axis=1)
        for j, k, side, numbers in self._coupled:
            columns = term_columns("coupled-joints", states, j, side, k)[0]
            torque += columns @ np.array(numbers)
        self._last = q
        return torque
