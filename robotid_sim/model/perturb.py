"""A nominal robot: what an engineer knows before the identification, wrong by some 20 %."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

SCALE = 0.2
"""Relative size of the errors, if none is asked for."""


def perturb(robot: Robot, rng: np.random.Generator, *, scale: float = SCALE) -> Robot:
    """Return `robot` with randomly wrong parameters that are still physically consistent.

    Each body's pseudo-inertia is scaled by ``U(1-scale, 1+scale)``, its COM shifted by ``U(-scale,
    scale)`` of each coordinate at a fixed central tensor; friction and rotor inertia are scaled by
    ``U(1-scale, 1+scale)`` each. The friction velocity `eps` is kept: it is part of the model.

    Parameters
    ----------
    robot : Robot
        The plant.
    rng : numpy.random.Generator
        Source of randomness.
    scale : float
        Relative size of the errors, in [0, 1).

    Returns
    -------
    nominal : Robot
        The wrong one.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> nominal = rid.perturb(robot, np.random.default_rng(1))
    >>> heavier = nominal.parameters()[0] / robot.parameters()[0]
    >>> bool(0.8 <= heavier <= 1.2)
    True
    """

    def factor(count: int) -> Float1D:
        return rng.uniform(1.0 - scale, 1.0 + scale, count)

    phi = robot.parameters()
    for k in range(robot.dof):
        body = parameters.inertial_slice(k)
        mass, com, central = inertia.unpack(phi[body])
        size = float(factor(1)[0])
        phi[body] = inertia.pack(size * mass, com * factor(3), size * central)
        phi[parameters.joint_slice(k, robot.dof)] *= factor(parameters.N_JOINT)
    return robot.with_parameters(phi, formal=robot.formal)
