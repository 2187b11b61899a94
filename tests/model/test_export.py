"""Writing a robot as URDF and reading it back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from robots import urdf_path
from scipy.spatial.transform import Rotation

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import FileFormatError, InconsistentInertiaError
from robotid_sim.model import parameters
from robotid_sim.model.export import write_urdf
from robotid_sim.model.geometry import Link, transform
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

ROUND_TRIP = 1e-12
"""Relative to the largest parameter of its kind: numbers are written with all their bits, and only
the shift between COM and link frame rounds."""


def assert_same_parameters(one: Robot, two: Robot) -> None:
    a, b = one.parameters(), two.parameters()
    for k in range(one.dof):
        for part in (parameters.inertial_slice(k), parameters.joint_slice(k, one.dof)):
            np.testing.assert_allclose(b[part], a[part], rtol=0, atol=ROUND_TRIP * a[part].max())


def identified(robot: Robot) -> Robot:
    """Return the robot with every number that a fit can change changed, offsets and rotors too."""
    rng = np.random.default_rng(0)
    phi = perturb(robot, rng).parameters()
    for k in range(robot.dof):
        phi[parameters.joint_slice(k, robot.dof)] = rng.uniform(0.1, 0.5, 4)
    changed = robot.with_parameters(phi)
    joints = tuple(
        replace(joint, friction=replace(joint.friction, eps=0.01 * (k + 1)), acceleration=7.0 + k)
        for k, joint in enumerate(changed.joints)
    )
    return replace(changed, joints=joints)


def test_round_trip_keeps_every_number(robot: Robot, tmp_path: Path) -> None:
    written = identified(robot)
    write_urdf(written, tmp_path / "out.urdf")
    read = Robot.from_urdf(tmp_path / "out.urdf")
    assert_same_parameters(written, read)
    assert read.joint_names == robot.joint_names
    assert (read.base, read.tip) == (robot.base, robot.tip)
    np.testing.assert_array_equal(read.eps, written.eps)
    for ours, theirs in zip(written.limits.arrays(), read.limits.arrays(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(read.geometry, written.geometry)


def test_second_round_trip_changes_no_byte(irb140: Robot, tmp_path: Path) -> None:
    first, second = tmp_path / "first.urdf", tmp_path / "second.urdf"
    write_urdf(irb140, first)
    write_urdf(Robot.from_urdf(first), second)
    one, two = Robot.from_urdf(first), Robot.from_urdf(second)
    assert_same_parameters(one, two)
    assert len(first.read_text().splitlines()) == len(second.read_text().splitlines())


def test_settings_of_robot_toml_travel_inside_the_file(irb140: Robot, tmp_path: Path) -> None:
    assert not (tmp_path / "robot.toml").exists()
    write_urdf(irb140, tmp_path / "irb140.urdf")
    read = Robot.from_urdf(tmp_path / "irb140.urdf")
    np.testing.assert_array_equal(read.limits.acceleration, irb140.limits.acceleration)
    assert read.tip == "tool0"


@pytest.mark.pybullet
def test_dropped_friction_stays_dropped(tmp_path: Path) -> None:
    write_urdf(Robot.from_urdf(urdf_path("iiwa"), urdf_friction=False), tmp_path / "iiwa.urdf")
    read = Robot.from_urdf(tmp_path / "iiwa.urdf")
    assert [joint.friction.Fv for joint in read.joints] == [0.0] * 7


def test_unlimited_effort_stays_unlimited(tmp_path: Path) -> None:
    names = Robot.from_urdf(urdf_path("2r")).joint_names
    overrides = {name: {"effort": 0.0} for name in names}
    robot = Robot.from_urdf(urdf_path("2r"), joints=overrides)
    assert np.isinf(robot.limits.effort).all()
    write_urdf(robot, tmp_path / "2r.urdf")
    assert np.isinf(Robot.from_urdf(tmp_path / "2r.urdf").limits.effort).all()


SOURCE = """<?xml version="1.0"?>
<!-- head comment -->
<robot name="toy">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="arm"> <!-- arm comment -->
    <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="meshes/arm.stl"/></geometry></visual>
    <collision><geometry><mesh filename="package://toy/arm.stl"/></geometry></collision>
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/><limit velocity="3" effort="4"/></joint>
  <transmission name="drive"><joint name="hinge"/></transmission>
  <gazebo reference="arm"><mu1>0.2</mu1></gazebo>
</robot>
"""


def source_robot(folder: Path) -> Robot:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.urdf").write_text(SOURCE, encoding="utf-8")
    return Robot.from_urdf(folder / "toy.urdf")


def test_everything_else_of_the_file_stays(tmp_path: Path) -> None:
    write_urdf(source_robot(tmp_path), tmp_path / "out.urdf")
    text = (tmp_path / "out.urdf").read_text(encoding="utf-8")
    for kept in (
        "<!-- head comment -->",
        "<!-- arm comment -->",
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        '<visual><geometry><mesh filename="meshes/arm.stl"/></geometry></visual>',
        '<collision><geometry><mesh filename="package://toy/arm.stl"/></geometry></collision>',
        '<transmission name="drive"><joint name="hinge"/></transmission>',
        '<gazebo reference="arm"><mu1>0.2</mu1></gazebo>',
    ):
        assert kept in text
    limit = etree.fromstring(text.encode()).find("joint/limit")
    assert set(limit.attrib) == {"velocity", "effort"}  # a continuous joint gets no range


def test_relative_mesh_still_leads_to_its_file_from_another_folder(tmp_path: Path) -> None:
    robot = source_robot(tmp_path / "models" / "toy")
    (tmp_path / "out").mkdir()
    write_urdf(robot, tmp_path / "out" / "new.urdf", meshes=MeshMode.KEEP)
    read = Robot.from_urdf(tmp_path / "out" / "new.urdf")
    visual = next(s for s in read.links[0].shapes if not s.collision)
    assert visual.mesh is not None
    assert visual.mesh.resolve() == tmp_path / "models" / "toy" / "meshes" / "arm.stl"
    text = (tmp_path / "out" / "new.urdf").read_text(encoding="utf-8")
    assert f'filename="{(tmp_path / "models/toy/meshes/arm.stl").as_posix()}"' in text
    assert 'filename="package://toy/arm.stl"' in text


def test_source_may_be_overwritten(tmp_path: Path) -> None:
    robot = source_robot(tmp_path)
    phi = robot.parameters()
    phi[0] = 2.5
    changed = robot.with_parameters(phi)
    write_urdf(changed, tmp_path / "toy.urdf")
    assert_same_parameters(changed, Robot.from_urdf(tmp_path / "toy.urdf"))


def built_robot() -> Robot:
    """Return a robot that never was a file: a turned hinge, then a slide, and a tool."""
    T = transform(Rotation.from_rotvec([0.42, 0.0, 0.56]).as_matrix(), np.array([0.1, 0.2, 0.3]))
    body = np.array([2.0, 0.2, 0.1, 0.0, 0.5, 0.0, 0.6, 0.01, 0.0, 0.7])
    common = {"lower": -1.0, "upper": 2.0, "velocity": 3.0, "acceleration": 30.0}
    hinge = Joint("hinge", T, np.array([0.0, 0.6, 0.8]), False, **common)
    slide = Joint(
        "slide",
        np.eye(4),
        np.array([1.0, 0.0, 0.0]),
        True,
        **common,
        effort=40.0,
        friction=Friction(1.0, 2.0, 0.3, 0.02),
        rotor_inertia=0.4,
    )
    tool = transform(np.eye(3), np.array([0.0, 0.0, 0.1]))
    links = (Link("arm", body), Link("carriage", 0.5 * body))
    return Robot("built", links, (hinge, slide), T_last_tip=tool)


def test_robot_without_a_file_is_written_and_read_back(tmp_path: Path) -> None:
    robot = built_robot()
    write_urdf(robot, tmp_path / "built.urdf")
    read = Robot.from_urdf(tmp_path / "built.urdf")
    assert_same_parameters(robot, read)
    assert (read.base, read.tip, read.joint_names) == ("base", "tip", ("hinge", "slide"))
    np.testing.assert_allclose(read.geometry, robot.geometry, atol=ROUND_TRIP)  # through rpy
    np.testing.assert_allclose(read.T_last_tip, robot.T_last_tip, atol=ROUND_TRIP)
    np.testing.assert_array_equal(read.limits.effort, [np.inf, 40.0])
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.uniform(-1, 1, (3, 10, 2))
    np.testing.assert_allclose(
        joint_torque(read, q, dq, ddq), joint_torque(robot, q, dq, ddq), atol=1e-11
    )  # torques of 20 N m


def test_impossible_body_is_not_written(irb140: Robot, tmp_path: Path) -> None:
    phi = irb140.parameters()
    phi[4] = -1.0
    broken = irb140.with_parameters(phi, formal=True)
    with pytest.raises(InconsistentInertiaError, match=r"cannot write link 'link_1': .*negative"):
        write_urdf(broken, tmp_path / "out.urdf")
    assert list(tmp_path.iterdir()) == []


def test_failure_leaves_no_file(irb140: Robot, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot write"):
        write_urdf(irb140, tmp_path / "missing" / "out.urdf")
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(FileFormatError, match="cannot write"):
        write_urdf(irb140, tmp_path / "folder.urdf")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.urdf"]


def test_tensor_at_the_boundary_is_written_with_a_margin(tmp_path: Path) -> None:
    robot = built_robot()
    phi = robot.parameters()
    phi[:10] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 2.0]  # a flat disc
    write_urdf(robot.with_parameters(phi), tmp_path / "disc.urdf")
    tensor = etree.parse(str(tmp_path / "disc.urdf")).find("link[@name='arm']/inertial/inertia")
    xx, yy, zz = (float(tensor.get(key)) for key in ("ixx", "iyy", "izz"))
    assert 1e-6 <= (xx + yy - zz) / zz < 1e-5  # read as text, what a strict loader sees


def test_every_written_inertial_is_unrotated(robot: Robot, tmp_path: Path) -> None:
    write_urdf(robot, tmp_path / "out.urdf")
    root = etree.parse(str(tmp_path / "out.urdf")).getroot()
    written = {link.name for link in robot.links}
    for link in root.findall("link"):
        if link.get("name") in written:
            assert link.find("inertial/origin").get("rpy") == "0 0 0"
            assert link.find("inertial/inertia").get("ixy") is not None
