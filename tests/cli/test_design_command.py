"""``robotid design``: its choices, its files, its exit codes."""

import csv
import re

import numpy as np
import pytest
from robots import DATA

from robotid_sim.trajectory.trajectory_files import load_trajectory

ARM = DATA / "2r.urdf"
CONFIG = """
[design]
candidates = 8
iterations = 5
period = 5.0
periods = 2
[experiment]
rate = 100.0
"""


@pytest.fixture
def design(robotid, tmp_path):
    """Return a function that runs the command with a small configuration."""
    config = tmp_path / "small.toml"
    config.write_text(CONFIG)

    def run(*words, robot=ARM):
        out = tmp_path / "path.json"
        return robotid("design", robot, "-o", out, "--config", config, *words)

    return run


def test_family_criterion_and_solver_can_be_chosen(design, tmp_path):
    done = design("--family", "b-spline", "--criterion", "a-optimality", "--json")
    assert done.code == 0
    content = done.content
    assert (content["family"], content["criterion"]) == ("b-spline", "a-optimality")
    assert content["criterion_after"] <= content["criterion_before"]
    assert content["violated"] == []
    assert load_trajectory(tmp_path / "path.json").content()["family"] == "homed"
    done = design("--solver", "random")
    assert done.code == 0
    assert "best random candidate" in done.text


@pytest.mark.slow
def test_links_keep_apart_unless_they_need_not(design):
    kept, free = (design(*words, "--json", robot="irb140") for words in ((), ("--no-clearance",)))
    assert (free.code, kept.code) == (0, 0)
    pattern = r"link_\d and \w+ touch, [\d.]+ mm deep at t = [-\d.]+ s"
    touching = free.content["contacts"]
    assert touching
    assert all(re.match(pattern, text) for text in touching)
    content = kept.content
    assert content["contacts"] == []
    floor = "the floor is at z = 0 m of the root frame, under the base"
    assert floor in content["assumptions"]
    assert floor not in free.content["assumptions"]
    done = design("--floor", "5", robot="irb140")
    assert done.code == 1
    assert re.search(r"link_2 is [\d.]+ m below the floor in the rest pose; lower", done.err)


@pytest.mark.slow
def test_what_cannot_keep_the_clearance_is_named_and_too_large_a_one_is_refused(design):
    done = design("--clearance", "0.03", "--json", robot="irb140")
    assert done.code == 0
    (text,) = done.content["relaxed"]
    assert re.match(r"link_6 and link_4 keep 7\.74 mm, not 30 mm, for they are 9\.67 mm", text)
    done = design("--clearance", "1", robot="irb140")
    assert done.code == 2
    assert "clearance is 1 m; give at most" in done.err


def test_the_prior_counts_in_the_expected_accuracy(design, tmp_path):
    def deviations(done):
        return [p["expected_std"] for p in done.content["base_parameters"]]

    alone = design("--json")
    (tmp_path / "path.json").rename(tmp_path / "first.json")
    both = design("--prior", tmp_path / "first.json", "--json")
    assert (
        np.log(deviations(both)).sum()
        < np.log(deviations(alone)).sum() - len(deviations(both)) * 0.1
    )


def test_several_trajectories_go_to_several_files(design, tmp_path):
    done = design("--count", "2", "--json")
    assert done.code == 0
    content = done.content
    files = ["path.json", "path-2.json"]
    assert content["trajectories"] == [str(tmp_path / name) for name in files]
    assert content["log_dets"][1] > content["log_dets"][0]
    first, second = (load_trajectory(tmp_path / name) for name in files)
    assert first.content() != second.content()
    # The second of two is what the first as prior data gives; the draws go on in the sequence.
    prior = (tmp_path / "path.json").rename(tmp_path / "prior.json")
    done = design("--prior", prior, "--json")
    assert done.code == 0


@pytest.mark.slow
def test_explanation_and_comparison_are_printed_and_in_the_page(design, tmp_path):
    page = tmp_path / "page.html"
    done = design("--explain", "--compare", "--report", page)
    assert done.code == 0
    for words in ("comparison of designs", "normalized-condition-number", "Share of the informat"):
        assert words in done.out
    text = page.read_text()
    for words in (
        "Comparison of criteria",
        "Well and weakly identifiable parameters",
        "information-shares",
    ):
        assert words in text


def test_the_csv_goes_home_and_back(design, tmp_path):
    table = tmp_path / "path.csv"
    done = design("--csv", table)
    assert done.code == 0
    assert f"give --nominal {ARM}" in done.text
    assert "--nominal" not in design("--csv", table, "--nominal", ARM).out
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.reader(lines))
    joints = ("shoulder", "elbow")
    assert rows[0] == ["t", *(f"{k}.{j}" for k in ("q", "dq", "ddq") for j in joints)]
    first, last = ([float(v) for v in row] for row in (rows[1], rows[-1]))
    assert last[1:3] == pytest.approx(first[1:3], abs=1e-6)
    steps = float(rows[2][0]) - first[0]
    assert steps == pytest.approx(0.01)
    said = re.match(r"# motion from t = (\S+) s to (\S+) s", table.read_text())
    begin, end = map(float, said.groups())
    path = load_trajectory(tmp_path / "path.json")
    assert (begin, end) == pytest.approx((-path.start, path.duration - path.start))
    assert end < last[0] - 0.1  # the way back


def test_a_violated_constraint_is_named_and_exits_1(design, tmp_path):
    swarm = 'solver = "ga"\nhandling = "penalty"\npopulation = 4\ngenerations = 1\n'
    limits = "torque_ratio = 0.25\n[experiment]"
    text = CONFIG.replace("period = 5.0", "period = 1.0").replace("[experiment]", swarm + limits)
    (tmp_path / "small.toml").write_text(text)
    done = design()
    assert done.code == 1
    assert "VIOLATED: torque of joint" in done.out
    assert "above 1 of the allowance" in done.text
