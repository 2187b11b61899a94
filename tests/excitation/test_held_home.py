"""A home pose that an arm can hold: found, said, and what designs shrink to."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import gravity_torque
from robotid_sim.errors import InfeasibleError
from robotid_sim.excitation.design import random_feasible, torque_ratios
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import HELD, ROOMY, DesignPlan, GradientSearch, with_held_home
from robotid_sim.excitation.rest_to_rest_space import QuinticOptions
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.catalog import published_plant

RATIO = 0.75


def weak(robot, share):
    """Return a slow robot with a shoulder of which gravity at zero takes `share`."""
    need = np.abs(gravity_torque(robot, np.zeros(robot.dof)))
    joints = [replace(j, acceleration=5.0) for j in robot.joints]
    joints[1] = replace(joints[1], effort=float(need[1]) / share)
    return replace(robot, joints=tuple(joints))


def use(robot):
    """Return the largest share of a torque limit that gravity takes at home."""
    return (np.abs(gravity_torque(robot, robot.home)) / robot.limits.effort).max()


def test_a_home_that_is_held_stays(irb140):
    assert with_held_home(irb140, RATIO) is irb140
    almost = weak(irb140, 0.99 * HELD * RATIO)
    assert with_held_home(almost, RATIO) is almost


def test_another_home_is_found_and_said(irb140):
    arm = weak(irb140, 1.3)
    held = with_held_home(arm, RATIO)
    assert use(arm) == pytest.approx(1.3)
    assert use(held) <= ROOMY * RATIO
    assert (held.home > arm.limits.lower).all()
    assert (held.home < arm.limits.upper).all()
    assert "home is (" in held.assumptions[-1]
    assert "joint 'joint_2' needs 130%" in held.assumptions[-1]
    assert held.home.tobytes() == with_held_home(arm, RATIO).home.tobytes()
    assert held.fingerprint() == arm.fingerprint()  # names of parameters do not depend on it
    np.testing.assert_array_equal(held.with_parameters(held.parameters()).home, held.home)


def test_an_arm_that_no_pose_holds_is_refused_by_name():
    sunk = replace(published_plant("irb140"), gravity=np.array([0.0, 0.0, -4000.0]))
    with pytest.raises(InfeasibleError, match=r"no pose of 'irb140' is held.*joint 'joint_\d'"):
        with_held_home(sunk, RATIO)


def test_draws_of_an_arm_that_cannot_hold_zero_keep_the_torque_limits(irb140):
    arm = weak(irb140, 1.3)
    with pytest.raises(InfeasibleError):
        random_feasible(arm, np.random.default_rng(0), FourierOptions())
    held = with_held_home(arm, RATIO)
    trajectory = random_feasible(held, np.random.default_rng(0), FourierOptions())
    assert torque_ratios(held, trajectory).max() <= RATIO
    start = trajectory(np.array([trajectory.start])).q[0]
    np.testing.assert_allclose(start, held.home, atol=1e-12)


def test_other_families_shrink_to_it_too(irb140):
    held = with_held_home(weak(irb140, 1.3), RATIO)
    plan = DesignPlan(family=QuinticOptions(), search=GradientSearch(candidates=2, starts=0))
    found = optimal_design(held, base_parameters(held), np.random.default_rng(0), plan)
    assert not found.violated
