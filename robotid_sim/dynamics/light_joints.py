"""Joints whose friction is large beside all that they move."""

import numpy as np

from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.model.robot import Robot

STATES = 50
"""Random configurations in which the least inertia of a joint is looked for."""

RATIO = 50.0
"""Deceleration by dry friction over the acceleration limit, from which on a joint is light."""


def light_joints(robot: Robot) -> list[str]:
    """Return which joints have dry friction without the inertia of a drive, in words.

    Files of robots for learning often give friction and no rotor. Such a joint stops within
    microseconds, and where friction is known but roughly a controller that compensates it shakes
    the joint.
    """
    q, _, _ = random_states(robot)
    inertia = np.diagonal(mass_matrix(robot, q[:STATES]), axis1=1, axis2=2).min(axis=0)
    friction = np.array([joint.friction.Fc for joint in robot.joints])
    accelerating = inertia * robot.limits.acceleration
    # Links without any inertia are told elsewhere.
    ratio = np.divide(friction, accelerating, out=np.zeros(robot.dof), where=accelerating > 0.0)
    return [
        f"{robot.joint_names[j]}: dry friction alone stops it at {ratio[j]:.3g} times its "
        "acceleration limit, so that a controller shakes it where friction is known but roughly; "
        "give the inertia of its rotor (armature in MJCF, Ia in a robot.toml)"
        for j in np.flatnonzero(ratio > RATIO)
    ]
