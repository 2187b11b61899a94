"""``robotid view``: sources, recordings, errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from results import sealed
from robots import DATA, urdf_path

from robotid_sim.files import write_json
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.viewer import sources as command
from robotid_sim.viewer.view_settings import ViewSettings

ARM = DATA / "2r.urdf"
SMALL = ("--size", "200x150", "--renderer", "software")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_urdf(ARM)


@pytest.fixture(scope="module")
def trajectory(robot, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trajectory") / "short.json"
    wave = FourierTrajectory(
        joint_names=robot.joint_names,
        q0=np.zeros(2),
        a=np.array([[0.4, -0.4], [-0.3, 0.3]]),
        b=np.zeros((2, 2)),
        base_period=2.0,
        periods=1,
    )
    wave.save(path)
    return path


@pytest.fixture(scope="module")
def result(robot, tmp_path_factory) -> Path:
    """A folder as `robotid run` leaves it, as far as the viewer reads it."""
    folder = tmp_path_factory.mktemp("result")
    t = np.arange(0.0, 2.0, 1e-2)
    q = 0.8 * np.sin(3.0 * t[:, None] + np.array([0.0, 1.0]))
    log = Log(
        t=t, q=q, tau_meas=5.0 * q, joint_names=robot.joint_names, joint_units=robot.joint_units
    )
    save_log(log, folder / "log.h5")
    for name, seed in (("nominal", 1), ("identified", 2)):
        write_urdf(perturb(robot, np.random.default_rng(seed)), folder / f"{name}.urdf")
    return sealed(folder)


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.mark.pybullet
def test_without_anything_a_sweep_is_recorded(robotid, tmp_path) -> None:
    done = robotid("view", ARM, "--record", tmp_path / "a.png", *SMALL, "--json")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)
    assert said["shown"] == ["joint sweep"]
    assert (said["robot"], said["frames"], said["renderer"]) == ("2r", 1, "software")
    with Image.open(said["file"]) as picture:
        assert picture.size == (200, 150)


@pytest.mark.pybullet
def test_a_person_reads_one_line(robotid, tmp_path) -> None:
    done = robotid("view", ARM, "--record", tmp_path / "a.png", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2r: 1 frame, software renderer\n")
    assert done.out.endswith("a.png\n")


@pytest.mark.slow
def test_a_trajectory_is_simulated_first(robotid, tmp_path, trajectory) -> None:
    film = tmp_path / "a.gif"
    words = ("--trajectory", trajectory, "--fps", 10, "--speed", 2.0, "--json")
    done = robotid("view", ARM, "--record", film, *SMALL, *words)
    assert done.code == 0
    said = json.loads(done.out)
    assert said["shown"] == ["short"]
    assert said["frames"] == 10
    assert said["duration_s"] == pytest.approx(2.0, abs=0.01)
    with Image.open(film) as picture:
        assert picture.n_frames == 10


@pytest.mark.slow
def test_a_log_and_others_as_ghosts(robotid, tmp_path, result) -> None:
    log = result / "log.h5"
    again = tmp_path / "again.h5"
    again.write_bytes(log.read_bytes())
    words = ("view", ARM, "--record", tmp_path / "a.png", *SMALL, "--json", "--time", 1.0)
    assert json.loads(robotid(*words, "--log", log).out)["shown"] == ["log"]
    both = json.loads(robotid(*words, "--log", log, "--log", again).out)
    assert both["shown"] == ["log", "again"]
    same = json.loads(robotid(*words, "--log", log, "--log", log).out)
    assert same["shown"] == [str(log)] * 2
    many = json.loads(robotid(*words, *4 * ("--log", log), "--log", again).out)
    assert many["shown"] == [str(log)] * 4 + [str(again)]
    done = robotid(*words, *6 * ("--log", log))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "at most 5 motions can be shown together, got 6" in done.err


@pytest.mark.pybullet
def test_a_result_shows_its_models(robotid, tmp_path, result, robot, monkeypatch) -> None:
    seen = {}

    def show(playbacks, view, *, models, speed):
        seen.update(playbacks=playbacks, view=view, models=models)

    monkeypatch.setattr(command.viewer, "show", show)
    done = robotid("view", ARM, "--result", result)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert list(seen["models"]) == ["true", "nominal", "identified"]
    assert seen["view"].layers == {"panel", "path", "contacts"}
    assert (seen["view"].width, seen["view"].height) == (1280, 800)
    np.testing.assert_allclose(seen["models"]["true"].parameters(), robot.parameters())
    (result / "identified.urdf").rename(result / "kept")
    sealed(result)
    robotid("view", ARM, "--result", result)
    assert list(seen["models"]) == ["true", "nominal"]  # the fit had failed
    (result / "kept").rename(result / "identified.urdf")
    sealed(result)


@pytest.mark.pybullet
def test_a_moved_result_needs_no_robot(robotid, refused, tmp_path, result, monkeypatch) -> None:
    seen = {}

    def show(playbacks, view, *, models, speed):
        seen.update(names=[p.name for p in playbacks], models=models)

    monkeypatch.setattr(command.viewer, "show", show)
    moved = Path(shutil.copytree(result, tmp_path / "moved"))
    assert robotid("view", moved).code == 0
    assert list(seen["models"]) == ["nominal", "identified"]
    assert seen["names"] == ["log"]
    (moved / "identified.urdf").unlink()
    sealed(moved)
    assert robotid("view", moved).code == 0
    assert list(seen["models"]) == ["nominal"]
    (moved / "nominal.urdf").unlink()
    sealed(moved)
    assert "holds no identified.urdf or nominal.urdf" in refused("view", moved)


@pytest.mark.pybullet
def test_layers_and_camera_are_chosen_by_name(robotid, monkeypatch) -> None:
    seen: list[ViewSettings] = []
    monkeypatch.setattr(command.viewer, "show", lambda p, view, **words: seen.append(view))
    assert robotid("view", ARM, "--show", "frames, torque", "--camera", "top").code == 0
    assert robotid("view", ARM, "--show", "none", "--size", "800x600").code == 0
    assert seen[0].layers == {"frames", "torque"}
    assert seen[0].camera == "top"
    assert seen[1].layers == set()
    assert (seen[1].width, seen[1].height) == (800, 600)


@pytest.mark.pybullet
@pytest.mark.parametrize("layer", ["panel", "curves"])
def test_layers_that_a_window_has_not_are_refused(refused, layer) -> None:
    assert f"a window has no layer {layer}; --record has it" in refused(
        "view", ARM, "--show", f"path,{layer}"
    )


def test_other_commands_show_what_they_made(monkeypatch, robot) -> None:
    seen = []
    monkeypatch.setattr(command.viewer, "show", lambda p, view, **words: seen.append((view, words)))
    move = PointToPoint(robot.joint_names, robot.home, robot.home + 0.1, 0.0, 1.0)
    command.show_motion(robot, move)
    command.show_motion(robot, move, models={"true": robot, "nominal": robot})
    assert all(view.layers == {"panel", "path", "contacts"} for view, _ in seen)
    assert list(seen[1][1]["models"]) == ["true", "nominal"]


@pytest.mark.pybullet
@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize("words", [(), ("--trajectory", "short.json")])
def test_without_a_display_one_line_offers_to_record(refused, words, monkeypatch) -> None:
    monkeypatch.setattr(command, "run_experiment", None)  # no work may begin
    assert "--record" in refused("view", ARM, *words)


BAD = {
    "unknown robot": (("none-such",), "none-such"),
    "unknown format": (("--record", "a.xyz"), ".xyz"),
    "unwritable folder": (("--record", "nowhere/a.png"), "nowhere"),
    "unknown camera": (("--record", "a.png", "--camera", "rear"), "rear"),
    "unknown layer": (("--record", "a.png", "--show", "path,smoke"), "smoke"),
    "unknown renderer": (("--record", "a.png", "--renderer", "vulkan"), "vulkan"),
    "size": (("--record", "a.png", "--size", "640"), "640x480"),
    "zero size": (("--record", "a.png", "--size", "0x480"), "0x480"),
    "negative size": (("--record", "a.png", "--size", "-5x480"), "-5x480"),
    "odd size": (("--record", "a.mp4", "--size", "641x480"), "even"),
    "frame rate": (("--record", "a.gif", "--fps", "0"), "frames per second"),
    "time": (("--record", "a.png", "--time", "1e6"), "not in the motion"),
    "missing log": (("--record", "a.png", "--log", "none.h5"), "none.h5"),
    "missing trajectory": (("--record", "a.png", "--trajectory", "none.json"), "none.json"),
    "no result": (("--record", "a.png", "--result", "."), "manifest.json"),
    "two sources": (("--record", "a.png", "--result", ".", "--log", "x"), "one of"),
    "speed": (("--record", "a.gif", "--speed", "-1"), "speed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_line_and_no_file(refused, tmp_path, monkeypatch, kind) -> None:
    monkeypatch.chdir(tmp_path)
    words, told = BAD[kind]
    robot = () if kind == "unknown robot" else (ARM,)
    assert told in refused("view", *robot, *words)
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_robot_are_refused(robotid, tmp_path, result) -> None:
    other = urdf_path("rp")
    words = ("--record", tmp_path / "a.png", *SMALL)
    done = robotid("view", other, "--log", result / "log.h5", *words)
    assert (done.code, "another robot" in done.err) == (2, True)
    done = robotid("view", other, "--result", result, *words)
    assert (done.code, "another robot" in done.err) == (2, True)


def test_help_names_every_choice(robotid) -> None:
    out = robotid("view", "--help").out
    for word in ("--trajectory", "--log", "--result", "--record", "front, side, top, iso", "egl"):
        assert word in out


def test_a_result_of_another_robot_is_refused(refused, result, tmp_path) -> None:
    folder = tmp_path / "result"
    shutil.copytree(result, folder)
    write_json(folder / "result.json", "result", 1, {"robot": {"name": "irb140"}})
    sealed(folder)
    assert "result.json is of the robot 'irb140', not of " in refused(
        "view", ARM, "--result", folder, "--record", tmp_path / "x.png", *SMALL
    )
    assert not (tmp_path / "x.png").exists()
