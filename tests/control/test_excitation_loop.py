"""The loop of an excitation: as fast as light links need, and no faster where none are."""

import numpy as np
import pytest
from robots import example_path, urdf_path

from robotid_sim.control.excitation_loop import FASTEST, SLOWEST, excitation_bandwidth
from robotid_sim.model.robot import Robot
from robotid_sim.study.build import build_setup
from robotid_sim.study.config import load_config
from robotid_sim.study.stages import simulate
from robotid_sim.study.verdict import limits_used

SO100 = "so_arm_description/urdf/so100.urdf"
Z1 = "z1_description/urdf/z1.urdf"


@pytest.mark.parametrize("name", ["irb140", "irb120", "rs010n", "rocr6", "ur5", "panda", "iiwa"])
def test_industrial_arms_have_the_slowest(name):
    assert excitation_bandwidth(Robot.from_urdf(urdf_path(name)), 1000.0) == SLOWEST


def test_links_of_50_g_have_the_fastest_that_the_rate_admits():
    arm = Robot.from_urdf(example_path(SO100))
    for rate in (500.0, 1000.0):
        assert excitation_bandwidth(arm, rate) == FASTEST * rate
    assert excitation_bandwidth(arm, 1e5) < FASTEST * 1e5


def test_dry_friction_without_a_rotor_needs_the_fastest_too():
    """The gripper of a Z1 has 1 N m of dry friction on 3e-4 kg m^2."""
    arm = Robot.from_urdf(example_path(Z1))
    assert excitation_bandwidth(arm, 1000.0) == FASTEST * 1000.0
    smooth = Robot.from_urdf(example_path(Z1), urdf_friction=False)
    assert excitation_bandwidth(smooth, 1000.0) == SLOWEST


def test_without_gravity_nothing_is_needed():
    arm = Robot.from_urdf(example_path(SO100), gravity=[0.0, 0.0, 0.0])
    assert excitation_bandwidth(arm, 1000.0) == SLOWEST


@pytest.mark.parametrize(
    ("given", "kp", "kd"),
    [({}, 2500.0, 100.0), ({"kp": 900.0}, 900.0, 60.0), ({"kp": 900.0, "kd": 50.0}, 900.0, 50.0)],
)
def test_the_configuration_has_the_last_word(given, kp, kd):
    controller = build_setup("twolink", load_config(None, {"experiment": given})).cell.controller
    assert (controller.kp, controller.kd) == (kp, kd)


def test_a_light_arm_keeps_the_velocity_of_its_motion():
    """With the slowest loop the gripper of this study is at 103 % of its limit; designed are 90."""
    setup = build_setup(str(example_path(SO100)), load_config(None, {"seed": 7}).quick())
    log = simulate(setup.cell, setup.unseen, np.random.default_rng(0))
    error = setup.unseen(log.t).dq - log.truth.dq
    kept = log.t >= 0.0
    assert (np.abs(error[kept]).max(axis=0) < 0.06 * setup.cell.plant.limits.velocity).all()


@pytest.mark.slow
def test_a_joint_of_friction_and_no_rotor_keeps_its_limits():
    """With the slowest loop the gripper of this study is at 118 % of the limit of its position."""
    setup = build_setup(str(example_path(Z1)), load_config(None, {"seed": 4}).quick())
    log = simulate(setup.cell, setup.unseen, np.random.default_rng(0))
    assert limits_used(setup.cell.plant, log, log.t >= 0.0) < 1.0
