"""A written robot moved to another place, its source gone: every loader has it with its meshes."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from lxml import etree
from robots import urdf_path
from sampling import sampled

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.model.export import lost_in_urdf, write_urdf
from robotid_sim.model.mesh_files import MeshFolder, MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import box, read_mesh

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


def written(source: Path, *names: str, **options) -> tuple[Path, tuple[str, ...]]:
    """Write the robot of these meshes beside its source; return where, and the notes."""
    (source / "toy.urdf").write_text(urdf_of(*names))
    path = source.parent / "out" / "toy.urdf"
    return path, write_urdf(Robot.from_urdf(source / "toy.urdf"), path, **options)


def test_two_meshes_of_one_name_stay_two(source) -> None:
    path, _ = written(source, "left/arm.stl", "right/arm.stl", "left/../left/arm.stl")
    assert mesh_names(path) == ["meshes/arm.stl", "meshes/arm-2.stl", "meshes/arm.stl"]
    widths = [np.ptp(read_mesh(path.parent / n).vertices[:, 0]) for n in mesh_names(path)[:2]]
    assert widths == [1.0, 2.0]


def test_materials_and_textures_come_along_under_the_new_names(source) -> None:
    path, _ = written(source, "left/arm.obj", "right/arm.obj")
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
    path, _ = written(source, "left/arm.dae")
    assert "<init_from>wood.png</init_from>" in (path.parent / "meshes/arm.dae").read_text()
    assert (path.parent / "meshes/wood.png").is_file()


def test_writing_again_adds_no_file_and_writes_over_none(source) -> None:
    path, _ = written(source, "left/arm.stl")
    mesh = path.parent / "meshes" / "arm.stl"
    before = mesh.stat().st_mtime_ns
    written(source, "left/arm.stl")
    assert [p.name for p in mesh.parent.iterdir()] == ["arm.stl"]
    assert mesh.stat().st_mtime_ns == before
    written(source, "right/arm.stl")  # another robot, in the same folder
    assert mesh_names(path) == ["meshes/arm-2.stl"]
    assert np.ptp(read_mesh(mesh).vertices[:, 0]) == 1.0


def test_a_missing_mesh_keeps_its_name_and_is_said_once(source) -> None:
    path, notes = written(source, "left/arm.stl", "no/such.stl", "no/such.stl")
    assert mesh_names(path) == ["meshes/arm.stl", "no/such.stl", "no/such.stl"]
    assert notes == ("mesh no/such.stl is missing, its name is kept",)


def test_kept_meshes_are_named_so_that_they_are_still_found(source) -> None:
    path, notes = written(source, "left/arm.stl", "package://toy/a.stl", meshes=MeshMode.KEEP)
    where = (source / "left" / "arm.stl").as_posix()
    assert mesh_names(path) == [where, "package://toy/a.stl"]
    assert notes == ()
    assert not (path.parent / "meshes").exists()


def test_a_package_is_named_after_its_folder(source, tmp_path) -> None:
    path, _ = written(source, "left/arm.stl", meshes=MeshMode.PACKAGE)
    assert mesh_names(path) == ["package://out/meshes/arm.stl"]
    (tmp_path / "package.xml").touch()
    path, _ = written(source, "left/arm.stl", meshes=MeshMode.PACKAGE)
    assert mesh_names(path) == [f"package://{tmp_path.name}/out/meshes/arm.stl"]
    shape = Robot.from_urdf(path).links[0].shapes[0]
    assert shape.mesh == path.parent / "meshes" / "arm.stl"
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.nv == 1
    assert pin_geometry(path, pin.VISUAL, tmp_path.parent).ngeoms == 1


def test_a_folder_that_cannot_be_written_is_one_line_and_leaves_nothing(source) -> None:
    (source.parent / "out" / "meshes").write_text("a file")
    with pytest.raises(FileFormatError, match=r"cannot write .*meshes"):
        written(source, "left/arm.stl")
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
    with pytest.raises(OptionError, match="MJCF knows no packages"):
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
    rotors, friction = lost_in_urdf(irb140)
    assert rotors.startswith(
        "URDF has no place for rotor inertia, up to 0.1 kg m² at joint_4: Drake"
    )
    assert "PyBullet and Drake the viscous part alone" in friction
    bare = iiwa.with_parameters(np.r_[iiwa.parameters()[:70], np.zeros(28)])
    assert lost_in_urdf(bare) == ()
    (meshes,) = lost_in_urdf(Robot.from_urdf(urdf_path("kinova")))
    assert ".dae" in meshes
