"""Masses of a robot that are far from those of its nominal model."""

from robotid_sim.model.robot import Robot

FACTOR = 2.0
"""Ratio of a link's mass to the nominal one, or its inverse, from which on it is unlikely."""

TOTAL = 0.3
"""Relative difference of the mass of all links from which on it is unlikely."""


def unlikely_masses(robot: Robot, nominal: Robot) -> list[str]:
    """Return what is unlikely of the masses of a robot, link by link and of all, in words.

    Torques do not show every mass: what they leave open a fit may put anywhere, and CAD and scales
    know better. Links match by their order; those without a nominal mass are left out.
    """
    found = []
    pairs = [(link.phi[0], of.phi[0]) for link, of in zip(robot.links, nominal.links, strict=True)]
    for link, (mass, expected) in zip(robot.links, pairs, strict=True):
        if expected > 0.0 and not expected / FACTOR <= mass <= FACTOR * expected:
            found.append(f"{link.name}: {_words(mass, expected)}")
    total, expected = (float(sum(masses)) for masses in zip(*pairs, strict=True))
    if expected > 0.0 and abs(total / expected - 1.0) > TOTAL:
        found.append(f"all links together: {_words(total, expected)}")
    return found


def _words(mass: float, expected: float) -> str:
    return f"a mass of {mass:.4g} kg is {mass / expected:.2g} times the nominal {expected:.4g} kg"
