"""Masses far from the nominal ones are named."""

import numpy as np
import pytest

from robotid_sim.model.catalog import load_robot
from robotid_sim.model.parameters import inertial_slice
from robotid_sim.model.perturb import FACTOR, TOTAL, unlikely_masses


def scaled(robot, factors):
    """Return the robot with whole bodies scaled, so that they still can exist."""
    phi = robot.parameters()
    for k, factor in factors.items():
        phi[inertial_slice(k)] *= factor
    return robot.with_parameters(phi)


@pytest.fixture(scope="module")
def robot():
    return load_robot("irb140")


def test_a_robot_is_like_itself(robot):
    assert unlikely_masses(robot, robot) == []


@pytest.mark.parametrize("factor", [1.05 * FACTOR, 0.95 / FACTOR])
def test_a_light_or_heavy_link_is_named_alone(robot, factor):
    last = robot.dof - 1  # far less than the total allows
    (text,) = unlikely_masses(scaled(robot, {last: factor}), robot)
    assert text.startswith(f"{robot.links[last].name}: a mass of ")
    assert f"{factor:.2g} times the nominal" in text


def test_what_lies_within_is_no_matter(robot):
    rng = np.random.default_rng(0)
    factors = dict(enumerate(rng.uniform(0.8, 1.25, robot.dof)))
    assert unlikely_masses(scaled(robot, factors), robot) == []


@pytest.mark.parametrize("factor", [1.05 + TOTAL, 0.95 - TOTAL])
def test_the_total_counts_too(robot, factor):
    (text,) = unlikely_masses(scaled(robot, dict.fromkeys(range(robot.dof), factor)), robot)
    assert text.startswith("all links together: ")


def test_links_without_a_nominal_mass_are_left_out(robot):
    empty = robot.parameters()
    empty[inertial_slice(robot.dof - 1)] = 0.0
    assert unlikely_masses(robot, robot.with_parameters(empty, formal=True)) == []
