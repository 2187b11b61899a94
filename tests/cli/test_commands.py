"""The commands: what they print and write, and that stages in sequence equal the whole run.

Studies run in this process: others would import all that it has imported.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from robots import DATA, urdf_path

from robotid_sim.estimation.estimate import load_estimates
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.robot import Robot
from robotid_sim.part_kinds import KINDS

ROOT = Path(__file__).parents[2]
ARM = DATA / "2r.urdf"
HERE = ("--workers", "1")
PROGRESS = re.compile(r"[a-z]+: \d+%(, \d+ of \d+)?(, about \d+ s left)?")


@pytest.fixture(scope="module")
def no_control(tmp_path_factory):
    """Return a configuration without the closed loop, which takes most of a study's time."""
    path = tmp_path_factory.mktemp("config") / "no-control.toml"
    path.write_text("[control]\nenabled = false\n")
    return path


@pytest.fixture(scope="module")
def study(robotid, no_control, tmp_path_factory):
    """A quick run on the planar arm, by the command."""
    folder = tmp_path_factory.mktemp("run")
    words = ("--quick", *HERE, "--config", no_control, "--no-replay", "--out", folder)
    return robotid("run", ARM, *words), folder


def test_run_prints_table_and_verdict_and_exits_0(study) -> None:
    done, folder = study
    assert done.code == 0
    assert all(PROGRESS.fullmatch(line) for line in done.err.splitlines())
    assert "verdict: PASSED" in done.out
    assert re.search(r"^elbow +\S+ N m", done.out, re.MULTILINE)
    assert (folder / "run.log").read_text().count("\n") >= 5


@pytest.mark.slow
def test_dry_run_writes_nothing(robotid, tmp_path) -> None:
    done = robotid("run", "irb140", "--out", tmp_path / "out", "--dry-run")
    assert done.code == 0
    assert not (tmp_path / "out").exists()
    for word in ("52", "identified.urdf", "encoder-noise", "wls"):
        assert word in done.out
    plan = json.loads(robotid("run", "irb140", "--out", "x", "--dry-run", "--json").out)
    assert plan["base_parameters"] == 52


def test_stages_in_sequence_equal_run_bit_for_bit(robotid, study, tmp_path) -> None:
    _, folder = study
    config = tmp_path / "quick.toml"
    config.write_text("[design]\ncandidates = 40\nstarts = 1\niterations = 25\nperiods = 2\n")
    T, L, E, U = (tmp_path / n for n in ("t.json", "log.h5", "estimate.json", "identified.urdf"))
    common = ("--config", config)
    assert robotid("design", ARM, "-o", T, *common).code == 0
    assert robotid("simulate", ARM, "--trajectory", T, "-o", L, *common).code == 0
    assert robotid("identify", ARM, L, "-o", E, "--urdf", U, *common).code == 0
    assert T.read_bytes() == (folder / "trajectory.json").read_bytes()
    assert L.read_bytes() == (folder / "log.h5").read_bytes()
    assert U.read_bytes() == (folder / "identified.urdf").read_bytes()
    table = (tmp_path / "parameters.csv").read_bytes()
    assert table == (folder / "parameters.csv").read_bytes()
    ours, whole = (json.loads(p.read_text()) for p in (E, folder / "estimate.json"))
    for content in (ours, whole):
        for estimate in content["estimates"]:
            del estimate["seconds"]
    assert ours == whole


@pytest.mark.slow
def test_log_of_a_machine_is_identified_from_csv(robotid, study, tmp_path) -> None:
    _, folder = study
    log = load_log(folder / "log.h5")
    lines = tmp_path / "log.csv"
    save_log(log, lines)
    text = lines.read_text()
    assert "# origin: virtual\n" in text
    lines.write_text(text.replace("# origin: virtual\n", ""))  # it is of a machine then
    done = robotid(
        "identify", folder / "nominal.urdf", lines, "-o", tmp_path / "e.json",
        "--urdf", tmp_path / "identified.urdf",
    )  # fmt: skip
    assert done.code == 0
    assert "Fc2" in done.out
    identified = Robot.from_urdf(tmp_path / "identified.urdf").parameters()
    whole = Robot.from_urdf(folder / "identified.urdf").parameters()
    # nominal.urdf carries its numbers to rounding, and the lift is a solver's to some 1e-6
    np.testing.assert_allclose(identified, whole, rtol=1e-5, atol=1e-5)
    again, before = (
        load_estimates(f)[0][-1] for f in (tmp_path / "e.json", folder / "estimate.json")
    )
    np.testing.assert_allclose(again.beta, before.beta, atol=1e-10)


@pytest.mark.slow
def test_check_reports_ranks_and_groupings(robotid) -> None:
    done = robotid("check", "irb140", "--json")
    report = json.loads(done.out)
    assert done.code == 0
    assert (report["inertial_rank"], report["rank"]) == (36, 52)
    assert all(link["consistent"] for link in report["links"])
    assert len(report["groupings"]) == len(report["textbook_groupings"]) == 52
    text = robotid("check", "irb140").out
    assert "Izz1 + 0.0049 m2" in text
    assert "\n  mx3 + 0.18 m4 + mx4 + 0.38 m5 + 0.38 m6\n" in text
    assert "no effect (10)" in text


IMPOSSIBLE = (DATA / "2r.urdf").read_text().replace('izz="0.095"', 'izz="0.95"')


def test_check_of_impossible_inertia_exits_1_with_the_reason(robotid, tmp_path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(IMPOSSIBLE)
    done = robotid("check", path)
    assert done.code == 1
    assert "triangle inequality" in done.out
    report = json.loads(robotid("check", path, "--json").out)
    assert [link["consistent"] for link in report["links"]] == [False, True]


@pytest.mark.slow
def test_check_names_a_joint_with_friction_and_nothing_that_it_moves(robotid, tmp_path) -> None:
    path = tmp_path / "light.urdf"
    path.write_text(ARM.read_text().replace('friction="0.9"', 'friction="400"'))
    done = robotid("check", path)
    (text,) = json.loads(robotid("check", path, "--json").out)["light_joints"]
    assert text.startswith("elbow: dry friction alone stops it at ")
    assert " ".join(f"WARNING: {text}".split()) in " ".join(done.out.split())
    assert json.loads(robotid("check", ARM, "--json").out)["light_joints"] == []


def test_check_against_a_nominal_model_names_unlikely_masses(robotid, refused, tmp_path) -> None:
    path = tmp_path / "heavy.urdf"
    mass = re.search(r'<mass value="([\d.]+)"', ARM.read_text())
    path.write_text(ARM.read_text().replace(mass[0], f'<mass value="{5.0 * float(mass[1])}"', 1))
    done = robotid("check", path, "--nominal", ARM)
    assert done.code == 0
    assert len(re.findall(r"WARNING: upper: a mass of .* is 5 times the nominal", done.out)) == 1
    report = json.loads(robotid("check", path, "--nominal", ARM, "--json").out)
    assert [text.split(":")[0] for text in report["unlikely_masses"]] == [
        "upper",
        "all links together",
    ]
    assert "irb140" in refused("check", path, "--nominal", "irb140")


@pytest.mark.slow
def test_repair_writes_a_possible_robot_and_says_how_far(robotid, tmp_path, no_control) -> None:
    path, fixed = tmp_path / "bad.urdf", tmp_path / "fixed.urdf"
    path.write_text(IMPOSSIBLE)
    done = robotid("check", path, "--repair", "-o", fixed)
    assert done.code == 0
    assert re.search(r"upper: tensor about the COM moved by \d+\.\d+%", done.out)
    assert "Frobenius" in done.out
    repair = json.loads(robotid("check", path, "--repair", "--json").out)["repair"]
    assert {p["name"] for p in repair["parameters"]} <= {
        f"I{axes}1" for axes in ("xx", "xy", "yy", "xz", "yz", "zz")
    }
    assert repair["torque_change_relative"]["shoulder"] > 0.0
    assert robotid("check", fixed).code == 0
    words = ("--repair", "--quick", *HERE, "--out", tmp_path / "out", "--config", no_control)
    assert robotid("run", path, *words).code == 0


@pytest.mark.slow
def test_payload_changes_the_estimate_by_its_mass(robotid, tmp_path) -> None:
    plain, loaded = (
        json.loads(robotid("check", "irb140", "--json", *extra).out)["links"][-1]["mass"]
        for extra in ((), ("--payload", "2.5,0,0,0.1"))
    )
    assert loaded == pytest.approx(plain + 2.5)


def test_installed_program_and_module_run() -> None:
    command = [sys.executable, "-m", "robotid_sim", "--version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout)


def test_readme_commands_name_what_exists() -> None:
    text = (ROOT / "README.md").read_text()
    assert "pip install -e . && .venv/bin/robotid run irb140 --out out" in text
    assert "pip install -e '.[test]' && .venv/bin/pytest" in text
    assert "irb140" in catalog()


@pytest.mark.slow
def test_the_python_chain_of_the_start_page_prints_what_it_says(
    capsys, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/start.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    promised = text.split("```python\n")[1].split("```\n")[2]
    exec(compile(code, "start.md", "exec"), {})
    assert capsys.readouterr().out.split() == promised.split()


@pytest.mark.slow
def test_design_reports_criterion_limits_and_expected_accuracy(robotid, tmp_path) -> None:
    T = tmp_path / "t.json"
    told = json.loads(robotid("design", ARM, "-o", T, "--quick", "--json", "--workers", 2).out)
    assert told["criterion"] == "d-optimality"
    assert told["criterion_after"] < told["criterion_before"]
    assert 0.0 < told["torque_ratio"] <= 0.75
    assert all(entry["expected_std"] > 0.0 for entry in told["base_parameters"])
    shown = robotid("design", ARM, "-o", T, "--quick").out
    assert re.search(r"velocity \S+ %", shown)
    for entry in told["base_parameters"]:
        assert re.search(rf"^{entry['name']} .*\d$", shown, re.MULTILINE)


def test_design_writes_the_best_so_far_at_ctrl_c(robotid, tmp_path, monkeypatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ExcitationProblem, "descend", interrupt)
    done = robotid("design", ARM, "-o", tmp_path / "t.json", "--quick")
    assert done.code == 130
    assert "interrupted" in done.out
    assert (tmp_path / "t.json").exists()


@pytest.mark.slow
def test_a_torque_limit_that_the_nominal_model_did_not_foresee_is_reported(
    robotid, tmp_path
) -> None:
    config = tmp_path / "limits.toml"
    config.write_text(
        "[control]\nenabled = false\n[nominal]\nscale = 0.4\n"
        "[design]\ntorque_ratio = 0.99\nperiod = 4.0\nperiods = 2\ncandidates = 5\niterations = 3\n"
        "[robot.joints.shoulder]\neffort = 33.0\n[robot.joints.elbow]\neffort = 7.0\n"
    )
    words = ("--out", tmp_path / "out", "--config", config, "--seed", "1", *HERE)
    done = robotid("run", ARM, *words)
    assert done.code in (0, 1)
    ratio = json.loads((tmp_path / "out" / "result.json").read_text())["trajectory"]
    said = "which the nominal model did not foresee" in " ".join(done.out.split())
    assert said == (ratio["max_torque_ratio_true"] > 1.0)
    assert said


def test_the_list_of_presets_has_them_all(robotid) -> None:
    names = {
        row["name"].split(":")[0] for row in json.loads(robotid("list", "presets", "--json").out)
    }
    assert names == {"ideal", "lab", "industrial", "harsh"}


@pytest.mark.slow
def test_simulate_says_how_much_of_the_limits_the_motion_uses(robotid, tmp_path) -> None:
    T = tmp_path / "t.json"
    design = json.loads(robotid("design", ARM, "-o", T, "--quick", "--json").out)
    words = ("simulate", ARM, "--trajectory", T, "-o", tmp_path / "l.h5")
    content = json.loads(robotid(*words, "--json").out)
    assert max(content["of_position"]) == pytest.approx(design["position_ratio"], rel=0.01)
    assert max(content["of_velocity"]) == pytest.approx(design["velocity_ratio"], rel=0.01)
    assert content["contacts"] == []
    assert content["saturated"] == [0.0, 0.0]
    said = robotid(*words).out
    assert "of velocity" in said
    assert "SATURATED" not in said
    weak = tmp_path / "weak.toml"
    weak.write_text("[robot.joints.elbow]\neffort = 1.0\n")
    said = " ".join(robotid(*words, "--config", weak).out.split())
    assert re.search(r"SATURATED: elbow is commanded .* in \d+ % of the samples, and does", said)
    assert "SATURATED: shoulder" not in said


@pytest.mark.slow
def test_run_json_is_the_result_file_and_nothing_else(robotid, tmp_path, no_control) -> None:
    words = ("--quick", *HERE, "--out", tmp_path, "--json", "--config", no_control)
    done = robotid("run", ARM, *words)
    assert json.loads(done.out) == json.loads((tmp_path / "result.json").read_text())
    assert done.err == ""


@pytest.mark.slow
def test_a_delay_is_taken_off_and_a_failed_verdict_exits_1(robotid, tmp_path) -> None:
    config = tmp_path / "late.toml"
    config.write_text(
        "[sensors.torque-noise]\n[sensors.torque-delay]\ndelay = 0.01\n[control]\nenabled = false\n"
    )
    words = ("--quick", *HERE, "--out", tmp_path / "out", "--config", config)
    done = robotid("run", ARM, *words)
    assert done.code == 0  # the delay is found and taken off
    assert "taken off" in done.out
    config.write_text(config.read_text() + '[preprocess]\nname = "rts"\n')
    done = robotid("run", ARM, *words)
    assert done.code == 1
    assert "FAIL" in done.out
    assert "verdict: FAILED" in done.out


@pytest.mark.parametrize(
    "kind",
    ["robots", "trajectories", "families", "sensors", "preprocessors", "estimators", "controllers"],
)
def test_list_gives_name_and_summary_of_every_entry(robotid, kind) -> None:
    entries = json.loads(robotid("list", kind, "--json").out)
    assert entries
    for entry in entries:
        assert set(entry) == {"name", "summary", "source"}
        assert entry["summary"]
        assert entry["name"] in robotid("list", kind).out


def test_iiwa_of_pybullet_data_is_read_by_path(robotid) -> None:
    report = json.loads(robotid("check", urdf_path("iiwa"), "--json").out)
    assert report["inertial_rank"] == 43


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_plain_text(robotid, kind) -> None:
    rows = json.loads(robotid("list", kind, "--json").out)
    assert rows
    for row in rows:
        assert not re.search(r"[`\\]|\]_|:\w+:", row["summary"]), row
