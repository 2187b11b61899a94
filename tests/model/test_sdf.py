"""SDF: PyBullet's own reader of it has the same bodies, joints, limits, friction and meshes."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from robots import urdf_path

from robotid_sim.dynamics.dynamics import gravity_torque
from robotid_sim.errors import FileFormatError, InconsistentInertiaError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model import inertia
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.model.sdf import write_sdf

RELATIVE = 1e-6
"""Of the largest torque: Bullet reads numbers in single precision."""


@pytest.fixture
def load(pybullet):
    """Return a function that loads an SDF into PyBullet: client and body."""
    clients = []

    def read(path: Path) -> tuple[int, int]:
        client = pybullet.connect(pybullet.DIRECT)
        clients.append(client)
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        (body,) = pybullet.loadSDF(str(path), physicsClientId=client)
        return client, body

    yield read
    for client in clients:
        pybullet.disconnect(physicsClientId=client)


def for_bullet(path: Path, *, geometry: bool) -> Path:
    """Return a copy of a model whose base is fixed by being static: Bullet knows no world."""
    tree = etree.parse(str(path))
    model = tree.find("model")
    fixed = model.find("joint[@type='fixed']")
    assert (fixed.findtext("parent"), fixed.findtext("child")) == ("world", model[0].get("name"))
    model.remove(fixed)
    etree.SubElement(model, "static").text = "1"
    for element in [] if geometry else [*tree.iter("visual", "collision")]:
        element.getparent().remove(element)
    tree.write(str(path.with_name("bullet.sdf")))
    return path.with_name("bullet.sdf")


@pytest.mark.parametrize("name", ["irb140", "iiwa", "ur5", "2r", "scara", "kinova"])
def test_bullet_reads_the_same_bodies_and_joints(name, load, tmp_path, pybullet) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    write_sdf(robot, tmp_path / "robot.sdf")
    client, body = load(for_bullet(tmp_path / "robot.sdf", geometry=False))
    infos = [
        pybullet.getJointInfo(body, j, physicsClientId=client)
        for j in range(pybullet.getNumJoints(body, physicsClientId=client))
    ]
    moving = [info for info in infos if info[2] != pybullet.JOINT_FIXED]
    assert [info[1].decode() for info in moving] == list(robot.joint_names)
    assert [info[12].decode() for info in moving] == [link.name for link in robot.links]
    for info, joint, link in zip(moving, robot.joints, robot.links, strict=True):
        kind = pybullet.JOINT_PRISMATIC if joint.prismatic else pybullet.JOINT_REVOLUTE
        assert info[2] == kind
        assert (info[6], info[7]) == (joint.friction.Fv, joint.friction.Fc)
        if robot.document.joints[joint.name].kind != "continuous":
            assert (info[8], info[9], info[11]) == (joint.lower, joint.upper, joint.velocity)
        mass = pybullet.getDynamicsInfo(body, info[0], physicsClientId=client)[0]
        assert mass == pytest.approx(link.phi[0], rel=1e-6)
    assert_same_places(robot, client, body, moving, pybullet)


def assert_same_places(robot: Robot, client: int, body: int, moving: list, pybullet) -> None:
    """Compare where the links are, and by their weight where their masses are.

    Bullet takes tensors of an SDF from the collision shapes, whatever the file says.
    """
    pybullet.setGravity(*robot.gravity.tolist(), physicsClientId=client)
    rng = np.random.default_rng(0)
    ours, theirs = [], []
    still = [0.0] * robot.dof
    for q in rng.uniform(-1.0, 1.0, (20, robot.dof)):
        for info, angle in zip(moving, q.tolist(), strict=True):
            pybullet.resetJointState(body, info[0], angle, physicsClientId=client)
        for info, T in zip(moving, link_poses(robot, q), strict=True):
            state = pybullet.getLinkState(
                body, info[0], computeForwardKinematics=1, physicsClientId=client
            )
            np.testing.assert_allclose(state[4], T[:3, 3], atol=1e-6)
        # Lists: PyBullet reads an ndarray here as a tuple and crashes.
        arguments = (q.tolist(), still, still)
        theirs.append(pybullet.calculateInverseDynamics(body, *arguments, physicsClientId=client))
        ours.append(gravity_torque(robot, q))
    assert np.abs(np.subtract(theirs, ours)).max() <= RELATIVE * np.abs(ours).max()


def test_tensors_are_those_of_the_bodies(robot, tmp_path) -> None:
    if min(link.phi[0] for link in robot.links) <= 0.0:
        with pytest.raises(InconsistentInertiaError, match="no mass"):
            write_sdf(robot, tmp_path / "robot.sdf")
        return
    write_sdf(robot, tmp_path / "robot.sdf")
    for link in robot.links:
        element = etree.parse(str(tmp_path / "robot.sdf")).find(
            f"model/link[@name='{link.name}']/inertial"
        )
        keys = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
        six = [float(element.findtext(f"inertia/{key}")) for key in keys]
        pose = [float(word) for word in element.findtext("pose").split()]
        assert pose[3:] == [0.0] * 3
        central = inertia.inertia_matrix(np.r_[np.zeros(4), six])
        phi = inertia.pack(float(element.findtext("mass")), np.array(pose[:3]), central)
        np.testing.assert_allclose(phi, link.phi, rtol=0, atol=1e-8 * np.abs(link.phi).max())


def test_meshes_travel(irb140, load, tmp_path, monkeypatch, pybullet) -> None:
    (tmp_path / "here").mkdir()
    write_sdf(irb140, tmp_path / "here" / "robot.sdf")
    there = (tmp_path / "here").rename(tmp_path / "there")
    monkeypatch.chdir(there)
    client, body = load(for_bullet(there / "robot.sdf", geometry=True))
    shown = pybullet.getVisualShapeData(body, physicsClientId=client)
    names = {Path(os.fsdecode(entry[4])).name for entry in shown if entry[4]}
    drawn = {s.mesh.name for link in irb140.links for s in link.shapes if not s.collision}
    assert drawn <= names
    assert names - drawn == {"base_link.stl", "base_link_dark.stl"}


def uris(path: Path) -> set[str]:
    return {str(e.text).rpartition("/")[0] for e in etree.parse(str(path)).iter("uri")}


def test_meshes_are_kept_or_of_a_model_of_gazebo(irb140, tmp_path) -> None:
    path = tmp_path / "robot.sdf"
    write_sdf(irb140, path, meshes=MeshMode.KEEP)
    assert uris(path) == {(urdf_path("irb140").parent / "meshes").as_uri()}
    assert not (tmp_path / "meshes").exists()
    write_sdf(irb140, path, meshes=MeshMode.PACKAGE)
    assert uris(path) == {f"model://{tmp_path.name}/meshes"}


def test_numbers_are_written_with_all_their_bits(irb140, tmp_path) -> None:
    notes = write_sdf(irb140, tmp_path / "robot.sdf")
    root = etree.parse(str(tmp_path / "robot.sdf")).getroot()
    assert root.get("version") == "1.9"
    for link in irb140.links:
        element = root.find(f"model/link[@name='{link.name}']/inertial")
        mass, com, central = inertia.unpack(link.phi)
        assert float(element.findtext("mass")) == mass
        assert element.findtext("pose").split() == [*map(repr, (com + 0.0).tolist()), *"000"]
        assert float(element.findtext("inertia/ixy")) == central[0, 1]
    assert root.find("model/frame[@name='tool0']").get("attached_to") == "link_6"
    assert notes == ("SDF has no place for the rotor inertia of joint_4, joint_5, joint_6.",)
    assert "Ia = 0.1" in (tmp_path / "robot.toml").read_text()


def test_gravity_that_the_world_must_have_is_said(tmp_path) -> None:
    robot = Robot.from_urdf(urdf_path("2r"), gravity=(0.0, -9.81, 0.0))
    assert any("Gravity (0, -9.81, 0)" in note for note in write_sdf(robot, tmp_path / "a.sdf"))


def test_springs_are_written_and_other_terms_are_said_to_be_left_out(tmp_path) -> None:
    plain = Robot.from_urdf(urdf_path("2r"))
    first, second = plain.joint_names
    terms = (
        JointTerm("spring", first, (40.0, -8.0)),
        JointTerm("spring", second, (-5.0, 0.0)),
        JointTerm("offset", second, (1.0,)),
    )
    notes = write_sdf(replace(plain, terms=terms), tmp_path / "a.sdf")
    root = etree.parse(str(tmp_path / "a.sdf")).getroot()
    dynamics = root.find(f"model/joint[@name='{first}']/axis/dynamics")
    assert float(dynamics.findtext("spring_stiffness")) == 40.0
    assert float(dynamics.findtext("spring_reference")) == 0.2
    assert root.find(f"model/joint[@name='{second}']/axis/dynamics/spring_stiffness") is None
    assert notes == (f"Terms of joints are left out: spring of {second}, offset of {second}.",)


def test_what_cannot_be_written_is_refused(irb140, tmp_path) -> None:
    phi = irb140.parameters()
    phi[0:10] = 0.0
    with pytest.raises(InconsistentInertiaError, match="'link_1': it has no mass"):
        write_sdf(irb140.with_parameters(phi), tmp_path / "robot.sdf")
    with pytest.raises(FileFormatError, match="choose a folder"):
        write_sdf(irb140, tmp_path / "none" / "robot.sdf")
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_place_of_the_side_car_is_left_alone(irb140, tmp_path) -> None:
    (tmp_path / "robot.toml").write_text("[robot]\n")
    with pytest.raises(FileFormatError, match=r"robot\.toml.* does not belong to robot\.sdf"):
        write_sdf(irb140, tmp_path / "robot.sdf")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.toml"]
