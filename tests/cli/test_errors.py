"""Bad input at the command line: exit 2, one line that names the thing, no partial file."""

import subprocess
import sys
import tempfile

import pytest
from robots import DATA

from robotid_sim.cli import app
from robotid_sim.measurement.files import load_log

ARM = DATA / "2r.urdf"


def test_an_error_that_nobody_foresaw_is_called_a_bug(robotid, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(app, "load_installed_plugins", lambda: {}["no such"])
    done = robotid("list", "robots")
    assert done.code == 70
    (saved,) = tmp_path.glob("robotid-bug-*.txt")
    text = f"robotid: this is a bug of robotid: KeyError: 'no such'; please report it with {saved}"
    assert done.err.splitlines() == [text]
    assert "robotid list robots" in saved.read_text()
    assert "Traceback" in saved.read_text()


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = [sys.executable, "-m", "robotid_sim", "list", "terms"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


def test_log_of_another_robot_is_refused(refused, short, tmp_path) -> None:
    said = refused("identify", "irb140", short.log, "-o", tmp_path / "e.json")
    assert "another robot" in said
    assert "elbow" in said
    assert not (tmp_path / "e.json").exists()


def test_unwritable_folder_is_one_line_and_leaves_nothing(refused, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert "--out" in refused("run", ARM, "--out", blocked / "out")
    assert "cannot write" in refused("design", ARM, "-o", tmp_path / "no" / "t.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_debug_shows_the_traceback(robotid) -> None:
    done = robotid("check", "irb140", "--tip", "hand", "--debug")
    assert (done.code, "Traceback" in done.err) == (2, True)


def test_diverging_loop_exits_1_and_saves_the_log_up_to_there(robotid, tmp_path) -> None:
    config = tmp_path / "wild.toml"
    config.write_text(
        "[robot.joints]\nshoulder = { effort = 0.0 }\nelbow = { effort = 0.0 }\n"
        "[experiment]\nkp = 1e7\nkd = 0.0\n"
    )
    out = tmp_path / "out"
    done = robotid("run", ARM, "--quick", "--workers", 1, "--out", out, "--config", config)
    assert done.code == 1
    for word in ("diverged at t = ", "joint 'elbow'", "diverged.h5"):
        assert word in done.err
    assert load_log(out / "incomplete" / "diverged.h5").joint_names == ("shoulder", "elbow")
    assert not (out / "result.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("design", ARM, "-o", "x.json", "--nominal", "nosuch.urdf"),
        ("run", ARM, "--out", "x", "--nominal", "nosuch.urdf"),
        ("check", ARM, "--config", "study.toml"),
        ("export", ARM, "-o", "x.urdf", "--config", "study.toml"),
    ],
)
def test_a_nominal_model_that_is_not_there_is_refused(refused, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('[nominal]\nfile = "nosuch.urdf"\n')
    assert "nominal model: no robot 'nosuch.urdf'" in refused(*words)


def test_a_trajectory_of_another_robot_is_named_with_the_joints_of_both(
    refused, short, tmp_path
) -> None:
    for words in (
        ("simulate", "irb140", "--trajectory", short.path, "-o", tmp_path / "other.h5"),
        ("view", "irb140", "--trajectory", short.path, "--record", tmp_path / "other.png"),
    ):
        said = refused(*words)
        assert "t.json" in said
        assert "its joints are shoulder, elbow; those of 'irb140' are joint_1" in said
    assert not list(tmp_path.iterdir())
