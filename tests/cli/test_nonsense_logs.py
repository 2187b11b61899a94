"""Logs that were recorded wrongly: refused, or fitted with a warning that says what to check."""

import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.measurement.files import load_log, save_log

ARM = DATA / "2r.urdf"
CONFIG = (
    "[design]\ncandidates = 5\niterations = 5\nperiod = 4.0\nperiods = 2\n"
    "[experiment]\nrate = 250.0\n"
)


@pytest.fixture(scope="module")
def log(robotid, tmp_path_factory):
    """Return the log of a short experiment, as if of a machine."""
    folder = tmp_path_factory.mktemp("log")
    config, path = folder / "c.toml", folder / "t.json"
    config.write_text(CONFIG)
    assert robotid("design", ARM, "-o", path, "--config", config).code == 0
    words = ("--trajectory", path, "-o", folder / "log.h5", "--config", config)
    assert robotid("simulate", ARM, *words).code == 0
    return replace(load_log(folder / "log.h5"), origin="machine", seed=None, truth=None)


@pytest.fixture
def identify(robotid, tmp_path):
    """Return a function that identifies from a log, or from a CSV with a line before it."""

    def run(log, line=""):
        file = tmp_path / "log.csv"
        save_log(log, file)
        if line:
            key, lines = line.split(":")[0], file.read_text().splitlines()
            kept = [text for text in lines if key not in text]
            file.write_text("\n".join([line, *kept]))
        return robotid("identify", ARM, file, "-o", tmp_path / "e.json")

    return run


def test_torques_that_were_not_recorded_are_refused_by_joint(identify, log, tmp_path) -> None:
    done = identify(replace(log, tau_meas=log.tau_meas * [1.0, 0.0] + [0.0, 3.0]))
    assert done.code == 2
    assert "the measured torque of elbow is the same in all samples" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "e.json").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("# period: -3", "'period' is -3 s in a log of"),
        ("# period: 1000", "'period' is 1000 s in a log of"),
        ("# period: 0.001", "'period' is 0.001 s"),
        ("# period: nan", "'period' is nan s"),
        ("# torque_time_offset: 5", "'torque_time_offset' is 5 s"),
    ],
)
def test_times_that_cannot_be_name_key_and_file(identify, log, line, words) -> None:
    done = identify(log, line)
    assert done.code == 2
    assert words in done.err
    assert "log.csv: " in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "words", "remedy"),
    [
        (
            lambda log: {"tau_meas": -log.tau_meas},
            "times that of the fit without constraints",
            "check signs",
        ),
        (lambda log: {"q": np.degrees(log.q)}, "of the RMS torque of", "by 0.0174533"),
    ],
)
def test_a_fit_of_nonsense_says_what_to_check(
    identify, log, tmp_path, change, words, remedy
) -> None:
    done = identify(replace(log, **change(log)))
    assert done.code == 1
    for word in ("WARNING", words, remedy, "but does not explain the log"):
        assert word in " ".join(done.out.split())
    assert words in json.loads((tmp_path / "e.json").read_text())["doubt"]


def test_a_sound_log_gives_no_warning(identify, log, tmp_path) -> None:
    done = identify(log)
    assert done.code == 0
    assert "WARNING" not in done.out
    assert json.loads((tmp_path / "e.json").read_text())["doubt"] == ""


def test_no_file_is_written_if_there_is_no_robot_to_write(robotid, log, tmp_path) -> None:
    file = tmp_path / "stuck.h5"
    save_log(replace(log, q=np.zeros_like(log.q)), file)
    words = ("-o", tmp_path / "e.json", "--urdf", tmp_path / "e.urdf")
    done = robotid("identify", ARM, file, *words)
    assert done.code == 2
    assert "no robot to write to" in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["stuck.h5"]
