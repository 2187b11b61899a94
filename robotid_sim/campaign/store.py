"""The store of a campaign: an SQLite file with one row per trial, and a file of arrays.

The rows of a group of trials are written in one transaction, all or none.
"""

import json
import reprlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.trial_list import StudyTrial
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.inputs import require_file

TABLE = "trial"

MAX_VALUE_SIZE = 100_000_000
"""Largest size of a value in a store [bytes]."""

MAX_STEPS, BYTES_OF_STEPS = 1_000_000, 10_000
"""Largest number of steps of a query for every `BYTES_OF_STEPS` bytes of the file: the pages of a
damaged file may refer to one another in a cycle."""


class RowStore:
    """Table ``trial`` of an SQLite file with notes; a context manager.

    `columns` maps the names of columns to their types, the key first; `schema` is their version.
    With `write` missing parts are created; otherwise the file must exist and is only read. Raises
    `FileFormatError` if the file cannot be opened, or has another schema.
    """

    def __init__(self, file: Path, columns: Mapping[str, str], schema: int, *, write: bool) -> None:
        self.file, self._names = file, tuple(columns)
        for suffix in ("", "-wal", "-shm", "-journal"):
            require_file(file.with_name(file.name + suffix))
        with name_file_in_errors(file):
            uri = f"{file.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
            self._rows = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None)
            self._rows.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_SIZE)
            try:
                key, *others = (f"{name} {kind}" for name, kind in columns.items())
                self._require_tables(
                    ", ".join([f"{key} PRIMARY KEY", *others]), schema, write=write
                )
                if write:
                    self._rows.execute(
                        "INSERT OR IGNORE INTO about VALUES ('schema', ?)", (str(schema),)
                    )
                self._require_schema(schema)
            except BaseException:
                self._rows.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def _require_tables(self, columns: str, schema: int, *, write: bool) -> None:
        """Raise unless the file has exactly the tables of a store.

        Views, triggers or computed columns of other programs may never end.
        """
        tables = {"about": "name TEXT PRIMARY KEY, value TEXT", TABLE: columns}
        texts = {f"CREATE TABLE {name} ({content})" for name, content in tables.items()}
        if write:
            self._rows.execute("PRAGMA journal_mode = WAL")
            self._rows.execute("PRAGMA synchronous = NORMAL")
            for text in sorted(texts):
                self._rows.execute(text.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        else:
            self._require_schema(schema)
        stored = {text for (text,) in self._read("SELECT sql FROM sqlite_master")}
        if stored - {None} != texts:
            raise FileFormatError(
                f"{self.file} does not have the tables of a store of this version; restore it, or "
                "choose another folder"
            )

    def _require_schema(self, schema: int) -> None:
        stored = self.read_about("schema")
        if stored != str(schema):
            raise FileFormatError(
                f"{self.file} has schema {stored}, not {schema}; export its rows with the "
                "robotid_sim that wrote it, or choose another folder"
            )

    def read_about(self, name: str) -> str | None:
        """Read the note with a name; None if there is none."""
        with name_file_in_errors(self.file):
            row = self._read("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Store a note under a name."""
        with name_file_in_errors(self.file):
            self._rows.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def insert(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows with values in the order of the columns, all or none."""
        marks = ", ".join("?" for _ in self._names)
        text = f"INSERT OR REPLACE INTO {TABLE} ({', '.join(self._names)}) VALUES ({marks})"
        with name_file_in_errors(self.file):
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                self._rows.executemany(text, rows)
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:  # SQLite itself ends the transaction on a full disk
                    self._rows.execute("ROLLBACK")
                raise

    def select(
        self, expressions: str, clause: str = "", values: Sequence[Any] = ()
    ) -> Iterator[Any]:
        """Yield the rows of a query of the table: its expressions and trailing clause."""
        with name_file_in_errors(self.file):
            yield from self._read(f"SELECT {expressions} FROM {TABLE} {clause}", values)

    def is_whole(self) -> bool:
        """Check the integrity of the file."""
        with name_file_in_errors(self.file):
            return tuple(self._read("PRAGMA integrity_check").fetchone()) == ("ok",)

    def _read(self, text: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Start a query with a limit of steps according to the size of the file."""
        self._rows.set_progress_handler(None, 0)
        size = self._rows.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()[0]
        budget = iter(range(1 + size // BYTES_OF_STEPS))
        self._rows.set_progress_handler(lambda: next(budget, None) is None, MAX_STEPS)
        return self._rows.execute(text, tuple(values))


@contextmanager
def name_file_in_errors(file: Path) -> Iterator[None]:
    """Convert errors of SQLite and HDF5 to an error that names file and remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise FileFormatError(
            f"{file}: {error}; check write permission and free space of its folder, then run it "
            "again; finished work is kept"
        ) from error


FILE_NAME = "campaign.sqlite"
ARRAY_FILE = "arrays.h5"
SCHEMA_VERSION = 1

DONE, FAILED, LATE, LOST = "done", "failed", "late", "lost"
"""Status of a trial: finished; raised an error; too slow; its worker died three times."""

GROWING_KEYS = (
    "seeds",
    "factors",
    "samples",
    "record",
    "answers",
    "title",
    "question",
    "time_limit",
)
"""Keys of a plan that may change without new trials."""

_COLUMNS = {
    "key": "TEXT",
    "factors": "TEXT",
    "seed": "INTEGER",
    "status": "TEXT",
    "error": "TEXT",
    "seconds": "REAL",
    **dict.fromkeys(METRICS, "REAL"),
}


@document_attributes
@dataclass(frozen=True, slots=True)
class TrialRow:
    """Stored result of a trial."""

    key: str
    """Hash of everything that affects the result."""
    factors: Mapping[str, str | float]
    """Label of the level of every factor."""
    seed: int
    status: str
    """``done``, ``failed``, ``late`` or ``lost``."""
    error: str = ""
    seconds: float = 0.0
    """Share of the trial in the time of its group [s]."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    arrays: Mapping[str, Float1D] = field(default_factory=dict)
    """Arrays, stored in a separate file; empty in a row that was read."""


class Store(RowStore):
    """Rows of a campaign in a folder; a context manager.

    With `write` missing parts are created; otherwise the store must exist and is only read.
    Raises `FileFormatError` if the store is missing, cannot be opened, or has another schema.
    """

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        file = folder / FILE_NAME
        if not write and not file.is_file():
            raise FileFormatError(f"{folder} has no campaign: {FILE_NAME} is missing; run it first")
        super().__init__(file, _COLUMNS, SCHEMA_VERSION, write=write)

    def add(self, rows: Sequence[TrialRow]) -> None:
        """Write rows and their arrays, all or none."""
        with_arrays = [row for row in rows if row.arrays]
        if with_arrays:  # before their rows; arrays of a killed run are replaced
            with name_file_in_errors(self.file):
                require_file(self.folder / ARRAY_FILE)
                with h5py.File(self.folder / ARRAY_FILE, "a") as file:
                    for row in with_arrays:
                        for name, value in row.arrays.items():
                            path = f"{row.key}/{name}"
                            if path in file:
                                del file[path]
                            file[path] = np.asarray(value)
        self.insert(
            [
                (
                    *(row.key, json.dumps(dict(row.factors)), row.seed, row.status, row.error),
                    *(row.seconds, *map(row.metrics.get, METRICS)),
                )
                for row in rows
            ]
        )

    def list_finished_trials(self, *, again: Sequence[str] = ()) -> set[str]:
        """List the keys of finished trials, except trials with a status in `again`."""
        marks = ", ".join("?" for _ in again)
        return {key for (key,) in self.select("key", f"WHERE status NOT IN ({marks})", again)}

    def rows(self, keys: set[str] | None = None) -> Iterator[TrialRow]:
        """Yield the rows of all or some keys, in the order of the keys.

        Raises `FileFormatError` if a value has the wrong type.
        """
        kinds: dict[str, Any] = {"seed": int, "status": str, "error": str, "seconds": int | float}
        kinds |= dict.fromkeys(METRICS, int | float | None)
        for key, factors, *values in self.select(", ".join(_COLUMNS), "ORDER BY key"):
            if keys is not None and key not in keys:
                continue
            labels = self._table(factors, f"'factors' of trial {key}")
            for (name, kind), value in zip(kinds.items(), values, strict=True):
                if not isinstance(value, kind):
                    raise self._damage_error(f"'{name}' of trial {key} is {reprlib.repr(value)}")
            seed, status, error, seconds, *metrics = values
            numbers = dict(zip(METRICS, metrics, strict=True))
            yield TrialRow(key, labels, seed, status, error, seconds, numbers)

    def rows_of(self, trials: Sequence[StudyTrial]) -> list[TrialRow]:
        """Return the rows of finished trials, in the order of the trials, with their factors.

        Rows of an earlier version of the plan have names of that version.
        """
        rows = {row.key: row for row in self.rows({trial.key for trial in trials})}
        return [replace(rows[t.key], factors=t.factors) for t in trials if t.key in rows]

    def require_plan(self, plan: Mapping[str, Any]) -> None:
        """Raise `OptionError` if the store has another plan; `plan` is its content as JSON.

        A new store accepts every plan.
        """
        before = self.read_note("plan")
        if before is None:
            return
        for name in [*before, *plan]:
            old, new = before.get(name), plan.get(name)
            if name not in GROWING_KEYS and old != new:
                key, stored, requested = _first_difference(name, old, new)
                raise OptionError(
                    f"{self.folder} has a campaign of another plan: {key} is {stored!r}, not "
                    f"{requested!r}; choose another folder"
                )

    def counts(self, keys: set[str] | None = None) -> dict[str, int]:
        """Count the trials by status, of all or some keys."""
        pairs = self.select("key, status", "ORDER BY status")
        return dict(Counter(str(status) for key, status in pairs if keys is None or key in keys))

    def read_note(self, name: str) -> dict[str, Any] | None:
        """Read the note of a name as a JSON table; None if there is none.

        Raises `FileFormatError` if the note is not a table.
        """
        text = self.read_about(name)
        return None if text is None else self._table(text, f"note '{name}'")

    def _table(self, text: object, name: str) -> dict[str, Any]:
        try:
            table = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            raise self._damage_error(f"{name} is not a JSON table")
        return table

    def _damage_error(self, reason: str) -> FileFormatError:
        return FileFormatError(
            f"{self.file} is damaged: {reason}; restore it, or run the plan in another folder"
        )


def _first_difference(name: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *new]:
            if old.get(key) != new.get(key):
                return _first_difference(f"{name}.{key}", old.get(key), new.get(key))
    return name, old, new
