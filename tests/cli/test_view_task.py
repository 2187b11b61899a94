"""``robotid view --task``: the motions of a study's models beside the reference."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from results import sealed
from short_study import SHORT
from studies import study

from robotid_sim.pipeline.config import load_config
from robotid_sim.viewer import colors
from robotid_sim.viewer import sources as command

SMALL = ("--size", "400x300", "--renderer", "software")
TASK = "circle-fast"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Folder and configuration of a quick study of the two-link arm."""
    folder = tmp_path_factory.mktemp("twolink")
    config = folder / "short.toml"
    config.write_text(SHORT)
    study("twolink", load_config(config).quick(), folder / "out")
    return folder / "out", config


@pytest.fixture
def shown(pybullet, robotid, result, monkeypatch):
    """Return a function that runs the command and gives what its window is to show."""

    def run(*words):
        seen = {}

        def show(animations, settings, *, models, speed):
            seen.update(animations=animations, models=models)

        monkeypatch.setattr(command.viewer, "show", show)
        monkeypatch.setattr("robotid_sim.viewer.display.require_display", lambda: None)
        folder, config = result
        done = robotid("view", "twolink", "--result", folder, "--config", config, *words)
        assert done.code == 0, done
        return seen, done

    return run


@pytest.mark.slow
def test_a_picture_has_every_model_in_its_color(robotid, result, tmp_path) -> None:
    folder, config = result
    words = ("view", "twolink", "--result", folder, "--config", config, *SMALL, "--json")
    picture = tmp_path / "task.png"
    task = ("--task", TASK, "--show", "panel,curves", "--time", 0.9, "--record", picture)
    done = robotid(*words, *task)
    assert (done.code, done.err) == (0, "")
    names = json.loads(done.out)["shown"]
    assert names[0] == "circle-fast reference"
    factors = {name.partition(", error x ")[2] for name in names[1:]}
    assert [name.partition(",")[0] for name in names[1:]] == list(colors.MODELS)
    assert len(factors) == 1
    assert float(factors.pop()) >= 50.0
    pixels = np.asarray(Image.open(picture).convert("RGB"), dtype=int)
    orange = (pixels - pixels.mean(axis=-1, keepdims=True)) @ (1.0, 0.0, -1.0) > 60
    assert orange.mean() > 2e-3


@pytest.mark.slow
def test_the_ghosts_are_the_runs_of_the_study(shown, result) -> None:
    seen, done = shown("--task", TASK, "--magnify", 1)
    assert done.err == ""
    folder, _ = result
    runs = json.loads((folder / "result.json").read_text())["control"]
    reference, *ghosts = seen["animations"]
    assert list(seen["models"]) == [ghost.name for ghost in ghosts] == list(colors.MODELS)
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


def test_a_failed_fit_leaves_two_models(shown, result) -> None:
    folder, _ = result
    shutil.move(folder / "identified.urdf", folder / "kept")
    sealed(folder)
    try:
        seen, done = shown("--task", "joint-step")
    finally:
        shutil.move(folder / "kept", folder / "identified.urdf")
        sealed(folder)
    assert done.err == ""
    assert [a.color for a in seen["animations"]] == [None, *list(colors.MODELS.values())[:2]]


@pytest.mark.parametrize("task", ["circl", "circle-slow-down", "spiral"])
def test_an_unknown_task_is_one_line(robotid, result, task, tmp_path) -> None:
    folder, config = result
    words = ("--result", folder, "--config", config, "--record", tmp_path / "a.png")
    done = robotid("view", "twolink", *words, "--task", task)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"unknown task '{task}'" in done.err
    assert done.err.endswith("known: circle-fast, circle-slow, joint-step\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.pybullet
def test_without_a_display_no_loop_is_run(refused, result, monkeypatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(command, "task_of_result", None)
    assert "--record" in refused("view", "twolink", "--result", result[0], "--task", TASK)
