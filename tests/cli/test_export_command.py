"""``robotid export``: files that other tools read, and what it refuses."""

import json
import tomllib
from pathlib import Path

import mujoco
import numpy as np
import pytest
from robots import DATA

from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

ARM = DATA / "2r.urdf"


def test_urdf_reads_back_as_the_same_robot(robotid, tmp_path) -> None:
    out = tmp_path / "arm.urdf"
    done = robotid("export", "irb140", "--payload", "2.0,0,0,0.1", "-o", out)
    assert done.code == 0
    assert "arm.urdf, arm.toml" in " ".join(done.out.split())
    want = load_robot("irb140").with_payload(2.0, (0.0, 0.0, 0.1)).parameters()
    np.testing.assert_allclose(Robot.from_urdf(out).parameters(), want, rtol=1e-12, atol=1e-12)
    side = tomllib.loads((tmp_path / "arm.toml").read_text())
    assert side["joints"]["joint_4"]["Ia"] == 0.1


def test_mjcf_comes_with_its_side_car(robotid, tmp_path) -> None:
    out = tmp_path / "arm.xml"
    done = robotid("export", ARM, "--format", "mjcf", "-o", out, "--json")
    content = json.loads(done.out)
    assert content["files"] == [str(out), str(tmp_path / "arm.toml")]
    model = mujoco.MjModel.from_xml_path(str(out))
    assert model.nv == 2


@pytest.mark.parametrize(
    ("name", "format", "files"),
    [
        ("arm.urdf", "urdf", ["arm.toml", "arm.urdf"]),
        ("arm.xml", "mjcf", ["arm.toml", "arm.xml"]),
        ("ARM.SDF", "sdf", ["ARM.SDF", "ARM.toml"]),
        ("arm.py", "python", ["arm.py"]),
        ("arm.c", "c", ["arm.c"]),
    ],
)
def test_the_suffix_says_the_format(robotid, tmp_path, name, format, files) -> None:
    done = robotid("export", ARM, "-o", tmp_path / name, "--json")
    content = json.loads(done.out)
    assert content["format"] == format
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert sorted(Path(file).name for file in content["files"]) == files
    again = robotid("export", ARM, "--format", format, "-o", tmp_path / name)
    assert again.code == 0
    assert all(Path(file).name in again.out for file in content["files"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "step", "-o", "x.urdf"), "'step'"),
        (("-o", "x.step"), "cannot export to x.step: its suffix is none of .urdf, .xml, .sdf"),
        (("--format", "urdf", "-o", "x"), "its suffix is none of"),
        (("--format", "c", "-o", "x.py"), "--format c contradicts x.py, which is python; end its"),
        (("--format", "mjcf", "-o", "x.xml", "--meshes", "package"), "MJCF knows no packages"),
        (("-o", "x.urdf", "--meshes", "no"), "'no'"),
        ((), "--out"),
    ],
)
def test_what_cannot_be_written_is_one_line(refused, tmp_path, monkeypatch, words, said) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("export", ARM, *words)
    assert not list(tmp_path.iterdir())


def test_meshes_come_along_or_stay(robotid, tmp_path) -> None:
    assert robotid("export", "irb140", "-o", tmp_path / "a.urdf", "--meshes", "keep").code == 0
    assert not (tmp_path / "meshes").exists()
    done = robotid("export", "irb140", "-o", tmp_path / "a.urdf")
    assert "URDF has no place for rotor inertia" in done.out
    assert len(list((tmp_path / "meshes").iterdir())) > 10


def test_a_missing_mesh_is_one_line(robotid, tmp_path) -> None:
    shape = '<visual><geometry><mesh filename="no/such.stl"/></geometry></visual>'
    text = ARM.read_text().replace("<inertial>", f"{shape}<inertial>", 1)
    (tmp_path / "arm.urdf").write_text(text)
    done = robotid("export", tmp_path / "arm.urdf", "-o", tmp_path / "out.urdf")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("mesh no/such.stl is missing, its name is kept\n") == 1


FOREIGN = ("[robot]\npayload = { mass = 2.0 }\n", 'model = "arm.xml"\n', "no TOML\n", "")


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".xml"])
@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_that_is_no_side_car_of_the_output_stays(refused, tmp_path, suffix, text) -> None:
    side = tmp_path / "arm.toml"
    side.write_text(text.replace("arm.xml", "arm.other"))
    before = side.read_bytes()
    said = refused("export", ARM, "-o", tmp_path / f"arm{suffix}")
    assert str(side) in said
    assert "give the output another name, or move that file" in said
    assert side.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["arm.toml"]


def test_two_formats_do_not_share_a_side_car(robotid, refused, tmp_path) -> None:
    assert robotid("export", ARM, "-o", tmp_path / "a.xml").code == 0
    before = Robot.from_urdf(tmp_path / "a.xml").joints
    assert "belongs to a.xml" in refused("export", ARM, "-o", tmp_path / "a.urdf")
    assert not (tmp_path / "a.urdf").exists()
    assert [j.velocity for j in Robot.from_urdf(tmp_path / "a.xml").joints] == [
        j.velocity for j in before
    ]
    assert robotid("export", ARM, "-o", tmp_path / "a.py").code == 0  # source code has no side car


def test_missing_folder_is_one_line(refused, tmp_path) -> None:
    assert "choose a folder" in refused("export", ARM, "-o", tmp_path / "none" / "x.urdf")
