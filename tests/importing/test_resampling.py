"""Stamps as machines give them: copies, gaps, clocks, whole milliseconds."""

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write

from robotid_sim.importing.foreign_log import linear_at, ordered, segments, smooth_at, uniform_grid
from robotid_sim.importing.importer import import_log
from robotid_sim.measurement.log import not_uniform_after


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
    for fill in (smooth_at, linear_at):
        assert np.allclose(fill(grid, t, line)[:, 0], 3.0 * grid - 1.0, atol=1e-12)


def test_a_burst_of_late_samples_keeps_what_is_apart() -> None:
    t = np.array([0.0, 1.0, 2.0, 2.04, 2.08, 2.12, 3.0, 4.0])
    keep, notes = ordered(t)
    assert t[keep].tolist() == [0.0, 1.0, 2.0, 2.12, 3.0, 4.0]
    assert notes == ["2 samples with the time of the sample before are dropped"]


def test_windows_and_gaps_cut_together() -> None:
    t = np.r_[np.arange(20), np.arange(40, 60)] / 10.0
    parts = segments(t, ((0.5, 5.0),))
    assert [p.text(t) for p in parts] == ["0.5 to 1.9 s", "4 to 5 s"]
