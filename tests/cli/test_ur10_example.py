"""README's example: the log of a UR10 in the repository, from text to scores of data held out."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from robots import DATA, urdf_path

pytestmark = pytest.mark.slow

URDF, LOG = urdf_path("ur10"), DATA / "ur10" / "ur10.csv.gz"


@pytest.fixture(scope="module")
def identified(robotid, tmp_path_factory):
    out = tmp_path_factory.mktemp("ur10") / "estimate.json"
    done = robotid("identify", URDF, LOG, "-o", out, "--hold-out", "last:30%", "--json")
    assert done.err == ""
    return done.code, json.loads(done.out, parse_constant=pytest.fail)


def test_every_joint_is_predicted(identified):
    code, content = identified
    assert (code, content["doubt"]) == (0, "")
    held = content["held_out"]
    error = np.array(held["error"])
    assert held["samples"] > 900
    assert (error < [0.07, 0.04, 0.05, 0.1, 0.095, 0.09]).all()
    assert (error < held["error_filtered_parameters"]).all()
    assert (error < held["error_filtered_nominal"]).all()
    added = {"wrist_1_joint", "wrist_2_joint", "wrist_3_joint"}
    assert added <= {lack["joint"] for lack in content["lacks"]}


def test_masses_are_those_of_a_robot(identified, robotid, tmp_path):
    urdf = tmp_path / "identified.urdf"
    words = ("-o", tmp_path / "e.json", "--urdf", urdf, "--meshes", "keep")
    assert robotid("identify", URDF, LOG, *words).code == 0
    masses = [float(m.get("value")) for m in ElementTree.parse(urdf).iter("mass")]
    assert 20.0 < sum(masses) < 40.0
    assert max(masses) < 15.0


def test_terms_foretell_every_joint_better_and_explain_the_last_wrist(
    identified, robotid, tmp_path
):
    """Of a small wrist, presliding and an offset, of which neither foretells anything alone."""
    out = tmp_path / "e.json"
    words = ("--terms", "all", "--hold-out", "last:30%", "--json")
    done = robotid("identify", URDF, LOG, "-o", out, *words)
    plain = np.array(identified[1]["held_out"]["error_filtered_parameters"])
    content = json.loads(done.out)
    error = np.array(content["held_out"]["error_filtered_parameters"])
    assert (error < plain).all()
    assert (error[1:3] < 0.85 * plain[1:3]).all()
    assert error[5] < 0.8 * plain[5]
    assert (done.code, content["doubt"]) == (0, "")
    kinds = {term["kind"] for term in content["terms"] if term["joint"] == "wrist_3_joint"}
    assert kinds == {"offset", "presliding"}


def test_rows_by_joint_are_slower_for_the_small_wrist_alone(robotid, tmp_path):
    """What the other joints foretell stays as good; the terms are those of rows alike."""
    config = tmp_path / "study.toml"
    config.write_text('[preprocess]\noptions.low_pass = "by-joint"\n')
    words = ("--config", config, "--hold-out", "last:30%", "--terms", "all", "--json")
    done = robotid("identify", URDF, LOG, "-o", tmp_path / "e.json", *words)
    held = json.loads(done.out)["held_out"]
    assert "rows of joints up to 5, 5, 5, 5, 5, 2.5 Hz" in held["preprocessing"]
    assert (np.array(held["error"]) < [0.06, 0.03, 0.05, 0.1, 0.1, 0.15]).all()
