"""URDF files that are refused: no XML, more than a robot, or a robot that cannot be."""

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotid_sim.errors import InconsistentInertiaError, RobotIdError, UnknownNameError, UrdfError
from robotid_sim.model import inertia
from robotid_sim.model.diagnosis import (
    BOUNDARY_WARNING,
    MASSLESS_WARNING,
    NEGATIVE_WARNING,
    ZEROED_WARNING,
    diagnose,
    diagnose_body,
    is_in_hull,
    repair_report,
    summary,
)
from robotid_sim.model.export import write_urdf
from robotid_sim.model.geometry import GeometryShape, Link, transform
from robotid_sim.model.robot import Robot
from robotid_sim.model.urdf import read_urdf
from robotid_sim.model.urdf_xml import parse_xml

ROBOT = """<robot name="toy">
<link name="base"/>
<link name="arm"><inertial><mass value="2"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="5"/></joint>
</robot>
"""


def write(folder: Path, text: str, name: str = "toy.urdf") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_missing_file_is_one_line_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "none.urdf"
    with pytest.raises(UrdfError, match=r"cannot read URDF .*none\.urdf: No such file") as caught:
        read_urdf(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot>\n  <link>\n</robot>", r"toy\.urdf:3: "),
        ("<sdf/>", r"toy\.urdf:1: the root is <sdf>, not <robot>"),
        ("<!DOCTYPE robot>\n" + ROBOT, "remove <!DOCTYPE>"),
    ],
)
def test_file_that_is_no_urdf_is_refused_by_its_line(text, message, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UrdfError, match=message):
        read_urdf(path)
    with pytest.raises(UrdfError, match="cannot read URDF"):
        read_urdf(tmp_path)


NOT_XML = {
    "empty": "",
    "blank": "  \n ",
    "text": "this is not XML\n",
    "binary": "\x00\x01\x02",
    "unclosed": '<robot name="toy">\n<link name="base">\n</robot>',
}


@pytest.mark.parametrize("case", NOT_XML)
def test_file_that_is_not_xml_is_one_line_with_the_path(case: str, tmp_path: Path) -> None:
    path = write(tmp_path, NOT_XML[case])
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert "not well-formed XML" in message
    assert "None" not in message
    assert "\n" not in message


def test_xacro_root_is_refused_with_the_remedy(tmp_path: Path) -> None:
    text = '<xacro:macro xmlns:xacro="http://www.ros.org/wiki/xacro"/>'
    path = write(tmp_path, text, "toy.urdf.xacro")
    with pytest.raises(UrdfError, match=r"xacro:1: .*give the file that uses its macros"):
        read_urdf(path)


def test_entity_bomb_is_refused_quickly(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    bomb = f'<!DOCTYPE robot [<!ENTITY e0 "boom">{levels}]>'
    text = ROBOT.replace('name="hinge"', 'name="&e11;"', 1)
    path = write(tmp_path, bomb + "\n" + text)
    begin = time.perf_counter()
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    seconds = time.perf_counter() - begin
    assert seconds < 2.0  # [s] expanding 1e11 entities would take hours
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_external_entity_is_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret", "secret.txt")
    text = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret}">]>\n<robot name="toy">&x;</robot>'
    with pytest.raises(UrdfError) as caught:
        parse_xml(text.encode(), tmp_path / "toy.urdf")
    assert "secret" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'<robot name="toy">' + 300 * b"<link>" + 300 * b"</link>" + b"</robot>", "depth"),
        (b'<robot name="' + 11_000_000 * b"a" + b'"/>', "(?i)limit exceeded|too long"),
    ],
    ids=["depth", "size"],
)
def test_limits_of_depth_and_size_hold(text: bytes, reason: str) -> None:
    with pytest.raises(UrdfError, match=reason) as caught:
        parse_xml(text, Path("toy.urdf"))
    assert "\n" not in str(caught.value)


def test_every_refusal_is_an_error_of_the_package_and_a_value_error() -> None:
    assert issubclass(UrdfError, RobotIdError)
    assert issubclass(UrdfError, ValueError)
    assert issubclass(InconsistentInertiaError, ValueError)
    assert issubclass(UnknownNameError, LookupError)
    assert not issubclass(UnknownNameError, KeyError)  # KeyError quotes its message


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


def broken_inertial(mass: str = "2", inertia: str = "", origin: str = "") -> str:
    tensor = inertia or '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    return f'<inertial>{origin}<mass value="{mass}"/>{tensor}</inertial>'


def limited(lower: float | str, upper: float | str) -> str:
    return f'{AXIS}<limit lower="{lower}" upper="{upper}" velocity="2" effort="5"/>'


def one_joint(rest: str = AXIS + LIMIT, *, kind: str = "revolute", body: str = INERTIAL) -> str:
    """Return base, link 'arm' on line 3 and joint 'hinge' on line 4."""
    return urdf(
        link("base", ""), link("arm", body), joint("hinge", "base", "arm", kind=kind, rest=rest)
    )


def tree(names: str, joints: tuple[str, ...], line: int, *words: str):
    """Return a URDF of links and joints, each a text "name parent child", and what is said."""
    lines = (*map(link, names.split()), *(joint(*text.split()) for text in joints))
    return urdf(*lines), line, words


def at_joint(rest: str, *words: str):
    """Return a URDF whose joint has another content, and what is said of it."""
    return one_joint(rest), 4, words


def at_body(body: str, *words: str):
    """Return a URDF whose link has another content, and what is said of it."""
    return one_joint(body=body), 3, ("link 'arm'", *words)


def with_mass(value: str, *words: str):
    return at_body(broken_inertial(value), *words)


def of_kind(kind: str, line: int, *words: str):
    return one_joint(kind=kind), line, words


def extended(attribute: str, *words: str):
    """Return a URDF with an element of our own for a joint, and what is said of it."""
    text, _, _ = tree("base arm", (HINGE,), 0)
    more = f"<robotid><joint {attribute}/></robotid></robot>"
    return text.replace("</robot>", more), 5, words


HINGE = "hinge base arm"
NO_PARENT = '<joint name="hinge" type="fixed"><child link="base"/></joint>'
UNRANGED = '<limit velocity="2" effort="5"/>'
CASES = {
    "unknown parent": tree("base arm", ("hinge ghost arm",), 4, "joint 'hinge'", "link 'ghost'"),
    "unknown child": tree("base arm", ("hinge base ghost",), 4, "unknown child link 'ghost'"),
    "duplicate link": tree("base arm arm", (HINGE,), 4, "duplicate link name 'arm'"),
    "duplicate joint": tree(
        "base arm hand", (HINGE, "hinge arm hand"), 6, "duplicate joint name 'hinge'"
    ),
    "several roots": tree(
        "base arm stray", (HINGE,), 4, "several root links", "'base' (line 2)", "'stray' (line 4)"
    ),
    "cycle beside": tree("base arm a b", (HINGE, "j1 a b", "j2 b a"), 8, "cycle", "a -> b -> a"),
    "cycle of everything": tree("a b", ("j1 a b", "j2 b a"), 5, "cycle"),
    "own parent": tree("base arm", ("hinge arm arm",), 4, "cycle", "arm -> arm"),
    "two parents": tree(
        *("base arm hand", ("j1 base arm", "j2 base hand", "j3 arm hand"), 7),
        *("link 'hand'", "two joints", "'j2'", "'j3'"),
    ),
    "no links": (urdf(), 1, ("no links",)),
    "nameless link": (urdf("<link/>"), 2, ("<link> has no name",)),
    "nameless joint": (urdf(link("base"), "<joint type='fixed'/>"), 3, ("<joint> has no name",)),
    "no parent": (urdf(link("base"), NO_PARENT), 3, ("joint 'hinge'", "<parent link")),
    "unknown joint type": of_kind("hinged", 4, "joint 'hinge'", "'hinged'", "revolute"),
    "zero axis": at_joint('<axis xyz="0 0 0"/>' + LIMIT, "joint 'hinge'", "axis is zero"),
    "axis of two": at_joint('<axis xyz="0 1"/>' + LIMIT, "'hinge'", "xyz='0 1'", "3 number"),
    "missing limit": at_joint(AXIS, "'hinge' lower, upper, velocity", "--assume-limits"),
    "lower above upper": at_joint(limited(1, -1), "'hinge'", "lower limit 1", "upper limit -1"),
    "lower equals upper": at_joint(limited(1, 1), "joint 'hinge'", "lower limit 1"),
    "no range": at_joint(AXIS + UNRANGED, "'hinge' lower, upper; ", "robot.toml"),
    "no velocity limit": at_joint(
        AXIS + '<limit lower="-1" upper="1" effort="5"/>', "'hinge' velocity; ", "robot.toml"
    ),
    "limit not numeric": at_joint(limited(-1, "wide"), "'hinge'", "upper='wide'", "not numeric"),
    "damping NaN": at_joint(
        AXIS + LIMIT + '<dynamics damping="nan"/>', "'hinge'", "damping='nan'", "not finite"
    ),
    "origin not numeric": at_joint(
        '<origin xyz="0 0 left"/>' + AXIS + LIMIT, "'hinge'", "xyz='0 0 left'", "not numeric"
    ),
    "mass not numeric": with_mass("heavy", "value='heavy'", "not numeric"),
    "mass NaN": with_mass("nan", "not finite"),
    "mass infinite": with_mass("1e999", "not finite"),
    "mass negative": with_mass("-2", "negative", "-2"),
    "no mass": at_body("<inertial/>", "no <mass>"),
    "mass without value": at_body("<inertial><mass/></inertial>", "'value'"),
    "inertia NaN": at_body(
        broken_inertial(inertia='<inertia ixx="nan" iyy="1" izz="1"/>'), "ixx='nan'", "not finite"
    ),
    "COM": at_body(broken_inertial(origin='<origin xyz="0,0,1"/>'), "xyz='0,0,1'"),
    "mimic of itself": at_joint(
        f'{AXIS}{LIMIT}<mimic joint="hinge"/>', "joint 'hinge' mimics 'hinge'"
    ),
    "velocity of no arm": at_joint(
        AXIS + LIMIT.replace('"2"', '"1e-9"'), "joint 'hinge'", "1e-09 is implausible"
    ),
    "tab in a name": (
        urdf(link("base"), link("a&#x9;rm"), joint("hinge", "base", "arm")),
        3,
        ("control characters",),
    ),
    "no joint that moves": of_kind(
        "fixed", 2, "'base'", "no movable joint", "no other chain has one"
    ),
    "floating joint": of_kind("floating", 4, "joint 'hinge'", "floating", "--base arm"),
    "extension of unknown joint": extended('name="ghost" Ia="1"', "'ghost'"),
    "extension with unknown key": extended('name="hinge" ia="1"', "'hinge'", "'ia'", "Ia"),
}


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
    "dashes in a comment": ('<robot name="toy">', "<!-- mesh a--b.stl -->", ""),
    "macro of a shape": (
        XACRO,
        "<visual><geometry><sphere radius='1'/></geometry><xacro:grey/></visual>",
        "not expanded, are omitted: <xacro:grey> of link 'arm'",
    ),
    "mesh without file": (
        '<robot name="toy">',
        "<visual><geometry><mesh/></geometry></visual>",
        "is omitted: .*link 'arm': <mesh> has no filename",
    ),
    "visual without geometry": ('<robot name="toy">', "<visual/>", "omitted: .*has no geometry"),
    "two materials": (
        '<robot name="toy">',
        "<visual><geometry><sphere radius='1'/></geometry><material/><material/></visual>",
        "second ones are omitted: <material> of link 'arm'",
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
    assert "'rail' lower, upper, velocity; 'turn' velocity; 'spin' velocity; " in message
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
    notes = [note for note in robot.assumptions if "limits missing in the URDF" in note]
    assert notes == ["limits missing in the URDF: 'rail' lower, upper, velocity; 'turn' velocity"]


def test_equal_limits_are_none_where_limits_may_be_assumed(tmp_path):
    path = write(tmp_path, one_joint(limited(0, 0)))
    with pytest.raises(UrdfError, match="lower limit 0 is not below upper limit 0"):
        Robot.from_urdf(path)
    limits = Robot.from_urdf(path, assume_limits=True).limits
    np.testing.assert_allclose([limits.lower[0], limits.upper[0]], [-np.pi, np.pi])
    assert limits.velocity == [2.0]


def test_of_two_inertials_the_first_is_taken_and_stays_when_written(tmp_path):
    twice = broken_inertial("2") + broken_inertial("3")
    robot = Robot.from_urdf(write(tmp_path, one_joint(body=twice)))
    assert robot.links[0].phi[0] == 2.0
    write_urdf(robot, tmp_path / "again.urdf")
    again = Robot.from_urdf(tmp_path / "again.urdf")
    np.testing.assert_array_equal(again.parameters(), robot.parameters())
    assert again.document.notes == ()


def test_a_floating_end_behind_the_arm_does_not_belong_to_the_chain(tmp_path):
    lines = [link("base"), link("arm"), link("target")]
    lines += [joint("hinge", "base", "arm"), joint("free", "arm", "target", kind="floating")]
    robot = Robot.from_urdf(write(tmp_path, urdf(*lines)))
    assert robot.joint_names == ("hinge",)
    assert "joints off the chain locked at zero: free" in robot.assumptions


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


BOX = np.diag([0.01, 0.02, 0.025])
TOO_LONG = np.diag([0.01, 0.02, 0.05])


def body(mass=2.0, com=(0.0, 0.0, 0.1), central=BOX, shapes=()) -> Link:
    return Link("body", inertia.pack(mass, np.array(com), central), shapes=shapes)


def box_shape(x: float) -> GeometryShape:
    """A cube of 0.2 m about (x, 0, 0.1)."""
    return GeometryShape("box", (0.2, 0.2, 0.2), transform(np.eye(3), np.array([x, 0.0, 0.1])))


def test_a_good_body_has_nothing_to_say() -> None:
    found = diagnose_body(body())
    assert (found.reason, found.engine) == (None, None)
    assert found.mass == 2.0
    np.testing.assert_allclose(found.com, [0.0, 0.0, 0.1])
    np.testing.assert_allclose(found.moments, [0.01, 0.02, 0.025])
    assert found.triangle_margin == pytest.approx(0.2)
    assert found.pseudo_inertia[0] > 0.0
    assert found.com_inside is None


@pytest.mark.parametrize(
    ("link", "reason", "engine"),
    [
        (body(central=TOO_LONG), "triangle", ZEROED_WARNING),
        (body(central=np.diag([-0.01, 0.02, 0.02])), "negative principal", ZEROED_WARNING),
        (Link("b", -inertia.pack(1.0, np.zeros(3), BOX)), "negative", NEGATIVE_WARNING),
        (Link("b", np.zeros(10)), None, MASSLESS_WARNING),
        (body(central=np.diag([0.01, 0.02, 0.03])), None, BOUNDARY_WARNING),
    ],
)
def test_bad_bodies_say_why_and_what_the_engine_would_do(link, reason, engine) -> None:
    found = diagnose_body(link)
    assert found.engine == engine
    if reason is None:
        assert found.reason is None
    else:
        assert reason in found.reason


def test_impossible_bodies_have_a_negative_eigenvalue() -> None:
    assert diagnose_body(body(central=TOO_LONG)).pseudo_inertia[0] < 0.0


def test_bullet_zeroes_what_the_diagnosis_says_it_zeroes(tmp_path, pybullet) -> None:
    """The engine's silence is a fact about PyBullet; it is asked here, not assumed."""
    urdf = (
        '<robot name="r"><link name="a"><inertial><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.02" izz="{}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link></robot>"
    )
    client = pybullet.connect(pybullet.DIRECT)
    try:
        moments = []
        for izz in (0.025, 0.05):
            path = tmp_path / f"{izz}.urdf"
            path.write_text(urdf.format(izz))
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            loaded = pybullet.loadURDF(str(path), flags=flags, physicsClientId=client)
            moments.append(pybullet.getDynamicsInfo(loaded, -1, physicsClientId=client)[2])
    finally:
        pybullet.disconnect(client)
    assert moments[0] == pytest.approx((0.01, 0.02, 0.025))
    assert moments[1] == (0.0, 0.0, 0.0)


def test_com_is_looked_for_in_the_hull_of_all_shapes() -> None:
    assert diagnose_body(body(shapes=(box_shape(0.0),))).com_inside is True
    assert diagnose_body(body(shapes=(box_shape(1.0),))).com_inside is False
    both = (box_shape(1.0), box_shape(-1.0))
    assert diagnose_body(body(shapes=both)).com_inside is True


def test_collision_shapes_decide_where_there_are_some() -> None:
    far = replace(box_shape(1.0), collision=True)
    assert diagnose_body(body(shapes=(box_shape(0.0), far))).com_inside is False


def test_com_on_the_surface_is_inside_and_flat_points_have_no_hull() -> None:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    assert is_in_hull(corners, np.array([1.0, 0.5, 0.5])) is True
    assert is_in_hull(corners, np.array([1.001, 0.5, 0.5])) is False
    assert is_in_hull(corners[:4] * [0.0, 1.0, 1.0], np.zeros(3)) is None


def test_shapes_that_coincide_have_a_hull_at_once() -> None:
    """A triangulation of the points of many round shapes on one another takes minutes."""
    round_shapes = (("sphere", (0.05,)), ("capsule", (0.02, 0.2)), ("cylinder", (0.02, 0.1)))
    shapes = [GeometryShape(kind, size, np.eye(4)) for kind, size in round_shapes] * 4
    began = time.perf_counter()
    assert diagnose_body(body(shapes=tuple(shapes))).com_inside is True
    assert time.perf_counter() - began < 5.0


def test_missing_mesh_leaves_the_hull_unknown(tmp_path) -> None:
    mesh = GeometryShape("mesh", (1.0, 1.0, 1.0), np.eye(4), mesh=tmp_path / "none.stl")
    assert diagnose_body(body(shapes=(mesh,))).com_inside is None


def test_repair_report_names_what_moved(irb140) -> None:
    phi = irb140.parameters().copy()
    phi[9] += 40.0  # Izz of link 1
    broken = irb140.with_parameters(phi, formal=True)
    fixed = broken.repair()
    change = np.tile([1.0, 0, 0, 0, 0, 0], (4, 1))
    report = repair_report(broken, fixed, change, np.full(6, 2.0))
    assert report.distance[0] > 0.01
    assert not report.distance[1:].any()
    assert {name[-1] for name, _, _ in report.changed} == {"1"}
    assert report.torque.tolist() == [0.5, 0, 0, 0, 0, 0]
    assert "Frobenius" in report.metric
    assert summary(diagnose(broken)) == "1 of 6 bodies are not physically consistent: link_1"
    assert summary(diagnose(fixed)) == "all 6 bodies are physically consistent"
