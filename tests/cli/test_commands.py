"""The commands: what they print and write, and that stages in sequence equal the whole run.

Studies run in this process: others would import all that it has imported."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from measured import measured
from results import sealed
from robots import DATA, urdf_path

from robotid_sim.estimation.estimate import load_estimates
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot

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
    assert re.match(r"2r: PASSED in \S+ s, 10 of 10 checks", done.out)
    assert len(done.out.splitlines()) <= 14
    assert re.search(r"^elbow +\S+ N m", done.out, re.MULTILINE)
    assert (folder / "run.log").read_text().count("\n") >= 5


@pytest.mark.slow
def test_dry_run_writes_nothing(robotid, ran, tmp_path) -> None:
    done = ran("run", "irb140", "--out", tmp_path / "out", "--dry-run")
    assert not (tmp_path / "out").exists()
    for word in ("52", "identified.urdf", "encoder-noise", "wls"):
        assert word in done.out
    plan = robotid("run", "irb140", "--out", "x", "--dry-run", "--json").content
    assert plan["base_parameters"] == 52


def test_stages_in_sequence_equal_run_bit_for_bit(ran, study, tmp_path) -> None:
    _, folder = study
    config = tmp_path / "quick.toml"
    config.write_text("[design]\ncandidates = 40\nstarts = 1\niterations = 25\nperiods = 2\n")
    T, L, E, U = (tmp_path / n for n in ("t.json", "log.h5", "estimate.json", "identified.urdf"))
    common = ("--config", config)
    ran("design", ARM, "-o", T, *common)
    ran("simulate", ARM, "--trajectory", T, "-o", L, *common)
    ran("identify", ARM, L, "-o", E, "--urdf", U, *common)
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
    report = done.content
    assert done.code == 0
    assert (report["inertial_rank"], report["rank"]) == (36, 52)
    assert all(link["consistent"] for link in report["links"])
    assert len(report["groupings"]) == len(report["textbook_groupings"]) == 52
    short = robotid("check", "irb140").out
    assert len(short.splitlines()) <= 12
    text = robotid("check", "irb140", "-v").out
    assert text.startswith(short)
    assert "Izz1 + 0.0049 m2" in text
    assert "\n  mx3 + 0.18 m4 + mx4 + 0.38 m5 + 0.38 m6\n" in text
    assert "not identifiable (10)" in text


IMPOSSIBLE = (DATA / "2r.urdf").read_text().replace('izz="0.095"', 'izz="0.95"')


def test_check_of_impossible_inertia_exits_1_with_the_reason(robotid, tmp_path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(IMPOSSIBLE)
    done = robotid("check", path)
    assert done.code == 1
    assert "triangle inequality" in done.out
    report = robotid("check", path, "--json").content
    assert [link["consistent"] for link in report["links"]] == [False, True]


@pytest.mark.slow
def test_check_names_a_joint_with_friction_and_nothing_that_it_moves(robotid, tmp_path) -> None:
    path = tmp_path / "light.urdf"
    path.write_text(ARM.read_text().replace('friction="0.9"', 'friction="400"'))
    done = robotid("check", path)
    (text,) = robotid("check", path, "--json").content["light_joints"]
    assert text.startswith("elbow: Coulomb friction alone stops it at ")
    assert " ".join(f"WARNING: {text}".split()) in done.text
    assert robotid("check", ARM, "--json").content["light_joints"] == []


def test_check_against_a_nominal_model_names_unlikely_masses(
    robotid, ran, refused, tmp_path
) -> None:
    path = tmp_path / "heavy.urdf"
    mass = re.search(r'<mass value="([\d.]+)"', ARM.read_text())
    path.write_text(ARM.read_text().replace(mass[0], f'<mass value="{5.0 * float(mass[1])}"', 1))
    done = ran("check", path, "--nominal", ARM)
    assert len(re.findall(r"WARNING: upper: a mass of .* is 5 times the nominal", done.out)) == 1
    report = robotid("check", path, "--nominal", ARM, "--json").content
    assert [text.split(":")[0] for text in report["unlikely_masses"]] == [
        "upper",
        "all links together",
    ]
    assert "irb140" in refused("check", path, "--nominal", "irb140")


@pytest.mark.slow
def test_repair_writes_a_possible_robot_and_says_how_far(
    robotid, ran, tmp_path, no_control
) -> None:
    path, fixed = tmp_path / "bad.urdf", tmp_path / "fixed.urdf"
    path.write_text(IMPOSSIBLE)
    done = ran("check", path, "--repair", "-o", fixed)
    assert re.search(r"upper: tensor about the COM changed by \d+\.\d+%", done.out)
    assert "Frobenius" in done.out
    repair = robotid("check", path, "--repair", "--json").content["repair"]
    assert {p["name"] for p in repair["parameters"]} <= {
        f"I{axes}1" for axes in ("xx", "xy", "yy", "xz", "yz", "zz")
    }
    assert repair["torque_change_relative"]["shoulder"] > 0.0
    ran("check", fixed)
    words = ("--repair", "--quick", *HERE, "--out", tmp_path / "out", "--config", no_control)
    ran("run", path, *words)


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
    told = robotid("design", ARM, "-o", T, "--quick", "--json", "--workers", 2).content
    assert told["criterion"] == "d-optimality"
    assert told["criterion_after"] < told["criterion_before"]
    assert 0.0 < told["torque_ratio"] <= 0.75
    assert all(entry["expected_std"] > 0.0 for entry in told["base_parameters"])
    shown = robotid("design", ARM, "-o", T, "--quick", "-v").out
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
    said = "more than the nominal model predicts" in done.text
    assert said == (ratio["max_torque_ratio_true"] > 1.0)
    assert said


@pytest.mark.slow
def test_simulate_says_how_much_of_the_limits_the_motion_uses(robotid, tmp_path) -> None:
    T = tmp_path / "t.json"
    design = robotid("design", ARM, "-o", T, "--quick", "--json").content
    words = ("simulate", ARM, "--trajectory", T, "-o", tmp_path / "l.h5")
    content = robotid(*words, "--json").content
    assert max(content["of_position"]) == pytest.approx(design["position_ratio"], rel=0.01)
    assert max(content["of_velocity"]) == pytest.approx(design["velocity_ratio"], rel=0.01)
    assert content["contacts"] == []
    assert content["saturated"] == [0.0, 0.0]
    said = robotid(*words).out
    assert "of velocity" in said
    assert "SATURATED" not in said
    weak = tmp_path / "weak.toml"
    weak.write_text("[robot.joints.elbow]\neffort = 1.0\n")
    said = robotid(*words, "--config", weak).text
    assert re.search(r"SATURATED: elbow: the commanded torque exceeds its limit in \d+ % of", said)
    assert "SATURATED: shoulder" not in said


@pytest.mark.slow
def test_run_json_is_the_result_file_and_nothing_else(robotid, tmp_path, no_control) -> None:
    words = ("--quick", *HERE, "--out", tmp_path, "--json", "--config", no_control)
    done = robotid("run", ARM, *words)
    assert done.content == json.loads((tmp_path / "result.json").read_text())
    assert done.err == ""


@pytest.mark.slow
def test_a_delay_is_taken_off_and_a_failed_verdict_exits_1(robotid, tmp_path) -> None:
    config = tmp_path / "late.toml"
    config.write_text(
        "[sensors.torque-noise]\n[sensors.torque-delay]\ndelay = 0.01\n[control]\nenabled = false\n"
    )
    words = ("--quick", "-v", *HERE, "--out", tmp_path / "out", "--config", config)
    done = robotid("run", ARM, *words)
    assert done.code == 0  # the delay is found and taken off
    assert "corrected" in done.out
    config.write_text(config.read_text() + '[preprocess]\nname = "rts"\n')
    done = robotid("run", ARM, *words)
    assert done.code == 1
    assert "FAIL" in done.out
    assert ": FAILED in " in done.out


def test_iiwa_of_pybullet_data_is_read_by_path(robotid) -> None:
    report = robotid("check", urdf_path("iiwa"), "--json").content
    assert report["inertial_rank"] == 43


@pytest.fixture
def mjcf_arm(tmp_path):
    """Return an MJCF file of a two-link mjcf_arm, with the TOML beside it."""
    write_mjcf(load_robot(DATA / "2r.urdf"), tmp_path / "mjcf_arm.xml")
    return tmp_path / "mjcf_arm.xml"


def test_check_says_the_same_of_a_robot_in_either_format(robotid, mjcf_arm) -> None:
    ours, theirs = (
        robotid("check", file, "--json").content for file in (DATA / "2r.urdf", mjcf_arm)
    )
    assert ours["groupings"] == theirs["groupings"]
    assert ours["rank"] == theirs["rank"]


def test_a_log_of_one_format_is_identified_with_the_other(ran, mjcf_arm, tmp_path) -> None:
    path, log = tmp_path / "path.json", tmp_path / "log.h5"
    (tmp_path / "short.toml").write_text(
        "[design]\ncandidates = 20\nstarts = 1\niterations = 5\nperiods = 2\n"
        "[experiment]\nrate = 250.0\n"
    )
    given = ("--config", tmp_path / "short.toml")
    urdf, out = tmp_path / "identified.urdf", tmp_path / "estimate.json"
    ran("design", mjcf_arm, "-o", path, *given)
    ran("simulate", mjcf_arm, "--trajectory", path, "-o", log, *given)
    ran("identify", mjcf_arm, log, "-o", out, "--urdf", urdf, *given)
    found, true = (load_robot(file).parameters() for file in (urdf, mjcf_arm))
    assert np.isfinite(found).all()
    assert found.shape == true.shape


def test_a_file_that_mujoco_refuses_is_one_line(refused, tmp_path) -> None:
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><bod/></worldbody></mujoco>")
    assert "bad.xml: MuJoCo refuses it" in refused("check", tmp_path / "bad.xml")


def test_missing_velocities_are_assumed_only_where_the_user_says_so(robotid, mjcf_arm) -> None:
    mjcf_arm.with_suffix(".toml").unlink()
    refused = robotid("check", mjcf_arm)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--assume-limits" in refused.err
    assert (
        "assumed: limits missing in the MJCF" in robotid("check", mjcf_arm, "--assume-limits").out
    )


@pytest.fixture(scope="module")
def logs(arm, tmp_path_factory):
    """A sound log of a machine, and one with an offset of a torque."""
    folder = tmp_path_factory.mktemp("diagnose")
    sound = measured(arm).log
    tau = sound.tau_meas + np.array([0.0, 0.2 * sound.tau_meas[:, 1].std()])
    for name, log in (("sound.h5", sound), ("offset.h5", replace(sound, tau_meas=tau))):
        save_log(log, folder / name)
    return folder / "sound.h5", folder / "offset.h5"


def test_a_sound_log_is_passed_with_one_line(robotid, ran, logs):
    done = ran("diagnose", ARM, logs[0])
    assert done.out.startswith("No fault found.\n")
    assert "reported by `robotid identify` as unmodeled torque" in done.text
    content = robotid("diagnose", ARM, logs[0], "--json").content
    assert (content["robot"], content["no_fault_found"], content["causes"]) == ("2r", True, [])


def test_a_cause_is_named_with_joint_evidence_and_remedy(robotid, logs):
    done = robotid("diagnose", ARM, logs[1])
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0].startswith("1. torque-offset: elbow: the measured torque has an offset of +")
    assert "   Remedy: zero the torque sensor" in done.out
    assert "Evidence" not in done.out
    verbose = robotid("diagnose", ARM, logs[1], "-v")
    assert "1. Evidence: the log-likelihood of held-out rows increases by" in verbose.out
    done = robotid("diagnose", ARM, logs[1], "--json")
    assert done.code == 1
    (cause,) = done.content["causes"]
    assert (cause["kind"], cause["joints"]) == ("torque-offset", ["elbow"])
    assert cause["gain"] > 10.0 * cause["gain_std"] > 0.0


@pytest.mark.slow
def test_the_page_of_an_identification_has_the_diagnosis(ran, logs, tmp_path):
    for log, text in zip(logs, ("No fault found.", "zero the torque"), strict=True):
        page = tmp_path / f"{log.stem}.html"
        words = ("-o", tmp_path / f"{log.stem}.json", "--report", page)
        done = ran("identify", ARM, log, *words)
        told = "next: run `robotid diagnose` to find the causes" in done.text
        assert told == (log == logs[1])
        html = page.read_text(encoding="utf-8")
        assert ">Diagnosis<" in html
        assert text in html
        finding = html.split('<p class="finding">')[1].split("</p>")[0]
        wrong = "see What to do next. elbow: the measured torque has an offset of"
        assert (wrong in finding) == (log == logs[1])


@pytest.mark.slow
def test_catalog_robot_is_written_and_tabulated(ran, tmp_path) -> None:
    out = tmp_path / "out.urdf"
    done = ran("cad", "rocr6", "--total-mass", 24, "-o", out)
    for text in ("base_link (fixed)", "link_6", "principal moments", "uniform density", out.name):
        assert text in done.out.replace("\n", "")
    back = Robot.from_urdf(out)
    assert sum(link.phi[0] for link in back.document.links.values()) == 24.0
    ran("check", out)


def test_json_is_one_object_and_agrees_with_the_file(ran, tmp_path) -> None:
    out = tmp_path / "out.urdf"
    content = ran("cad", "irb120", "--total-mass", 25, "-o", out, "--json").content
    assert (content["robot"], content["total_mass"], content["file"]) == ("irb120", 25.0, str(out))
    links = content["links"]
    assert [link["movable"] for link in links] == [False] + [True] * 6
    assert sum(link["mass"] for link in links) == 25.0
    robot = Robot.from_urdf(out)
    for link, body in zip(links[1:], robot.links, strict=True):
        assert link["name"] == body.name
        assert link["mass"] == body.phi[0]
        np.testing.assert_allclose(link["com"], body.phi[1:4] / body.phi[0], atol=1e-15)
        low, middle, high = link["principal_moments"]
        assert 0.0 < low <= middle <= high <= low + middle
        assert link["mass"] / link["volume"] == pytest.approx(content["density"])
        assert link["convex_hulls"] == []


def test_meshes_are_found_from_the_new_place_and_friction_stays(ran, tmp_path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    out = tmp_path / "deep" / "er" / "out.urdf"
    ran("cad", "irb140", "--total-mass", 98, "-o", out)
    robot, before = Robot.from_urdf(out), load_robot("irb140")
    meshes = [s.mesh for link in robot.links for s in link.shapes]
    assert all(mesh.is_file() for mesh in meshes)
    assert [joint.friction for joint in robot.joints] == [joint.friction for joint in before.joints]
    ran("cad", out, "--total-mass", 98, "-o", tmp_path / "twice.urdf")
    np.testing.assert_allclose(
        Robot.from_urdf(tmp_path / "twice.urdf").parameters(), robot.parameters(), rtol=1e-12
    )


@pytest.mark.pybullet
def test_open_mesh_is_one_line_with_the_remedy_that_works(ran, refused, tmp_path) -> None:
    out = tmp_path / "iiwa.urdf"
    said = refused("cad", urdf_path("iiwa"), "--total-mass", 24, "-o", out)
    assert "link_0.obj is not closed" in said
    assert "--convex-hull" in said
    assert not out.exists()
    done = ran("cad", urdf_path("iiwa"), "--total-mass", 24, "-o", out, "--convex-hull")
    assert "mesh link_7.obj is not closed; its convex hull is used" in done.out
    assert sum(link.phi[0] for link in Robot.from_urdf(out).document.links.values()) == 24.0


def test_urdf_reads_back_as_the_same_robot(ran, tmp_path) -> None:
    out = tmp_path / "arm.urdf"
    done = ran("export", "irb140", "--payload", "2.0,0,0,0.1", "-o", out)
    assert "arm.urdf, arm.toml" in done.text
    want = load_robot("irb140").with_payload(2.0, (0.0, 0.0, 0.1)).parameters()
    np.testing.assert_allclose(Robot.from_urdf(out).parameters(), want, rtol=1e-12, atol=1e-12)
    side = tomllib.loads((tmp_path / "arm.toml").read_text())
    assert side["joints"]["joint_4"]["Ia"] == 0.1


@pytest.mark.parametrize(
    ("name", "format", "files"),
    [
        ("arm.urdf", "urdf", ["arm.toml", "arm.urdf"]),
        ("arm.xml", "mjcf", ["arm.toml", "arm.xml"]),
        ("ARM.SDF", "sdf", ["ARM.SDF", "ARM.toml"]),
        ("arm.py", "python", ["arm.py"]),
        ("arm.c", "c", ["arm.c"]),
    ],
)
def test_the_suffix_says_the_format(robotid, ran, tmp_path, name, format, files) -> None:
    content = robotid("export", ARM, "-o", tmp_path / name, "--json").content
    assert content["format"] == format
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert sorted(Path(file).name for file in content["files"]) == files
    again = ran("export", ARM, "--format", format, "-o", tmp_path / name)
    assert all(Path(file).name in again.out for file in content["files"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "step", "-o", "x.urdf"), "'step'"),
        (("-o", "x.step"), "cannot export to x.step: its suffix must be one of .urdf, .xml, .sdf"),
        (("--format", "urdf", "-o", "x"), "its suffix must be one of"),
        (("--format", "c", "-o", "x.py"), "--format c contradicts x.py, which is python; end its"),
        (
            ("--format", "mjcf", "-o", "x.xml", "--meshes", "package"),
            "MJCF does not support packages",
        ),
        (("-o", "x.urdf", "--meshes", "no"), "'no'"),
        ((), "--out"),
    ],
)
def test_what_cannot_be_written_is_one_line(refused, tmp_path, monkeypatch, words, said) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("export", ARM, *words)
    assert not list(tmp_path.iterdir())


def test_meshes_come_along_or_stay(robotid, ran, tmp_path) -> None:
    ran("export", "irb140", "-o", tmp_path / "a.urdf", "--meshes", "keep")
    assert not (tmp_path / "meshes").exists()
    done = robotid("export", "irb140", "-o", tmp_path / "a.urdf")
    assert "URDF cannot represent rotor inertia" in done.out
    assert len(list((tmp_path / "meshes").iterdir())) > 10


FOREIGN = ("[robot]\npayload = { mass = 2.0 }\n", 'model = "arm.xml"\n', "no TOML\n", "")


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".xml"])
@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_that_is_no_side_car_of_the_output_stays(refused, tmp_path, suffix, text) -> None:
    side = tmp_path / "arm.toml"
    side.write_text(text.replace("arm.xml", "arm.other"))
    before = side.read_bytes()
    said = refused("export", ARM, "-o", tmp_path / f"arm{suffix}")
    assert str(side) in said
    assert "give the output another name, or move that file" in said
    assert side.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["arm.toml"]


def test_two_formats_do_not_share_a_side_car(robotid, ran, refused, tmp_path) -> None:
    ran("export", ARM, "-o", tmp_path / "a.xml")
    before = Robot.from_urdf(tmp_path / "a.xml").joints
    assert "belongs to a.xml" in refused("export", ARM, "-o", tmp_path / "a.urdf")
    assert not (tmp_path / "a.urdf").exists()
    assert [j.velocity for j in Robot.from_urdf(tmp_path / "a.xml").joints] == [
        j.velocity for j in before
    ]
    assert robotid("export", ARM, "-o", tmp_path / "a.py").code == 0  # source code has no side car


@pytest.fixture(scope="module")
def folder(ran, short, tmp_path_factory):
    """Every stage of a short study of the planar arm, with its report."""
    folder = tmp_path_factory.mktemp("stages")
    shutil.copy(short.config, folder)
    shutil.copy(short.log, folder)
    for words in (
        ("design", ARM, "-o", folder / "t.json"),
        ("identify", ARM, short.log, "-o", folder / "e.json"),
        ("validate", ARM, short.estimate, "--log", short.log, "--quick"),
    ):
        page = folder / f"{words[0]}.html"
        ran(*words, "--config", short.config, "--report", page)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "headings"),
    [
        ("design", ["Excitation", "Expected accuracy"]),
        ("identify", ["Preprocessing", "Identification", "Fit", "In other tools"]),
        ("validate", ["Verdict", "Prediction", "Closed loop"]),
    ],
)
def test_stage_report_has_its_sections_and_its_command(folder, command, headings) -> None:
    text = unescape((folder / f"{command}.html").read_text())
    for heading in (*headings, "Assumptions", "Reproduce"):
        assert f"<h2>{heading}</h2>" in text
    assert f"robotid {command} {ARM}" in text
    assert '"rate":250.0' in text.replace(" ", "")


@pytest.mark.slow
def test_identification_report_shows_no_truth(folder) -> None:
    text = (folder / "identify.html").read_text()
    assert "|error|" not in text
    assert "torque noise" not in text


@pytest.mark.slow
def test_the_replay_is_on_the_page_unless_left_out(ran, folder, tmp_path) -> None:
    for name in ("design", "identify", "validate"):
        assert 'id="replay-data"' in (folder / f"{name}.html").read_text()
    words = ("identify", ARM, folder / "log.h5", "-o", tmp_path / "e.json")
    page = tmp_path / "page.html"
    ran(*words, "--config", folder / "short.toml", "--report", page, "--no-replay")
    text = page.read_text()
    assert not any(word in text for word in ('id="replay', "ReplayScene"))


@pytest.mark.slow
def test_run_writes_report_and_figures(robotid, folder, tmp_path) -> None:
    config, figures = folder / "short.toml", tmp_path / "figures"
    figures.mkdir()
    for name in ("figures/stale.png", "figures/stale.csv", "report.html"):
        (tmp_path / name).write_text("")
    sealed(tmp_path)  # an earlier run
    (figures / "mine.png").write_text("")
    words = ("--quick", "--figures", "--workers", 1, "--out", tmp_path, "--config", config)
    done = robotid("run", ARM, *words)
    assert done.code in (0, 1), done.err  # so short a study need not pass
    assert "report.html" in done.out
    text = (tmp_path / "report.html").read_text()
    assert f"robotid run {ARM} --quick" in unescape(text)
    names = {path.name for path in figures.iterdir()}
    assert "mine.png" in names
    assert not {"stale.png", "stale.csv"} & names  # of the earlier run
    for stem in ("excitation", "torque-filters", "prediction", "base-parameters", "residuals"):
        assert {f"{stem}.svg", f"{stem}.png", f"{stem}.csv"} <= names
    assert "report: " in (tmp_path / "run.log").read_text()


CONFIG = """
preset = "lab"
[design]
candidates = 8
iterations = 5
period = 5.0
periods = 3
[experiment]
rate = 500.0
"""
LOAD = "0.8,0.05,0,0.1"


@pytest.fixture(scope="module")
def two_logs(ran, tmp_path_factory):
    """Configuration, and logs of the planar arm without and with a load, and without once more."""
    folder = tmp_path_factory.mktemp("payload")
    config, path = folder / "small.toml", folder / "path.json"
    config.write_text(CONFIG)
    ran("design", ARM, "-o", path, "--config", config)
    made = []
    runs = (
        ("bare.h5", ()),
        ("loaded.h5", ("--payload", LOAD)),
        ("again.h5", ("--seed", 1, "--nominal", ARM)),
    )
    for name, words in runs:
        made.append(folder / name)
        words = ("--trajectory", path, "-o", made[-1], "--config", config, *words)
        ran("simulate", ARM, *words)
    return config, *made


def test_the_load_is_what_was_put_on(ran, two_logs, tmp_path):
    config, bare, loaded, _ = two_logs
    out = tmp_path / "load.json"
    content = ran("payload", ARM, bare, loaded, "--config", config, "--json", "-o", out).content
    written = json.loads(out.read_text())
    assert written.pop("schema") == "robotid/payload/1"
    assert written == content
    assert content["success"]
    # The tip of this arm is its elbow frame: gravity and the first joint show mass and place.
    assert content["parameters"]["mxL"] is not None


@pytest.mark.slow
def test_torque_constants_by_a_known_load_are_right(robotid, ran, two_logs):
    config, bare, loaded, _ = two_logs
    words = ("--load", LOAD, "--config", config)
    content = ran("payload", ARM, bare, loaded, *words, "--json").content
    assert content["joint_names"] == ["shoulder", "elbow"]
    assert content["actual_over_assumed_gain"] == pytest.approx([1.0, 1.0], abs=0.02)
    done = robotid("payload", ARM, bare, loaded, *words)
    assert "The torque constant of shoulder is" in done.out


@pytest.mark.slow
def test_errors_of_the_torque_constants_widen_the_load(robotid, two_logs):
    config, bare, loaded, _ = two_logs
    words = ("payload", ARM, bare, loaded, "--config", config, "--json")
    narrow, wide = (
        robotid(*words, *more).content["parameters_std"]["mxL"]
        for more in ((), ("--drive-gain-std", 0.05))
    )
    assert wide > 2.0 * narrow


def test_known_load_and_errors_of_the_torque_constants_exclude_one_another(refused, two_logs):
    config, bare, loaded, _ = two_logs
    words = ("--load", LOAD, "--drive-gain-std", 0.05, "--config", config)
    assert "remove --drive-gain-std" in refused("payload", ARM, bare, loaded, *words)


@pytest.mark.slow
def test_without_a_load_there_is_no_center(robotid, ran, two_logs):
    config, bare, _, again = two_logs
    done = ran("payload", ARM, bare, again, "--config", config)
    assert "No load found: m = " in done.out
    assert "the second log must have the load" in done.text
    assert "e+" not in done.out
    content = robotid("payload", ARM, bare, again, "--config", config, "--json").content
    assert content["com"] == content["com_std"] == [None] * 3
    assert "no load found" in content["message"]


@pytest.mark.slow
def test_a_load_in_the_first_log_is_told(robotid, two_logs):
    config, bare, loaded, _ = two_logs
    done = robotid("payload", ARM, loaded, bare, "--config", config)
    assert done.code == 1
    text = done.text
    assert "the first log has 0." in text
    assert "give the log without the load first" in text


def test_one_log_twice_is_refused(robotid, two_logs):
    config, bare, _, _ = two_logs
    done = robotid("payload", ARM, bare, bare, "--config", config)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "robotid: bare.h5 and bare.h5 hold the same samples: give logs of different runs"
    ]


@pytest.mark.slow
def test_a_wrong_mass_of_the_load_is_doubted(robotid, two_logs):
    """It looks like the same error of all torque constants."""
    config, bare, loaded, _ = two_logs
    words = ("--config", config, "--load", "8,0.05,0,0.1")
    done = robotid("payload", ARM, bare, loaded, *words)
    assert done.code == 1
    assert "all torque constants are 10 times" in done.text
    assert "check the mass of the load" in done.text
    doubt = robotid("payload", ARM, bare, loaded, *words, "--json").content["warning"]
    assert "check the mass of the load" in doubt


@pytest.mark.slow
def test_a_joint_that_hardly_feels_the_load_has_no_torque_constant(robotid, two_logs):
    """A point mass at the tip, which is the frame of the elbow, loads the shoulder alone."""
    config, bare, loaded, _ = two_logs
    words = ("--config", config, "--load", "0.8,0,0,0")
    text = robotid("payload", ARM, bare, loaded, *words).text
    assert "The torque constant of elbow is not identifiable" in text
    assert "The torque constant of shoulder is" in text
    content = robotid("payload", ARM, bare, loaded, *words, "--json").content
    assert content["shown"] == [True, False]
