"""The store of a campaign: rows that are there whole or not at all."""

import sqlite3
from dataclasses import replace

import h5py
import numpy as np
import pytest

from robotid_sim.campaign.store import ARRAYS, DONE, FAILED, NAME, Store, TrialRow
from robotid_sim.errors import FileFormatError


def row(key: str, status: str = DONE, **more) -> TrialRow:
    return TrialRow(key, {"estimator": "ols"}, 3, status, metrics={"model_error": 0.1}, **more)


def test_rows_come_back_as_they_were(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("b", FAILED, error="it broke"), row("a", seconds=1.5)])
    with Store(tmp_path, write=False) as store:
        first, second = store.rows()
        assert (first.key, first.seconds, first.metrics["model_error"]) == ("a", 1.5, 0.1)
        assert (second.status, second.error) == (FAILED, "it broke")
        assert store.counts() == {DONE: 1, FAILED: 1}
        assert store.finished() == {"a", "b"}
        assert store.finished(again=[FAILED]) == {"a"}
        assert store.is_whole()


def test_arrays_are_kept_beside_the_rows(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        for value in (1.0, 2.0):  # a trial whose row was lost is run again
            store.add([row("a", arrays={"beta": np.full(3, value)})])
    with h5py.File(tmp_path / ARRAYS) as file:
        assert file["a/beta"][()].tolist() == [2.0, 2.0, 2.0]


def test_rows_of_a_group_are_written_together_or_not_at_all(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        unwritable = replace(row("b"), error=object())  # nothing that SQLite can hold
        with pytest.raises(FileFormatError, match="what is finished stays"):
            store.add([row("a"), unwritable])
        assert store.finished() == set()


def test_others_read_while_one_writes(tmp_path) -> None:
    with Store(tmp_path, write=True) as writer:
        writer.add([row("a")])
        with Store(tmp_path, write=False) as reader:
            writer.add([row("b")])
            assert reader.finished() == {"a", "b"}


def test_a_store_of_another_schema_is_refused(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.note("schema", "99")
    with pytest.raises(FileFormatError, match="is of schema 99, and this robotid_sim has 1"):
        Store(tmp_path, write=False)


def test_what_is_no_store_is_said(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="holds no campaign"):
        Store(tmp_path, write=False)
    (tmp_path / NAME).write_text("no database at all, but text of some length")
    with pytest.raises(FileFormatError, match="file is not a database"):
        Store(tmp_path, write=True)


def test_a_full_disk_is_one_line_and_breaks_nothing(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("a")])
        pages = store._rows.execute("PRAGMA page_count").fetchone()[0]
        store._rows.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(FileFormatError, match="database or disk is full"):
            store.add([row(f"k{k}", error="x" * 5000) for k in range(50)])
        assert store.finished() == {"a"}
        assert store.is_whole()


def test_the_file_is_read_by_sqlite_alone(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("a")])
    table = sqlite3.connect(tmp_path / NAME)
    assert table.execute("SELECT key, model_error FROM trial").fetchall() == [("a", 0.1)]
    table.close()
