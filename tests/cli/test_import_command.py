"""``robotid import``: what it prints, writes, and says as JSON."""

import json

import numpy as np
import pytest
from robots import DATA

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


def test_an_import_says_what_it_matched_and_did(robotid, recorded, tmp_path) -> None:
    out, written = tmp_path / "log.h5", tmp_path / "map.toml"
    done = robotid("import", recorded, "--robot", ARM, "-o", out, "--write-map", written)
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
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


def test_an_import_that_fails_leaves_a_map_to_complete(
    robotid, refused, recorded, tmp_path
) -> None:
    text = recorded.read_text().replace("tau1;tau2", "moment_a;moment_b")
    recorded.write_text(text)
    out, written = tmp_path / "log.h5", tmp_path / "map.toml"
    words = ("import", recorded, "--robot", ARM, "-o", out)
    said = refused(*words, "--write-map", written)
    assert "torques of the joints shoulder, elbow" in said
    assert f"what is known of the columns is in {written}" in said
    assert not out.exists()
    draft = written.read_text()
    assert draft.startswith("# to be corrected; columns left over: ")
    assert {"moment_a", "moment_b", "temperature"} <= set(draft.splitlines()[0].split(", ")[1:])
    assert load_map(written).joints["elbow"].position == "q2"
    for joint, name in (("shoulder", "moment_a"), ("elbow", "moment_b")):
        draft = draft.replace(f'[joints."{joint}"]', f'[joints."{joint}"]\ntorque = "{name}"')
    written.write_text(draft)
    assert robotid(*words, "--map", written).code == 0
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


def test_a_map_and_a_segment_are_followed(robotid, recorded, tmp_path) -> None:
    chosen, out = tmp_path / "chosen.toml", tmp_path / "log.csv"
    chosen.write_text('[joints.shoulder]\nposition = "q2"\n[joints.elbow]\nposition = "q1"\n')
    words = ("import", recorded, "--robot", ARM, "-o", out, "--map", chosen)
    done = robotid(*words, "--segment", 1, "--json")
    assert (done.code, done.err) == (0, "")
    content = json.loads(done.out)
    assert content["matched"] == {"position": "by the map", "torque": "by order"}
    assert content["map"]["joints"]["shoulder"]["position"] == "q2"
    assert (content["samples"], content["unused"]) == (200, ["temperature"])
    log = load_log(out)
    assert np.allclose(log.q, 1.9 * np.sin(log.t[:, None] + [1.0, 0.0]), atol=1e-14)


@pytest.mark.slow
def test_an_import_is_a_log_that_identify_reads(robotid, tmp_path) -> None:
    path, virtual, machine = tmp_path / "t.json", tmp_path / "v.csv", tmp_path / "m.h5"
    words = ("design", ARM, "-o", path, "--quick")
    assert robotid(*words).code == 0
    assert robotid("simulate", ARM, "--trajectory", path, "-o", virtual).code == 0
    assert robotid("import", virtual, "--robot", ARM, "-o", machine).code == 0
    first, again = load_log(virtual), load_log(machine)
    assert np.array_equal(first.q, again.q)
    assert np.array_equal(first.tau_meas, again.tau_meas)
    assert (again.period, again.origin, again.seed) == (first.period, "virtual", first.seed)
    done = robotid("identify", ARM, machine, "-o", tmp_path / "e.json", "--estimator", "ols")
    assert done.code == 0


def test_a_torque_that_is_missing_is_a_dash(robotid, refused, recorded, tmp_path) -> None:
    path = tmp_path / "map.toml"
    shoulder = '[joints."shoulder"]\nposition = "q1"\ntorque = "tau1"\n'
    path.write_text(shoulder + '[joints."elbow"]\nposition = "q2"\n')
    one = tmp_path / "one.csv"
    rows = [line.split(";") for line in recorded.read_text().splitlines()]
    one.write_text("\n".join(";".join(row[:4]) for row in rows))
    words = ("import", one, "--robot", ARM, "-o", tmp_path / "log.h5")
    done = robotid(*words, "--map", path)
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
    assert "torque N m shoulder by the map" in text
    assert "elbow q2 -" in text
    assert not load_log(tmp_path / "log.h5").torque_measured[1]
    assert (
        "no columns are the torques of the joints shoulder, elbow (found: tau1); name them"
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
    assert "columns of text are left out: time" in said
