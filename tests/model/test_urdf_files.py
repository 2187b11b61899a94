"""URDF files that cannot be read as XML, and files that try to do more than describe a robot."""

import time
from pathlib import Path

import pytest

from robotid_sim.errors import InconsistentInertiaError, RobotIdError, UnknownNameError, UrdfError
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


def test_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
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


def test_unclosed_tag_is_reported_on_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, NOT_XML["unclosed"])
    with pytest.raises(UrdfError, match=r"toy\.urdf:3: "):
        read_urdf(path)


def test_xacro_root_is_refused_with_the_remedy(tmp_path: Path) -> None:
    text = '<xacro:macro xmlns:xacro="http://www.ros.org/wiki/xacro"/>'
    path = write(tmp_path, text, "toy.urdf.xacro")
    with pytest.raises(UrdfError, match=r"xacro:1: .*give the file that uses its macros"):
        read_urdf(path)


def test_other_root_element_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "<sdf/>")
    with pytest.raises(UrdfError, match=r"toy\.urdf:1: the root is <sdf>, not <robot>"):
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


def test_harmless_document_type_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path, "<!DOCTYPE robot>\n" + ROBOT)
    with pytest.raises(UrdfError, match=r"remove <!DOCTYPE>"):
        read_urdf(path)


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
