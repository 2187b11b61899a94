"""Robots as models of Pinocchio and back."""

import numpy as np
import pinocchio as pin
import pytest
from robots import states, urdf_path

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import MissingExtraError, UrdfError
from robotid_sim.model import pinocchio_model
from robotid_sim.model.robot import Robot

ROBOTS = ("irb140", "rocr6", "twolink", "panda", "kinova", "iiwa", "ppp", "scara")


def frictionless(robot: Robot) -> Robot:
    phi = robot.parameters()
    phi[[name[:2] in ("Fv", "Fc", "Fo") for name in robot.parameter_names]] = 0.0
    return robot.with_parameters(phi)


@pytest.mark.parametrize("name", ROBOTS)
def test_torques_are_those_of_rnea_to_rounding_and_the_robot_comes_back(name) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    model = robot.to_pinocchio()
    data, batch = model.createData(), states(robot, 50)
    theirs = np.array([pin.rnea(model, data, *state).copy() for state in batch.swapaxes(0, 1)])
    ours = joint_torque(frictionless(robot), *batch)
    assert np.abs(theirs - ours).max() <= 1e-12 * np.abs(ours).max()
    back = Robot.from_pinocchio(model)
    assert back.joint_names == robot.joint_names
    np.testing.assert_allclose(back.parameters(), robot.parameters(), atol=1e-12)
    np.testing.assert_allclose(back.geometry, robot.geometry, atol=1e-12)
    for ours, theirs in zip(back.limits.arrays(), robot.limits.arrays(), strict=True):
        if theirs is not robot.limits.acceleration:  # no model has it
            np.testing.assert_array_equal(ours, theirs)


def test_the_tip_is_a_frame_of_the_model(irb140) -> None:
    model = irb140.to_pinocchio()
    data = model.createData()
    pin.framesForwardKinematics(model, data, irb140.home)
    place = data.oMf[model.getFrameId(irb140.tip)].translation
    np.testing.assert_allclose(place, (0.515, 0.0, 0.712), atol=1e-9)


def test_models_that_are_no_chain_with_limits_are_refused() -> None:
    branched = pin.buildSampleModelHumanoidRandom()
    with pytest.raises(UrdfError, match=r"branches; reduce it with pinocchio\.buildReducedModel"):
        Robot.from_pinocchio(branched)
    free = pin.Model()
    free.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "float")
    with pytest.raises(UrdfError, match="'float' of the Pinocchio model needs one degree"):
        Robot.from_pinocchio(free)
    endless = pin.Model()
    endless.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "axis")
    with pytest.raises(UrdfError, match="joint 'axis' of the Pinocchio model has no limits; set"):
        Robot.from_pinocchio(endless)


def test_a_missing_package_is_named_with_its_extra(monkeypatch, arm) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(pinocchio_model.importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[pinocchio\]"):
        arm.to_pinocchio()
