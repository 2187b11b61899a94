"""``robotid export``: files that other tools read, and what it refuses."""

import json
import tomllib

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
    assert str(out) in done.out
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


@pytest.mark.parametrize("words", [("--format", "sdf", "-o", "x"), ()])
def test_unknown_format_or_missing_file_is_one_line(robotid, words) -> None:
    done = robotid("export", ARM, *words)
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_missing_folder_is_one_line(robotid, tmp_path) -> None:
    done = robotid("export", ARM, "-o", tmp_path / "none" / "x.urdf")
    assert done.code == 2
    assert "choose a folder" in done.err
