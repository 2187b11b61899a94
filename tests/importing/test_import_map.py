"""``map.toml``: it survives writing and reading, overrides what is inferred, and is checked."""

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write

from robotid_sim.errors import OptionError, RobotIdError
from robotid_sim.importing.import_map import ImportMap, load_map, save_map
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
        ("schema = 'robotid/log/1'", "this is no import-map file"),
    ],
)
def test_a_wrong_map_is_refused(tmp_path, content, said) -> None:
    with pytest.raises(RobotIdError) as caught:
        load_map(toml(tmp_path, content))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
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
def test_a_map_that_does_not_fit_is_refused(tmp_path, content, said) -> None:
    with pytest.raises(RobotIdError) as caught:
        import_log([plain(tmp_path)], arm(), load_map(toml(tmp_path, content)))
    assert said in str(caught.value)


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
