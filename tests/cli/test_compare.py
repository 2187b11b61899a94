"""``robotid compare``: whether estimates are of one robot."""

import json

import numpy as np
import pytest
from robots import DATA
from short_study import SHORT
from studies import study

from robotid_sim.pipeline.config import load_config

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def files(robotid, short, tmp_path_factory):
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
        assert robotid(*simulate).code == 0
        fit = ("identify", ARM, log, "-o", estimate, "--config", config, "--nominal", ARM)
        assert robotid(*fit).code == 0
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


def test_two_logs_of_one_robot_agree(robotid, files, tmp_path) -> None:
    done = robotid("compare", files[0], files[1], "-o", tmp_path / "a.json", "--json")
    assert (done.code, done.err) == (0, "")
    content = json.loads(done.out, parse_constant=pytest.fail)
    assert content["agrees"]
    assert content["finding"] == "same robot within their intervals"
    assert content["false_alarm"] == 0.01
    (pair,) = content["pairs"]
    assert pair["p_value"] > 0.005
    assert pair["share_within"] > 0.7
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
    text = " ".join(done.out.split())
    assert "they differ in 2 of 3 pairs. one.json and stiff.json: Fc2 by " in text
    assert "two.json and stiff.json: Fc2 by " in text
    assert "--torque-gain-std" in text


def test_the_table_of_one_pair_fits_the_terminal(robotid, files, monkeypatch) -> None:
    monkeypatch.chdir(files[0].parent)
    done = robotid("compare", "one.json", "two.json")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "two.json minus one.json" in done.out
    assert "same robot within their intervals (false alarms: 1%)" in done.out


def test_doubts_and_gaps_of_the_files_are_said(robotid, files, tmp_path) -> None:
    doubted = edited(tmp_path / "d.json", files[0], doubt="the rows are few")
    old = edited(tmp_path / "o.json", files[1], cov_dof=None, cov_blocks=None)
    done = robotid("compare", doubted, old)
    text = " ".join(done.out.split())
    assert done.code == 0
    assert "d.json: the rows are few" in text
    assert "10 degrees of freedom are assumed" in text
    eps = edited(tmp_path / "eps.json", files[1], friction_velocity=[0.1, 0.1])
    assert "other friction velocities" in " ".join(robotid("compare", files[0], eps).out.split())
    gain = edited(tmp_path / "gain.json", files[1], torque_gain_std=0.02)
    content = json.loads(robotid("compare", files[0], gain, "--json").out)
    assert content["pairs"][0]["p_value"] is None
    assert "errors of the torque constants" in " ".join(content["notes"])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"joint_names": ["a", "b"]}, "is of another robot than"),
        ({"success": False, "message": "not excited"}, "the fit failed (not excited)"),
        ({"cov": None}, "need a covariance"),
    ],
)
def test_estimates_that_cannot_be_compared_are_one_line(
    robotid, files, tmp_path, values, said
) -> None:
    refused(robotid, files[0], with_estimates(tmp_path / "x.json", files[1], **values), said)


def refused(robotid, one, two, said) -> None:
    done = robotid("compare", one, two)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert said in done.err


def test_other_base_parameters_and_copies_are_refused(robotid, files, tmp_path) -> None:
    content = json.loads(files[1].read_text())
    sums = [*content["groupings"][:-1], "other"]
    other = edited(tmp_path / "s.json", files[1], groupings=sums)
    refused(robotid, files[0], other, "has other base parameters than")
    refused(robotid, files[0], edited(tmp_path / "n.json", files[1], groupings=[]), "other base")
    refused(robotid, files[0], edited(tmp_path / "c.json", files[1], chosen="x"), "was chosen")
    bad = edited(tmp_path / "b.json", files[1], cov_dof=["many"])
    refused(robotid, files[0], bad, "'cov_dof' and 'cov_blocks' are numbers")
    short = edited(tmp_path / "k.json", files[1], cov_dof=np.ones(3).tolist())
    refused(robotid, files[0], short, "positive degrees of freedom")
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
def test_result_folders_have_predictions_and_tracking_beside(robotid, studies, monkeypatch) -> None:
    monkeypatch.chdir(studies)
    page = studies / "page.html"
    done = robotid("compare", "one", "two", "--report", page, "-o", "a.json")
    assert (done.code, done.err) == (0, "")
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
    whole = json.loads(robotid("compare", "one", "two", "--json").out)
    files = ("one/result.json", "two/estimate.json")
    parts = json.loads(robotid("compare", *files, "--json").out)
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
    assert json.loads(done.out)["results"] == []
    text = page.read_text()
    assert "<h2>Differences of pair 2</h2>" in text
    assert 'id="figure-differences-3"' in text
    assert "<h2>Prediction</h2>" not in text


def test_terms_of_joints_are_told_though_not_compared(robotid, files, tmp_path) -> None:
    term = {"kind": "offset", "joint": "elbow"}
    path = edited(tmp_path / "terms.json", files[0], terms=[term, 3])
    done = robotid("compare", path, files[1])
    assert done.code == 0
    text = " ".join(done.out.split())
    assert f"Terms of joints are not compared: offset of elbow in {path}." in text
    assert "Terms of joints" not in robotid("compare", *files[:2]).out


def test_fits_of_one_log_are_doubted(robotid, files, tmp_path) -> None:
    content = json.loads(files[0].read_text())
    shifted = [
        estimate | {"beta": [value * (1.0 + 1e-9) for value in estimate["beta"]]}
        for estimate in content["estimates"]
    ]
    path = edited(tmp_path / "again.json", files[0], estimates=shifted)
    told = "are they of one log"
    assert told in " ".join(robotid("compare", files[0], path).out.split())
    assert told not in " ".join(robotid("compare", *files[:2]).out.split())
