"""Nominal robots with random errors, as in an engineer's prior knowledge.

The module also finds identified masses that are far from the nominal ones.
"""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

DEFAULT_SCALE = 0.2
"""Default relative size of the errors."""


def perturb(robot: Robot, rng: np.random.Generator, *, scale: float = DEFAULT_SCALE) -> Robot:
    """Return `robot` with randomly wrong parameters that are still physically consistent.

    Each body's pseudo-inertia is scaled by ``U(1-scale, 1+scale)``, its COM shifted by ``U(-scale,
    scale)`` of each coordinate at a fixed central tensor; friction and rotor inertia are scaled by
    ``U(1-scale, 1+scale)`` each. The transition velocity `eps` is kept: it is part of the model.

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
        The robot with errors.

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
        phi[parameters.joint_slice(k, robot.dof)] *= factor(parameters.JOINT_COUNT)
    return robot.with_parameters(phi, formal=robot.formal)


MAX_MASS_RATIO = 2.0
"""Largest plausible ratio of a link's mass to the nominal one, or its inverse."""

MAX_TOTAL_MASS_DIFFERENCE = 0.3
"""Largest plausible relative difference of the total mass."""


def unlikely_masses(robot: Robot, nominal: Robot) -> list[str]:
    """Describe implausible masses of a robot, by link and in total.

    Not every mass is identifiable from torques; a fit may choose it freely, while CAD and scales
    are more accurate. Links match by their order; links without a nominal mass are omitted.
    """
    findings = []
    pairs = [(a.phi[0], b.phi[0]) for a, b in zip(robot.links, nominal.links, strict=True)]
    for link, (mass, expected) in zip(robot.links, pairs, strict=True):
        if expected > 0.0 and not expected / MAX_MASS_RATIO <= mass <= MAX_MASS_RATIO * expected:
            findings.append(f"{link.name}: {_describe_mass(mass, expected)}")
    total, expected = (float(sum(masses)) for masses in zip(*pairs, strict=True))
    if expected > 0.0 and abs(total / expected - 1.0) > MAX_TOTAL_MASS_DIFFERENCE:
        findings.append(f"all links together: {_describe_mass(total, expected)}")
    return findings


def _describe_mass(mass: float, expected: float) -> str:
    return f"a mass of {mass:.4g} kg is {mass / expected:.2g} times the nominal {expected:.4g} kg"
