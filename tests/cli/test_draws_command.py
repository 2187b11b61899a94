"""``robotid identify --draws``: robots for simulations, and how far predictions may be off."""

import json

import numpy as np
import pytest
from robots import DATA

from robotid_sim.estimation.estimate import load_chosen
from robotid_sim.model.robot import Robot

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def made(robotid, short, tmp_path_factory):
    """An estimate with draws."""
    folder = tmp_path_factory.mktemp("draws")
    draws = ("--draws", 12, folder / "draws")
    done = robotid("identify", ARM, short.log, "-o", folder / "e.json", *draws)
    assert done.code == 0, done.err
    assert "12 robots, draw_01.urdf on, are written in" in " ".join(done.out.split())
    return folder


def test_draws_are_robots_that_the_engine_takes(robotid, short, made, tmp_path):
    files = sorted((made / "draws").glob("*.urdf"))
    assert len(files) == 12
    masses = [Robot.from_urdf(file).parameters()[0] for file in files]
    assert len(set(masses)) == 12
    words = ("--trajectory", short.unseen_path, "-o", tmp_path / "log.h5")
    assert robotid("simulate", files[-1], *words).code == 0


@pytest.mark.slow
def test_a_band_holds_nine_tenths_of_unseen_torques(robotid, short, made, tmp_path):
    assert min(load_chosen(made / "e.json")[2]["model_error"]["std"]) > 0.0
    words = ("predict", ARM, made / "e.json", short.unseen)
    page = tmp_path / "page.html"
    content = json.loads(robotid(*words, "--json", "--report", page).out)
    assert np.allclose(content["in_band"], 0.9, atol=0.02)
    assert "in band" in robotid(*words).out
    assert "the 90 % band of the prediction" in page.read_text()


@pytest.mark.slow
def test_without_draws_or_held_out_data_there_is_no_band(robotid, short, made, tmp_path):
    done = robotid("identify", ARM, short.log, "-o", tmp_path / "e.json")
    assert done.code == 0
    assert "model_error" not in load_chosen(tmp_path / "e.json")[2]
    done = robotid("predict", ARM, tmp_path / "e.json", short.unseen, "--json")
    assert "in_band" not in json.loads(done.out)


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "draws are counted from 1, got 0"), (5, "has other draws, such as draw_06.urdf")],
)
def test_draws_that_cannot_be_are_refused_at_once(refused, short, made, tmp_path, count, said):
    out = tmp_path / "e.json"
    assert said in refused("identify", ARM, short.log, "-o", out, "--draws", count, made / "draws")
    assert not out.exists()
