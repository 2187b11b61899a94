"""What the URDF reader refuses, and that its one-line messages name file, line and element."""

import re
from pathlib import Path

import numpy as np
import pytest

from robotid_sim.errors import InconsistentInertiaError, UnknownNameError, UrdfError
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot

INERTIAL = (
    '<inertial><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="5"/>'
AXIS = '<axis xyz="0 0 1"/>'


def link(name: str, content: str = INERTIAL) -> str:
    return f'<link name="{name}">{content}</link>'


def joint(name: str, parent: str, child: str, *, kind: str = "revolute", rest: str = AXIS + LIMIT):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{rest}</joint>'


def urdf(*lines: str, head: str = '<robot name="toy">') -> str:
    """Return a URDF whose element k of `lines` stands on line k + 2."""
    return "\n".join([head, *lines, "</robot>\n"])


def write(folder: Path, text: str, name: str = "toy.urdf") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def broken_inertial(mass: str = "2", inertia: str = "", origin: str = "") -> str:
    tensor = inertia or '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    return f'<inertial>{origin}<mass value="{mass}"/>{tensor}</inertial>'


def one_joint(rest: str = AXIS + LIMIT, *, kind: str = "revolute", body: str = INERTIAL) -> str:
    """Return base, link 'arm' on line 3 and joint 'hinge' on line 4."""
    return urdf(
        link("base", ""), link("arm", body), joint("hinge", "base", "arm", kind=kind, rest=rest)
    )


TREE = {
    "unknown parent": (
        urdf(link("base"), link("arm"), joint("hinge", "ghost", "arm")),
        4,
        ("joint 'hinge'", "unknown parent link 'ghost'"),
    ),
    "unknown child": (
        urdf(link("base"), link("arm"), joint("hinge", "base", "ghost")),
        4,
        ("joint 'hinge'", "unknown child link 'ghost'"),
    ),
    "duplicate link": (
        urdf(link("base"), link("arm"), link("arm"), joint("hinge", "base", "arm")),
        4,
        ("duplicate link name 'arm'",),
    ),
    "duplicate joint": (
        urdf(
            *(link(n) for n in ("base", "arm", "hand")),
            joint("hinge", "base", "arm"),
            joint("hinge", "arm", "hand"),
        ),
        6,
        ("duplicate joint name 'hinge'",),
    ),
    "several roots": (
        urdf(link("base"), link("arm"), link("stray"), joint("hinge", "base", "arm")),
        4,
        ("several root links", "'base' (line 2)", "'stray' (line 4)"),
    ),
    "cycle beside the tree": (
        urdf(
            *(link(n) for n in ("base", "arm", "a", "b")),
            joint("hinge", "base", "arm"),
            joint("j1", "a", "b"),
            joint("j2", "b", "a"),
        ),
        8,
        ("cycle", "a -> b -> a"),
    ),
    "cycle of everything": (
        urdf(link("a"), link("b"), joint("j1", "a", "b"), joint("j2", "b", "a")),
        5,
        ("cycle",),
    ),
    "own parent": (
        urdf(link("base"), link("arm"), joint("hinge", "arm", "arm")),
        4,
        ("cycle", "arm -> arm"),
    ),
    "two parents": (
        urdf(
            *(link(n) for n in ("base", "arm", "hand")),
            joint("j1", "base", "arm"),
            joint("j2", "base", "hand"),
            joint("j3", "arm", "hand"),
        ),
        7,
        ("link 'hand'", "two joints", "'j2'", "'j3'"),
    ),
    "no links": (urdf(), 1, ("no links",)),
    "nameless link": (urdf("<link/>"), 2, ("<link> has no name",)),
    "nameless joint": (urdf(link("base"), "<joint type='fixed'/>"), 3, ("<joint> has no name",)),
    "joint without parent": (
        urdf(link("base"), '<joint name="hinge" type="fixed"><child link="base"/></joint>'),
        3,
        ("joint 'hinge'", "<parent link"),
    ),
    "unknown joint type": (one_joint(kind="hinged"), 4, ("joint 'hinge'", "'hinged'", "revolute")),
}

NUMBERS = {
    "zero axis": (one_joint('<axis xyz="0 0 0"/>' + LIMIT), 4, ("joint 'hinge'", "axis is zero")),
    "axis of two numbers": (
        one_joint('<axis xyz="0 1"/>' + LIMIT),
        4,
        ("joint 'hinge'", "xyz='0 1'", "3 number"),
    ),
    "missing limit": (one_joint(AXIS), 4, ("'hinge' lower, upper, velocity", "--assume-limits")),
    "lower above upper": (
        one_joint(AXIS + '<limit lower="1" upper="-1" velocity="2" effort="5"/>'),
        4,
        ("joint 'hinge'", "lower limit 1", "upper limit -1"),
    ),
    "lower equals upper": (
        one_joint(AXIS + '<limit lower="1" upper="1" velocity="2" effort="5"/>'),
        4,
        ("joint 'hinge'", "lower limit 1"),
    ),
    "no range": (
        one_joint(AXIS + '<limit velocity="2" effort="5"/>'),
        4,
        ("'hinge' lower, upper: ", "robot.toml"),
    ),
    "no velocity limit": (
        one_joint(AXIS + '<limit lower="-1" upper="1" effort="5"/>'),
        4,
        ("'hinge' velocity: ", "robot.toml"),
    ),
    "limit not numeric": (
        one_joint(AXIS + '<limit lower="-1" upper="wide" velocity="2"/>'),
        4,
        ("joint 'hinge'", "upper='wide'", "not numeric"),
    ),
    "damping NaN": (
        one_joint(AXIS + LIMIT + '<dynamics damping="nan"/>'),
        4,
        ("joint 'hinge'", "damping='nan'", "not finite"),
    ),
    "origin not numeric": (
        one_joint('<origin xyz="0 0 left"/>' + AXIS + LIMIT),
        4,
        ("joint 'hinge'", "xyz='0 0 left'", "not numeric"),
    ),
    "mass not numeric": (
        one_joint(body=broken_inertial("heavy")),
        3,
        ("link 'arm'", "value='heavy'", "not numeric"),
    ),
    "mass NaN": (one_joint(body=broken_inertial("nan")), 3, ("link 'arm'", "not finite")),
    "mass infinite": (one_joint(body=broken_inertial("1e999")), 3, ("link 'arm'", "not finite")),
    "mass negative": (one_joint(body=broken_inertial("-2")), 3, ("link 'arm'", "negative", "-2")),
    "no mass": (one_joint(body="<inertial/>"), 3, ("link 'arm'", "no <mass>")),
    "mass without value": (
        one_joint(body="<inertial><mass/></inertial>"),
        3,
        ("link 'arm'", "'value'"),
    ),
    "inertia NaN": (
        one_joint(body=broken_inertial(inertia='<inertia ixx="nan" iyy="1" izz="1"/>')),
        3,
        ("link 'arm'", "ixx='nan'", "not finite"),
    ),
    "COM not numeric": (
        one_joint(body=broken_inertial(origin='<origin xyz="0,0,1"/>')),
        3,
        ("link 'arm'", "xyz='0,0,1'"),
    ),
    "mimic of itself": (
        urdf(
            link("base"),
            link("arm"),
            joint("hinge", "base", "arm", rest=f'{AXIS}{LIMIT}<mimic joint="hinge"/>'),
        ),
        4,
        ("joint 'hinge' mimics 'hinge'",),
    ),
    "velocity of no arm": (
        urdf(
            link("base"),
            link("arm"),
            joint("hinge", "base", "arm", rest=AXIS + LIMIT.replace('"2"', '"1e-9"')),
        ),
        4,
        ("joint 'hinge'", "1e-09 is no arm's"),
    ),
    "tab in a name": (
        urdf(link("base"), link("a&#x9;rm"), joint("hinge", "base", "arm")),
        3,
        ("control characters",),
    ),
    "no joint that moves": (one_joint(kind="fixed"), 2, ("'base'", "no movable joint", "--tip")),
    "floating joint": (one_joint(kind="floating"), 4, ("joint 'hinge'", "floating", "--base arm")),
    "extension of unknown joint": (
        urdf(link("base"), link("arm"), joint("hinge", "base", "arm")).replace(
            "</robot>", '<robotid><joint name="ghost" Ia="1"/></robotid></robot>'
        ),
        5,
        ("'ghost'",),
    ),
    "extension with unknown key": (
        urdf(link("base"), link("arm"), joint("hinge", "base", "arm")).replace(
            "</robot>", '<robotid><joint name="hinge" ia="1"/></robotid></robot>'
        ),
        5,
        ("'hinge'", "'ia'", "Ia"),
    ),
}
CASES = TREE | NUMBERS


@pytest.mark.parametrize("case", CASES)
def test_error_names_file_line_and_element(case: str, tmp_path: Path) -> None:
    text, line, words = CASES[case]
    path = write(tmp_path, text)
    with pytest.raises(UrdfError) as caught:
        Robot.from_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: ")
    for word in words:
        assert word in message
    assert "\n" not in message


INERTIA_REASONS = {
    "negative moment": ('<inertia ixx="-0.1" iyy="0.1" izz="0.1"/>', "negative principal moment"),
    "triangle": ('<inertia ixx="0.1" iyy="0.1" izz="0.3"/>', "0.1 + 0.1 < 0.3"),
    "off-diagonal": ('<inertia ixx="1" iyy="1" izz="1" ixy="2"/>', "negative principal moment"),
}


@pytest.mark.parametrize("case", INERTIA_REASONS)
def test_impossible_inertia_is_refused_with_file_line_link_and_reason(
    case: str, tmp_path: Path
) -> None:
    tensor, reason = INERTIA_REASONS[case]
    path = write(tmp_path, one_joint(body=broken_inertial(inertia=tensor)))
    with pytest.raises(InconsistentInertiaError) as caught:
        Robot.from_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: link 'arm': ")
    assert reason in message
    assert "--repair" in message
    assert "\n" not in message


def test_formal_reading_accepts_impossible_inertia_and_reports_it(tmp_path: Path) -> None:
    tensor, _ = INERTIA_REASONS["triangle"]
    path = write(tmp_path, one_joint(body=broken_inertial(inertia=tensor)))
    robot = Robot.from_urdf(path, formal=True)
    (reason,) = robot.inconsistencies()
    assert reason is not None
    assert "triangle" in reason


def test_impossible_inertia_of_the_fixed_base_does_not_matter(tmp_path: Path) -> None:
    base = broken_inertial("0", '<inertia ixx="1" iyy="1" izz="5"/>')
    path = write(tmp_path, urdf(link("base", base), link("arm"), joint("hinge", "base", "arm")))
    assert Robot.from_urdf(path).dof == 1


@pytest.mark.parametrize("option", ["base", "tip"])
def test_unknown_chain_end_lists_the_links(option: str, tmp_path: Path) -> None:
    path = write(tmp_path, one_joint())
    with pytest.raises(UnknownNameError) as caught:
        Robot.from_urdf(path, **{option: "hand"})
    message = str(caught.value)
    assert str(path) in message
    assert "no link 'hand'" in message
    assert "base, arm" in message


def test_tip_that_is_not_below_the_base_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, one_joint())
    with pytest.raises(UrdfError, match=r"toy\.urdf:2: link 'base' is not below 'arm'"):
        Robot.from_urdf(path, base="arm", tip="base")


@pytest.mark.parametrize("version", ["0.0", "1.0", "1.1", "2"])
def test_the_version_of_an_xml_declaration_does_not_matter(tmp_path, version):
    head = f'<?xml version="{version}" encoding="utf-8"?><robot name="toy">'
    text = one_joint().replace('<robot name="toy">', head)
    robot = Robot.from_urdf(write(tmp_path, text))
    assert robot.joint_names == ("hinge",)
    export = tmp_path / "export.urdf"
    write_urdf(robot, export)
    assert Robot.from_urdf(export).joint_names == ("hinge",)


def without_limits(folder):
    """Return a URDF of three joints that lack different limits."""
    speed, range_ = '<limit velocity="2"/>', '<limit lower="0" upper="1"/>'
    return write(
        folder,
        urdf(
            *(link(name) for name in ("base", "a", "b", "c", "d")),
            joint("rail", "base", "a", kind="prismatic", rest=AXIS),
            joint("turn", "a", "b", rest=AXIS + range_),
            joint("spin", "b", "c", kind="continuous", rest=AXIS),
            joint("fine", "c", "d", rest=AXIS + speed.replace("/>", ' upper="1"/>')),
        ),
    )


def test_all_missing_limits_are_named_in_one_line_with_the_way_out(tmp_path):
    with pytest.raises(UrdfError) as caught:
        Robot.from_urdf(without_limits(tmp_path))
    message = str(caught.value)
    assert "'rail' lower, upper, velocity; 'turn' velocity; 'spin' velocity: " in message
    assert "fine" not in message
    assert "robot.toml" in message
    assert "--assume-limits" in message
    assert "\n" not in message


def test_limits_may_be_assumed_and_those_that_are_given_stay(tmp_path):
    given = {"spin": {"velocity": 7.0}}
    robot = Robot.from_urdf(without_limits(tmp_path), assume_limits=True, joints=given)
    limits = robot.limits
    np.testing.assert_allclose(limits.lower, [-1.0, 0.0, -np.pi, 0.0])
    np.testing.assert_allclose(limits.upper, [1.0, 1.0, np.pi, 1.0])
    np.testing.assert_allclose(limits.velocity, [1.0, np.pi, 7.0, 2.0])
    notes = [note for note in robot.assumptions if "limits that the URDF lacks" in note]
    assert notes == ["limits that the URDF lacks: 'rail' lower, upper, velocity; 'turn' velocity"]


def test_links_without_inertia_or_without_mass_are_told(tmp_path):
    shape = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    weightless = INERTIAL.replace('value="2"', 'value="0"')
    text = urdf(
        *(link("base", ""), link("arm"), link("cover", shape), link("ghost", weightless)),
        *(joint("hinge", "base", "arm"), link("frame", "")),
        joint("f1", "arm", "cover", kind="fixed"),
        joint("f2", "arm", "ghost", kind="fixed"),
        joint("f3", "arm", "frame", kind="fixed"),
    )
    notes = Robot.from_urdf(write(tmp_path, text)).assumptions
    assert "links with a shape and no inertia, which add nothing: cover" in notes
    assert "links with inertia and no mass, which other tools drop: ghost" in notes


XACRO = '<robot name="toy" xmlns:xacro="http://www.ros.org/wiki/xacro">'
ODD = {
    "unused property": (XACRO, '<xacro:property name="width" value="0.2"/>', ""),
    "undeclared prefix": (
        '<robot name="toy">',
        "<gazebo><sensor:camera gz:type='dvl'/></gazebo>",
        "",
    ),
    "default namespace": ('<robot xmlns="http://www.ros.org" name="toy">', "", ""),
    "blank line first": ('\n<?xml version="1.0"?>\n<robot name="toy">', "", ""),
    "comment first": ('<!-- made by hand -->\n<?xml version="1.0"?>\n<robot name="toy">', "", ""),
    "more behind the robot": ('<robot name="toy">', "</robot><robot name='other'>", ""),
    "byte order mark": ('\ufeff<?xml version="1.0"?>\n<robot name="toy">', "", ""),
    "mesh without file": (
        '<robot name="toy">',
        "<visual><geometry><mesh/></geometry></visual>",
        "is left out: .*link 'arm': <mesh> has no filename",
    ),
    "visual without geometry": ('<robot name="toy">', "<visual/>", "left out: .*has no geometry"),
    "two materials": (
        '<robot name="toy">',
        "<visual><geometry><sphere radius='1'/></geometry><material/><material/></visual>",
        "second ones are left out: <material> of link 'arm'",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_does_not_concern_the_motion_is_skipped_and_told(tmp_path, case) -> None:
    head, odd, said = ODD[case]
    in_link = "visual" in odd
    lines = [link("base"), link("arm", INERTIAL + odd if in_link else INERTIAL)]
    lines += [joint("hinge", "base", "arm"), "" if in_link else odd]
    robot = Robot.from_urdf(write(tmp_path, urdf(*lines, head=head)))
    assert robot.joint_names == ("hinge",)
    assert robot.document is not None
    assert re.search(said, "; ".join(robot.document.notes))
    write_urdf(robot, tmp_path / "again.urdf")
    again = Robot.from_urdf(tmp_path / "again.urdf")
    np.testing.assert_array_equal(again.parameters(), robot.parameters())
