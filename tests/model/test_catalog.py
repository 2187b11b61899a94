"""The robots that ship with the package, and where mesh references lead."""

from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.errors import UnknownNameError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog, describe_catalog, find_urdf
from robotid_sim.model.mesh_files import resolve_mesh
from robotid_sim.model.robot import Robot
from robotid_sim.model.settings import STATUSES, read_settings


def test_irb140_home_is_the_data_sheets() -> None:
    robot = load_robot("irb140")
    assert robot.name == "irb140"
    T = tip_pose(robot, robot.home)
    np.testing.assert_allclose(T[:3, 3], [0.515, 0.0, 0.712], atol=1e-9)  # drawn to 1 mm
    np.testing.assert_allclose(T[:3, 2], [1.0, 0.0, 0.0], atol=1e-9)  # the flange faces +x


def test_every_catalog_robot_is_consistent_and_described() -> None:
    rows = {row["name"]: row for row in describe_catalog()}
    assert set(rows) == set(catalog())
    assert "irb140" in rows
    for name, path in catalog().items():
        assert load_robot(name).inconsistencies() == [None] * load_robot(name).dof
        assert rows[name]["summary"]
        assert rows[name]["source"]
        for text in read_settings(path).provenance.values():
            assert text.partition(":")[0] in STATUSES


def test_name_and_path_find_the_same_file() -> None:
    by_name = find_urdf("irb140")
    assert find_urdf(by_name) == by_name
    assert find_urdf(str(by_name)) == by_name


def test_unknown_robot_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_urdf("irb141")
    message = str(caught.value)
    assert "no robot 'irb141'" in message
    for name in catalog():
        assert name in message
    assert "\n" not in message


def test_package_reference_is_found_in_the_folders_above(tmp_path: Path) -> None:
    mesh = tmp_path / "my_robot" / "meshes" / "arm.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    urdf = tmp_path / "my_robot" / "urdf" / "arm.urdf"
    assert resolve_mesh("package://my_robot/meshes/arm.stl", urdf) == (mesh, False)
    beside = tmp_path / "other" / "arm.urdf"
    assert resolve_mesh("package://my_robot/meshes/arm.stl", beside) == (mesh, False)


def test_package_reference_is_found_in_the_ros_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = tmp_path / "ros" / "my_robot" / "arm.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ros'}")
    urdf = tmp_path / "elsewhere" / "arm.urdf"
    assert resolve_mesh("package://my_robot/arm.stl", urdf) == (mesh, False)


def test_relative_and_file_references(tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    assert resolve_mesh("meshes/arm.stl", urdf) == (tmp_path / "meshes" / "arm.stl", False)
    inside = tmp_path / "arm.stl"
    assert resolve_mesh(inside.as_uri(), urdf) == (inside, False)
    assert resolve_mesh("file:///data/arm.stl", urdf) == (Path("/data/arm.stl"), True)


@pytest.mark.parametrize(
    "name",
    ["../meshes/arm.stl", "out.stl", "package://robots/../meshes/arm.stl", "package://../arm.stl"],
)
def test_what_leads_out_of_the_folder_is_outside_unless_a_package_or_the_user_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    urdf = tmp_path / "toy" / "robots" / "arm.urdf"
    for folder in (urdf.parent, tmp_path / "toy" / "meshes"):
        folder.mkdir(parents=True)
    (tmp_path / "toy" / "meshes" / "arm.stl").touch()
    (tmp_path / "toy" / "arm.stl").touch()
    (urdf.parent / "out.stl").symlink_to(tmp_path / "toy" / "arm.stl")
    assert resolve_mesh(name, urdf)[1]
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert not resolve_mesh(name, urdf)[1]
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    (tmp_path / "toy" / "package.xml").touch()
    assert not resolve_mesh(name, urdf)[1]


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa"])
def test_meshes_of_installed_robots_are_found(name: str) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    meshes = [s.mesh for link in robot.links for s in link.shapes if s.mesh is not None]
    assert meshes
    assert all(mesh.is_file() for mesh in meshes)


def test_missing_mesh_does_not_stop_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "toy.urdf"
    path.write_text(
        '<robot name="toy"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '</inertial><visual><geometry><mesh filename="gone.stl"/></geometry></visual></link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>',
        encoding="utf-8",
    )
    (shape,) = Robot.from_urdf(path).links[0].shapes
    assert shape.mesh == tmp_path / "gone.stl"
