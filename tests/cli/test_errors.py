"""Bad input at the command line: exit 2, one line that names the thing, no partial file."""

import json
import subprocess
import sys
import tempfile

import pytest
from robots import DATA

from robotid_sim.cli import app
from robotid_sim.measurement.files import load_log

ARM = DATA / "2r.urdf"
TEXT = ARM.read_text()

BAD_URDF = {
    "unknown parent": (TEXT.replace('<parent link="base"/>', '<parent link="bass"/>'), "bass"),
    "duplicate link": (TEXT.replace('name="lower"', 'name="upper"'), "duplicate link"),
    "duplicate joint": (TEXT.replace('joint name="elbow"', 'joint name="shoulder"'), "duplicate"),
    "two roots": (TEXT.replace("</robot>", '<link name="lone"/></robot>'), "several root"),
    "cycle": (
        TEXT.replace(
            "</robot>",
            '<joint name="back" type="fixed"><parent link="lower"/><child link="base"/></joint>'
            "</robot>",
        ),
        "cycle",
    ),
    "no limit": (TEXT.replace("<limit", "<lim"), "limit"),
    "zero axis": (TEXT.replace('xyz="0 0 1"', 'xyz="0 0 0"'), "axis"),
    "not numeric": (TEXT.replace('value="4.0"', 'value="four"'), "four"),
    "NaN": (TEXT.replace('value="4.0"', 'value="nan"'), "nan"),
    "negative mass": (TEXT.replace('value="4.0"', 'value="-4.0"'), "negative"),
    "impossible inertia": (TEXT.replace('izz="0.095"', 'izz="0.95"'), "triangle"),
    "no joints": ('<robot name="x"><link name="a"/></robot>', "no movable joint"),
    "not XML": ("hello", "XML"),
    "empty": ("", "XML"),
    "entity bomb": ('<!DOCTYPE robot [<!ENTITY a "aaaa">]>' + "<robot name='&a;'/>", "DOCTYPE"),
}


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


def one_line(done, *words: str) -> None:
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("robotid: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


@pytest.mark.parametrize("kind", BAD_URDF)
@pytest.mark.parametrize("command", ["run", "design"])
def test_bad_urdf_is_one_line_with_file_and_cause(robotid, tmp_path, kind, command) -> None:
    text, word = BAD_URDF[kind]
    path = tmp_path / "bad.urdf"
    path.write_text(text)
    out = tmp_path / "out"
    one_line(robotid(command, path, "--out", out), "bad.urdf", word)
    assert not out.exists()


@pytest.fixture(scope="module")
def log(robotid, tmp_path_factory):
    """Return trajectory and log of a short experiment."""
    folder = tmp_path_factory.mktemp("log")
    config = folder / "short.toml"
    config.write_text("[design]\ncandidates = 3\nperiods = 1\nperiod = 4.0\n")
    assert robotid("design", ARM, "-o", folder / "t.json", "--config", config).code == 0
    words = ("--trajectory", folder / "t.json", "-o", folder / "log.h5")
    assert robotid("simulate", ARM, *words).code == 0
    return folder


def identify(robotid, robot, path, tmp_path):
    done = robotid("identify", robot, path, "-o", tmp_path / "e.json")
    assert not (tmp_path / "e.json").exists()
    return done


def test_log_of_another_robot_is_refused(robotid, log, tmp_path) -> None:
    one_line(identify(robotid, "irb140", log / "log.h5", tmp_path), "another robot", "elbow")


def test_truncated_log_is_refused(robotid, log, tmp_path) -> None:
    data = (log / "log.h5").read_bytes()
    for share in (0.0, 0.3, 0.9):
        path = tmp_path / "cut.h5"
        path.write_bytes(data[: int(share * len(data))])
        one_line(identify(robotid, ARM, path, tmp_path), "cut.h5")


def test_nan_in_a_log_is_refused_with_channel_and_place(robotid, tmp_path) -> None:
    rows = [f"{0.001 * k},0,0,0,0" for k in range(100)]
    rows[50] = "0.05,0,nan,0,0"
    path = tmp_path / "nan.csv"
    head = ["# joint_units: rad rad", "t,q.shoulder,q.elbow,tau.shoulder,tau.elbow"]
    path.write_text("\n".join([*head, *rows]))
    one_line(identify(robotid, ARM, path, tmp_path), "q is not finite", "(50, 1)")


def test_newer_schema_is_refused(robotid, log, tmp_path) -> None:
    content = json.loads((log / "t.json").read_text())
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**content, "schema": "robotid/trajectory/9"}))
    words = ("--trajectory", path, "-o", tmp_path / "log.h5")
    one_line(robotid("simulate", ARM, *words), "newer", "upgrade")
    assert not (tmp_path / "log.h5").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "irb041", "--out", "x"), ["irb041", "irb140"]),
        (("list", "gizmos"), ["gizmos", "estimators"]),
        (("check", "irb140", "--tip", "hand"), ["hand", "link_6"]),
        (("check", "irb140", "--payload", "1,2"), ["--payload '1,2'"]),
        (("check", "irb140", "--payload", "-1"), ["mass"]),
        (("identify", "irb140", "none.h5", "-o", "e.json"), ["none.h5", "no such file"]),
        (("run", "irb140"), ["out"]),
        (("run", "irb140", "--out", "x", "--sed", "1"), ["--sed"]),
        (("frobnicate",), ["frobnicate"]),
    ],
)
def test_unknown_name_or_word_is_one_line(robotid, words, expected) -> None:
    one_line(robotid(*words), *expected)


def test_unknown_key_names_the_known_ones(robotid, tmp_path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("[design]\ncandidate = 3\n")
    words = ("run", ARM, "--out", tmp_path / "out", "--config", config)
    one_line(robotid(*words), "design.candidate", "candidates")
    config.write_text('[preprocess]\noptions = { cutof = 3.0 }\nname = "butterworth"\n')
    one_line(robotid(*words), "butterworth", "cutof", "cutoff")


def test_unwritable_folder_is_one_line_and_leaves_nothing(robotid, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    one_line(robotid("run", ARM, "--out", blocked / "out"), "cannot write", "--out")
    one_line(robotid("design", ARM, "-o", tmp_path / "no" / "t.json"), "cannot write")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_debug_shows_the_traceback(robotid, capsys) -> None:
    done = robotid("check", "irb140", "--tip", "hand", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err


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


@pytest.mark.parametrize("words", [("design", "-o", "x.json"), ("run", "--out", "x")])
def test_a_nominal_model_that_is_not_there_is_refused(robotid, words) -> None:
    done = robotid(words[0], ARM, *words[1:], "--nominal", "nosuch.urdf")
    one_line(done, "nominal model: no robot 'nosuch.urdf'")


@pytest.mark.parametrize("words", [("check",), ("export", "-o", "x.urdf")])
def test_a_configured_nominal_model_that_is_not_there_is_refused(robotid, tmp_path, words) -> None:
    config = tmp_path / "study.toml"
    config.write_text('[nominal]\nfile = "nosuch.urdf"\n')
    done = robotid(words[0], ARM, *words[1:], "--config", config)
    one_line(done, "nominal model: no robot 'nosuch.urdf'")


def test_a_trajectory_of_another_robot_is_named_with_the_joints_of_both(robotid, log) -> None:
    path = log / "t.json"
    words = ("t.json", "its joints are shoulder, elbow; those of 'irb140' are joint_1")
    for done in (
        robotid("simulate", "irb140", "--trajectory", path, "-o", log / "other.h5"),
        robotid("view", "irb140", "--trajectory", path, "--record", log / "other.png"),
    ):
        one_line(done, *words)
    assert not list(log.glob("other.*"))
