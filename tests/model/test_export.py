"""Robots written as URDF, SDF and MJCF with their meshes are the same for those who read them."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from lxml import etree
from robots import urdf_path
from sampling import sampled
from scipy.spatial.transform import Rotation

from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque, rigid_body_torque
from robotid_sim.errors import FileFormatError, InconsistentInertiaError, OptionError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model import inertia, parameters
from robotid_sim.model.export import list_urdf_losses, write_urdf
from robotid_sim.model.geometry import Link, transform
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.mesh_files import MeshFolder, MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.model.sdf import write_sdf
from robotid_sim.model.solid import box, read_mesh

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


@pytest.mark.parametrize(("write", "suffix"), [(write_mjcf, "xml"), (write_sdf, "sdf")])
def test_a_file_in_the_place_of_the_side_car_is_left_alone(irb140, tmp_path, write, suffix) -> None:
    (tmp_path / "robot.toml").write_text("[robot]\n")
    with pytest.raises(FileFormatError, match=rf"does not belong to robot\.{suffix}"):
        write(irb140, tmp_path / f"robot.{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.toml"]


def test_second_round_trip_changes_no_byte(irb140: Robot, tmp_path: Path) -> None:
    first, second = tmp_path / "first.urdf", tmp_path / "second.urdf"
    write_urdf(irb140, first)
    write_urdf(Robot.from_urdf(first), second)
    one, two = Robot.from_urdf(first), Robot.from_urdf(second)
    assert_same_parameters(one, two)
    assert len(first.read_text().splitlines()) == len(second.read_text().splitlines())


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


RELATIVE = 1e-6
"""Of the largest torque: bodies near the triangle boundary are moved by up to 2e-6 of their tensor,
and Bullet diagonalizes full tensors to 3e-8."""

N_STATES = 50

ROBOTS = {
    "irb140": None,
    "irb140 perturbed": 1,
    "iiwa perturbed": 2,
    "panda perturbed": 3,
    "ur5 perturbed": 4,
    "2r perturbed": 5,
    "ppp perturbed": 6,
    "scara perturbed": 7,
    "rp perturbed": 8,
}


@pytest.fixture(params=ROBOTS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Robot, Path]:
    """Return a robot and its written URDF, whose geometry is stripped: meshes are not at stake."""
    robot = Robot.from_urdf(urdf_path(request.param.split()[0]))
    seed = ROBOTS[request.param]
    if seed is not None:
        robot = perturb(robot, np.random.default_rng(seed))
    path = tmp_path / "written.urdf"
    write_urdf(robot, path)
    tree = etree.parse(str(path))
    for tag in ("visual", "collision"):
        for element in tree.findall(f"link/{tag}"):
            element.getparent().remove(element)
    tree.write(str(tmp_path / "bare.urdf"))
    return robot, tmp_path / "bare.urdf"


def random_states(robot: Robot, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-s, s, (N_STATES, robot.dof)) for s in (1.5, 2.0, 5.0)], axis=1)


def assert_same_torques(robot: Robot, torque) -> None:
    states = random_states(robot)
    theirs = np.array([torque(*state) for state in states])
    ours = rigid_body_torque(robot, states[:, 0], states[:, 1], states[:, 2])
    assert np.abs(theirs - ours).max() <= RELATIVE * np.abs(ours).max()


def test_pinocchio_reads_the_same_bodies(written, pinocchio_model) -> None:
    robot, path = written
    model = pinocchio_model(robot, path)
    data = model.createData()
    assert_same_torques(robot, lambda q, dq, ddq: pin.rnea(model, data, q, dq, ddq).copy())


def test_mujoco_reads_the_same_bodies(written) -> None:
    robot, path = written
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.gravity = robot.gravity
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    data = mujoco.MjData(model)
    at = [model.joint(name).qposadr[0] for name in robot.joint_names]

    def torque(q, dq, ddq):
        data.qpos[:], data.qvel[:], data.qacc[:] = 0.0, 0.0, 0.0  # fingers stay at zero
        data.qpos[at], data.qvel[at], data.qacc[at] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse[at].copy()

    assert_same_torques(robot, torque)


def test_pybullet_reads_the_same_bodies(written, pybullet) -> None:
    robot, path = written
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        pybullet.setGravity(*robot.gravity.tolist(), physicsClientId=client)
        body = pybullet.loadURDF(
            str(path),
            useFixedBase=True,
            flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
            physicsClientId=client,
        )
        infos = [
            pybullet.getJointInfo(body, j, physicsClientId=client)
            for j in range(pybullet.getNumJoints(body, physicsClientId=client))
        ]
        movable = [info[1].decode() for info in infos if info[2] != pybullet.JOINT_FIXED]
        at = [movable.index(name) for name in robot.joint_names]

        def torque(q, dq, ddq):
            full = np.zeros((3, len(movable)))
            full[:, at] = q, dq, ddq
            # Lists: PyBullet reads an ndarray here as a tuple and crashes.
            tau = pybullet.calculateInverseDynamics(body, *full.tolist(), physicsClientId=client)
            return np.array(tau)[at]

        assert_same_torques(robot, torque)
    finally:
        pybullet.disconnect(physicsClientId=client)


def test_written_irb140_loads_with_its_geometry(irb140: Robot, tmp_path: Path, pybullet) -> None:
    path = tmp_path / "irb140.urdf"
    write_urdf(irb140, path)
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 6
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
        assert len(pybullet.getVisualShapeData(body, physicsClientId=client)) > 6
    finally:
        pybullet.disconnect(physicsClientId=client)


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
    assert notes == ("SDF cannot represent the rotor inertia of joint_4, joint_5, joint_6.",)
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
    assert notes == (f"Terms of joints are omitted: spring of {second}, offset of {second}.",)


def test_what_cannot_be_written_is_refused(irb140, tmp_path) -> None:
    phi = irb140.parameters()
    phi[0:10] = 0.0
    with pytest.raises(InconsistentInertiaError, match="'link_1': it has no mass"):
        write_sdf(irb140.with_parameters(phi), tmp_path / "robot.sdf")
    with pytest.raises(FileFormatError, match="choose a folder"):
        write_sdf(irb140, tmp_path / "none" / "robot.sdf")
    assert not list(tmp_path.iterdir())


OBJ = b"mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


@pytest.fixture(
    scope="module",
    params=sampled(("irb140", "iiwa", "ur5", "panda"), "irb140", mark=pytest.mark.slow),
)
def moved(request, tmp_path_factory) -> SimpleNamespace:
    """The robot as read, and its export: written, then moved to another folder."""
    robot = Robot.from_urdf(urdf_path(request.param))
    folder = tmp_path_factory.mktemp(request.param) / "here"
    folder.mkdir()
    assert write_urdf(robot, folder / "robot.urdf") == ()
    there = folder.rename(folder.with_name("there"))
    return SimpleNamespace(robot=robot, folder=there, urdf=there / "robot.urdf")


def mesh_names(urdf: Path) -> list[str]:
    return [str(mesh.get("filename")) for mesh in etree.parse(str(urdf)).iter("mesh")]


def test_no_name_leads_out_of_the_folder(moved) -> None:
    names = mesh_names(moved.urdf)
    assert names
    for name in names:
        assert Path(name).parent == Path("meshes")
        assert (moved.folder / name).is_file()


def test_robotid_loads_it_with_the_same_surfaces(moved) -> None:
    read = Robot.from_urdf(moved.urdf)
    for ours, theirs in zip(moved.robot.links, read.links, strict=True):
        for a, b in zip(ours.shapes, theirs.shapes, strict=True):
            if a.mesh is not None:
                assert b.mesh.resolve().parent == moved.folder / "meshes"
                assert read_mesh(a.mesh).volume == pytest.approx(read_mesh(b.mesh).volume)


def pin_geometry(urdf: Path, kind: pin.GeometryType, folder: Path) -> pin.GeometryModel:
    """Return Pinocchio's geometry of a URDF; relative names are looked up in the folder."""
    model = pin.buildModelFromUrdf(str(urdf))
    return pin.buildGeomFromUrdf(model, str(urdf), kind, package_dirs=[str(folder)])


def test_pinocchio_loads_it_with_geometry(moved) -> None:
    for kind, collision in ((pin.VISUAL, False), (pin.COLLISION, True)):
        geometry = pin_geometry(moved.urdf, kind, moved.folder)
        ours = [s for link in moved.robot.links for s in link.shapes if s.collision is collision]
        assert geometry.ngeoms >= len(ours) > 0  # beside those of the base
        for item in geometry.geometryObjects:
            path = Path(item.meshPath)
            assert path.parent == moved.folder / "meshes" or not path.suffix


def test_mujoco_loads_it_with_geometry(moved, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # nothing is found by luck
    model = mujoco.MjModel.from_xml_path(str(moved.urdf))
    meshes = {n for n in mesh_names(moved.urdf) if n.endswith((".stl", ".STL"))}
    assert model.nmesh > 0
    assert model.nmesh <= len(meshes)


def test_pybullet_loads_it_with_geometry(moved, tmp_path, monkeypatch, pybullet) -> None:
    monkeypatch.chdir(tmp_path)
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(moved.urdf), useFixedBase=True, physicsClientId=client)
        shown = pybullet.getVisualShapeData(body, physicsClientId=client)
        files = [Path(os.fsdecode(entry[4])) for entry in shown if entry[4]]
        assert files
        assert {file.parent for file in files} == {moved.folder / "meshes"}
    finally:
        pybullet.disconnect(physicsClientId=client)


# ------------------------------------------------------------------------------ copying


def urdf_of(*names: str) -> str:
    """Return the text of a robot whose only moving link has these meshes."""
    visuals = "".join(
        f'<visual><geometry><mesh filename="{n}"/></geometry></visual>' for n in names
    )
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    return (
        f'<robot name="toy"><link name="base"/><link name="arm">{inertial}{visuals}</link>'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>'
        '<axis xyz="0 1 0"/><limit velocity="3" effort="4"/></joint></robot>'
    )


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder with meshes of one name in two places, one with a material and its texture."""
    folder = tmp_path / "source"
    for part, width in (("left", 1.0), ("right", 2.0)):
        (folder / part).mkdir(parents=True)
        (folder / part / "arm.stl").write_bytes(box(width, 1.0, 1.0).stl())
        (folder / part / "arm.obj").write_bytes(OBJ)
        (folder / part / "paint.mtl").write_text(f"newmtl a\nKd {width} 0 0\nmap_Kd ../wood.png\n")
    (folder / "wood.png").write_bytes(b"picture")
    (tmp_path / "out").mkdir()
    return folder


def written_as(source: Path, *names: str, **options) -> tuple[Path, tuple[str, ...]]:
    """Write the robot of these meshes beside its source; return where, and the notes."""
    (source / "toy.urdf").write_text(urdf_of(*names))
    path = source.parent / "out" / "toy.urdf"
    return path, write_urdf(Robot.from_urdf(source / "toy.urdf"), path, **options)


def test_two_meshes_of_one_name_stay_two(source) -> None:
    path, _ = written_as(source, "left/arm.stl", "right/arm.stl", "left/../left/arm.stl")
    assert mesh_names(path) == ["meshes/arm.stl", "meshes/arm-2.stl", "meshes/arm.stl"]
    widths = [np.ptp(read_mesh(path.parent / n).vertices[:, 0]) for n in mesh_names(path)[:2]]
    assert widths == [1.0, 2.0]


def test_materials_and_textures_come_along_under_the_new_names(source) -> None:
    path, _ = written_as(source, "left/arm.obj", "right/arm.obj")
    meshes = path.parent / "meshes"
    shutil.rmtree(source)
    for name, material, width in (("arm.obj", "paint.mtl", 1), ("arm-2.obj", "paint-2.mtl", 2)):
        assert f"mtllib {material}\n" in (meshes / name).read_text()
        text = (meshes / material).read_text()
        assert f"Kd {width}.0 0 0" in text
        assert "map_Kd wood.png" in text
    assert (meshes / "wood.png").read_bytes() == b"picture"


def test_textures_of_collada_come_along(source) -> None:
    collada = "<COLLADA><image><init_from>../wood.png</init_from></image></COLLADA>"
    (source / "left" / "arm.dae").write_text(collada)
    path, _ = written_as(source, "left/arm.dae")
    assert "<init_from>wood.png</init_from>" in (path.parent / "meshes/arm.dae").read_text()
    assert (path.parent / "meshes/wood.png").is_file()


def test_writing_again_adds_no_file_and_writes_over_none(source) -> None:
    path, _ = written_as(source, "left/arm.stl")
    mesh = path.parent / "meshes" / "arm.stl"
    before = mesh.stat().st_mtime_ns
    written_as(source, "left/arm.stl")
    assert [p.name for p in mesh.parent.iterdir()] == ["arm.stl"]
    assert mesh.stat().st_mtime_ns == before
    written_as(source, "right/arm.stl")  # another robot, in the same folder
    assert mesh_names(path) == ["meshes/arm-2.stl"]
    assert np.ptp(read_mesh(mesh).vertices[:, 0]) == 1.0


def test_a_missing_mesh_keeps_its_name_and_is_said_once(source) -> None:
    path, notes = written_as(source, "left/arm.stl", "no/such.stl", "no/such.stl")
    assert mesh_names(path) == ["meshes/arm.stl", "no/such.stl", "no/such.stl"]
    assert notes == ("mesh no/such.stl is missing, its name is kept",)


def test_kept_meshes_are_named_so_that_they_are_still_found(source) -> None:
    path, notes = written_as(source, "left/arm.stl", "package://toy/a.stl", meshes=MeshMode.KEEP)
    where = (source / "left" / "arm.stl").as_posix()
    assert mesh_names(path) == [where, "package://toy/a.stl"]
    assert notes == ()
    assert not (path.parent / "meshes").exists()


def test_a_package_is_named_after_its_folder(source, tmp_path) -> None:
    path, _ = written_as(source, "left/arm.stl", meshes=MeshMode.PACKAGE)
    assert mesh_names(path) == ["package://out/meshes/arm.stl"]
    (tmp_path / "package.xml").touch()
    path, _ = written_as(source, "left/arm.stl", meshes=MeshMode.PACKAGE)
    assert mesh_names(path) == [f"package://{tmp_path.name}/out/meshes/arm.stl"]
    shape = Robot.from_urdf(path).links[0].shapes[0]
    assert shape.mesh == path.parent / "meshes" / "arm.stl"
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.nv == 1
    assert pin_geometry(path, pin.VISUAL, tmp_path.parent).ngeoms == 1


def test_a_folder_that_cannot_be_written_is_one_line_and_leaves_nothing(source) -> None:
    (source.parent / "out" / "meshes").write_text("a file")
    with pytest.raises(FileFormatError, match=r"cannot write .*meshes"):
        written_as(source, "left/arm.stl")
    assert [p.name for p in (source.parent / "out").iterdir()] == ["meshes"]


def test_a_mesh_that_refers_to_itself_comes_to_an_end(source) -> None:
    (source / "loop.mtl").write_text("map_Kd loop.mtl\n")
    folder = MeshFolder(source.parent / "out" / "toy.urdf")
    assert folder.add(source / "loop.mtl") == "loop.mtl"


# ------------------------------------------------------------------------------ MJCF


@pytest.mark.slow
def test_mjcf_travels_with_converted_meshes(tmp_path) -> None:
    robot = Robot.from_urdf(urdf_path("ur5"))  # its visual meshes are Collada
    (tmp_path / "here").mkdir()
    assert write_mjcf(robot, tmp_path / "here" / "robot.xml") == ()
    there = (tmp_path / "here").rename(tmp_path / "there")
    model = mujoco.MjModel.from_xml_path(str(there / "robot.xml"))
    assert model.ngeom == sum(len(link.shapes) for link in robot.links)
    assert {p.suffix for p in (there / "meshes").iterdir()} == {".stl"}


def test_mjcf_keeps_meshes_where_they_are(irb140, tmp_path) -> None:
    assert write_mjcf(irb140, tmp_path / "robot.xml", meshes=MeshMode.KEEP) == ()
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml")).nmesh > 6
    assert not (tmp_path / "meshes").exists()
    with pytest.raises(OptionError, match="MJCF does not support packages"):
        write_mjcf(irb140, tmp_path / "robot.xml", meshes=MeshMode.PACKAGE)


# ------------------------------------------------------------------------------ rotors


def test_rotor_inertia_stands_in_transmissions(irb140, tmp_path) -> None:
    write_urdf(irb140, tmp_path / "robot.urdf")
    assert reflected(tmp_path / "robot.urdf") == {
        joint.name: joint.rotor_inertia for joint in irb140.joints
    }
    write_urdf(Robot.from_urdf(tmp_path / "robot.urdf"), tmp_path / "again.urdf")
    assert reflected(tmp_path / "again.urdf") == reflected(tmp_path / "robot.urdf")


def reflected(urdf: Path) -> dict[str, float]:
    """Return what a joint feels of its rotor, as Drake computes it from a URDF."""
    space = "{http://drake.mit.edu}"
    return {
        transmission.find("joint").get("name"): float(
            transmission.find(f"actuator/{space}rotor_inertia").get("value")
        )
        * float(transmission.find(f"actuator/{space}gear_ratio").get("value")) ** 2
        for transmission in etree.parse(str(urdf)).iter("transmission")
    }


def test_a_transmission_of_the_file_keeps_its_reduction(source) -> None:
    drive = (
        '<transmission name="drive"><joint name="hinge"/><actuator name="motor">'
        "<mechanicalReduction>-50</mechanicalReduction></actuator></transmission>"
        '<robotid><joint name="hinge" Ia="0.5"/></robotid></robot>'
    )
    (source / "toy.urdf").write_text(urdf_of("left/arm.stl").replace("</robot>", drive))
    write_urdf(Robot.from_urdf(source / "toy.urdf"), source / "out.urdf")
    assert reflected(source / "out.urdf") == {"hinge": pytest.approx(0.5)}
    text = (source / "out.urdf").read_text()
    assert text.count("<transmission") == 1
    assert 'rotor_inertia xmlns:drake="http://drake.mit.edu" value="0.0002"' in text


def test_what_urdf_loses_is_said_of_what_is_there(irb140, iiwa) -> None:
    rotors, friction = list_urdf_losses(irb140)
    assert rotors.startswith(
        "URDF cannot represent rotor inertia, up to 0.1 kg m² at joint_4: Drake"
    )
    assert "PyBullet and Drake only the viscous part" in friction
    bare = iiwa.with_parameters(np.r_[iiwa.parameters()[:70], np.zeros(28)])
    assert list_urdf_losses(bare) == ()
    (meshes,) = list_urdf_losses(Robot.from_urdf(urdf_path("kinova")))
    assert ".dae" in meshes
