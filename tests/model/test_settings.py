"""Limits and what is assumed where they are missing; overrides by robot.toml and by argument."""

from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.model.robot import Robot

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'
HEAD = 'schema = "robotid/robot/1"\nurdf = "toy.urdf"\n'


def write(folder: Path, *, kind: str = "revolute", limit: str = LIMIT, toml: str = "") -> Path:
    path = folder / "toy.urdf"
    tensor = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    path.write_text(
        '<robot name="toy"><link name="base"/><link name="arm"><inertial><mass value="2"/>'
        f'{tensor}</inertial></link><joint name="hinge" type="{kind}"><parent link="base"/>'
        f'<child link="arm"/><axis xyz="0 1 0"/>{limit}<dynamics damping="0.7" friction="0.4"/>'
        "</joint></robot>",
        encoding="utf-8",
    )
    if toml:
        (folder / "robot.toml").write_text(toml, encoding="utf-8")
    return path


def stated(robot: Robot, *words: str) -> bool:
    """Return whether one of the assumptions holds all the words."""
    return any(all(word in text for word in words) for text in robot.assumptions)


def test_given_limits_are_taken_and_only_acceleration_is_assumed(tmp_path: Path) -> None:
    robot = Robot.from_urdf(write(tmp_path))
    (joint,) = robot.joints
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-1.0, 2.0, 3.0, 40.0)
    assert joint.acceleration == 30.0
    assert len(robot.assumptions) == 2  # the chain, and this:
    assert stated(robot, "hinge", "acceleration limit assumed")


def test_prismatic_joint_is_in_meters(tmp_path: Path) -> None:
    robot = Robot.from_urdf(write(tmp_path, kind="prismatic"))
    assert robot.limits.acceleration[0] == 30.0
    assert robot.joint_units == ("m",)


@pytest.mark.parametrize("effort", ['effort="0"', ""])
def test_no_effort_is_no_torque_limit_and_is_stated(effort: str, tmp_path: Path) -> None:
    limit = f'<limit lower="-1" upper="2" velocity="3" {effort}/>'
    robot = Robot.from_urdf(write(tmp_path, limit=limit))
    assert robot.limits.effort[0] == np.inf
    assert stated(robot, "hinge", "no torque limit")


def test_continuous_range_is_plus_minus_pi_and_is_stated(tmp_path: Path) -> None:
    path = write(tmp_path, kind="continuous", limit='<limit velocity="3" effort="40"/>')
    robot = Robot.from_urdf(path)
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.pi, np.pi)
    assert stated(robot, "hinge", "continuous", "-pi to pi")


def test_arguments_override_urdf_and_silence_the_assumption(tmp_path: Path) -> None:
    values = {"lower": -0.5, "acceleration": 7, "effort": 9.0, "Fv": 0.1, "eps": 0.02, "Ia": 0.3}
    robot = Robot.from_urdf(write(tmp_path), joints={"hinge": values})
    (joint,) = robot.joints
    assert (joint.lower, joint.upper, joint.acceleration, joint.effort) == (-0.5, 2.0, 7.0, 9.0)
    assert (joint.friction.Fv, joint.friction.Fc, joint.friction.eps) == (0.1, 0.4, 0.02)
    assert joint.rotor_inertia == 0.3
    assert not any("assumed" in text for text in robot.assumptions)


def test_robot_toml_beside_the_urdf_overrides_it_and_arguments_override_both(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, toml=HEAD + "[joints.hinge]\nvelocity = 5\nIa = 0.25\n")
    assert Robot.from_urdf(path).joints[0].velocity == 5.0
    robot = Robot.from_urdf(path, joints={"hinge": {"velocity": 6.0}})
    assert robot.joints[0].velocity == 6.0
    assert robot.joints[0].rotor_inertia == 0.25


def test_robot_toml_of_another_urdf_is_ignored(tmp_path: Path) -> None:
    toml = HEAD.replace("toy.urdf", "other.urdf") + "nonsense = 1\n[joints.hinge]\nvelocity = 5\n"
    assert Robot.from_urdf(write(tmp_path, toml=toml)).joints[0].velocity == 3.0


def test_robot_toml_can_supply_a_missing_limit(tmp_path: Path) -> None:
    toml = HEAD + "[joints.hinge]\nlower = -1.5\nupper = 1.5\nvelocity = 2\n"
    robot = Robot.from_urdf(write(tmp_path, limit="", toml=toml))
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.5, 1.5)


BAD_TOML = {
    "unknown key": (HEAD + "color = 1\n", OptionError, ("unknown key 'color'", "summary")),
    "unknown joint key": (
        HEAD + "[joints.hinge]\nspeed = 1\n",
        OptionError,
        ("unknown key 'speed' of joint 'hinge'", "velocity"),
    ),
    "text for a number": (
        HEAD + '[joints.hinge]\nvelocity = "fast"\n',
        OptionError,
        ("joints.hinge.velocity = 'fast'", "not a number"),
    ),
    "boolean for a number": (
        HEAD + "[joints.hinge]\nvelocity = true\n",
        OptionError,
        ("joints.hinge.velocity", "not a number"),
    ),
    "joint is no table": (HEAD + "[joints]\nhinge = 3\n", OptionError, ("joints.hinge", "table")),
    "joints is no table": (HEAD + "joints = 3\n", OptionError, ("joints",)),
    "provenance is no table": (HEAD + "provenance = 3\n", OptionError, ("provenance",)),
    "provenance status": (
        HEAD + '[provenance]\n"arm.mass" = "guessed: 2 kg"\n',
        OptionError,
        ("'arm.mass'", "published"),
    ),
    "number of 401 digits": (
        HEAD + f"[joints.hinge]\neffort = 1{400 * '0'}\n",
        OptionError,
        ("joints.hinge.effort = inf is not finite",),
    ),
    "3000 brackets": (
        HEAD + f"joints = {3000 * '['}\n",
        FileFormatError,
        ("cannot read settings",),
    ),
    "not TOML": (HEAD + "= 3\n", FileFormatError, ("cannot read settings",)),
    "newer schema": (HEAD.replace("/1", "/2"), FileFormatError, ("robotid/robot/2", "newer")),
    "no schema": ('urdf = "toy.urdf"\n', FileFormatError, ("schema",)),
}


@pytest.mark.parametrize("case", BAD_TOML)
def test_bad_robot_toml_is_refused_with_file_and_key(case: str, tmp_path: Path) -> None:
    toml, kind, words = BAD_TOML[case]
    path = write(tmp_path, toml=toml)
    with pytest.raises(kind) as caught:
        Robot.from_urdf(path)
    message = str(caught.value)
    assert str(tmp_path / "robot.toml") in message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_settings_of_an_unknown_joint_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown joint 'knee'; joints: hinge"):
        Robot.from_urdf(write(tmp_path), joints={"knee": {"velocity": 1.0}})
    path = write(tmp_path, toml=HEAD + "[joints.knee]\nvelocity = 1\n")
    with pytest.raises(UnknownNameError, match=r"unknown joint 'knee'; joints: hinge"):
        Robot.from_urdf(path)


@pytest.mark.parametrize("key", ["velocity", "Ia", "Fv", "eps", "lower"])
def test_override_that_is_not_finite_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"hinge.*{key}"):
        Robot.from_urdf(write(tmp_path), joints={"hinge": {key: float("nan")}})


@pytest.mark.parametrize("key", ["velocity", "acceleration"])
def test_override_that_is_not_positive_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"hinge.*{key}"):
        Robot.from_urdf(write(tmp_path), joints={"hinge": {key: -1.0}})


@pytest.mark.parametrize(("urdf_friction", "damping"), [(True, 0.5), (False, 0.0)])
def test_stock_iiwa_damping_becomes_viscous_friction_or_is_dropped(
    urdf_friction: bool, damping: float
) -> None:
    robot = Robot.from_urdf(urdf_path("iiwa"), urdf_friction=urdf_friction)
    assert [joint.friction.Fv for joint in robot.joints] == [damping] * 7
    assert [joint.friction.Fc for joint in robot.joints] == [0.0] * 7


def test_friction_override_stays_where_urdf_friction_is_dropped(tmp_path: Path) -> None:
    robot = Robot.from_urdf(write(tmp_path), urdf_friction=False, joints={"hinge": {"Fc": 0.2}})
    assert (robot.joints[0].friction.Fv, robot.joints[0].friction.Fc) == (0.0, 0.2)


def test_home_is_zero_where_that_is_inside_the_range_else_the_middle(tmp_path: Path) -> None:
    assert Robot.from_urdf(write(tmp_path)).home == [0.0]
    limit = LIMIT.replace('lower="-1"', 'lower="1"')
    assert Robot.from_urdf(write(tmp_path, limit=limit)).home == [1.5]
