"""``robotid import``: what it prints, writes, and says as JSON, and the example of a real UR10."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from robots import DATA, urdf_path

from robotid_sim.importing.import_map import load_map
from robotid_sim.measurement.files import load_log

ARM = DATA / "2r.urdf"


@pytest.fixture
def recorded(tmp_path):
    """Return a file of a machine: degrees, milliseconds, numbers for names, a gap."""
    k = np.r_[np.arange(200), np.arange(260, 600)]
    t = 4.0 * k  # [ms]
    q = np.rad2deg(1.9 * np.sin(1e-3 * t[:, None] + [0.0, 1.0]))
    tau = 20.0 * np.cos(1e-3 * t[:, None] + [0.0, 1.0])
    path = tmp_path / "machine.csv"
    table = np.column_stack([t, q, tau, 30.0 + 0.0 * t])
    header = "time;q1;q2;tau1;tau2;temperature"
    np.savetxt(path, table, delimiter=";", header=header, comments="", fmt="%.17g")
    return path


def test_an_import_says_what_it_matched_and_did(ran, recorded, tmp_path) -> None:
    out, written = tmp_path / "log.h5", tmp_path / "map.toml"
    done = ran("import", recorded, "--robot", ARM, "-o", out, "--write-map", written)
    text = done.text
    assert "2r: 340 samples, 250 Hz, 1.04 to 2.396 s" in text
    assert "position deg by order" in text
    assert "torque N m by order" in text
    assert "elbow q2 tau2" in text
    assert "times its limit in rad: taken as deg" in text
    assert "time: column 'time', taken as ms by its usual step of 4" in text
    assert "2 segments; 2 (1.04 to 2.396 s) is taken, dropped: 1 (0 to 0.796 s)" in text
    assert "not used: temperature" in text
    assert max(map(len, done.out.splitlines())) <= 80
    log = load_log(out)
    assert np.allclose(log.q, 1.9 * np.sin(log.t[:, None] + [0.0, 1.0]), atol=1e-14)
    assert log.provenance["imported"] == ["machine.csv"]
    assert all(note in text for note in log.provenance["notes"])
    assert load_map(written).time_unit == "ms"


def test_an_import_that_fails_leaves_a_map_to_complete(ran, refused, recorded, tmp_path) -> None:
    text = recorded.read_text().replace("tau1;tau2", "moment_a;moment_b")
    recorded.write_text(text)
    out, written = tmp_path / "log.h5", tmp_path / "map.toml"
    words = ("import", recorded, "--robot", ARM, "-o", out)
    said = refused(*words, "--write-map", written)
    assert "torque columns for the joints shoulder, elbow" in said
    assert f"correct the draft of the map in {written}" in said
    assert not out.exists()
    draft = written.read_text()
    assert draft.startswith("# to be corrected; unused columns: ")
    assert {"moment_a", "moment_b", "temperature"} <= set(draft.splitlines()[0].split(", ")[1:])
    assert load_map(written).joints["elbow"].position == "q2"
    for joint, name in (("shoulder", "moment_a"), ("elbow", "moment_b")):
        draft = draft.replace(f'[joints."{joint}"]', f'[joints."{joint}"]\ntorque = "{name}"')
    written.write_text(draft)
    ran(*words, "--map", written)
    assert load_log(out).tau_meas.shape[1] == 2


def test_a_log_that_is_wrong_has_its_whole_map(refused, recorded, tmp_path) -> None:
    header, *rows = recorded.read_text().splitlines()
    recorded.write_text("\n".join([header, *rows[200:], *rows[:200]]))  # time goes back
    written = tmp_path / "map.toml"
    words = ("import", recorded, "--robot", ARM, "-o", tmp_path / "log.h5")
    assert "time goes back" in refused(*words, "--write-map", written)
    mapping = load_map(written)
    assert (mapping.time, mapping.time_unit) == ("time", "ms")
    assert {joint.position_unit for joint in mapping.joints.values()} == {"deg"}


def test_a_map_and_a_segment_are_followed(ran, recorded, tmp_path) -> None:
    chosen, out = tmp_path / "chosen.toml", tmp_path / "log.csv"
    chosen.write_text('[joints.shoulder]\nposition = "q2"\n[joints.elbow]\nposition = "q1"\n')
    words = ("import", recorded, "--robot", ARM, "-o", out, "--map", chosen)
    content = ran(*words, "--segment", 1, "--json").content
    assert content["matched"] == {"position": "by the map", "torque": "by order"}
    assert content["map"]["joints"]["shoulder"]["position"] == "q2"
    assert (content["samples"], content["unused"]) == (200, ["temperature"])
    log = load_log(out)
    assert np.allclose(log.q, 1.9 * np.sin(log.t[:, None] + [1.0, 0.0]), atol=1e-14)


@pytest.mark.slow
def test_an_import_is_a_log_that_identify_reads(robotid, ran, tmp_path) -> None:
    path, virtual, machine = tmp_path / "t.json", tmp_path / "v.csv", tmp_path / "m.h5"
    words = ("design", ARM, "-o", path, "--quick")
    ran(*words)
    assert robotid("simulate", ARM, "--trajectory", path, "-o", virtual).code == 0
    ran("import", virtual, "--robot", ARM, "-o", machine)
    first, again = load_log(virtual), load_log(machine)
    assert np.array_equal(first.q, again.q)
    assert np.array_equal(first.tau_meas, again.tau_meas)
    assert (again.period, again.origin, again.seed) == (first.period, "virtual", first.seed)
    ran("identify", ARM, machine, "-o", tmp_path / "e.json", "--estimator", "ols")


def test_a_torque_that_is_missing_is_a_dash(ran, refused, recorded, tmp_path) -> None:
    path = tmp_path / "map.toml"
    shoulder = '[joints."shoulder"]\nposition = "q1"\ntorque = "tau1"\n'
    path.write_text(shoulder + '[joints."elbow"]\nposition = "q2"\n')
    one = tmp_path / "one.csv"
    rows = [line.split(";") for line in recorded.read_text().splitlines()]
    one.write_text("\n".join(";".join(row[:4]) for row in rows))
    words = ("import", one, "--robot", ARM, "-o", tmp_path / "log.h5")
    text = ran(*words, "--map", path).text
    assert "torque N m shoulder by the map" in text
    assert "elbow q2 -" in text
    assert not load_log(tmp_path / "log.h5").torque_measured[1]
    assert (
        "found no torque columns for the joints shoulder, elbow (found: tau1); name them"
        in refused(*words)
    )


def edited(recorded, path, change):
    """Write the file with a change of the cells of its rows."""
    head, *lines = recorded.read_text().splitlines()
    path.write_text("\n".join([head, *(";".join(change(line.split(";"))) for line in lines)]))
    return path


def test_the_column_without_numbers_is_named(refused, recorded, tmp_path) -> None:
    path = edited(recorded, tmp_path / "nan.csv", lambda row: [*row[:2], "nan", *row[3:]])
    assert "for 'q2' has 0 numbers" in refused(
        "import", path, "--robot", ARM, "-o", tmp_path / "log.h5"
    )


def test_times_that_are_too_dense_are_refused(refused, recorded, tmp_path) -> None:
    path = edited(recorded, tmp_path / "us.csv", lambda row: row)
    path.write_text(path.read_text().replace("time;", "time_us;"))
    said = refused("import", path, "--robot", ARM, "-o", tmp_path / "log.h5")
    assert "a sample every 4e-06 s" in said
    assert 'time_unit = "s"' in said


def test_times_that_are_texts_are_named(refused, recorded, tmp_path) -> None:
    path = edited(recorded, tmp_path / "iso.csv", lambda row: [f"10:00:{row[0]}", *row[1:]])
    said = refused("import", path, "--robot", ARM, "-o", tmp_path / "log.h5")
    assert "no column is the time" in said
    assert "columns of text are omitted: time" in said


URDF, LOG = urdf_path("ur10"), DATA / "ur10" / "ur10.csv.gz"


@pytest.fixture(scope="module")
def identified(robotid, tmp_path_factory):
    out = tmp_path_factory.mktemp("ur10") / "estimate.json"
    done = robotid("identify", URDF, LOG, "-o", out, "--hold-out", "last:30%", "--json")
    assert done.err == ""
    return done.code, done.content


@pytest.mark.slow
def test_every_joint_is_predicted(identified):
    code, content = identified
    assert (code, content["warning"]) == (0, "")
    held = content["held_out"]
    error = np.array(held["error"])
    assert held["samples"] > 900
    assert (error < [0.07, 0.04, 0.05, 0.1, 0.095, 0.09]).all()
    assert (error < held["error_filtered_parameters_only"]).all()
    assert (error < held["error_filtered_nominal"]).all()
    added = {"wrist_1_joint", "wrist_2_joint", "wrist_3_joint"}
    assert added <= {lack["joint"] for lack in content["unmodeled_torque"]}


@pytest.mark.slow
def test_masses_are_those_of_a_robot(identified, ran, tmp_path):
    urdf = tmp_path / "identified.urdf"
    words = ("-o", tmp_path / "e.json", "--urdf", urdf, "--meshes", "keep")
    ran("identify", URDF, LOG, *words)
    masses = [float(m.get("value")) for m in ElementTree.parse(urdf).iter("mass")]
    assert 20.0 < sum(masses) < 40.0
    assert max(masses) < 15.0


@pytest.mark.slow
def test_terms_foretell_every_joint_better_and_explain_the_last_wrist(
    identified, robotid, tmp_path
):
    """Of a small wrist, presliding and an offset, of which neither predicts anything alone."""
    out = tmp_path / "e.json"
    words = ("--terms", "all", "--hold-out", "last:30%", "--json")
    done = robotid("identify", URDF, LOG, "-o", out, *words)
    plain = np.array(identified[1]["held_out"]["error_filtered_parameters_only"])
    content = done.content
    error = np.array(content["held_out"]["error_filtered_parameters_only"])
    assert (error < plain).all()
    assert (error[1:3] < 0.85 * plain[1:3]).all()
    assert error[5] < 0.8 * plain[5]
    assert (done.code, content["warning"]) == (0, "")
    kinds = {term["kind"] for term in content["terms"] if term["joint"] == "wrist_3_joint"}
    assert kinds == {"offset", "presliding"}


@pytest.mark.slow
def test_rows_by_joint_are_slower_for_the_small_wrist_alone(robotid, tmp_path):
    """What the other joints foretell stays as good; the terms are those of rows alike."""
    config = tmp_path / "study.toml"
    config.write_text('[preprocess]\noptions.low_pass = "by-joint"\n')
    words = ("--config", config, "--hold-out", "last:30%", "--terms", "all", "--json")
    held = robotid("identify", URDF, LOG, "-o", tmp_path / "e.json", *words).content["held_out"]
    assert "rows of joints up to 5, 5, 5, 5, 5, 2.5 Hz" in held["preprocessing"]
    assert (np.array(held["error"]) < [0.06, 0.03, 0.05, 0.1, 0.1, 0.15]).all()
