"""Trajectories that a robot cannot run are refused before the engine sees them."""

import json

import pytest
from robots import DATA

ARM = DATA / "2r.urdf"
CONFIG = "[design]\ncandidates = 5\nperiod = 4.0\nperiods = 2\nsolver = 'random'\n"


@pytest.fixture(scope="module")
def content(robotid, tmp_path_factory):
    """Return the content of a trajectory file."""
    folder = tmp_path_factory.mktemp("path")
    (folder / "c.toml").write_text(CONFIG)
    words = ("-o", folder / "t.json", "--config", folder / "c.toml")
    assert robotid("design", ARM, *words).code == 0
    return json.loads((folder / "t.json").read_text())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": [90.0, 0.0]}, "of the position limit of joint 'shoulder'; design one for"),
        ({"a": [[0.0] * 5, [30.0] + [0.0] * 4]}, "of the position limit of joint 'elbow'"),
        ({"base_period": 0.4}, "of the acceleration limit of joint"),
        ({"base_period": 1e-9}, "times the acceleration limit of joint"),
        ({"base_period": 5e-324}, "the motion is too fast for its numbers (q_end is not finite"),
        ({"periods": 1000000}, "samples at 1000 Hz; give fewer periods or a lower rate"),
    ],
)
def test_what_a_robot_cannot_run_is_refused(refused, tmp_path, content, change, words) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**content, **change}))
    for command in (
        ("simulate", ARM, "--trajectory", path, "-o", tmp_path / "l.h5"),
        ("view", ARM, "--trajectory", path, "--record", tmp_path / "p.png"),
    ):
        said = refused(*command)
        assert f"{path}" in said
        assert words in said
    assert [file.name for file in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"periods": 1000000}, "give fewer periods or a lower rate"),
        ({"q0": [50.0, 50.0]}, "of the position limit of joint"),
        ({"base_period": 1e-300}, "limit of joint"),
    ],
)
def test_a_prior_is_a_motion_that_the_robot_can_run(
    refused, tmp_path, content, change, words
) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**content, **change}))
    said = refused("design", ARM, "--prior", path, "-o", tmp_path / "n.json")
    assert f"{path}" in said
    assert words in said
