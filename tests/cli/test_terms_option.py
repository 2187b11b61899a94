"""``robotid identify --terms``: terms are chosen, told, written and predicted with."""

import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA
from short_study import SHORT

from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def logs(robotid, tmp_path_factory):
    """Config, and two logs of a plant with cogging."""
    folder = tmp_path_factory.mktemp("terms")
    config = folder / "short.toml"
    law = '[experiment.friction]\nlaw = "cogging"\nshare = 0.5\nwaves = 4\n'
    config.write_text(SHORT.replace("[control]", law + "[control]"))
    for name, seed in (("log", "0"), ("unseen", "7")):
        path = folder / f"{name}.json"
        seeded = ("--seed", seed, "--config", config)
        assert robotid("design", ARM, "-o", path, *seeded).code == 0
        words = ("simulate", ARM, "--trajectory", path, "-o", folder / f"{name}.h5")
        assert robotid(*words, *seeded).code == 0
    return config, folder / "log.h5", folder / "unseen.h5"


@pytest.fixture(scope="module")
def identified(robotid, logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("identified")
    estimate, urdf, page = (folder / name for name in ("e.json", "r.urdf", "p.html"))
    words = ("--terms", "all", "-o", estimate, "--urdf", urdf, "--report", page)
    done = robotid("identify", ARM, logs[1], *words, "--config", logs[0])
    assert (done.code, done.err) == (0, "")
    return estimate, urdf, page, done.out


@pytest.mark.slow
def test_they_are_chosen_told_and_written(identified):
    estimate, urdf, page, printed = identified
    terms = json.loads(estimate.read_text())["terms"]
    found = {(t["kind"], t["joint"], t["shape"]) for t in terms}
    assert found == {("cogging", "shoulder", 4.0), ("cogging", "elbow", 4.0)}
    assert "Terms beside the standard ones" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert "Terms beside the standard ones" in page.read_text()
    read = Robot.from_urdf(urdf).terms
    assert {(t.kind, t.joint) for t in read} == {(t["kind"], t["joint"]) for t in terms}
    for term in terms:
        assert len(term["std"]) == len(term["values"])
        assert term["gain"] > 3.0 * term["gain_std"]


@pytest.mark.slow
def test_predictions_have_them(robotid, logs, identified, tmp_path):
    estimate = identified[0]
    content = json.loads(estimate.read_text())
    without = tmp_path / "without.json"
    without.write_text(json.dumps(content | {"terms": []}))
    errors = []
    for file in (estimate, without):
        done = robotid("predict", ARM, file, logs[2], "--config", logs[0], "--json")
        assert done.code == 0
        errors.append(np.array(json.loads(done.out)["error_filtered_parameters"]))
    assert (errors[0] < 0.5 * errors[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((f"r.{end}", "Terms of joints are left out: cogging of") for end in ("xml", "sdf", "c")),
        ("r.urdf", "Terms of joints are read by robotid alone: cogging of"),
    ],
)
def test_an_export_says_where_they_are_left_out(robotid, identified, tmp_path, name, said):
    done = robotid("export", identified[1], "-o", tmp_path / name)
    assert done.code == 0
    assert said in " ".join(done.out.split())


@pytest.mark.slow
def test_a_file_with_them_is_a_robot_that_has_them(robotid, logs, identified, tmp_path):
    """Its plant has the torques, and a fit takes them off."""
    robot, errors = identified[1], []
    for words in (
        ("design", robot, "-o", tmp_path / "t.json"),
        ("simulate", robot, "--trajectory", tmp_path / "t.json", "-o", tmp_path / "log.h5"),
    ):
        assert robotid(*words).code == 0
    for plain in (False, True):
        file = robot
        if plain:
            file = tmp_path / "plain.urdf"
            write_urdf(replace(Robot.from_urdf(robot), terms=()), file)
        words = ("identify", file, tmp_path / "log.h5", "-o", tmp_path / "e.json", "--json")
        found = json.loads(robotid(*words).out)["estimates"][-1]
        errors.append(np.array(found["torque_rms"]))
    assert (errors[0] < 0.2 * errors[1]).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joint": "knee"}, "no joint 'knee'"),
        ({"kind": "mood"}, "unknown term 'mood'"),
        ({"values": [1.0]}, "needs finite"),
        ({"shape": None}, "needs k"),
    ],
)
def test_wrong_terms_of_an_estimate_file_are_refused(
    refused, logs, identified, tmp_path, change, said
):
    content = json.loads(identified[0].read_text())
    content["terms"][0] |= change
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(content))
    assert said in refused("predict", ARM, bad, logs[2], "--config", logs[0])


def test_an_unknown_kind_names_the_known(refused, logs, tmp_path):
    words = ("--terms", "coging", "-o", tmp_path / "e.json")
    assert "unknown term 'coging' (did you mean 'cogging'?)" in refused(
        "identify", ARM, logs[1], *words
    )
    assert not (tmp_path / "e.json").exists()
