"""``robotid view``: sources, recordings, tasks of a study, errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from results import sealed
from robots import DATA, urdf_path
from short_study import SHORT
from studies import study

from robotid_sim.files import write_json
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config import load_config
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.viewer import colors
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
def test_without_anything_a_sweep_is_recorded(ran, tmp_path) -> None:
    said = ran("view", ARM, "--record", tmp_path / "a.png", *SMALL, "--json").content
    assert said["shown"] == ["joint sweep"]
    assert (said["robot"], said["frames"], said["renderer"]) == ("2r", 1, "software")
    with Image.open(said["file"]) as picture:
        assert picture.size == (200, 150)


@pytest.mark.pybullet
def test_a_person_reads_one_line(ran, tmp_path) -> None:
    done = ran("view", ARM, "--record", tmp_path / "a.png", *SMALL)
    assert done.out.startswith("2r: 1 frame, software renderer\n")
    assert done.out.endswith("a.png\n")


@pytest.mark.slow
def test_a_trajectory_is_simulated_first(ran, tmp_path, trajectory) -> None:
    film = tmp_path / "a.gif"
    words = ("--trajectory", trajectory, "--fps", 10, "--speed", 2.0, "--json")
    said = ran("view", ARM, "--record", film, *SMALL, *words).content
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
    assert robotid(*words, "--log", log).content["shown"] == ["log"]
    both = robotid(*words, "--log", log, "--log", again).content
    assert both["shown"] == ["log", "again"]
    same = robotid(*words, "--log", log, "--log", log).content
    assert same["shown"] == [str(log)] * 2
    many = robotid(*words, *4 * ("--log", log), "--log", again).content
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
def test_a_moved_result_needs_no_robot(ran, refused, tmp_path, result, monkeypatch) -> None:
    seen = {}

    def show(playbacks, view, *, models, speed):
        seen.update(names=[p.name for p in playbacks], models=models)

    monkeypatch.setattr(command.viewer, "show", show)
    moved = Path(shutil.copytree(result, tmp_path / "moved"))
    ran("view", moved)
    assert list(seen["models"]) == ["nominal", "identified"]
    assert seen["names"] == ["log"]
    (moved / "identified.urdf").unlink()
    sealed(moved)
    ran("view", moved)
    assert list(seen["models"]) == ["nominal"]
    (moved / "nominal.urdf").unlink()
    sealed(moved)
    assert "has no identified.urdf or nominal.urdf" in refused("view", moved)


@pytest.mark.pybullet
def test_layers_and_camera_are_chosen_by_name(ran, monkeypatch) -> None:
    seen: list[ViewSettings] = []
    monkeypatch.setattr(command.viewer, "show", lambda p, view, **words: seen.append(view))
    ran("view", ARM, "--show", "frames, torque", "--camera", "top")
    ran("view", ARM, "--show", "none", "--size", "800x600")
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


def test_files_of_another_robot_are_refused(robotid, tmp_path, result) -> None:
    other = urdf_path("rp")
    words = ("--record", tmp_path / "a.png", *SMALL)
    done = robotid("view", other, "--result", result, *words)
    assert (done.code, "is for another robot than" in done.err) == (2, True)


def test_help_names_every_choice(robotid) -> None:
    out = robotid("view", "--help-all").out
    for word in ("--trajectory", "--log", "--result", "--record", "front, side, top, iso", "egl"):
        assert word in out


def test_a_result_of_another_robot_is_refused(refused, result, tmp_path) -> None:
    folder = tmp_path / "result"
    shutil.copytree(result, folder)
    write_json(folder / "result.json", "result", 1, {"robot": {"name": "irb140"}})
    sealed(folder)
    assert "result.json is for robot 'irb140', not for " in refused(
        "view", ARM, "--result", folder, "--record", tmp_path / "x.png", *SMALL
    )
    assert not (tmp_path / "x.png").exists()


LARGER = ("--size", "400x300", "--renderer", "software")
TASK = "circle-fast"


@pytest.fixture(scope="module")
def study_result(tmp_path_factory):
    """Folder and configuration of a quick study of the two-link arm."""
    folder = tmp_path_factory.mktemp("twolink")
    config = folder / "short.toml"
    config.write_text(f"{SHORT}[control]\ntasks = {{ circle = {{}}, joint-step = {{}} }}\n")
    study("twolink", load_config(config).quick(), folder / "out")
    return folder / "out", config


@pytest.fixture
def shown(pybullet, robotid, study_result, monkeypatch):
    """Return a function that runs the command and gives what its window is to show."""

    def run(*words):
        seen = {}

        def show(animations, settings, *, models, speed):
            seen.update(animations=animations, models=models)

        monkeypatch.setattr(command.viewer, "show", show)
        monkeypatch.setattr("robotid_sim.viewer.display.require_display", lambda: None)
        folder, config = study_result
        done = robotid("view", "twolink", "--result", folder, "--config", config, *words)
        assert done.code == 0, done
        return seen, done

    return run


@pytest.mark.slow
def test_a_picture_has_every_model_in_its_color(ran, study_result, tmp_path) -> None:
    folder, config = study_result
    words = ("view", "twolink", "--result", folder, "--config", config, *LARGER, "--json")
    picture = tmp_path / "task.png"
    task = ("--task", TASK, "--show", "panel,curves", "--time", 0.9, "--record", picture)
    names = ran(*words, *task).content["shown"]
    assert names[0] == "circle-fast reference"
    factors = {name.partition(", error x ")[2] for name in names[1:]}
    assert [name.partition(",")[0] for name in names[1:]] == list(colors.MODEL_COLORS)
    assert len(factors) == 1
    assert float(factors.pop()) >= 50.0
    pixels = np.asarray(Image.open(picture).convert("RGB"), dtype=int)
    orange = (pixels - pixels.mean(axis=-1, keepdims=True)) @ (1.0, 0.0, -1.0) > 60
    assert orange.mean() > 2e-3


@pytest.mark.slow
def test_the_ghosts_are_the_runs_of_the_study(shown, study_result) -> None:
    seen, done = shown("--task", TASK, "--magnify", 1)
    assert done.err == ""
    folder, _ = study_result
    runs = json.loads((folder / "result.json").read_text())["control"]
    reference, *ghosts = seen["animations"]
    assert list(seen["models"]) == [ghost.name for ghost in ghosts] == list(colors.MODEL_COLORS)
    for ghost in ghosts:
        run = next(
            run
            for run in runs
            if (run["model"], run["scenario"], run["task"]) == (ghost.name, "undisturbed", TASK)
        )
        np.testing.assert_allclose(ghost.q - reference.q, ghost.error, atol=1e-12)
        rms = np.sqrt((ghost.error**2).mean(axis=0))
        np.testing.assert_allclose(rms, run["rms_error"], rtol=0.05)  # a sixteenth of the samples


def test_another_configuration_is_noticed(shown) -> None:
    _, done = shown("--task", TASK, "--payload", 1)
    assert done.err.count("\n") == 1
    assert "result.json has other tracking errors on circle-fast" in done.err


def test_a_failed_fit_leaves_two_models(shown, study_result) -> None:
    folder, _ = study_result
    shutil.move(folder / "identified.urdf", folder / "kept")
    sealed(folder)
    try:
        seen, done = shown("--task", "joint-step")
    finally:
        shutil.move(folder / "kept", folder / "identified.urdf")
        sealed(folder)
    assert done.err == ""
    assert [a.color for a in seen["animations"]] == [None, *list(colors.MODEL_COLORS.values())[:2]]


@pytest.mark.pybullet
def test_without_a_display_no_loop_is_run(refused, study_result, monkeypatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(command, "task_of_result", None)
    assert "--record" in refused("view", "twolink", "--result", study_result[0], "--task", TASK)
