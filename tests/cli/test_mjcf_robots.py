"""An MJCF file wherever a robot is taken."""

import json
import shutil

import numpy as np
import pytest
from robots import DATA

from robotid_sim.model.catalog import load_robot
from robotid_sim.model.mjcf import write_mjcf


@pytest.fixture
def arm(tmp_path):
    """Return an MJCF file of a two-link arm, with the TOML beside it."""
    write_mjcf(load_robot(DATA / "2r.urdf"), tmp_path / "arm.xml")
    return tmp_path / "arm.xml"


def test_check_says_the_same_of_a_robot_in_either_format(robotid, arm) -> None:
    ours, theirs = (
        json.loads(robotid("check", file, "--json").out) for file in (DATA / "2r.urdf", arm)
    )
    assert ours["groupings"] == theirs["groupings"]
    assert ours["rank"] == theirs["rank"]


def test_a_log_of_one_format_is_identified_with_the_other(robotid, arm, tmp_path) -> None:
    path, log = tmp_path / "path.json", tmp_path / "log.h5"
    (tmp_path / "short.toml").write_text(
        "[design]\ncandidates = 20\nstarts = 1\niterations = 5\nperiods = 2\n"
        "[experiment]\nrate = 250.0\n"
    )
    given = ("--config", tmp_path / "short.toml")
    urdf, out = tmp_path / "identified.urdf", tmp_path / "estimate.json"
    assert robotid("design", arm, "-o", path, *given).code == 0
    assert robotid("simulate", arm, "--trajectory", path, "-o", log, *given).code == 0
    assert robotid("identify", arm, log, "-o", out, "--urdf", urdf, *given).code == 0
    found, true = (load_robot(file).parameters() for file in (urdf, arm))
    assert np.isfinite(found).all()
    assert found.shape == true.shape


def test_a_file_that_mujoco_refuses_is_one_line(refused, tmp_path) -> None:
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><bod/></worldbody></mujoco>")
    assert "bad.xml: MuJoCo refuses it" in refused("check", tmp_path / "bad.xml")


def test_missing_velocities_are_assumed_only_where_the_user_says_so(robotid, arm) -> None:
    arm.with_suffix(".toml").unlink()
    refused = robotid("check", arm)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--assume-limits" in refused.err
    assert "assumed: limits that the MJCF lacks" in robotid("check", arm, "--assume-limits").out


def test_a_robot_is_not_written_over(refused, arm) -> None:
    shutil.copy(arm, arm.with_name("copy.xml"))
    assert "it is read by this command" in refused("export", arm, "-o", arm)
