"""MJCF, read and written: the robot has MuJoCo's own dynamics, limits and drives."""

import importlib
import tomllib
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mjcf_texts import GEOM_ARM, GRIPPER_ARM
from robots import urdf_path

from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.errors import (
    FileFormatError,
    InconsistentInertiaError,
    MissingExtraError,
    RobotIdError,
    UnknownNameError,
)
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.export import write_urdf
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot

TEXTS = {"gripper": GRIPPER_ARM, "geoms": GEOM_ARM}
EQUAL = 1e-9
"""Relative difference of torques."""


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a robot from a text."""

    def from_text(text, **options) -> Robot:
        (tmp_path / "robot.xml").write_text(text)
        return load_robot(tmp_path / "robot.xml", **{"assume_limits": True, **options})

    return from_text


def smooth(robot: Robot) -> Robot:
    """Return the robot without Coulomb friction, which is a constraint in MuJoCo."""
    phi = robot.parameters().copy()
    phi[10 * robot.dof :].reshape(robot.dof, 4)[:, 1] = 0.0
    return robot.with_parameters(phi)


def random_states(robot, count=20):
    rng = np.random.default_rng(0)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (count, robot.dof))
    return zip(q, rng.uniform(-2.0, 2.0, q.shape), rng.uniform(-5.0, 5.0, q.shape), strict=True)


def mujoco_of(text):
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("name", TEXTS)
def test_torques_masses_and_poses_are_those_of_mujoco(read, name) -> None:
    robot = smooth(read(TEXTS[name]))
    model, data = mujoco_of(TEXTS[name])
    n = robot.dof
    for q, dq, ddq in random_states(robot):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qacc[:] = 0.0, 0.0
        data.qpos[:n], data.qvel[:n], data.qacc[:n] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        want = data.qfrc_inverse[:n]
        torque = joint_torque(robot, q, dq, ddq)
        np.testing.assert_allclose(torque, want, atol=EQUAL * np.abs(want).max())
        mujoco.mj_forward(model, data)
        dense = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, dense)
        np.testing.assert_allclose(
            mass_matrix(robot, q), dense[:n, :n], atol=EQUAL * np.abs(dense).max()
        )
        turned = link_poses(robot, q)[-1][:3, :3]
        body = data.body("link3" if name == "gripper" else 2)
        np.testing.assert_allclose(turned, body.xmat.reshape(3, 3), atol=1e-12)


def test_limits_drives_and_friction_are_those_of_the_file(read) -> None:
    robot = read(GRIPPER_ARM)
    assert robot.name == "gripper arm"
    assert robot.joint_names == ("joint1", "joint2", "joint3")
    np.testing.assert_allclose(robot.limits.lower, [-2.9, -1.76, -1.0])
    np.testing.assert_allclose(robot.limits.upper, [2.9, 1.76, 1.0])
    np.testing.assert_allclose(robot.limits.effort, [87.0, 12.0, 10.0])
    for joint in robot.joints:
        assert (joint.friction.Fv, joint.friction.Fc, joint.rotor_inertia) == (1.0, 0.3, 0.1)
    np.testing.assert_array_equal(robot.gravity, [0.0, 0.0, -9.8])
    (spring,) = robot.terms
    assert (spring.kind, spring.joint) == ("spring", "joint3")
    np.testing.assert_allclose(spring.values, [4.0, -1.2])


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("gripper", "joints off the chain locked at zero: finger1, finger2"),
        ("gripper", "the smaller one is taken: joint2"),
        ("gripper", "joints that follow others do not move: finger1"),
        ("gripper", "equality constraints are omitted: grasp"),
        ("gripper", "tendons are omitted: split"),
        ("gripper", "actuators that are not on a joint are omitted: grip"),
        ("gripper", "gains of servo actuators are omitted"),
        ("gripper", "at ref: joint2 0.4"),
        ("gripper", "shapes of the type plane are omitted: world"),
        ("gripper", "limits missing in the MJCF: 'joint1' velocity"),
        ("geoms", "shapes of the type ellipsoid are omitted: body_2"),
        ("geoms", "continuous, position range assumed -pi to pi: joint_3"),
    ],
)
def test_what_has_no_counterpart_is_told(read, name, note) -> None:
    assert sum(note in text for text in read(TEXTS[name]).assumptions) == 1


def test_several_joints_of_a_body_are_links_without_mass(read) -> None:
    robot = read(GEOM_ARM)
    assert robot.joint_names == ("rail", "turn", "joint_3")
    assert [link.name for link in robot.links] == ["slider_1", "slider", "body_2"]
    assert robot.links[0].phi[0] == 0.0
    assert robot.joint_units == ("m", "rad", "rad")
    assert robot.joints[0].effort == 50.0


@pytest.mark.parametrize("leader", ['joint2="rail"', 'polycoef="0.1 0 0 0 0"'])
def test_a_joint_that_follows_another_does_not_move(read, leader) -> None:
    text = GEOM_ARM.replace(
        "</mujoco>", f'<equality><joint joint1="turn" {leader}/></equality></mujoco>'
    )
    robot = read(text)
    assert "turn" not in robot.joint_names
    assert any("joints that follow others do not move: turn" in note for note in robot.assumptions)


def test_an_actuator_adds_rotor_and_damping_by_its_gear(read) -> None:
    text = GEOM_ARM.replace('gear="50"', 'gear="3" armature="0.5" damping="0.2"')
    joint = read(text).joints[0]
    assert joint.rotor_inertia == pytest.approx(4.5)
    assert joint.friction.Fv == pytest.approx(5.0 + 1.8)


def test_shapes_are_in_the_frame_of_their_body(read) -> None:
    first = read(GRIPPER_ARM).links[0]
    seen, felt = first.shapes
    assert (seen.kind, seen.size, seen.rgba) == ("sphere", (0.05,), (1.0, 0.0, 0.0, 1.0))
    assert (felt.kind, felt.collision) == ("capsule", True)
    np.testing.assert_allclose(felt.size, (0.06, 0.2))
    np.testing.assert_allclose(felt.T_body_shape[:3, 3], [0.0, 0.0, -0.1], atol=1e-12)


@pytest.mark.parametrize(("group", "drawn"), [("1", ["box"]), ("0", ["sphere", "box"])])
def test_what_collides_is_not_drawn_through_what_another_group_shows(read, group, drawn) -> None:
    free = f'contype="0" conaffinity="0" group="{group}"'
    seen = f'<geom type="box" size="0.1 0.1 0.1" mass="0" {free}/>'
    (link,) = read(
        '<mujoco><worldbody><body name="b"><joint name="j"/>'
        f'<geom size="0.1" mass="1"/>{seen}</body></worldbody></mujoco>'
    ).links
    assert [shape.kind for shape in link.shapes if not shape.collision] == drawn
    assert [shape.kind for shape in link.shapes if shape.collision] == ["sphere"]


def test_a_site_may_be_the_tip(read) -> None:
    robot = read(GRIPPER_ARM, tip="attachment_site")
    model, data = mujoco_of(GRIPPER_ARM)
    q = np.array([0.3, -0.5, 0.7])
    data.qpos[:3] = q
    mujoco.mj_kinematics(model, data)
    site = data.site("attachment_site")
    np.testing.assert_allclose(tip_pose(robot, q)[:3, 3], site.xpos, atol=1e-12)


def test_includes_and_meshes_are_found_beside_the_file(tmp_path, irb140) -> None:
    write_mjcf(irb140, tmp_path / "arm.xml")
    (tmp_path / "scene.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    robot = load_robot(tmp_path / "scene.xml", assume_limits=True)
    assert any(shape.kind == "mesh" for link in robot.links for shape in link.shapes)
    np.testing.assert_allclose(robot.parameters()[:60], irb140.parameters()[:60], atol=1e-12)


@pytest.mark.parametrize("name", catalog())
def test_what_is_written_is_read_again(tmp_path, name) -> None:
    robot = load_robot(name)
    write_mjcf(robot, tmp_path / "robot.xml")
    again = load_robot(tmp_path / "robot.xml")
    phi = robot.parameters()
    np.testing.assert_allclose(again.parameters(), phi, atol=EQUAL * np.abs(phi).max())
    for limits, others in zip(again.limits.arrays(), robot.limits.arrays(), strict=True):
        np.testing.assert_allclose(limits, others, rtol=EQUAL)
    np.testing.assert_allclose(again.geometry, robot.geometry, atol=EQUAL)
    np.testing.assert_allclose(again.T_last_tip, robot.T_last_tip, atol=EQUAL)
    assert (again.base, again.tip, again.name) == (robot.base, robot.tip, robot.name)
    np.testing.assert_array_equal(again.eps, robot.eps)
    for link, other in zip(again.links, robot.links, strict=True):
        ours, theirs = (sorted(map(_placed, body.shapes)) for body in (link, other))
        assert [shape[:2] for shape in ours] == [shape[:2] for shape in theirs]
        for shape, twin in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(shape[2:], twin[2:], atol=1e-6)  # meshes are float32


def _placed(shape):
    place = np.round([*shape.size, *shape.T_body_shape.ravel()], 9) + 0.0
    return (shape.kind, shape.collision, *place.tolist())


def test_friction_offsets_and_velocities_stand_beside_the_file(tmp_path, irb140) -> None:
    joints = tuple(
        replace(joint, friction=replace(joint.friction, Fo=0.1 * k, eps=0.05), velocity=1.0 + k)
        for k, joint in enumerate(irb140.joints)
    )
    write_mjcf(replace(irb140, joints=joints), tmp_path / "robot.xml")
    again = load_robot(tmp_path / "robot.xml")
    for joint, other in zip(again.joints, joints, strict=True):
        assert joint.friction == other.friction
        assert joint.velocity == other.velocity


def test_a_urdf_is_written_of_it(read, tmp_path) -> None:
    robot = read(GRIPPER_ARM, tip="attachment_site")
    write_urdf(robot, tmp_path / "robot.urdf")
    again = Robot.from_urdf(tmp_path / "robot.urdf", gravity=robot.gravity)
    q, dq, ddq = next(random_states(robot))
    np.testing.assert_allclose(joint_torque(again, q, dq, ddq), joint_torque(robot, q, dq, ddq))


def test_a_robot_toml_is_stronger_than_the_file(read, tmp_path) -> None:
    (tmp_path / "robot.toml").write_text(
        'schema = "robotid/robot/1"\nurdf = "robot.xml"\n'
        + "".join(f"[joints.joint{k}]\nvelocity = {k}.5\n" for k in (1, 2, 3))
        + "effort = 3.0\n"
    )
    robot = read(GRIPPER_ARM, assume_limits=False)
    np.testing.assert_allclose(robot.limits.velocity, [1.5, 2.5, 3.5])
    np.testing.assert_allclose(robot.limits.effort, [87.0, 12.0, 3.0])


BODY = '<worldbody><body name="b"><joint name="j"/><geom size="0.1"/></body></worldbody>'
REFUSED = {
    "<mujoco><worldbody><bod/></worldbody></mujoco>": "unrecognized element Element 'bod'",
    "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>": "mass and inertia of moving",
    "<mujoco><include file='nix.xml'/></mujoco>": "nix.xml",
    "<mujoco><worldbody/></mujoco>": "has no movable joint",
    f"<mujoco>{BODY}".replace("<joint", '<joint type="ball"') + "</mujoco>": "joint 'j' on the "
    "chain is ball",
    f"<mujoco>{BODY}".replace("<joint", '<joint type="free"') + "</mujoco>": "joint 'j' on the "
    "chain is free",
    f"<mujoco>{BODY}": "not well-formed XML",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_bad_file_is_one_line_that_names_it(read, text) -> None:
    with pytest.raises(RobotIdError) as raised:
        read(text)
    said = str(raised.value)
    assert REFUSED[text].casefold() in said.casefold()
    assert "\n" not in said
    assert "robot.xml" in said


def test_missing_velocity_limits_are_one_line_with_the_remedy(read) -> None:
    with pytest.raises(RobotIdError, match=r"MJCF cannot represent velocity.*--assume-limits"):
        read(GRIPPER_ARM, assume_limits=False)


def test_an_unknown_tip_is_one_line(read) -> None:
    with pytest.raises(UnknownNameError, match="no link 'attachment_sit' \\(did you mean"):
        read(GRIPPER_ARM, tip="attachment_sit")


def test_without_mujoco_the_remedy_is_said(read, monkeypatch) -> None:
    real = importlib.import_module

    def without(name):
        if name == "mujoco":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(MissingExtraError, match="needs MuJoCo: pip install mujoco"):
        read(GEOM_ARM)


def test_a_toml_beside_it_that_is_none_is_refused(read, tmp_path) -> None:
    (tmp_path / "robot.toml").write_text("")
    (tmp_path / "arm.xml").write_text(GEOM_ARM)
    (tmp_path / "arm.toml").write_text("[")
    with pytest.raises(FileFormatError, match=r"cannot read settings .*arm\.toml"):
        load_robot(tmp_path / "arm.xml", assume_limits=True)


def test_a_urdf_with_the_suffix_xml_stays_one(tmp_path) -> None:
    text = urdf_path("2r").read_text()
    (tmp_path / "arm.xml").write_text(text)
    assert load_robot(tmp_path / "arm.xml").dof == 2


def load(path):
    """Return MuJoCo's model without contacts, limits and Coulomb friction: constraints."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model, mujoco.MjData(model)


def states_of(robot, count=50):
    rng = np.random.default_rng(0)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (count, robot.dof))
    return q, rng.uniform(-2.0, 2.0, q.shape), rng.uniform(-5.0, 5.0, q.shape)


def with_drives(robot: Robot) -> Robot:
    """Return the robot with rotors and viscous friction in every joint."""
    phi = robot.parameters().copy()
    drives = phi[10 * robot.dof :].reshape(robot.dof, 4)
    drives[:, 0], drives[:, 3] = 0.3, 0.05
    return robot.with_parameters(phi)


def test_mujoco_computes_the_same_torques(robot, tmp_path) -> None:
    if min(link.phi[0] for link in robot.links) <= 0.0:
        with pytest.raises(InconsistentInertiaError, match="no mass"):
            write_mjcf(robot, tmp_path / "robot.xml")
        return
    robot = with_drives(robot)
    write_mjcf(robot, tmp_path / "robot.xml")
    model, data = load(tmp_path / "robot.xml")
    smooth = robot.with_parameters(_without_coulomb(robot))
    q, dq, ddq = states_of(robot)
    want = joint_torque(smooth, q, dq, ddq)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.qfrc_inverse, want[k], atol=EQUAL * np.abs(want).max())


def _without_coulomb(robot):
    phi = robot.parameters().copy()
    drives = phi[10 * robot.dof :].reshape(robot.dof, 4)
    drives[:, 1:3] = 0.0
    return phi


def test_mujoco_has_the_same_kinematics_names_limits_and_drives(irb140, tmp_path) -> None:
    robot = with_drives(irb140)
    write_mjcf(robot, tmp_path / "robot.xml")
    model, data = load(tmp_path / "robot.xml")
    names = [model.joint(k).name for k in range(model.njnt)]
    assert names == list(robot.joint_names)
    np.testing.assert_allclose(model.jnt_range, np.c_[robot.limits.lower, robot.limits.upper])
    np.testing.assert_allclose(model.dof_armature, 0.05)
    np.testing.assert_allclose(model.dof_damping, 0.3)
    coulomb = [joint.friction.Fc for joint in robot.joints]
    np.testing.assert_allclose(model.dof_frictionloss, coulomb)
    np.testing.assert_allclose(model.actuator_ctrlrange[:, 1], robot.limits.effort)
    q = states_of(robot)[0][3]
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    tip = data.site(robot.tip)
    np.testing.assert_allclose(tip.xpos, tip_pose(robot, q)[:3, 3], atol=1e-12)
    np.testing.assert_allclose(tip.xmat.reshape(3, 3), tip_pose(robot, q)[:3, :3], atol=1e-12)


def test_side_car_holds_what_mjcf_cannot(irb140, tmp_path) -> None:
    write_mjcf(irb140, tmp_path / "arm.xml")
    content = tomllib.loads((tmp_path / "arm.toml").read_text())
    assert content["model"] == "arm.xml"
    assert (content["base"], content["tip"]) == (irb140.base, irb140.tip)
    for joint in irb140.joints:
        entry = content["joints"][joint.name]
        assert entry["eps"] == joint.friction.eps
        assert entry["acceleration"] == joint.acceleration


def test_springs_are_written_and_read_and_other_terms_are_said_to_be_left_out(tmp_path) -> None:
    plain = Robot.from_urdf(urdf_path("2r"))
    first, second = plain.joint_names
    springs = (JointTerm("spring", first, (40.0, -8.0)), JointTerm("spring", second, (5.0, 0.0)))
    sprung = replace(plain, terms=springs)
    notes = write_mjcf(
        replace(sprung, terms=(*springs, JointTerm("offset", second, (1.0,)))), tmp_path / "a.xml"
    )
    assert notes == (f"Terms of joints are omitted: offset of {second}.",)
    assert Robot.from_urdf(tmp_path / "a.xml").terms == springs
    model, data = load(tmp_path / "a.xml")
    for q, dq, ddq in zip(*states_of(plain), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        dry = [
            j.friction.torque(v) - j.friction.Fv * v for j, v in zip(plain.joints, dq, strict=True)
        ]
        want = joint_torque(sprung, q, dq, ddq) - dry
        np.testing.assert_allclose(data.qfrc_inverse, want, atol=EQUAL * np.abs(want).max())


def test_meshes_that_mujoco_cannot_read_are_named(tmp_path) -> None:
    robot = Robot.from_urdf(urdf_path("ur5"))  # its meshes are Collada
    notes = write_mjcf(robot, tmp_path / "robot.xml", meshes=MeshMode.KEEP)
    assert len(notes) == 6
    assert all(".dae is omitted: MuJoCo reads .stl, .obj, .msh only" in note for note in notes)
    load(tmp_path / "robot.xml")


def test_impossible_body_is_refused(irb140, tmp_path) -> None:
    phi = irb140.parameters().copy()
    phi[4] = -1.0
    broken = irb140.with_parameters(phi, formal=True)
    with pytest.raises(InconsistentInertiaError, match="link_1"):
        write_mjcf(broken, tmp_path / "robot.xml")
    assert not list(tmp_path.iterdir())


def test_robot_without_torque_limits_has_none(irb140, tmp_path) -> None:
    joints = tuple(replace(joint, effort=np.inf) for joint in irb140.joints)
    write_mjcf(replace(irb140, joints=joints), tmp_path / "robot.xml")
    model, _ = load(tmp_path / "robot.xml")
    assert not model.actuator_ctrllimited.any()
