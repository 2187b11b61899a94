"""A home pose that the arm can hold: motions shrink toward it, and start and end there."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import gravity_torque
from robotid_sim.errors import InfeasibleError
from robotid_sim.model.robot import Robot

HELD = 2.0 / 3.0
"""Share of the torque that a motion may use up to which home is held with room."""

ROOMY = 1.0 / 3.0
"""Share that a pose which replaces it may use at most, if there is one."""

DRAWS = 4000
"""Random poses looked at."""

WAYS = (0.25, 0.5, 0.75, 1.0)
"""Shares of the way from home to each."""


def with_held_home(robot: Robot, torque_ratio: float) -> Robot:
    """Return the robot with a home pose that it holds against gravity with room to move.

    Its own home if that is one; else, of seeded random poses, the nearest one with much room, or if
    there is none the one with the most. The new pose is noted among the robot's assumptions.

    `torque_ratio` is the share of the torque limits that motions may use. Raises `InfeasibleError`
    if no pose can be held within it; names the joint.
    """
    allowed = torque_ratio * robot.limits.effort
    at_home = np.abs(gravity_torque(robot, robot.home)) / allowed
    if at_home.max() <= HELD:
        return robot
    weak = int(at_home.argmax())
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    room = (
        robot.home - 0.9 * (robot.home - robot.limits.lower),
        (robot.home + 0.9 * (robot.limits.upper - robot.home)),
    )
    drawn = rng.uniform(*room, (DRAWS, robot.dof))
    poses = np.concatenate([robot.home + way * (drawn - robot.home) for way in WAYS])
    use = (np.abs(gravity_torque(robot, poses)) / allowed).max(axis=1)
    distance = (np.abs(poses - robot.home) / robot.limits.half_range).max(axis=1)
    roomy = use <= ROOMY
    best = int(np.where(roomy, distance, np.inf).argmin() if roomy.any() else use.argmin())
    joint = robot.joints[weak]
    share = at_home[weak] * torque_ratio
    if use[best] >= 1.0:
        raise InfeasibleError(
            f"no pose of '{robot.name}' is held against gravity with {torque_ratio:.0%} of its "
            f"torque limits; joint '{joint.name}' needs {share:.0%} of its {joint.effort:g} N m "
            "at home: correct its effort limit or the masses"
        )
    note = (
        f"home is {_words(poses[best])}, where gravity takes {use[best] * torque_ratio:.0%} of a "
        f"torque limit; at {_words(robot.home)} joint '{joint.name}' needs {share:.0%}"
    )
    return replace(robot, held_home=poses[best], assumptions=(*robot.assumptions, note))


def _words(pose: Float1D) -> str:
    return f"({', '.join(f'{value:.3g}' for value in pose)})"
