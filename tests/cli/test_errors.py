"""Bad input at the command line: exit 2, one line that names the thing, no partial file."""

import json
import re
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


@pytest.mark.parametrize("command", ["identify", "diagnose", "view"])
def test_log_of_another_robot_is_refused(refused, short, tmp_path, command) -> None:
    words = {
        "identify": (short.log, "-o", tmp_path / "e.json"),
        "diagnose": (short.log,),
        "view": ("--log", short.log, "--record", tmp_path / "a.png"),
    }
    said = refused(command, "irb140", *words[command])
    assert "a different robot" in said
    assert "elbow" in said
    assert not list(tmp_path.iterdir())


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


LONG = 300 * "x"
DEEP = "/".join(30 * [200 * "y"])


@pytest.mark.parametrize("name", [LONG, DEEP], ids=["long", "deep"])
@pytest.mark.parametrize(
    "words",
    [
        ("check", "{}"),
        ("check", ARM, "--config", "{}"),
        ("identify", ARM, "{}", "-o", "e.json"),
        ("design", ARM, "-o", "{}"),
        ("simulate", ARM, "--trajectory", "{}", "-o", "l.h5"),
        ("import", "{}", "--robot", ARM, "-o", "l.h5"),
        ("export", ARM, "-o", "{}.xml"),
        ("view", ARM, "--record", "{}.png"),
        ("compare", "{}", "{}"),
        ("run", ARM, "--dry-run", "--out", "{}"),
        ("reproduce", "twolink-elpidso", "--out", "{}"),
    ],
    ids=lambda words: " ".join(str(word) for word in words if word != ARM),
)
def test_a_name_that_is_too_long_is_no_bug(refused, tmp_path, monkeypatch, words, name) -> None:
    monkeypatch.chdir(tmp_path)
    assert name[:40] in refused(*(str(word).format(name) for word in words))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def content(short):
    """Return the content of a trajectory file."""
    return json.loads(short.path.read_text())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": [90.0, 0.0]}, "of the position limit of joint 'shoulder'; design a trajectory for"),
        ({"a": [[0.0] * 5, [30.0] + [0.0] * 4]}, "of the position limit of joint 'elbow'"),
        ({"base_period": 0.4}, "of the acceleration limit of joint"),
        ({"base_period": 1e-9}, "times the acceleration limit of joint"),
        ({"base_period": 5e-324}, "the motion is not finite (q_end is not finite"),
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


TEXT = (DATA / "2r.urdf").read_text()
SHAPE = "<collision><geometry>{}</geometry></collision></link>"


def doubled(tag: str) -> str:
    """Return the arm with the first element of a tag twice."""
    return re.sub(rf"<{tag} [^>]*/>|<{tag}>.*?</{tag}>", r"\g<0>\g<0>", TEXT, count=1, flags=re.S)


def changed(tag: str, **values: str) -> str:
    """Return the arm with other attributes of the first element of a tag."""
    element = re.search(rf"<{tag} [^>]*>", TEXT).group(0)
    new = element
    for key, value in values.items():
        new = re.sub(rf'{key}="[^"]*"', f'{key}="{value}"', new)
    assert new != element
    return TEXT.replace(element, new, 1)


def shaped(shape: str) -> str:
    """Return the arm with a collision shape at its last link."""
    head, _, tail = TEXT.rpartition("</link>")
    return head + SHAPE.format(shape) + tail


def without_inertia() -> str:
    """Return the arm with a last link of which only the shape is given."""
    head, element, tail = TEXT.rpartition("<inertial>")
    return head + (element + tail).split("</inertial>", 1)[1]


BROKEN = {
    **{
        f"two {tag}": (doubled(tag), f"<{tag}> occurs 2 times; keep one of them")
        for tag in ("parent", "child")
    },
    "damping": (changed("dynamics", damping="-1"), "Fv = -1 is negative"),
    "friction": (changed("dynamics", friction="-1"), "Fc = -1 is negative"),
    "much damping": (changed("dynamics", damping="1e12"), "is it in another unit?"),
    "equal": (changed("limit", lower="0", upper="0"), "lower limit 0 is not below upper limit 0"),
    "180": (changed("limit", lower="-180", upper="180"), "a range of 360 rad is implausible; if"),
    "90": (changed("limit", lower="-90", upper="90"), "degrees, convert them; else state them"),
    "180/s": (changed("limit", velocity="180"), "a velocity limit of 180 rad/s is implausible"),
    "weak": (changed("limit", effort="1e-9"), "correct its effort limit or the masses"),
    "effort": (changed("limit", effort="-5"), "negative effort limit"),
    "mass": (changed("mass", value="1e12"), "mass value='1e12' is more than 100000 kg"),
    "no mass": (changed("mass", value="0"), "the mass is zero but moments are not"),
    "tensor": (changed("inertia", ixx="-1"), "negative principal moment"),
    "heavy": (changed("inertia", ixx="1e9"), "inertia ixx='1e9' is more than 1e+06 kg m^2"),
    "far": (changed("origin", xyz="900 0 0"), "origin xyz='900 0 0' is more than 100 m: is it in"),
    "sphere": (shaped('<sphere radius="-1"/>'), "link 'lower': the size of the sphere is negative"),
    "box": (shaped('<box size="1e6 1 1"/>'), "box size='1e6 1 1' is more than 1000 m"),
    "ball": (TEXT.replace("revolute", "ball", 1), "unknown type 'ball'"),
    "no inertia": (without_inertia(), "joint 'elbow' moves no inertia; give link 'lower' or one"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_study_refuses_the_check_does_and_names_it(robotid, tmp_path, name) -> None:
    text, words = BROKEN[name]
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    checked = robotid("check", path)
    run = robotid("run", path, "--out", tmp_path / "out", "--dry-run")
    assert (run.code, checked.code) in ((2, 2), (2, 1), (1, 1))
    assert (run.out, run.err.count("\n")) == ("", 1)
    assert words in run.err
    assert words in " ".join((checked.err + checked.out).split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            changed("limit", velocity="1000"),
            "velocity limit of 1000 rad/s taken as no limit, 3.14 rad/s assumed",
        ),
        (
            changed("limit", lower="-1e6", upper="1e6"),
            "position range of 2e+06 taken as no limit, ±3.14 assumed",
        ),
        *(
            (doubled(tag), f"second ones are omitted: <{tag}> of ")
            for tag in ("inertial", "mass", "inertia", "limit", "dynamics", "axis")
        ),
        (shaped('<box size="0 0 0"/>'), "shapes without a volume are omitted: lower"),
        pytest.param(
            TEXT.replace("<inertia ", "<other "),
            "missing <inertia> taken as zero: upper, lower",
            marks=pytest.mark.pybullet,  # MuJoCo takes no body without inertia
        ),
        (
            TEXT.replace("</joint>\n</robot>", '<mimic joint="shoulder"/></joint></robot>'),
            "mimic joints, which do not follow but stay at zero: elbow",
        ),
    ],
)
def test_what_is_taken_for_granted_is_told(ran, tmp_path, text, words) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    done = ran("check", path)
    assert f"assumed: {words}" in done.text


def test_limits_that_are_stated_are_taken(ran, tmp_path) -> None:
    path, config = tmp_path / "arm.urdf", tmp_path / "c.toml"
    path.write_text(changed("limit", velocity="180"))
    config.write_text("[robot.joints.shoulder]\nvelocity = 3.0\n")
    ran("check", path, "--config", config)
