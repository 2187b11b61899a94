"""MJCF: MuJoCo reads the same body, with the same joints, limits, rotors and friction."""

import tomllib
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.errors import FileFormatError, InconsistentInertiaError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot

EQUAL = 1e-9
"""Relative difference of torques after a round trip through text and quaternions."""


def load(path):
    """Return MuJoCo's model without contacts, limits and Coulomb friction: constraints."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model, mujoco.MjData(model)


def random_states(robot, count=50):
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
    q, dq, ddq = random_states(robot)
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
    q = random_states(robot)[0][3]
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    tip = data.site(robot.tip)
    np.testing.assert_allclose(tip.xpos, tip_pose(robot, q)[:3, 3], atol=1e-12)
    np.testing.assert_allclose(tip.xmat.reshape(3, 3), tip_pose(robot, q)[:3, :3], atol=1e-12)


def test_mass_matrix_has_the_rotors(irb140, tmp_path) -> None:
    write_mjcf(irb140, tmp_path / "robot.xml")
    model, data = load(tmp_path / "robot.xml")
    q = random_states(irb140)[0][0]
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, dense)
    want = mass_matrix(irb140, q)
    np.testing.assert_allclose(dense, want, atol=EQUAL * np.abs(want).max())


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
    assert notes == (f"Terms of joints are left out: offset of {second}.",)
    assert Robot.from_urdf(tmp_path / "a.xml").terms == springs
    model, data = load(tmp_path / "a.xml")
    for q, dq, ddq in zip(*random_states(plain), strict=True):
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
    assert all(".dae is left out: MuJoCo reads .stl, .obj, .msh only" in note for note in notes)
    load(tmp_path / "robot.xml")


def test_impossible_body_is_refused(irb140, tmp_path) -> None:
    phi = irb140.parameters().copy()
    phi[4] = -1.0
    broken = irb140.with_parameters(phi, formal=True)
    with pytest.raises(InconsistentInertiaError, match="link_1"):
        write_mjcf(broken, tmp_path / "robot.xml")
    assert not list(tmp_path.iterdir())


def test_missing_folder_is_one_line(irb140, tmp_path) -> None:
    with pytest.raises(FileFormatError, match="choose a folder"):
        write_mjcf(irb140, tmp_path / "none" / "robot.xml")


def test_robot_without_torque_limits_has_none(irb140, tmp_path) -> None:
    joints = tuple(replace(joint, effort=np.inf) for joint in irb140.joints)
    write_mjcf(replace(irb140, joints=joints), tmp_path / "robot.xml")
    model, _ = load(tmp_path / "robot.xml")
    assert not model.actuator_ctrllimited.any()


def test_a_file_in_the_place_of_the_side_car_is_left_alone(irb140, tmp_path) -> None:
    (tmp_path / "robot.toml").write_text("[robot]\n")
    with pytest.raises(FileFormatError, match=r"robot\.toml.* does not belong to robot\.xml"):
        write_mjcf(irb140, tmp_path / "robot.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.toml"]
