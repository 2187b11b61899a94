"""``map.toml`` survives writing and reading, overrides what is inferred; bad maps are refused."""

import sys

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write, write_bag2
from rosbags.rosbag2 import StoragePlugin

from robotid_sim.errors import MissingExtraError, OptionError, RobotIdError
from robotid_sim.importing.import_map import ImportMap, JointMap, load_map, save_map
from robotid_sim.importing.importer import import_log

WHOLE = """
schema = "robotid/import-map/1"
rate = 200.0
windows = [[0.1, 0.5], [0.6, 1.9]]
period = 0.5
torque_time_offset = 0.001

[coupling]
position = [[10.0, 0.0], [4.0, -5.0]]
torque = [[10.0, 4.0], [0.0, -5.0]]

[joints.shoulder]
position = "a \\"b\\""
position_unit = "deg"
sign = -1
torque_sign = -1
offset = 0.25

spring = "-120 * sin(q2)"

[joints.elbow]
torque_unit = "mN m"
spring = [[-3.2, 5.0], [0.0, 0.0], [3.2, -5.0]]
"""


def toml(folder, content):
    path = folder / "map.toml"
    path.write_text(content, encoding="utf-8")
    return path


def plain(tmp_path, *, names=("t", "q_{k}", "", "tau_{k}"), **changes):
    """Return the file of a log with changed channels."""
    form = Form.of(original(arm()), names=names)
    for name, value in changes.items():
        setattr(form, name, value)
    return write(tmp_path / "a.csv", text(form.columns()))


def test_a_map_survives_writing_and_reading(tmp_path) -> None:
    mapping = load_map(toml(tmp_path, WHOLE))
    save_map(mapping, tmp_path / "again.toml")
    assert load_map(tmp_path / "again.toml") == mapping
    assert mapping.joints["shoulder"].position == 'a "b"'


def test_a_map_that_was_inferred_gives_the_same_log_again(tmp_path) -> None:
    path = plain(tmp_path)
    first = import_log([path], arm())
    save_map(first.mapping, tmp_path / "map.toml")
    again = import_log([path], arm(), load_map(tmp_path / "map.toml"))
    assert np.array_equal(again.log.q, first.log.q)
    assert again.mapping == first.mapping
    assert set(again.reasons.values()) == {"by the map"}


@pytest.mark.parametrize(
    ("key", "spelled", "unit"),
    [
        ("position_unit", "turns", "rev"),
        ("position_unit", "Degrees", "deg"),
        ("velocity_unit", "°/s", "deg/s"),
        ("torque_unit", "Nm", "N m"),
        ("torque_unit", "N m", "N m"),
    ],
)
def test_units_of_a_map_may_be_spelled_as_people_do(tmp_path, key, spelled, unit) -> None:
    read = load_map(toml(tmp_path, f'[joints.elbow]\n{key} = "{spelled}"'))
    assert getattr(read.joints["elbow"], key) == unit


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("tim = 't'", "unknown key 'tim' (did you mean 'time'?); known here: schema, profile"),
        ("[joints.elbow]\npostion = 'a'", "'joints.elbow.postion' (did you mean 'position'?)"),
        ("[coupling]\npositions = []", "known here: position, torque"),
        ("[coupling]\ntorque = [[1.0]]", "'coupling.position': is required"),
        ("rate = -1.0", "'rate': should be greater than 0"),
        ("rate = nan", "'rate': should be a finite number"),
        ("time_unit = 'min'", "'time_unit': unknown unit; known: s, ms, us, ns, got 'min'"),
        ("[joints.elbow]\nsign = 2", "'joints.elbow.sign'"),
        ("[joints.elbow]\ngear_ratio = 0.0", "must not be zero"),
        ("[joints.elbow]\nspring = [[0.0, 1.0]]", "a table needs two rows"),
        ("joints = 3", "'joints'"),
        ("rate = ", "cannot read map"),
        ("schema = 'robotid/import-map/2'", "is newer than this robotid_sim reads"),
        ("schema = 'robotid/log/1'", "this is not a robotid import-map file"),
        ("[joints.elbo]\nsign = -1", "unknown joint in the map of '2r' 'elbo' (did you mean"),
        ("[joints.elbow]\nposition = 'q_2'", "unknown column in the map 'q_2' (did you mean 'q_"),
        ("[joints.elbow]\nvelocity = 'q_0'", "the map has no velocity column for shoulder"),
        ("[joints.elbow]\ntorque_constant = 1.0", "no torque_constant for shoulder; give all"),
        ("time = 'tt'", "unknown column in the map 'tt'"),
        ("time = 't'\nrate = 3.0", "a time column and a rate; leave one"),
        ("windows = [[7.0, 8.0]]", "no sample is in the windows of the map; the log is 0 to"),
        ("windows = [[1.0, 1.02]]", "only 5 samples without a gap, from 1 to 1.02 s"),
        ("period = 9.0", "'period' is 9 s in a log of 2 s"),
        ("[coupling]\nposition = [[1.0]]", "coupling.position needs 2 rows of 2 numbers"),
        ("[coupling]\nposition = [[1.0, 1.0], [1.0, 1.0]]", "coupling.position is singular"),
        (
            "[coupling]\nposition = [[1.0, 0.0], [0.0, 1.0]]\n[joints]\nelbow.gear_ratio = 2.0",
            "gear_ratio has no effect with [coupling]",
        ),
    ],
)
def test_a_map_that_is_wrong_or_does_not_fit_is_refused(tmp_path, content, said) -> None:
    with pytest.raises(RobotIdError) as caught:
        import_log([plain(tmp_path)], arm(), load_map(toml(tmp_path, content)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_coupling_conserves_power(tmp_path) -> None:
    log, turns = original(arm()), np.array([[10.0, 0.0], [4.0, -5.0]])
    offset = np.array([0.3, -0.2])
    motor = (log.q - offset) @ turns.T
    path = plain(tmp_path, q=motor, tau=np.linalg.solve(turns.T, log.tau_meas.T).T)
    joints = {name: {"offset": x} for name, x in zip(log.joint_names, offset, strict=True)}
    content = {"joints": joints, "coupling": {"position": turns.tolist()}}
    imported = import_log([path], arm(), ImportMap.model_validate(content)).log
    assert np.allclose(imported.q, log.q, atol=1e-14)
    assert np.allclose(imported.tau_meas, log.tau_meas, atol=1e-12)


def test_currents_with_constants_are_torques_beyond_the_gear(tmp_path) -> None:
    log, constant, ratio = original(arm()), np.array([0.1, 0.2]), np.array([100.0, 50.0])
    names = ("t", "q_{k}", "", "actual_current_{k}")
    path = plain(tmp_path, names=names, q=log.q * ratio, tau=log.tau_meas / (constant * ratio))
    joints = {
        name: {"gear_ratio": ratio[k], "torque_constant": constant[k]}
        for k, name in enumerate(log.joint_names)
    }
    imported = import_log([path], arm(), ImportMap.model_validate({"joints": joints})).log
    assert np.allclose(imported.tau_meas, log.tau_meas, atol=1e-12)
    assert np.allclose(imported.torque_constant, [10.0, 10.0])
    assert np.allclose(imported.current * imported.torque_constant, imported.tau_meas)


def test_a_map_may_name_columns_of_some_joints_only(tmp_path) -> None:
    content = {"joints": {"elbow": {"position": "q_0"}}}
    imported = import_log([plain(tmp_path)], arm(), ImportMap.model_validate(content))
    assert imported.reasons["position"] == "by order; elbow by the map"
    assert np.array_equal(imported.log.q[:, 1], original(arm()).q[:, 0])


def test_signs_turn_positions_and_torques_apart(tmp_path) -> None:
    log = original(arm())
    content = {"joints": {"elbow": {"sign": -1, "offset": 1.0}, "shoulder": {"torque_sign": -1}}}
    imported = import_log([plain(tmp_path)], arm(), ImportMap.model_validate(content)).log
    assert np.array_equal(imported.q, np.column_stack([log.q[:, 0], 1.0 - log.q[:, 1]]))
    assert np.array_equal(imported.tau_meas, log.tau_meas * [-1.0, 1.0])


def test_limits_say_nothing_of_motor_positions(tmp_path) -> None:
    log = original(arm())
    path = plain(tmp_path, q=100.0 * log.q)
    content = {"joints": {name: {"gear_ratio": 100.0} for name in log.joint_names}}
    imported = import_log([path], arm(), ImportMap.model_validate(content))
    assert np.allclose(imported.log.q, log.q, atol=1e-14)


def test_positions_beyond_all_limits_are_warned_of(tmp_path) -> None:
    log = original(arm())
    names = ("t", "motor_q_{k}", "", "tau_{k}")
    notes = import_log([plain(tmp_path, names=names, q=50.0 * log.q)], arm()).notes
    assert any(note.startswith("WARNING: positions of ") for note in notes)


def test_a_joint_without_end_may_turn_more_than_its_limit(tmp_path) -> None:
    log = original(arm())
    imported = import_log([plain(tmp_path, q=4.0 * log.q)], arm())  # 5.6 rad, limits 2.5 and 2.2
    assert np.array_equal(imported.log.q, 4.0 * log.q)
    assert any(note.startswith("WARNING: positions of ") for note in imported.notes)


def test_windows_split_a_log(tmp_path) -> None:
    mapping = ImportMap(windows=((0.1, 0.5), (0.6, 1.9)))
    imported = import_log([plain(tmp_path)], arm(), mapping)
    assert (imported.log.t[0], imported.log.t[-1]) == (0.6, 1.9)
    assert any("2 segments; 2 (0.6 to 1.9 s) is taken" in note for note in imported.notes)
    first = import_log([plain(tmp_path)], arm(), mapping, segment=1)
    assert (first.log.t[0], first.log.t[-1]) == (0.1, 0.5)
    with pytest.raises(OptionError, match="no segment 3; there are 1: "):
        import_log([plain(tmp_path)], arm(), mapping, segment=3)


def test_a_map_states_period_and_torque_time(tmp_path) -> None:
    mapping = ImportMap(period=0.5, torque_time_offset=0.001)
    imported = import_log([plain(tmp_path)], arm(), mapping).log
    assert (imported.period, imported.torque_time_offset) == (0.5, 0.001)


def carried(q):
    """Return the torque of a counterbalance of the shoulder, by the positions of both joints."""
    return -80.0 * np.sin(q[:, 0]) + 3.0 * q[:, 1]


@pytest.fixture
def machine(tmp_path):
    """Write the log of a machine whose shoulder has a spring."""
    form = Form.of(original(arm()))
    form.tau = form.tau - np.column_stack([carried(form.q), np.zeros(len(form.q))])
    return write(tmp_path / "a.csv", text(form.columns()))


def imported(path, **springs):
    joints = {name: JointMap(spring=spring) for name, spring in springs.items()}
    return import_log([path], arm(), ImportMap(joints=joints))


def test_an_expression_gives_the_torque_without_the_spring(machine):
    found = imported(machine, shoulder="-80 * sin(q) + 3 * q2")
    np.testing.assert_allclose(found.log.tau_meas, original(arm()).tau_meas, atol=1e-9)
    (note,) = [note for note in found.notes if "spring of shoulder" in note]
    assert "N m, which are added to its torque" in note


def test_an_expression_may_have_powers_and_functions_of_two_values(machine):
    plain = imported(machine).log
    found = imported(machine, elbow="maximum(q, -q) ** 0.5 / +2 - (3 + abs(q1))**-1").log
    q1, q2 = plain.q.T
    added = np.sqrt(np.abs(q2)) / 2.0 - 1.0 / (3.0 + np.abs(q1))
    np.testing.assert_allclose(found.tau_meas[:, 1], plain.tau_meas[:, 1] + added)


def test_a_table_does_where_the_torque_is_straight_between_its_rows(machine):
    plain = imported(machine).log
    found = imported(machine, elbow=((-3.0, 30.0), (3.0, -30.0))).log
    np.testing.assert_allclose(found.tau_meas[:, 1], plain.tau_meas[:, 1] - 10.0 * plain.q[:, 1])
    np.testing.assert_array_equal(found.tau_meas[:, 0], plain.tau_meas[:, 0])


@pytest.mark.parametrize(
    ("spring", "said"),
    [
        ("80 * sin(q", "not an expression of q, q1, q2"),
        ("80 * sin(q3)", "not an expression of q, q1, q2"),
        ("__import__('os')", "not an expression of q, q1, q2"),
        ("sin(*(exec('import os') or 0 for x in (1,)))", "cannot be used; write it with numbers"),
        ("q.real", "'q.real' cannot be used"),
        ("q if q else 1", "cannot be used"),
        ("1 << 99999999999", "'1 << 99999999999' cannot be used"),
        ("'a' * 999999999", "cannot be used"),
        ("9**9**9", "'9**9**9' has no exponent of at most 10"),
        ("2**q", "'2**q' has no exponent of at most 10"),
        ("sin(q, q)", "'sin(q, q)' needs 1 argument(s)"),
        ("q + " * 600 + "q", "it has 2401 characters, at most 2000 are read"),
        ("-" * 1900 + "q", "nested deeper than 100 levels"),
        ("(" * 999 + "q" + ")" * 999, "it cannot be parsed"),
        ("9" * 1900, "not finite at positions of the log"),
        ("log(q - 9)", "not finite at positions of the log"),
        (((-0.1, 0.0), (0.1, 1.0)), "given from -0.1 to 0.1, and the log goes from"),
        (((3.0, 0.0), (-3.0, 1.0)), "must rise"),
    ],
)
def test_a_spring_that_cannot_be_is_refused(machine, spring, said):
    with pytest.raises(OptionError, match=r"spring.* of shoulder") as refusal:
        imported(machine, shoulder=spring)
    assert said in str(refusal.value)


def changed(tmp_path, **columns):
    """Return a file whose columns are changed; None leaves one out."""
    own = Form.of(original(arm()), names=("t", "q.{joint}", "", "tau.{joint}")).columns()
    own |= columns
    kept = {name: column for name, column in own.items() if column is not None}
    return write(tmp_path / "a.csv", text(kept))


def backwards(tmp_path):
    t = np.arange(400) / 200.0
    t[200:] -= 0.5
    return changed(tmp_path, t=t)


def without_header(tmp_path):
    columns = Form.of(original(arm())).columns()
    return write(tmp_path / "a.csv", text(columns, names=False))


def bad_cell(tmp_path):
    path = changed(tmp_path)
    lines = path.read_text().splitlines()
    lines[30] = lines[30].replace(",", ",x", 1)
    return write(path, "\n".join(lines))


def damaged_number(tmp_path):
    q = original(arm()).q[:, 1].copy()
    q[30] = -1e308
    return changed(tmp_path, **{"q.elbow": q})


def cut_short(tmp_path):
    path = write_bag2(tmp_path / "bag", original(arm()), StoragePlugin.SQLITE3)
    storage = next(path.glob("*.db3"))
    storage.write_bytes(storage.read_bytes()[:5000])
    return path


def two_topics(tmp_path):
    topics = ("/arm/joint_states", "/hand/joint_states")
    return write_bag2(tmp_path / "bag", original(arm()), StoragePlugin.MCAP, topics=topics)


REFUSED = {
    "no-file": (lambda p: p / "none.csv", "none.csv: No such file"),
    "no-bag": (lambda p: p, "cannot read bag"),
    "damaged-number": (damaged_number, "position of elbow: a sample is 1e+308 in SI units"),
    "no-time": (lambda p: changed(p, t=None), "no column is the time; name it in a map as time ="),
    "no-torque": (
        lambda p: changed(p, **{"tau.elbow": None, "tau.shoulder": None}),
        "found no torque columns for the joints shoulder, elbow; name them in a map",
    ),
    "no-position": (lambda p: changed(p, **{"q.elbow": None}), "found no position columns"),
    "backwards": (backwards, "time goes back at sample 201, from 0.995 to 0.5 s"),
    "one-time": (lambda p: changed(p, t=np.ones(400)), "the time is the same in all samples"),
    "all-missing": (
        lambda p: changed(p, **{"q.elbow": np.full(400, np.nan)}),
        "only 0 of 400 samples have all of time, position and torque",
    ),
    "no-header": (without_header, "there is no header line: columns are numbered"),
    "no-number": (bad_cell, "column 'q.shoulder', sample 30"),
    "binary": (lambda p: _written(p / "a.bin", b"\0\1\2\3" * 100), "is of no form that can be"),
    "empty": (lambda p: _written(p / "a.csv", b""), "a.csv is empty"),
    "names-alone": (lambda p: _written(p / "a.csv", b"t,q.a,tau.a\n"), "not a table of numbers"),
    "broken-npz": (lambda p: _written(p / "a.npz", b"PK\3\4abc"), "cannot read"),
    "broken-mat": (lambda p: _written(p / "a.mat", b"MATLAB 5.0 MAT-file"), "cannot read"),
    "broken-parquet": (lambda p: _written(p / "a.pq", b"PAR1abc"), "cannot read"),
    "broken-gzip": (lambda p: _written(p / "a.gz", b"\x1f\x8babc"), "cannot read"),
    "broken-ros1": (lambda p: _written(p / "a.bag", b"#ROSBAG V2.0\n"), "cannot read bag"),
    "broken-mcap": (lambda p: _written(p / "a.mcap", b"\x89MCAP0\r\nabc"), "cannot read bag"),
    "broken-db3": (cut_short, "cannot read bag"),
    "two-topics": (two_topics, "choose a --topic: /arm/joint_states, /hand/joint_states"),
    "no-effort": (
        lambda p: write_bag2(p / "b", original(arm()), StoragePlugin.MCAP, effort=False),
        "found no torque columns",
    ),
    "wrong-unit": (
        lambda p: changed(p, **{"q.elbow": None, "q.elbow [mm]": np.ones(400)}),
        "joint 'elbow' is revolute, and 'mm' is not a unit of its position",
    ),
}


def _written(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_imported_is_said_in_one_line(tmp_path, case) -> None:
    make, said = REFUSED[case]
    path = make(tmp_path)
    with pytest.raises(RobotIdError) as caught:
        import_log([path], arm())
    text_of_error = str(caught.value)
    assert said in text_of_error
    assert "\n" not in text_of_error


@pytest.mark.parametrize(
    ("package", "content"), [("rosbags", b"#ROSBAG V2.0\n"), ("pyarrow", b"PAR1")]
)
def test_a_missing_reader_is_said_with_how_to_install_it(
    tmp_path, monkeypatch, package, content
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install -e '.\[logs\]'"):
        import_log([_written(tmp_path / "a", content)], arm())


def test_one_of_several_topics_is_read(tmp_path) -> None:
    imported = import_log([two_topics(tmp_path)], arm(), topic="/arm/joint_states")
    assert np.array_equal(imported.log.q, original(arm()).q)
    with pytest.raises(RobotIdError, match="unknown topic of joint states"):
        import_log([tmp_path / "bag"], arm(), topic="/leg/joint_states")


def test_files_of_other_lengths_are_no_columns_of_one_log(tmp_path) -> None:
    for name, samples in (("motor_position", 400), ("motor_torque", 300)):
        write(tmp_path / f"{name}.csv", text({f"J{k}": np.arange(samples) for k in range(2)}))
    files = sorted(tmp_path.glob("*.csv"))
    with pytest.raises(RobotIdError, match="motor_position 400, motor_torque 300"):
        import_log(files, arm(), ImportMap(rate=200.0))
