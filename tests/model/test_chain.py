"""Which joints make up the chain, and what is fused to its bodies."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import gravity_torque
from robotid_sim.errors import UrdfError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.model import inertia
from robotid_sim.model.geometry import rotation_from_rpy, transform
from robotid_sim.model.robot import Robot

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


def test_ur5_has_six_joints() -> None:
    robot = Robot.from_urdf(urdf_path("ur5"))
    assert robot.dof == 6
    assert robot.joint_names[0] == "shoulder_pan_joint"
    assert robot.joint_names[-1] == "wrist_3_joint"


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


def test_explicit_tip_works_for_a_robot_with_settings_for_all_its_joints() -> None:
    robot = Robot.from_urdf(urdf_path("irb140"), tip="link_3")
    assert robot.joint_names == ("joint_1", "joint_2", "joint_3")


@pytest.mark.pybullet
def test_mass_beyond_a_cut_tip_is_carried_along() -> None:
    whole = Robot.from_urdf(urdf_path("iiwa"))
    cut = Robot.from_urdf(urdf_path("iiwa"), tip="lbr_iiwa_link_3")
    q = np.array([0.3, -0.7, 0.4])
    behind_at_zero = np.concatenate([q, np.zeros(4)])
    np.testing.assert_allclose(
        gravity_torque(cut, q), gravity_torque(whole, behind_at_zero)[:3], atol=1e-10
    )  # rounding of torques of 100 N m


def test_mimic_joint_is_locked(tmp_path: Path) -> None:
    robot = read(
        tmp_path,
        *(body(n) for n in ("base", "arm", "hand")),
        joint("hinge", "base", "arm"),
        joint("follower", "arm", "hand", rest='<mimic joint="hinge"/>'),
    )
    assert robot.joint_names == ("hinge",)
    assert robot.links[0].locked == ("hand",)


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
    T = transform(rotation_from_rpy(np.array([0.3, 0.2, 0.1])), np.array([0.2, 0.0, 0.0]))
    arm = inertia.pack(1.0, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    hand = inertia.pack(0.5, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    want = arm + inertia.transformed(hand, T)
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


def test_tool_frame_is_where_fixed_joints_put_it(irb140: Robot) -> None:
    np.testing.assert_allclose(
        tip_pose(irb140, np.zeros(6))[:3, 3], [0.515, 0.0, 0.712], atol=1e-9
    )  # ABB's home; link lengths are in whole millimetres
