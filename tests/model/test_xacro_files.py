"""Xacro files: expanded with their arguments and includes, and running nothing of their own."""

import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, RobotIdError, UrdfError
from robotid_sim.model.catalog import load_robot

LINK = """<robot xmlns:xacro="http://ros.org/wiki/xacro">
<xacro:macro name="body" params="name mass">
<link name="${name}"><inertial><mass value="${mass}"/><origin xyz="${length/2} 0 0"/>
<inertia ixx="${mass*length**2/12}" iyy="${mass*length**2/12}" izz="${mass*length**2/12}"/>
</inertial></link></xacro:macro></robot>"""

ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">
<xacro:arg name="mass" default="2"/><xacro:property name="length" value="0.4"/>
<xacro:include filename="{include}"/>
<link name="base"/><xacro:body name="upper" mass="$(arg mass)"/>{more}
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="${{-pi/2}}" upper="${{pi/2}}" velocity="2" effort="5"/></joint>
</robot>"""


def package(folder, include, more=""):
    (folder / "arm_description" / "urdf").mkdir(parents=True)
    (folder / "arm_description" / "urdf" / "link.xacro").write_text(LINK)
    file = folder / "arm_description" / "urdf" / "arm.urdf.xacro"
    file.write_text(ARM.format(include=include, more=more))
    return file


@pytest.mark.parametrize("include", ["link.xacro", "$(find arm_description)/urdf/link.xacro"])
def test_a_xacro_file_is_expanded_with_its_arguments(tmp_path, include) -> None:
    file = package(tmp_path, include)
    robot = load_robot(file, xacro={"mass": "3"})
    np.testing.assert_allclose(robot.links[0].phi[:2], [3.0, 0.6])
    np.testing.assert_allclose(robot.limits.upper, np.pi / 2.0)
    assert load_robot(file).links[0].phi[0] == 2.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("<link name=\"$(eval str(open('trace', 'w')))\"/>", "runs Python"),
        ('<link name="${[].__class__}"/>', "invalid name"),
        ("<link name=\"${xacro.load_yaml('/etc/hosts')}\"/>", "leads out of the folder"),
        ('<xacro:include filename="/etc/hosts"/>', "leads out of the folder"),
        ('<xacro:include filename="$(find nowhere)/a.xacro"/>', "no package 'nowhere'"),
        ('<xacro:unknown name="a"/>', "unknown macro name: xacro:unknown"),
    ],
)
def test_what_a_xacro_file_may_not_do_is_one_line(tmp_path, monkeypatch, more, said) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UrdfError, FileFormatError), match=said) as caught:
        load_robot(package(tmp_path, "link.xacro", more))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "trace").exists()


def test_a_urdf_with_uses_of_xacro_says_how_it_is_expanded(tmp_path) -> None:
    file = package(tmp_path, "link.xacro")
    plain = file.rename(file.with_name("arm.urdf"))
    with pytest.raises(RobotIdError, match=r"name it \.urdf\.xacro to expand it"):
        load_robot(plain)


def test_robots_of_example_robot_data_go_by_name() -> None:
    assert load_robot("ur10").dof == 6
