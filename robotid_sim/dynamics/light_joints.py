"""Joints that move no inertia, or so little that friction is large beside it."""

import numpy as np

from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.errors import RankDeficientError
from robotid_sim.model.robot import Robot

STATES = 50
"""Random configurations in which the least inertia of a joint is looked for."""

RATIO = 50.0
"""Deceleration by dry friction over the acceleration limit, from which on a joint is light."""


def require_moved_inertia(robot: Robot) -> None:
    """Raise `RankDeficientError` if a joint moves no body with inertia.

    No engine can accelerate it. Rotor inertia does not help, for the engines do not know of it.
    """
    moved = np.diagonal(mass_matrix(robot, robot.home, rotors=False))
    if not (moved > 0.0).all():
        joint, link = robot.joints[int(moved.argmin())], robot.links[int(moved.argmin())]
        raise RankDeficientError(
            f"joint '{joint.name}' moves no inertia; give link '{link.name}' or one behind it mass "
            "and inertia about the joint axis, however small"
        )


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
