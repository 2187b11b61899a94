"""``robotid validate``: its table, its JSON, its file, what it refuses."""

import json
from itertools import product

import pytest
from robots import DATA

ARM = DATA / "2r.urdf"

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
    for word in ("2r: ", "bandwidth 50 rad/s", "tracking_gap_left", "torque_mismatch_left"):
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
    content = json.loads(done.out, parse_constant=pytest.fail)
    assert set(content) == KEYS
    written = json.loads(path.read_text())
    assert written.pop("schema") == "robotid/validation/1"
    assert written == content
    assert (content["robot"], content["estimator"]) == ("2r", "consistent")
    assert len(content["control"]) == 22
    assert [check["name"] for check in content["checks"]] == [
        "tracking_gap_left",
        "torque_mismatch_left",
        "failed_loops",
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
        ({"estimator": "other"}, "was chosen"),
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


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "robotid/log/1"}'])
def test_a_file_that_is_no_estimate_is_one_line(one_line, tmp_path, text):
    path = tmp_path / "no.json"
    path.write_text(text)
    assert "no.json" in one_line(estimate=path)


def test_files_that_are_not_there_are_one_line(one_line, tmp_path):
    assert "missing.json" in one_line(estimate=tmp_path / "missing.json")
    assert "missing.h5" in one_line("--log", tmp_path / "missing.h5")
    assert "nowhere" in one_line("-o", tmp_path / "nowhere" / "validation.json")


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
    runs = json.loads(done.out)["control"]
    assert {run["controller"] for run in runs} >= {"super-twisting", "pid"}
    assert {run["task"] for run in runs} == {"joint-step"}
    assert {run["scenario"] for run in runs} == {"undisturbed", "payload+feedback"}
    assert {run["model"] for run in runs} == {"true", "nominal", "identified", "wls"}
    noisy = [run for run in runs if run["scenario"] == "payload+feedback"]
    assert {run["run"] for run in noisy} == {0, 1}
    assert all(run["rise_time_s"] > 0.0 for run in runs)
    text = page.read_text()
    assert "child r of the seed" in text
    assert "payload+feedback" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--controller", "pd"),
            "unknown controller 'pd' (did you mean 'pid'?); known: adaptive-sliding-mode",
        ),
        (("--task", "spiral"), "unknown task 'spiral'; known: circle, csv"),
        (("--scenario", "payload+rain"), "unknown scenario 'rain'"),
        (("--model", "pso"), "cannot compare the model 'pso'; known: estimates (ols, wls"),
        (("--model", "published:table-2"), "2r"),
    ],
)
def test_choices_that_do_not_exist_are_named(one_line, words, message):
    assert message in one_line(*words)


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


def test_a_task_from_a_file_needs_the_file(one_line, tmp_path):
    said = one_line("--task", "csv")
    assert "[control.tasks.csv]" in said
    assert "--task csv:FILE" in said
    said = one_line("--task", f"csv:{tmp_path / 'nosuch.csv'}")
    assert "cannot read path file" in said
    assert "nosuch.csv" in said
