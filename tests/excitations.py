"""What tests of excitation design share: small robots, starts, priors, differences."""

from dataclasses import replace

import numpy as np
from robots import urdf_path

from robotid_sim.excitation.design import random_feasible
from robotid_sim.model.robot import Robot


def first_joints(name, count):
    """Return the first joints of a robot under test and the links that they move."""
    robot = Robot.from_urdf(urdf_path(name))
    return replace(robot, links=robot.links[:count], joints=robot.joints[:count], document=None)


def weakened(robot, share):
    """Return the robot with all effort limits times `share`."""
    joints = tuple(replace(joint, effort=joint.effort * share) for joint in robot.joints)
    return replace(robot, joints=joints)


def seeded(seed=0):
    """Return a generator."""
    return np.random.default_rng(seed)


def same(one, two):
    """Return whether two Fourier trajectories are the same to the bit."""
    return all(
        getattr(one, name).tobytes() == getattr(two, name).tobytes() for name in ("q0", "a", "b")
    )


def richardson(function, x, direction, step=4e-3, order=6):
    """Return the derivative along a direction by extrapolated central differences."""
    table = []
    for k in range(order):
        h = step / 2.0**k
        row = [(function(x + h * direction) - function(x - h * direction)) / (2.0 * h)]
        for m, above in enumerate(table[-1] if table else [], 1):
            row.append(row[-1] + (row[-1] - above) / (4.0**m - 1.0))
        table.append(row)
    diagonal = np.array([row[-1] for row in table])
    best = np.argmin([np.abs(np.diff(diagonal[k : k + 2])).max() for k in range(order - 1)])
    return diagonal[best + 1]


def start_of(problem, seed=0):
    """Return the coordinates of random feasible motions, as many as the problem has."""
    rng = np.random.default_rng(seed)
    draws = [random_feasible(problem.nominal, rng, problem.family) for _ in range(problem.motions)]
    return problem.coordinates(draws)


def random_root(rank, rng):
    """Return the root of a random information matrix of full rank."""
    return np.linalg.qr(rng.standard_normal((2 * rank, rank)), mode="r")
