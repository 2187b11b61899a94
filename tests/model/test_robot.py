"""The Robot value and its chain: parameter vector, payload, repair, base and tip."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque
from robotid_sim.errors import InconsistentInertiaError, OptionError, ShapeError, UrdfError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.model import inertia, parameters
from robotid_sim.model.geometry import rotation_from_rpy, transform
from robotid_sim.model.joint import Friction
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot


def states(robot: Robot, rng: np.random.Generator, count: int = 20) -> np.ndarray:
    return rng.uniform(-2.0, 2.0, (3, count, robot.dof))


def test_parameter_vector_round_trips_without_loss(robot: Robot) -> None:
    phi = robot.parameters()
    assert phi.shape == (14 * robot.dof,)
    again = robot.with_parameters(phi)
    np.testing.assert_array_equal(again.parameters(), phi)
    assert again.joint_names == robot.joint_names
    assert again.fingerprint() == robot.fingerprint()


def test_parameter_names_and_units_follow_the_layout(irb140: Robot) -> None:
    names, units = irb140.parameter_names, parameters.units(irb140.prismatic)
    assert names[:10] == ("m1", "mx1", "my1", "mz1", "Ixx1", "Ixy1", "Iyy1", "Ixz1", "Iyz1", "Izz1")
    assert names[60:64] == ("Fv1", "Fc1", "Fo1", "Ia1")
    assert len(set(names)) == len(names) == len(units) == 84
    assert units[0] == "kg"
    assert units[60:64] == ("N m s/rad", "N m", "N m", "kg m^2")
    assert parameters.units((True,))[10:] == ("N s/m", "N", "N", "kg")


def test_slices_cover_the_vector_once() -> None:
    dof = 4
    covered = np.zeros(parameters.size(dof), dtype=int)
    for k in range(dof):
        covered[parameters.inertial_slice(k)] += 1
        covered[parameters.joint_slice(k, dof)] += 1
    assert (covered == 1).all()


def test_columns_pick_inertial_and_named_joint_parameters() -> None:
    names = parameters.names(2)
    chosen = [names[c] for c in parameters.columns(2, ("Ia", "Fv"))]
    assert chosen[20:] == ["Fv1", "Ia1", "Fv2", "Ia2"]
    with pytest.raises(OptionError, match=r"unknown joint parameter 'Fs'; known: Fv, Fc, Fo, Ia"):
        parameters.columns(2, ("Fs",))


def test_impossible_parameters_are_refused_unless_formal(irb140: Robot) -> None:
    phi = irb140.parameters()
    phi[parameters.inertial_slice(1)][4] = -1.0  # Ixx of the second body
    with pytest.raises(InconsistentInertiaError, match=r"link 'link_2': .*negative principal"):
        irb140.with_parameters(phi)
    formal = irb140.with_parameters(phi, formal=True)
    np.testing.assert_array_equal(formal.parameters(), phi)
    assert formal.formal
    rng = np.random.default_rng(0)
    assert np.isfinite(joint_torque(formal, *states(formal, rng))).all()


def test_negative_rotor_inertia_is_refused_with_the_joint(irb140: Robot) -> None:
    phi = irb140.parameters()
    phi[parameters.joint_slice(2, 6)][3] = -0.1
    with pytest.raises(OptionError, match=r"joint 'joint_3': Ia = -0\.1 is negative"):
        irb140.with_parameters(phi)


def test_wrong_length_and_nan_are_shape_errors(irb140: Robot) -> None:
    with pytest.raises(ShapeError, match=r"phi has shape \(83,\), expected \(84,?\)"):
        irb140.with_parameters(irb140.parameters()[:-1])
    phi = irb140.parameters()
    phi[5] = np.nan
    with pytest.raises(ShapeError, match=r"phi is not finite at index \(5,\)"):
        irb140.with_parameters(phi)


def test_arrays_of_a_robot_cannot_be_changed(irb140: Robot) -> None:
    for array in (irb140.gravity, irb140.geometry, irb140.links[0].phi, irb140.limits.lower):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    phi = irb140.parameters()
    phi[:] = 0.0  # a fresh copy each time
    assert irb140.parameters().any()


PAYLOAD = {
    "mass": 1.7,
    "com": (0.03, -0.02, 0.06),
    "central": np.array([[4e-3, 1e-4, 0.0], [1e-4, 5e-3, 2e-4], [0.0, 2e-4, 6e-3]]),
}


def with_payload_link(folder: Path) -> Robot:
    """Return the irb140 from a copy of its URDF that has the payload as a fixed link."""
    text = urdf_path("irb140").read_text(encoding="utf-8")
    c = PAYLOAD["central"]
    tensor = (
        f'<inertia ixx="{c[0, 0]}" ixy="{c[0, 1]}" ixz="{c[0, 2]}" '
        f'iyy="{c[1, 1]}" iyz="{c[1, 2]}" izz="{c[2, 2]}"/>'
    )
    xyz = " ".join(map(str, PAYLOAD["com"]))
    extra = (
        f'<link name="load"><inertial><origin xyz="{xyz}"/><mass value="{PAYLOAD["mass"]}"/>'
        f"{tensor}"
        '</inertial></link><joint name="grasp" type="fixed"><parent link="tool0"/>'
        '<child link="load"/></joint></robot>'
    )
    (folder / "irb140.urdf").write_text(text.replace("</robot>", extra), encoding="utf-8")
    toml = urdf_path("irb140").with_name("robot.toml")
    (folder / "robot.toml").write_text(toml.read_text(encoding="utf-8"), encoding="utf-8")
    return Robot.from_urdf(folder / "irb140.urdf")


def test_payload_gives_the_torques_of_a_fixed_link(irb140: Robot, tmp_path: Path) -> None:
    loaded = irb140.with_payload(**PAYLOAD)
    rng = np.random.default_rng(1)
    q, dq, ddq = states(irb140, rng)
    want = joint_torque(with_payload_link(tmp_path), q, dq, ddq)
    np.testing.assert_allclose(joint_torque(loaded, q, dq, ddq), want, atol=1e-10)  # of 1e3 N m
    assert loaded.assumptions[-1] == "payload of 1.7 kg at the tip 'tool0'"


def test_payload_without_tensor_is_a_point_mass(irb140: Robot) -> None:
    loaded = irb140.with_payload(2.0, (0.1, 0.0, 0.0))
    added = loaded.links[-1].phi - irb140.links[-1].phi
    at_tip = inertia.transform(added, np.linalg.inv(irb140.T_last_tip))
    np.testing.assert_allclose(
        at_tip, inertia.pack(2.0, np.array([0.1, 0.0, 0.0]), np.zeros((3, 3))), atol=1e-14
    )


@pytest.mark.parametrize(
    ("mass", "central"), [(-1.0, None), (1.0, np.diag([1.0, 1.0, 3.0]))], ids=["mass", "tensor"]
)
def test_impossible_payload_is_refused(irb140: Robot, mass: float, central: np.ndarray) -> None:
    with pytest.raises(InconsistentInertiaError, match="payload: "):
        irb140.with_payload(mass, central=central)


def test_perturbed_robot_is_consistent_and_within_twenty_percent(robot: Robot) -> None:
    slack = 1e-9  # rounding of the ratios
    for seed in range(10):
        nominal = perturb(robot, np.random.default_rng(seed))
        assert nominal.inconsistencies() == [None] * robot.dof
        for ours, theirs in zip(robot.links, nominal.links, strict=True):
            mass, com, central = inertia.unpack(ours.phi)
            new_mass, new_com, new_central = inertia.unpack(theirs.phi)
            assert abs(new_mass - mass) <= (0.2 + slack) * mass
            assert (np.abs(new_com - com) <= 0.2 * np.abs(com) + slack).all()
            size = np.linalg.norm(central)
            assert np.linalg.norm(new_central - central) <= (0.2 + 1e-6) * size + slack
        joints = slice(10 * robot.dof, None)
        change = np.abs(nominal.parameters()[joints] - robot.parameters()[joints])
        assert (change <= 0.2 * np.abs(robot.parameters()[joints]) + slack).all()
        np.testing.assert_array_equal(nominal.eps, robot.eps)


def test_perturbation_is_a_function_of_the_seed(irb140: Robot) -> None:
    one = perturb(irb140, np.random.default_rng(3)).parameters()
    two = perturb(irb140, np.random.default_rng(3)).parameters()
    other = perturb(irb140, np.random.default_rng(4)).parameters()
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.1  # [kg] of 98 kg


def test_repair_changes_only_impossible_bodies(irb140: Robot) -> None:
    phi = irb140.parameters()
    phi[parameters.inertial_slice(3)][4:] = [0.01, 0.0, 0.01, 0.0, 0.0, 0.9]
    broken = irb140.with_parameters(phi, formal=True)
    repaired = broken.repair()
    assert repaired.inconsistencies() == [None] * 6
    assert not repaired.formal
    for k in (0, 1, 2, 4, 5):
        np.testing.assert_array_equal(repaired.links[k].phi, irb140.links[k].phi)
    want = inertia.nearest_consistent(broken.links[3].phi)
    np.testing.assert_array_equal(repaired.links[3].phi, want)


def test_friction_law_and_its_refusals() -> None:
    law = Friction(Fv=2.0, Fc=3.0, Fo=0.5, eps=0.1)
    dq = np.array([-0.1, 0.0, 0.2])
    want = 2.0 * dq + 3.0 * np.tanh(dq / 0.1) + 0.5
    np.testing.assert_allclose(law.torque(dq), want, rtol=1e-15)
    with pytest.raises(OptionError, match="eps is 0"):
        Friction(eps=0.0)
    with pytest.raises(OptionError, match="Fv is nan"):
        Friction(Fv=float("nan"))


EXACT = 1e-12  # sums and products of a few floats of order one


def body(name: str, mass: float = 1.0) -> str:
    tensor = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>'
    return f'<link name="{name}"><inertial><mass value="{mass}"/>{tensor}</inertial></link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", rest: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>'
    limit = '<limit lower="-1" upper="1" velocity="2" effort="5"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{limit}{rest}</joint>'


def read(folder: Path, *elements: str, **options: str) -> Robot:
    path = folder / "toy.urdf"
    path.write_text('<robot name="toy">' + "".join(elements) + "</robot>", encoding="utf-8")
    return Robot.from_urdf(path, **options)


def test_panda_has_seven_joints_and_locked_fingers() -> None:
    robot = Robot.from_urdf(urdf_path("panda"))
    assert robot.joint_names == tuple(f"panda_joint{k}" for k in range(1, 8))
    assert robot.links[-1].locked == ("panda_leftfinger", "panda_rightfinger")
    assert any("panda_finger_joint1, panda_finger_joint2" in text for text in robot.assumptions)


def test_chosen_chain_is_stated(robot: Robot) -> None:
    want = f"chain of {robot.dof} joint(s) from '{robot.base}' to '{robot.tip}'"
    assert robot.assumptions[0] == want


def test_explicit_finger_as_tip_adds_its_joint() -> None:
    robot = Robot.from_urdf(urdf_path("panda"), tip="panda_leftfinger")
    assert robot.joint_names[-1] == "panda_finger_joint1"
    assert robot.dof == 8


@pytest.mark.pybullet
def test_explicit_base_and_tip_cut_the_chain() -> None:
    robot = Robot.from_urdf(urdf_path("iiwa"), base="lbr_iiwa_link_2", tip="lbr_iiwa_link_5")
    assert robot.joint_names == tuple(f"lbr_iiwa_joint_{k}" for k in (3, 4, 5))
    assert robot.base == "lbr_iiwa_link_2"
    assert robot.tip == "lbr_iiwa_link_5"


@pytest.mark.pybullet
def test_mass_beyond_a_cut_tip_is_carried_along() -> None:
    whole = Robot.from_urdf(urdf_path("iiwa"))
    cut = Robot.from_urdf(urdf_path("iiwa"), tip="lbr_iiwa_link_3")
    q = np.array([0.3, -0.7, 0.4])
    behind_at_zero = np.concatenate([q, np.zeros(4)])
    np.testing.assert_allclose(
        gravity_torque(cut, q), gravity_torque(whole, behind_at_zero)[:3], atol=1e-10
    )  # rounding of torques of 100 N m


def test_two_armed_tree_needs_a_tip_beyond_the_fork(tmp_path: Path) -> None:
    elements = (
        *(body(n) for n in ("base", "torso", "left", "right")),
        joint("waist", "base", "torso"),
        joint("l1", "torso", "left"),
        joint("r1", "torso", "right"),
    )
    default = read(tmp_path, *elements)
    assert default.joint_names == ("waist",)
    assert set(default.links[0].locked) == {"left", "right"}
    left = read(tmp_path, *elements, tip="left")
    assert left.joint_names == ("waist", "l1")
    assert left.links[0].locked == ("right",)


def humanoid(tmp_path: Path, **ends: str) -> Robot:
    """Return a chain of a robot with wheels, a lift, a head and two arms with hands."""
    names = ("base", "wheel", "torso", "chest", "head")
    joints = [
        joint("axle", "base", "wheel"),
        joint("lift", "base", "torso", "prismatic"),
        joint("mount", "torso", "chest", "fixed"),
        joint("neck", "chest", "head"),
    ]
    links = []
    for side in ("left", "right"):
        chain = ["chest", *(f"{side}_{k}" for k in range(1, 5)), f"{side}_palm"]
        for k, (parent, child) in enumerate(pairwise(chain)):
            links.append(child)
            kind = "fixed" if child.endswith("palm") else "revolute"
            joints.append(joint(f"{side}_joint_{k}", parent, child, kind))
        for finger in ("thumb", "index"):
            for k, parent in enumerate((f"{side}_palm", f"{side}_{finger}_0")):
                links.append(f"{side}_{finger}_{k}")
                joints.append(joint(f"{side}_{finger}_joint_{k}", parent, links[-1]))
    bodies = (body(name, 1.0) for name in (*names, *links))
    return read(tmp_path, *bodies, *joints, **ends)


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_arm_is_found_from_its_tip_alone(tmp_path: Path, side: str) -> None:
    robot = humanoid(tmp_path, tip=f"{side}_palm")
    assert robot.base == "chest"
    assert robot.joint_names == tuple(f"{side}_joint_{k}" for k in range(4))
    assert any("base 'chest', which carries the arm" in note for note in robot.assumptions)
    finger = humanoid(tmp_path, tip=f"{side}_thumb_1")  # the arm is longer than the finger
    assert finger.base == "chest"
    assert finger.dof == 6


def test_a_base_that_is_given_is_kept(tmp_path: Path) -> None:
    robot = humanoid(tmp_path, base="base", tip="left_palm")
    assert robot.joint_names[0] == "lift"
    assert not any("which carries the arm" in note for note in robot.assumptions)


def test_without_a_tip_a_humanoid_names_its_arms(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match=r"left_4 with 4 joints from chest, right_4 with 4 joints"):
        humanoid(tmp_path)


def test_equal_chains_end_at_the_fewest_links(tmp_path: Path) -> None:
    robot = read(
        tmp_path,
        *(body(n) for n in ("base", "arm", "flange", "tool")),
        joint("hinge", "base", "arm"),
        joint("f1", "arm", "flange", "fixed"),
        joint("f2", "flange", "tool", "fixed"),
    )
    assert robot.tip == "arm"


def test_chain_end_that_cannot_move_names_tips_that_can(tmp_path: Path) -> None:
    elements = (body("base"), body("pole"), body("arm"))
    joints = (joint("f", "base", "pole", "fixed"), joint("hinge", "base", "arm"))
    with pytest.raises(UrdfError, match=r"no movable joint.*--tip \(arm with 1 joints from base"):
        read(tmp_path, *elements, *joints, tip="pole")


def test_fixed_tool_is_fused_as_computed_by_hand(tmp_path: Path) -> None:
    tool = (
        '<link name="tool"><inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial></link>'
    )
    # A quarter turn about z carries the tool's x to the arm's y: the COM lies at (0, 0.6, 0) of the
    # arm, and ixx and iyy change places.
    origin = '<origin xyz="0 0.5 0" rpy="0 0 1.5707963267948966"/>'
    robot = read(
        tmp_path,
        *(body("base"), body("arm", 1.0), tool),
        joint("hinge", "base", "arm"),
        joint("mount", "arm", "tool", "fixed", origin),
    )
    (link,) = robot.links
    want = [3.0, 0.0, 1.2, 0.0]  # mass and first moment
    want += [0.02 + 0.02 + 2 * 0.36, 0.0, 0.03 + 0.01, 0.0, 0.0, 0.04 + 0.03 + 2 * 0.36]
    np.testing.assert_allclose(link.phi, want, atol=EXACT)
    assert link.fixed == ("tool",)
    assert link.locked == ()


def test_locked_joint_is_fused_at_zero(tmp_path: Path) -> None:
    origin = '<origin xyz="0.2 0 0" rpy="0.3 0.2 0.1"/><mimic joint="hinge"/>'
    robot = read(
        tmp_path,
        *(body("base"), body("arm", 1.0), body("hand", 0.5)),
        joint("hinge", "base", "arm"),
        joint("grip", "arm", "hand", rest=origin),
    )
    assert (robot.joint_names, robot.links[0].locked) == (("hinge",), ("hand",))
    T = transform(rotation_from_rpy(np.array([0.3, 0.2, 0.1])), np.array([0.2, 0.0, 0.0]))
    arm = inertia.pack(1.0, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    hand = inertia.pack(0.5, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    want = arm + inertia.transform(hand, T)
    np.testing.assert_allclose(robot.links[0].phi, want, atol=EXACT)


def test_fixed_base_offset_places_the_robot_in_the_root_frame(tmp_path: Path) -> None:
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    robot = read(
        tmp_path,
        *(body("world"), body("base"), body("arm")),
        joint("foot", "world", "base", "fixed", origin),
        joint("hinge", "base", "arm", rest='<origin xyz="0.5 0 0"/>'),
        base="base",
    )
    want = transform(rotation_from_rpy(np.array([0.0, 0.0, np.pi / 2])), np.array([1.0, 2.5, 3.0]))
    np.testing.assert_allclose(tip_pose(robot, [0.0]), want, atol=EXACT)
