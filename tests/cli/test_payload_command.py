"""``robotid payload``: a load from two logs, torque constants by a known one."""

import json

import pytest
from robots import DATA

ARM = DATA / "2r.urdf"
CONFIG = """
preset = "lab"
[design]
candidates = 8
iterations = 5
period = 5.0
periods = 3
[experiment]
rate = 500.0
"""
LOAD = "0.8,0.05,0,0.1"


@pytest.fixture(scope="module")
def logs(robotid, tmp_path_factory):
    """Configuration, and logs of the planar arm without and with a load, and without once more."""
    folder = tmp_path_factory.mktemp("payload")
    config, path = folder / "small.toml", folder / "path.json"
    config.write_text(CONFIG)
    assert robotid("design", ARM, "-o", path, "--config", config).code == 0
    made = []
    runs = (
        ("bare.h5", ()),
        ("loaded.h5", ("--payload", LOAD)),
        ("again.h5", ("--seed", 1, "--nominal", ARM)),
    )
    for name, words in runs:
        made.append(folder / name)
        words = ("--trajectory", path, "-o", made[-1], "--config", config, *words)
        assert robotid("simulate", ARM, *words).code == 0
    return config, *made


def test_the_load_is_what_was_put_on(robotid, logs, tmp_path):
    config, bare, loaded, _ = logs
    out = tmp_path / "load.json"
    done = robotid("payload", ARM, bare, loaded, "--config", config, "--json", "-o", out)
    assert done.code == 0
    content = json.loads(done.out, parse_constant=pytest.fail)
    written = json.loads(out.read_text())
    assert written.pop("schema") == "robotid/payload/1"
    assert written == content
    assert content["success"]
    # The tip of this arm is its elbow frame: gravity and the first joint show mass and place.
    assert content["parameters"]["mxL"] is not None


@pytest.mark.slow
def test_torque_constants_by_a_known_load_are_right(robotid, logs):
    config, bare, loaded, _ = logs
    words = ("--load", LOAD, "--config", config)
    done = robotid("payload", ARM, bare, loaded, *words, "--json")
    assert done.code == 0
    content = json.loads(done.out)
    assert content["joint_names"] == ["shoulder", "elbow"]
    assert content["true_over_believed"] == pytest.approx([1.0, 1.0], abs=0.02)
    done = robotid("payload", ARM, bare, loaded, *words)
    assert "The torque constant of shoulder is" in done.out


@pytest.mark.slow
def test_errors_of_the_torque_constants_widen_the_load(robotid, logs):
    config, bare, loaded, _ = logs
    words = ("payload", ARM, bare, loaded, "--config", config, "--json")
    narrow, wide = (
        json.loads(robotid(*words, *more).out)["parameters_std"]["mxL"]
        for more in ((), ("--torque-gain-std", 0.05))
    )
    assert wide > 2.0 * narrow


def test_known_load_and_errors_of_the_torque_constants_exclude_one_another(refused, logs):
    config, bare, loaded, _ = logs
    words = ("--load", LOAD, "--torque-gain-std", 0.05, "--config", config)
    assert "leave --torque-gain-std out" in refused("payload", ARM, bare, loaded, *words)


def test_a_bad_load_is_one_line(refused, logs):
    config, bare, loaded, _ = logs
    assert "1, 4 or 10 numbers" in refused(
        "payload", ARM, bare, loaded, "--load", "2,3", "--config", config
    )


@pytest.mark.slow
def test_without_a_load_there_is_no_center(robotid, logs):
    config, bare, _, again = logs
    done = robotid("payload", ARM, bare, again, "--config", config)
    assert done.code == 0
    assert "No load found: m = " in done.out
    assert "its center cannot be known" in " ".join(done.out.split())
    assert "e+" not in done.out
    content = json.loads(robotid("payload", ARM, bare, again, "--config", config, "--json").out)
    assert content["com"] == content["com_std"] == [None] * 3
    assert "no load found" in content["message"]


@pytest.mark.slow
def test_a_load_in_the_first_log_is_told(robotid, logs):
    config, bare, loaded, _ = logs
    done = robotid("payload", ARM, loaded, bare, "--config", config)
    assert done.code == 1
    text = " ".join(done.out.split())
    assert "the first log carries 0." in text
    assert "give the log without the load first" in text


def test_one_log_twice_is_refused(robotid, logs):
    config, bare, _, _ = logs
    done = robotid("payload", ARM, bare, bare, "--config", config)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "robotid: bare.h5 and bare.h5 hold the same samples: give logs of different runs"
    ]


@pytest.mark.slow
def test_a_wrong_mass_of_the_load_is_doubted(robotid, logs):
    """It looks like the same error of all torque constants."""
    config, bare, loaded, _ = logs
    words = ("--config", config, "--load", "8,0.05,0,0.1")
    done = robotid("payload", ARM, bare, loaded, *words)
    assert done.code == 1
    assert "all torque constants are 10 times" in " ".join(done.out.split())
    assert "is the mass of the load right?" in " ".join(done.out.split())
    doubt = json.loads(robotid("payload", ARM, bare, loaded, *words, "--json").out)["doubt"]
    assert "is the mass of the load right?" in doubt


@pytest.mark.slow
def test_a_joint_that_hardly_feels_the_load_has_no_torque_constant(robotid, logs):
    """A point mass at the tip, which is the frame of the elbow, loads the shoulder alone."""
    config, bare, loaded, _ = logs
    words = ("--config", config, "--load", "0.8,0,0,0")
    done = robotid("payload", ARM, bare, loaded, *words)
    text = " ".join(done.out.split())
    assert "elbow hardly feels the load, and its torque constant does not show" in text
    assert "The torque constant of shoulder is" in text
    content = json.loads(robotid("payload", ARM, bare, loaded, *words, "--json").out)
    assert content["shown"] == [True, False]
