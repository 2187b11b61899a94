"""Use of limits by a motion: what was commanded counts, how a joint breaks loose does not."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.measurement.log import Log, Truth
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.verdict import limits_used

DT = 1e-3
T = DT * np.arange(2000)


@pytest.fixture(scope="module")
def arm() -> Robot:
    robot = Robot.from_urdf(urdf_path("2r"))
    joints = tuple(replace(joint, velocity=10.0, acceleration=20.0) for joint in robot.joints)
    return replace(robot, joints=joints)


def used(arm: Robot, dq: np.ndarray) -> float:
    """Return the use of limits of a motion of the first joint."""
    velocity = np.column_stack([dq, np.zeros_like(dq)])
    still = np.zeros_like(velocity) + arm.limits.middle
    log = Log(
        t=T,
        q=still,
        tau_meas=still,
        joint_names=arm.joint_names,
        joint_units=arm.joint_units,
        origin="virtual",
        truth=Truth(still, velocity, still, still),
    )
    return limits_used(arm, log, T >= 0.0)


@pytest.mark.parametrize("acceleration", [10.0, 19.0, 30.0])
def test_accelerations_of_a_joint_that_slides_count(arm, acceleration) -> None:
    dq = 2.0 + acceleration * np.clip(T - 1.0, 0.0, 0.05)
    assert used(arm, dq) == pytest.approx(acceleration / 20.0)


def test_a_joint_that_breaks_loose_does_so_as_friction_has_it(arm) -> None:
    loose = np.where(T < 1.0, 0.5 * arm.eps[0], 0.2 * (1.0 - np.exp((1.0 - T) / 0.004)))
    assert used(arm, loose) < 0.6
    assert used(arm, 3.0 * loose) > 1.0
    assert used(arm, 2.0 + loose) > 1.0
