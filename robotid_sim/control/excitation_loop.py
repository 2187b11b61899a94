"""How fast the loop is that follows an excitation with a nominal model."""

import numpy as np

from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import effective_inertia, gravity_torque, mass_matrix
from robotid_sim.model.robot import Robot

SLOWEST = 50.0
"""Bandwidth of robots whose rotors and links are heavy enough [rad/s]."""

FASTEST = 0.125
"""Largest bandwidth over the control rate [rad]."""

WRONG = 0.2
"""Share of gravity and dry friction that a nominal model gets wrong."""

VELOCITY_SHARE = 0.05
"""Share of a velocity limit that the error may take; designs leave a tenth."""

POSES = 200


def excitation_bandwidth(nominal: Robot, rate: float) -> float:
    r"""Return the bandwidth of computed torque for an excitation [rad/s].

    Where a model gets an acceleration a wrong from one moment to the next, a critically damped loop
    of bandwidth :math:`\omega` is off in velocity by at most :math:`a / (e\, \omega)`. Light links
    without rotors have a large a: a fifth of :math:`M^{-1} g` at the worst of random poses, or of
    what dry friction gives the joint alone, which turns around with the joint.

    Parameters
    ----------
    nominal : Robot
        The model in the controller.
    rate : float
        Control rate [Hz].
    """
    q = random_states(nominal)[0][:POSES]
    falling = np.linalg.solve(mass_matrix(nominal, q), gravity_torque(nominal, q)[..., None])
    friction = np.array([joint.friction.Fc for joint in nominal.joints])
    rubbing = friction / effective_inertia(nominal, q).min(axis=0)
    wrong = WRONG * np.maximum(np.abs(falling[..., 0]).max(axis=0), rubbing)
    needed = float((wrong / (np.e * VELOCITY_SHARE * nominal.limits.velocity)).max())
    return max(SLOWEST, min(needed, FASTEST * rate))
