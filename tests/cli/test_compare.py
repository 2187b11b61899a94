"""``robotid compare`` and ``robotid validate``: estimates of one robot, and what they are worth."""

import json
from itertools import product

import numpy as np
import pytest
from robots import DATA
from short_study import SHORT
from studies import study

from robotid_sim.pipeline.config import load_config

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def files(ran, short, tmp_path_factory):
    """Estimates of two logs of an arm, and of one log with more Coulomb friction in the elbow."""
    folder = tmp_path_factory.mktemp("compare")
    config, path = short.config, short.path
    changed = folder / "changed.toml"
    changed.write_text(SHORT + "[robot.joints.elbow]\nFc = 0.96\n")
    nominal = ("--nominal", ARM)
    estimates = []
    for name, toml, seed in (("one", config, 1), ("two", config, 2), ("stiff", changed, 3)):
        log, estimate = folder / f"{name}.h5", folder / f"{name}.json"
        words = ("--seed", seed, *nominal)
        simulate = ("simulate", ARM, "--trajectory", path, "-o", log, "--config", toml, *words)
        ran(*simulate)
        fit = ("identify", ARM, log, "-o", estimate, "--config", config, "--nominal", ARM)
        ran(*fit)
        estimates.append(estimate)
    return estimates


def edited(path, file, **values):
    """Write a file like another one, with other values beside its estimates."""
    path.write_text(json.dumps(json.loads(file.read_text()) | values))
    return path


def with_estimates(path, file, **values):
    """Write a file like another one, with other values in its estimates."""
    content = json.loads(file.read_text())
    estimates = [estimate | values for estimate in content["estimates"]]
    return edited(path, file, estimates=estimates)


def test_two_logs_of_one_robot_agree(ran, files, tmp_path) -> None:
    content = ran("compare", files[0], files[1], "-o", tmp_path / "a.json", "--json").content
    assert content["agrees"]
    assert content["finding"] == "same robot within their intervals"
    assert content["false_alarm"] == 0.01
    (pair,) = content["pairs"]
    assert pair["p_value"] > 0.005
    assert pair["coverage"] > 0.7
    z = [p["z"] for p in pair["parameters"]]
    assert z == pytest.approx([p["difference"] / p["std"] for p in pair["parameters"]])
    written = json.loads((tmp_path / "a.json").read_text())
    assert written.pop("schema") == "robotid/agreement/1"
    assert written == content


def test_a_changed_friction_is_named(robotid, files, monkeypatch) -> None:
    monkeypatch.chdir(files[0].parent)
    done = robotid("compare", "one.json", "two.json", "stiff.json")
    assert (done.code, done.err) == (1, "")
    assert max(map(len, done.out.splitlines())) <= 80
    text = done.text
    assert "they differ in 2 of 3 pairs. one.json and stiff.json: Fc2 by " in text
    assert "two.json and stiff.json: Fc2 by " in text
    assert "--drive-gain-std" in text


def test_the_table_of_one_pair_fits_the_terminal(ran, files, monkeypatch) -> None:
    monkeypatch.chdir(files[0].parent)
    done = ran("compare", "one.json", "two.json")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "two.json minus one.json" in done.out
    assert "same robot within their intervals (false alarms: 1%)" in done.out


def test_doubts_and_gaps_of_the_files_are_said(robotid, files, tmp_path) -> None:
    doubted = edited(tmp_path / "d.json", files[0], warning="the rows are few")
    old = edited(tmp_path / "o.json", files[1], cov_dof=None, cov_blocks=None)
    done = robotid("compare", doubted, old)
    text = done.text
    assert done.code == 0
    assert "d.json: the rows are few" in text
    assert "10 are assumed" in text
    eps = edited(tmp_path / "eps.json", files[1], transition_velocity=[0.1, 0.1])
    assert "different transition velocities" in robotid("compare", files[0], eps).text
    gain = edited(tmp_path / "gain.json", files[1], drive_gain_std=0.02)
    content = robotid("compare", files[0], gain, "--json").content
    assert content["pairs"][0]["p_value"] is None
    assert "drive gain errors" in " ".join(content["notes"])


def refused(robotid, one, two, said) -> None:
    done = robotid("compare", one, two)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert said in done.err


def test_other_base_parameters_and_copies_are_refused(robotid, files, tmp_path) -> None:
    arm = with_estimates(tmp_path / "x.json", files[1], joint_names=["a", "b"])
    refused(robotid, files[0], arm, "is of another robot than")
    refused(robotid, files[0], edited(tmp_path / "n.json", files[1], groupings=[]), "other base")
    refused(
        robotid, files[0], edited(tmp_path / "c.json", files[1], chosen="x"), "no chosen estimate"
    )
    bad = edited(tmp_path / "b.json", files[1], cov_dof=["many"])
    refused(robotid, files[0], bad, "'cov_dof' and 'cov_blocks' must be numbers")
    copied = edited(tmp_path / "copy.json", files[0])
    refused(robotid, files[0], copied, "hold the same estimate")
    link = tmp_path / "link.json"
    link.symlink_to(files[0])
    refused(robotid, files[0], link, "is given twice")


@pytest.fixture(scope="module")
def studies(short, tmp_path_factory):
    """Folder of two studies of the arm, ``one`` and ``two``, with other seeds."""
    folder = tmp_path_factory.mktemp("studies")
    for seed, name in enumerate(("one", "two")):
        config = load_config(short.config, {"seed": seed}).quick()
        study(ARM, config, folder / name)
    return folder


@pytest.mark.slow
def test_result_folders_have_predictions_and_tracking_beside(ran, studies, monkeypatch) -> None:
    monkeypatch.chdir(studies)
    page = studies / "page.html"
    done = ran("compare", "one", "two", "--report", page, "-o", "a.json")
    assert max(map(len, done.out.splitlines())) <= 80
    content = json.loads((studies / "a.json").read_text())
    assert [part["file"] for part in content["results"]] == ["one", "two"]
    text = page.read_text()
    for part in content["results"]:
        result = json.loads((studies / part["file"] / "result.json").read_text())
        (chosen,) = (e for e in result["estimates"] if e["estimator"] == result["chosen"])
        assert part["prediction"] == chosen["validation"]
        assert part["passed"] == result["verdict"]["passed"]
        runs = [run for run in result["control"] if run["model"] == "identified"]
        errors = [np.sqrt(np.mean(np.square(run["rms_error"]))) for run in runs]
        assert [case["rms_error"] for case in part["tracking"]] == pytest.approx(errors)
        assert f"{1e3 * errors[0]:.4g}" in done.out
        assert f"{1e3 * errors[0]:.4g}" in text
        for name in chosen["base_parameters"]:
            assert name["name"] in text
    for heading in ("Agreement", "Differences", "Parameters", "Prediction", "Closed loop"):
        assert f"<h2>{heading}</h2>" in text
    assert "robotid compare one two --report" in text


@pytest.mark.slow
def test_files_of_a_result_folder_stand_for_it(robotid, studies, monkeypatch) -> None:
    monkeypatch.chdir(studies)
    whole = robotid("compare", "one", "two", "--json").content
    files = ("one/result.json", "two/estimate.json")
    parts = robotid("compare", *files, "--json").content
    assert [part.pop("file") for part in parts["results"]] == list(files)
    for part in whole["results"]:
        part.pop("file")
    assert parts["results"] == whole["results"]
    assert parts["pairs"][0]["chi_squared"] == whole["pairs"][0]["chi_squared"]
    refused(robotid, "one", "one/estimate.json", "hold the same estimate")


def test_estimates_without_a_study_have_parameters_alone(robotid, files, tmp_path) -> None:
    page = tmp_path / "page.html"
    done = robotid("compare", *files, "--report", page, "--json")
    assert done.code == 1
    assert done.content["results"] == []
    text = page.read_text()
    assert "<h2>Differences of pair 2</h2>" in text
    assert 'id="figure-differences-3"' in text
    assert "<h2>Prediction</h2>" not in text


def test_terms_of_joints_are_told_though_not_compared(robotid, ran, files, tmp_path) -> None:
    term = {"kind": "offset", "joint": "elbow"}
    path = edited(tmp_path / "terms.json", files[0], terms=[term, 3])
    text = ran("compare", path, files[1]).text
    assert f"Joint terms are not compared: offset of elbow in {path}." in text
    assert "Joint terms" not in robotid("compare", *files[:2]).out


def test_fits_of_one_log_are_doubted(robotid, files, tmp_path) -> None:
    content = json.loads(files[0].read_text())
    shifted = [
        estimate | {"beta": [value * (1.0 + 1e-9) for value in estimate["beta"]]}
        for estimate in content["estimates"]
    ]
    path = edited(tmp_path / "again.json", files[0], estimates=shifted)
    told = "Check whether they are of one log"
    assert told in robotid("compare", files[0], path).text
    assert told not in robotid("compare", *files[:2]).text


KEYS = {
    "contacts",
    *("robot", "estimator", "identified", "bandwidth", "error_bound", "bandwidth_limited"),
    *("torque_rms", "torque_rms_relative", "control", "checks"),
}


def validate(robotid, short, *words, robot=ARM, estimate=None):
    given = ("--config", short.config, "--workers", 1, *words)
    return robotid("validate", robot, estimate or short.estimate, *given)


@pytest.fixture
def one_line(refused, short):
    """Return a function that gives the one line of a validation that is refused."""

    def run(*words, robot=ARM, estimate=short.estimate):
        given = ("--config", short.config, "--workers", 1, *words)
        return refused("validate", robot, estimate, *given)

    return run


def test_a_good_estimate_exits_0_with_prediction_and_checks(robotid, short):
    done = validate(robotid, short, "--quick", "--workers", "1", "--log", short.log)
    assert done.code == 0
    assert done.err == ""
    for word in ("2r: ", "bandwidth 50 rad/s", "tracking_gap_closed", "torque_error_reduced"):
        assert word in done.out
    lines = done.out.splitlines()
    start = next(k for k, line in enumerate(lines) if "prediction of the log" in line)
    assert [line.split()[0] for line in lines[start + 2 : start + 4]] == ["shoulder", "elbow"]


@pytest.mark.slow
def test_json_is_one_object_and_the_file_is_the_same_with_its_schema(robotid, short, tmp_path):
    path = tmp_path / "validation.json"
    done = validate(robotid, short, "--json", "-o", path, "--workers", "1", "--log", short.log)
    assert done.code == 0
    assert done.err == ""
    content = done.content
    assert set(content) == KEYS
    written = json.loads(path.read_text())
    assert written.pop("schema") == "robotid/validation/1"
    assert written == content
    assert (content["robot"], content["estimator"]) == ("2r", "consistent")
    assert len(content["control"]) == 6
    assert [check["name"] for check in content["checks"]] == [
        "tracking_gap_closed",
        "torque_error_reduced",
        "all_closed_loops_completed",
    ]
    assert all(check["passed"] for check in content["checks"])
    assert len(content["error_bound"]) == 2
    # The log's own noise of 1 % behind a low-pass at a hundredth of the sample rate.
    assert all(0.0 < share < 0.01 for share in content["torque_rms_relative"])


@pytest.mark.slow
def test_an_estimate_as_wrong_as_the_nominal_exits_1(robotid, short, tmp_path):
    content = json.loads(short.estimate.read_text())
    for estimate in content["estimates"]:
        estimate["phi"] = None
        estimate["beta"] = [1.3 * value for value in estimate["beta"]]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(content))
    done = validate(robotid, short, "--workers", "1", estimate=path)
    assert done.code == 1
    assert "FAIL" in done.out


def test_an_estimate_of_another_robot_is_one_line(one_line):
    said = one_line(robot="irb140")
    assert all(word in said for word in ("e.json", "other base parameters", "irb140"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"success": False, "message": "no motion"}, "no motion"),
        ({"estimator": "other"}, "no chosen estimate"),
        ({"phi": [1.0, 2.0]}, "'phi'"),
        ({"phi": [-1.0] * 28}, ""),
    ],
)
def test_an_estimate_that_cannot_be_is_one_line(one_line, short, tmp_path, values, words):
    content = json.loads(short.estimate.read_text())
    for estimate in content["estimates"]:
        estimate.update(values)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content))
    said = one_line(estimate=path)
    assert "changed.json" in said
    assert words in said


@pytest.mark.slow
def test_controllers_tasks_scenarios_models_and_runs_can_be_chosen(robotid, short, tmp_path):
    page = tmp_path / "page.html"
    words = (
        *("--controller", "super-twisting", "--controller", "pid"),
        *("--task", "joint-step", "--scenario", "payload+feedback", "--model", "wls"),
        *("--runs", "2", "--json", "--workers", "1", "--report", page),
    )
    done = validate(robotid, short, *words)
    assert done.code == 0
    runs = done.content["control"]
    assert {run["controller"] for run in runs} >= {"super-twisting", "pid"}
    assert {run["task"] for run in runs} == {"joint-step"}
    assert {run["scenario"] for run in runs} == {"undisturbed", "payload+feedback"}
    assert {run["model"] for run in runs} == {"true", "nominal", "identified", "wls"}
    noisy = [run for run in runs if run["scenario"] == "payload+feedback"]
    assert {run["run"] for run in noisy} == {0, 1}
    assert all(run["rise_time_s"] > 0.0 for run in runs)
    text = page.read_text()
    assert "stream r of the seed" in text
    assert "payload+feedback" in text


@pytest.mark.slow
def test_the_terminal_shows_every_case_that_ran(robotid, short, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    words = (
        *("--controller", "super-twisting", "--controller", "pid", "--scenario", "payload"),
        *("--task", "joint-step", "--task", "circle", "--model", "wls", "--quick"),
    )
    lines = validate(robotid, short, *words, "--workers", "1").out.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("task  "))
    columns = ["task", "scenario", "controller", "unit", "true", "nominal", "identified", "wls"]
    assert lines[head].split()[:-2] == columns
    cases = {tuple(line.split()[:3]) for line in lines[head + 1 : lines.index("", head)]}
    # The plane of this arm holds no circle in space: its path is one of the joints.
    tasks, scenarios = ("joint-step", "joint-ellipse-fast"), ("undisturbed", "payload")
    assert cases == set(product(tasks, scenarios, ("super-twisting", "pid")))
