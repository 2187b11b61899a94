"""What would stop a study after minutes stops it at the start."""

import numpy as np
import pytest

from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config


def refused(error, match, name="twolink", **sections):
    with pytest.raises(error, match=match):
        build_setup(name, load_config(None, sections))


@pytest.mark.slow
def test_constraints_that_no_motion_keeps_are_refused_at_the_start():
    box = {"lower": [9.0, 9.0, 9.0], "upper": [9.1, 9.1, 9.1]}
    refused(InfeasibleError, "even at rest", design={"constraints": {"boxes": [box]}})
    refused(InfeasibleError, "below the floor", "irb140", design={"constraints": {"floor": 1.0}})


def test_an_arm_too_weak_for_any_pose_is_refused_at_the_start():
    joints = {f"joint_{k}": {"effort": 0.01} for k in range(1, 7)}
    refused(InfeasibleError, "no pose of 'irb140' is held", "irb140", robot={"joints": joints})


def test_sensors_of_another_robot_are_refused_at_the_start():
    sensors = {"motor-current": {"torque_constant": [1.0, 2.0, 3.0]}}
    refused(OptionError, "3 entries for 2 joints", sensors=sensors)


@pytest.mark.slow
def test_a_home_that_must_move_is_said_and_shared_by_all_that_begin_there():
    weak = {"joints": {"joint_2": {"effort": 30.0, "acceleration": 5.0}}}
    setup = build_setup("irb140", load_config(None, {"robot": weak}))
    assert any("home is (" in note for note in setup.assumptions)
    assert setup.unseen.home is not None
    np.testing.assert_array_equal(setup.unseen.home, setup.nominal.home)
    assert np.abs(setup.nominal.home).max() > 0.1
