"""How fast the loop is that follows an excitation with a nominal model."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
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

    The control rate is in Hz.
    """
    q = _poses(nominal)
    falling = np.linalg.solve(mass_matrix(nominal, q), gravity_torque(nominal, q)[..., None])
    friction = np.array([joint.friction.Fc for joint in nominal.joints])
    rubbing = friction / (_lightest(nominal, q) + friction_inertia(nominal, rate))
    wrong = WRONG * np.maximum(np.abs(falling[..., 0]).max(axis=0), rubbing)
    needed = float((wrong / (np.e * VELOCITY_SHARE * nominal.limits.velocity)).max())
    return max(SLOWEST, min(needed, FASTEST * rate))


def friction_inertia(nominal: Robot, rate: float) -> Float1D:
    r"""Return the inertia that joints of friction and no rotor lack in the loop [kg m^2 or kg].

    Over a control step h viscous friction is like an inertia :math:`h F_v`. Of a joint that moves
    less, gains in proportion to its inertia are next to nothing beside its friction: it goes where
    the errors of the friction's model drive it, and h :math:`F_v` in all is what the rate bears.

    The control rate is in Hz. The inertia, shape (n,), is added to that of the model; zero for
    other joints.
    """
    viscous = np.array([joint.friction.Fv for joint in nominal.joints])
    lacking = viscous / rate - _lightest(nominal, _poses(nominal))
    return np.asarray(np.maximum(lacking, 0.0))


def _poses(nominal: Robot) -> Float2D:
    return random_states(nominal)[0][:POSES]


def _lightest(nominal: Robot, q: Float2D) -> Float1D:
    return np.asarray(effective_inertia(nominal, q).min(axis=0))
