"""Limits and what is assumed where they are missing; overrides by robot.toml and by argument."""

from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.model.joint_terms import JointTerm
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


def hinge(line: str) -> str:
    return f"{HEAD}[joints.hinge]\n{line}\n"


BAD_TOML = {
    "unknown key": (HEAD + "color = 1\n", "unknown key 'color'", "summary"),
    "unknown joint key": (hinge("speed = 1"), "unknown key 'speed' of joint 'hinge'", "velocity"),
    "text": (hinge('velocity = "fast"'), "joints.hinge.velocity = 'fast'", "not a number"),
    "boolean": (hinge("velocity = true"), "joints.hinge.velocity", "not a number"),
    "joint is not a table": (HEAD + "[joints]\nhinge = 3\n", "joints.hinge", "table"),
    "joints is not a table": (HEAD + "joints = 3\n", "joints"),
    "provenance is not a table": (HEAD + "provenance = 3\n", "provenance"),
    "provenance status": (
        HEAD + '[provenance]\n"arm.mass" = "guessed: 2 kg"\n',
        "'arm.mass'",
        "published",
    ),
    "401 digits": (hinge(f"effort = 1{400 * '0'}"), "joints.hinge.effort = inf is not finite"),
}
NO_SETTINGS = {
    "3000 brackets": (HEAD + f"joints = {3000 * '['}\n", "cannot read settings"),
    "not TOML": (HEAD + "= 3\n", "cannot read settings"),
    "newer schema": (HEAD.replace("/1", "/2"), "robotid/robot/2", "newer"),
    "no schema": ('urdf = "toy.urdf"\n', "schema"),
}


@pytest.mark.parametrize("case", [*BAD_TOML, *NO_SETTINGS])
def test_bad_robot_toml_is_refused_with_file_and_key(case: str, tmp_path: Path) -> None:
    toml, *words = (BAD_TOML | NO_SETTINGS)[case]
    path = write(tmp_path, toml=toml)
    with pytest.raises(OptionError if case in BAD_TOML else FileFormatError) as caught:
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


OF_IRB140 = 'schema = "robotid/robot/1"\nurdf = "irb140.urdf"\n'

STATED = """
[joints.joint_2]
Fv = 3.0
spring = { stiffness = 120.0, rest = 0.5 }
[joints.joint_3]
counterbalance = [[-5, 40.0], [0.0, 0], [5.0, -30.0]]
[joints.joint_6]
coupled-joints = { partner = "joint_5", Im = 0.02, side = -1 }
"""


@pytest.fixture
def folder(tmp_path):
    file = urdf_path("irb140")
    (tmp_path / "irb140.urdf").write_bytes(file.read_bytes())
    return tmp_path


def read(folder, toml, **options):
    (folder / "robot.toml").write_text(OF_IRB140 + toml)
    return Robot.from_urdf(folder / "irb140.urdf", assume_limits=True, **options)


def test_terms_are_read_beside_numbers(folder):
    robot = read(folder, STATED)
    assert robot.terms == (
        JointTerm("spring", "joint_2", (120.0, -60.0)),
        JointTerm("counterbalance", "joint_3", (-5.0, 40.0, 0.0, 0.0, 5.0, -30.0)),
        JointTerm("coupled-joints", "joint_6", (0.02, 0.0, 0.0), -1.0, "joint_5"),
    )
    assert robot.joints[1].friction.Fv == 3.0


def test_a_shorter_chain_leaves_those_of_other_joints(folder):
    whole = read(folder, STATED)
    short = read(folder, STATED, tip=whole.links[1].name)
    assert [term.kind for term in short.terms] == ["spring"]


def test_they_are_stronger_than_those_of_the_file(folder):
    file = folder / "irb140.urdf"
    more = '<robotid><term kind="spring" joint="joint_2" values="1 2"/></robotid></robot>'
    file.write_text(file.read_text().replace("</robot>", more))
    assert read(folder, "").terms == (JointTerm("spring", "joint_2", (1.0, 2.0)),)
    assert read(folder, STATED).terms == read(folder, STATED).terms
    assert len(read(folder, STATED).terms) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("spring = 3.0", r"robot.toml: joints.joint_2.spring must be a table, as in spring = \{"),
        ("spring = { rest = 1.0 }", "joints.joint_2.spring has no stiffness, as in spring ="),
        ("spring = { stifness = 1.0 }", "'stifness' .did you mean 'stiffness'.*known: stiffness"),
        ('spring = { stiffness = "k" }', "joints.joint_2.spring.stiffness = 'k' is not a finite"),
        ("spring = { stiffness = nan }", "is not a finite number"),
        (f"spring = {{ stiffness = 1{400 * '0'} }}", "stiffness = inf is not a finite number"),
        (f"counterbalance = [[0, 1{400 * '0'}]]", "counterbalance = inf is not a finite number"),
        ("counterbalance = 4", "joints.joint_2.counterbalance must be rows of position and torque"),
        ("counterbalance = [[1, 2, 3]]", "must be rows of position and torque, as in"),
        ("counterbalance = [[1.0, true]]", "True is not a finite number"),
        ("counterbalance = [[9, 1.0]]", "joints.joint_2.counterbalance: .*two or more rows"),
        ("counterbalance = [[1, 1], [0, 2]]", "two or more rows .* the positions rising"),
        ("counterbalance = [[0, 1], [0.1, 2]]", "goes from 0 to 0.1, and the joint .*; add rows"),
        ("coupled-joints = { Im = 1.0 }", "coupled-joints has no partner, as in"),
        ('coupled-joints = { partner = "elbow", Im = 1.0 }', "no joint 'elbow'"),
        ('coupled-joints = { partner = "joint_2", Im = 1.0 }', "partner another joint"),
        ('coupled-joints = { partner = "joint_3", Im = 1.0, side = 2 }', "side must be 1 or -1"),
        ("springs = { stiffness = 1.0 }", "unknown key 'springs' .did you mean 'spring'"),
    ],
)
def test_what_is_not_stated_as_it_should_be_is_refused(folder, line, said):
    with pytest.raises(OptionError, match=said) as error:
        read(folder, f"[joints.joint_2]\n{line}\n")
    assert "\n" not in str(error.value)
