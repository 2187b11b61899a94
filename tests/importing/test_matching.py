"""Headers of vendors: which columns are taken and why; samples are set on an even grid."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write
from robots import DATA, urdf_path

from robotid_sim.arrays import linear_at
from robotid_sim.errors import LogError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log, import_segments
from robotid_sim.importing.match import match
from robotid_sim.importing.raw_log import (
    RawLog,
    interpolate_spline,
    segments,
    select_ordered_rows,
    uniform_grid,
)
from robotid_sim.importing.reading import read_log, read_logs
from robotid_sim.importing.units import UNITS, parse_column, time_rank, unit_in
from robotid_sim.measurement.log import not_uniform_after
from robotid_sim.model.catalog import load_robot


def recorded(*patterns, count):
    """Return columns of zeros by pattern and number, with a time."""
    names = [p.format(k=k, k1=k + 1) for p in patterns for k in range(count)]
    columns = {name: np.zeros(20) for name in names if "{" not in name}
    return RawLog(columns | {"timestamp": np.arange(20) / 500.0})


def taken(result, quantity):
    """Return the columns of a quantity, in the order of the joints."""
    return [getattr(joint, quantity) for joint in result.mapping.joints.values()]


def test_headers_of_a_panda_are_understood() -> None:
    robot = load_robot(urdf_path("panda"), formal=True)
    log = recorded(
        *("q_{k}", "q_d_{k}", "dq_{k}", "dq_d_{k}", "ddq_d_{k}", "theta_{k}", "dtheta_{k}"),
        *("tau_J_{k}", "tau_J_d_{k}", "dtau_J_{k}", "tau_ext_hat_filtered_{k}"),
        count=7,
    )
    result = match(log, robot)
    assert taken(result, "position") == [f"q_{k}" for k in range(7)]
    assert taken(result, "velocity") == [f"dq_{k}" for k in range(7)]
    assert taken(result, "torque") == [f"tau_J_{k}" for k in range(7)]
    assert taken(result, "command") == [None] * 7  # it is without gravity
    assert result.notes[0].startswith("profile Franka")


def test_headers_of_a_ur_are_understood() -> None:
    robot = load_robot(urdf_path("ur10"), formal=True)
    log = recorded(
        *("target_q_{k}", "target_qd_{k}", "target_qdd_{k}", "target_current_{k}"),
        *("target_moment_{k}", "actual_q_{k}", "actual_qd_{k}", "actual_current_{k}"),
        *("joint_temperatures_{k}", "joint_control_output_{k}"),
        count=6,
    )
    unknown = match(log, robot, ImportMap(profile="none"))  # currents without constants
    assert taken(unknown, "current") == [f"actual_current_{k}" for k in range(6)]
    assert taken(unknown, "torque") == [None] * 6
    assert any("times 10 10 9 9 9 9 N m/A ± 30 %" in note for note in match(log, robot).notes)
    joints = {name: {"torque_constant": 10.0} for name in robot.joint_names}
    result = match(log, robot, ImportMap.model_validate({"joints": joints}))
    assert taken(result, "position") == [f"actual_q_{k}" for k in range(6)]
    assert taken(result, "velocity") == [f"actual_qd_{k}" for k in range(6)]
    assert taken(result, "current") == [f"actual_current_{k}" for k in range(6)]
    assert taken(result, "command") == [None] * 6  # target_moment is of the controller's model
    assert not any("WARNING" in note for note in result.notes)
    assert result.mapping.time == "timestamp"


def test_columns_of_another_number_of_joints_are_not_taken_by_order() -> None:
    with pytest.raises(LogError, match="found no position columns for the joints shoulder"):
        match(recorded("q_{k}", "tau_{k}", count=3), arm())


def test_joint_names_come_before_order() -> None:
    log = recorded("q_{k}", "tau_{k}", count=2)
    columns = {**log.columns, "pos elbow": np.zeros(20), "pos shoulder": np.zeros(20)}
    result = match(RawLog(columns), arm())
    assert taken(result, "position") == ["pos shoulder", "pos elbow"]
    assert result.reasons["position"] == "by joint name; not q"


def test_the_map_in_the_docs_has_keys_that_there_are() -> None:
    page = Path(__file__).parents[2] / "docs/how-to/csv-log.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    example = next(block for block in blocks if "[coupling]" in block)
    mapping = ImportMap.model_validate(tomllib.loads(example))
    assert mapping.joints["joint_1"].gear_ratio == 32.0
    for name in re.findall(r"also ([\w, ]+)", example):
        for key in name.split(", "):
            sections = (ImportMap, type(mapping.joints["joint_1"]))
            assert any(key.strip() in section.model_fields for section in sections)


JOINTS = ("joint_1", "joint_10", "elbow_joint", "q3")


@pytest.mark.parametrize(
    ("name", "quantity", "joint", "number", "unit"),
    [
        ("q.joint_1", "position", "joint_1", None, None),
        ("joint_10.position", "position", "joint_10", None, None),
        ("effort.elbow_joint", "torque", "elbow_joint", None, None),
        ("elbow_pos_deg", "position", "elbow_joint", None, "deg"),
        ("Joint 1 Velocity (deg/s)", "velocity", "joint_1", None, "deg/s"),
        ("actual_q_5", "position", None, 5, None),
        ("actual_qd_0", "velocity", None, 0, None),
        ("actual_current_2", "current", None, 2, None),
        ("actual_current_as_torque_2", "torque", None, 2, None),
        ("target_moment_4", "command", None, 4, None),
        ("target_q_4", None, None, 4, None),
        ("q_d_4", None, None, 4, None),
        ("tau_J_6", "torque", None, 6, None),
        ("tau_J_d6", "command", None, 6, None),
        ("tau_ext_hat_filtered_0", None, None, 0, None),
        ("dtau_J_0", None, None, 0, None),
        ("ddq_1", None, None, 1, None),
        ("q_deg_1", "position", None, 1, "deg"),
        ("axis2_Torque[mNm]", "torque", None, 2, "mN m"),
        ("tau_Nmm_2", "torque", None, 2, "N mm"),
        ("CurrentPosition_3", "position", None, 3, None),
        ("q_m_1", "position", None, 1, None),
        ("position.q3", "position", "q3", None, None),
        ("speed_rpm_1", "velocity", None, 1, "rpm"),
        ("temperature_1", None, None, 1, None),
        ("q_³", "position", None, None, None),
    ],
)
def test_a_name_says_quantity_joint_and_unit(name, quantity, joint, number, unit) -> None:
    column = parse_column(name, JOINTS)
    assert (column.quantity, column.unit) == (quantity, unit)
    if quantity is not None:
        assert (column.joint, column.number) == (joint, number)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("t", None),
        ("Time", None),
        ("%time", None),
        ("__time", None),
        ("timestamp", None),
        ("time_ms", "ms"),
        ("time [us]", "us"),
        ("stamp_ns", "ns"),
        ("Time (s)", "s"),
        ("robot_time", None),
    ],
)
def test_a_name_is_that_of_the_time(name, unit) -> None:
    rank = time_rank(name)
    assert rank is not None
    assert rank[1] == unit


@pytest.mark.parametrize("name", ["tau", "temperature", "q.t", "execution_time", "mode"])
def test_a_name_is_not_that_of_the_time(name) -> None:
    assert time_rank(name) is None


@pytest.mark.parametrize("quantity", UNITS)
def test_every_unit_is_read_as_it_is_written(quantity) -> None:
    for unit in UNITS[quantity]:
        assert unit_in(unit, quantity) == unit
        assert unit_in(unit.replace(" ", ""), quantity) == unit


def imported_at(tmp_path, t, rows=None):
    """Return the import of a log whose samples have other times, or of some of its rows."""
    log = original(arm(), t.size)
    rows = slice(None) if rows is None else rows
    form = Form(t[rows], log.q[rows], log.dq[rows], log.tau_meas[rows], log.joint_names)
    return import_log([write(tmp_path / "a.csv", text(form.columns()))], arm()), log


def test_uniform_times_keep_every_bit(tmp_path) -> None:
    t = -1.0 + np.arange(400) / 300.0
    imported, log = imported_at(tmp_path, t)
    assert np.array_equal(imported.log.t, t)
    assert np.array_equal(imported.log.tau_meas, log.tau_meas)
    assert not any("resampled" in note for note in imported.notes)


def test_copies_of_samples_are_dropped_and_counted(tmp_path) -> None:
    rows = np.sort(np.r_[np.arange(400), [7, 7, 90]])
    imported, log = imported_at(tmp_path, np.arange(400) / 200.0, rows)
    assert np.array_equal(imported.log.q, log.q)
    assert "3 samples with the time of the sample before are dropped" in imported.notes


def test_a_gap_splits_the_log_and_the_longest_part_is_taken(tmp_path) -> None:
    rows = np.r_[0:100, 130:400]
    imported, log = imported_at(tmp_path, np.arange(400) / 200.0, rows)
    assert np.array_equal(imported.log.q, log.q[130:])
    assert any("dropped: 1 (0 to 0.495 s)" in note for note in imported.notes)


def test_a_few_lost_samples_are_filled_in(tmp_path) -> None:
    rows = np.delete(np.arange(400), [50, 51, 200])
    imported, log = imported_at(tmp_path, np.arange(400) / 200.0, rows)
    assert imported.log.t.size == 400
    assert np.abs(imported.log.q - log.q).max() < 1e-6  # a spline over three steps of 5 ms
    assert np.abs(imported.log.tau_meas - log.tau_meas).max() < 270.0 * 0.015**2 / 8


def test_samples_with_missing_numbers_are_dropped_and_counted(tmp_path) -> None:
    log = original(arm())
    q = log.q.copy()
    q[20, 1] = np.nan
    form = Form(log.t, q, log.dq, log.tau_meas, log.joint_names)
    imported = import_log([write(tmp_path / "a.csv", text(form.columns()))], arm())
    assert "1 samples with missing numbers are dropped" in imported.notes
    assert np.abs(imported.log.q - log.q).max() < 1e-6


def test_whole_milliseconds_of_a_clock_of_300_hz_give_its_rate(tmp_path) -> None:
    t = np.round(np.arange(400) / 300.0, 3)
    imported, _ = imported_at(tmp_path, t)
    assert imported.log.t.size == 400
    assert imported.log.dt == pytest.approx(1.0 / 300.0, rel=1e-3)


def test_times_of_a_clock_count_from_the_first_sample(tmp_path) -> None:
    t = 1.7e9 + np.arange(400) / 200.0
    imported, log = imported_at(tmp_path, t)
    assert imported.log.t[0] == 0.0
    assert np.array_equal(imported.log.q, log.q)


def test_frozen_positions_are_told(tmp_path) -> None:
    log = original(arm())
    held = np.repeat(np.arange(0, 400, 2), 2)
    form = Form(log.t, log.q[held], log.dq, log.tau_meas, log.joint_names)
    imported = import_log([write(tmp_path / "a.csv", text(form.columns()))], arm())
    assert any(note.startswith("50 % of the samples repeat") for note in imported.notes)


def test_nothing_is_extrapolated() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 50))
    grid = uniform_grid(t)
    assert (grid[0], grid[-1]) == (t[0], t[-1])
    assert not_uniform_after(grid) is None
    assert not_uniform_after(t) is not None
    line = np.column_stack([3.0 * t - 1.0, t])
    for fill in (interpolate_spline, linear_at):
        assert np.allclose(fill(grid, t, line)[:, 0], 3.0 * grid - 1.0, atol=1e-12)


def test_a_burst_of_late_samples_keeps_what_is_apart() -> None:
    t = np.array([0.0, 1.0, 2.0, 2.04, 2.08, 2.12, 3.0, 4.0])
    keep, notes = select_ordered_rows(t)
    assert t[keep].tolist() == [0.0, 1.0, 2.0, 2.12, 3.0, 4.0]
    assert notes == ["2 samples with the time of the sample before are dropped"]


def test_windows_and_gaps_cut_together() -> None:
    t = np.r_[np.arange(20), np.arange(40, 60)] / 10.0
    parts = segments(t, ((0.5, 5.0),))
    assert [p.text(t) for p in parts] == ["0.5 to 1.9 s", "4 to 5 s"]


PARTS = ((0.0, 4.0), (5.0, 6.0), (7.0, 12.0), (13.0, 16.0))
"""Where there are samples [s]; the second part is too short for a log."""


@pytest.fixture(scope="module")
def robot():
    return load_robot(DATA / "2r.urdf")


def resampled(folder, jitter=0.0):
    """Write a file of a machine with gaps; positions and torques are known functions of time."""
    t = np.concatenate([np.arange(a, b - 1e-9, 0.005) for a, b in PARTS])
    t = t + jitter * 0.005 * np.random.default_rng(0).uniform(-1.0, 1.0, t.size)
    q, tau = np.sin(t[:, None] + [0.0, 1.0]), np.cos(t[:, None] + [0.0, 1.0])
    path = folder / "machine.csv"
    header = "time_s,q_shoulder,q_elbow,tau_shoulder,tau_elbow"
    table = np.column_stack([t, q, tau])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


@pytest.mark.parametrize("jitter", [0.0, 0.2])
def test_each_part_is_a_log_of_the_same_step(robot, tmp_path, jitter):
    parts = import_segments([resampled(tmp_path, jitter)], robot)
    logs = [part.log for part in parts]
    assert [round(log.t[0]) for log in logs] == [0, 7, 13]
    assert [round(log.t[-1]) for log in logs] == [4, 12, 16]
    for log in logs:
        assert log.dt == pytest.approx(logs[0].dt, rel=1e-9)
        np.testing.assert_allclose(log.q, np.sin(log.t[:, None] + [0.0, 1.0]), atol=1e-6)
    told = "gaps or windows leave 4 segments; 1 ("
    assert any(note.startswith(told) and "dropped: 2 (" in note for note in parts[0].notes)


def test_the_longest_part_is_a_log_alone_as_before(robot, tmp_path):
    path = resampled(tmp_path, 0.2)
    alone = import_log([path], robot).log
    among = import_segments([path], robot)[1].log
    np.testing.assert_array_equal(alone.t, among.t)
    np.testing.assert_array_equal(alone.tau_meas, among.tau_meas)


def test_short_parts_are_dropped_but_the_longest(robot, tmp_path):
    mapping = ImportMap(windows=((0.1, 0.9), (1.0, 2.0)))
    (only,) = import_segments([resampled(tmp_path)], robot, mapping)
    assert (only.log.t[0], only.log.t[-1]) == pytest.approx((1.0, 2.0))


def test_a_period_is_not_that_of_a_part(robot, tmp_path):
    parts = import_segments([resampled(tmp_path)], robot, ImportMap(period=4.5))
    assert [part.log.period for part in parts] == [None] * 3


def test_files_are_read_part_by_part_or_the_longest_alone(robot, tmp_path):
    path = resampled(tmp_path)
    logs = read_logs([path, path], robot)
    names = ["machine.csv", "machine.csv, part 2", "machine.csv, part 3"]
    assert logs.names == 2 * names
    assert logs.read[0].notes
    assert not logs.read[1].notes
    assert read_log(path, robot)[0].t[0] == pytest.approx(7.0)
