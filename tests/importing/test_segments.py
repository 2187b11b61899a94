"""Logs with gaps or windows: a log of its own from each part, all on grids of one step."""

import numpy as np
import pytest
from robots import DATA

from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log, import_segments
from robotid_sim.importing.reading import read_log, read_logs
from robotid_sim.model.catalog import load_robot

PARTS = ((0.0, 4.0), (5.0, 6.0), (7.0, 12.0), (13.0, 16.0))
"""Where there are samples [s]; the second part is too short for a log."""


@pytest.fixture(scope="module")
def robot():
    return load_robot(DATA / "2r.urdf")


def recorded(folder, jitter=0.0):
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
    parts = import_segments([recorded(tmp_path, jitter)], robot)
    logs = [part.log for part in parts]
    assert [round(log.t[0]) for log in logs] == [0, 7, 13]
    assert [round(log.t[-1]) for log in logs] == [4, 12, 16]
    for log in logs:
        assert log.dt == pytest.approx(logs[0].dt, rel=1e-9)
        np.testing.assert_allclose(log.q, np.sin(log.t[:, None] + [0.0, 1.0]), atol=1e-6)
    told = "gaps or windows leave 4 segments; 1 ("
    assert any(note.startswith(told) and "dropped: 2 (" in note for note in parts[0].notes)


def test_the_longest_part_is_a_log_alone_as_before(robot, tmp_path):
    path = recorded(tmp_path, 0.2)
    alone = import_log([path], robot).log
    among = import_segments([path], robot)[1].log
    np.testing.assert_array_equal(alone.t, among.t)
    np.testing.assert_array_equal(alone.tau_meas, among.tau_meas)


def test_short_parts_are_dropped_but_the_longest(robot, tmp_path):
    mapping = ImportMap(windows=((0.1, 0.9), (1.0, 2.0)))
    (only,) = import_segments([recorded(tmp_path)], robot, mapping)
    assert (only.log.t[0], only.log.t[-1]) == pytest.approx((1.0, 2.0))


def test_a_period_is_not_that_of_a_part(robot, tmp_path):
    parts = import_segments([recorded(tmp_path)], robot, ImportMap(period=4.5))
    assert [part.log.period for part in parts] == [None] * 3


def test_files_are_read_part_by_part_or_the_longest_alone(robot, tmp_path):
    path = recorded(tmp_path)
    logs = read_logs([path, path], robot)
    names = ["machine.csv", "machine.csv, part 2", "machine.csv, part 3"]
    assert logs.names == 2 * names
    assert logs.read[0].notes
    assert not logs.read[1].notes
    assert read_log(path, robot)[0].t[0] == pytest.approx(7.0)
