"""The store of a campaign: one SQLite file with a row a trial, and arrays beside it.

Only the process that runs the campaign writes; others may read at any time (write-ahead log). What
a group of trials found is written in one transaction, so that a row is there whole or not at all.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.docstrings import documented
from robotid_sim.errors import FileFormatError

NAME = "campaign.sqlite"
ARRAYS = "arrays.h5"
SCHEMA = 1

DONE, FAILED, LATE, LOST = "done", "failed", "late", "lost"
"""What became of a trial: it ended; it raised; it took too long; its worker died three times."""

_COLUMNS = ("key", "factors", "seed", "status", "error", "seconds")


@documented
@dataclass(frozen=True, slots=True)
class TrialRow:
    """What is known of a trial that was run."""

    key: str
    """Hash of everything that decides the result."""
    factors: Mapping[str, str | float]
    """Label of the level of every factor."""
    seed: int
    status: str
    """``done``, ``failed``, ``late`` or ``lost``."""
    error: str = ""
    seconds: float = 0.0
    """Its share of the time of its group [s]."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    arrays: Mapping[str, Float1D] = field(default_factory=dict)
    """Kept beside the rows; empty in a row that was read."""


class Store:
    """The rows of a campaign in a folder; a context manager.

    Parameters
    ----------
    folder : Path
        Where the files are.
    write : bool
        Whether to create what is missing; otherwise the store must be there and is only read.

    Raises
    ------
    FileFormatError
        If there is no store, it cannot be opened, or it is of another schema.
    """

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        file = folder / NAME
        if not write and not file.is_file():
            raise FileFormatError(f"{folder} holds no campaign: there is no {NAME}; run it first")
        with _named(file):
            mode = "rwc" if write else "ro"
            uri = f"{file.absolute().as_uri()}?mode={mode}"
            self._rows = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None)
            if write:
                self._create()
            self._require_schema(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()

    def _create(self) -> None:
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        metrics = ", ".join(f"{name} REAL" for name in METRICS)
        self._rows.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT)")
        self._rows.execute(
            "CREATE TABLE IF NOT EXISTS trial (key TEXT PRIMARY KEY, factors TEXT, seed INTEGER, "
            f"status TEXT, error TEXT, seconds REAL, {metrics})"
        )
        self._rows.execute("INSERT OR IGNORE INTO about VALUES ('schema', ?)", (str(SCHEMA),))

    def _require_schema(self, file: Path) -> None:
        found = self.about("schema")
        if found != str(SCHEMA):
            raise FileFormatError(
                f"{file} is of schema {found}, and this robotid_sim has {SCHEMA}; export its rows "
                "with the version that wrote it, or choose another folder"
            )

    def about(self, name: str) -> str | None:
        """Return what is noted of the campaign under a name."""
        with _named(self.folder / NAME):
            row = self._rows.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Keep something of the campaign under a name."""
        with _named(self.folder / NAME):
            self._rows.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def add(self, rows: Sequence[TrialRow]) -> None:
        """Write rows and their arrays, all or none of them."""
        with _named(self.folder / NAME):
            names = [*_COLUMNS, *METRICS]
            marks = ", ".join("?" for _ in names)
            values = [_values(row) for row in rows]
            self._keep_arrays(rows)
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                columns = ", ".join(names)
                text = f"INSERT OR REPLACE INTO trial ({columns}) VALUES ({marks})"
                self._rows.executemany(text, values)
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:  # SQLite ends it itself where the disk is full
                    self._rows.execute("ROLLBACK")
                raise

    def _keep_arrays(self, rows: Iterable[TrialRow]) -> None:
        """Write arrays before their row: those of a run that was killed in between are replaced."""
        kept = [row for row in rows if row.arrays]
        if not kept:
            return
        with h5py.File(self.folder / ARRAYS, "a") as file:
            for row in kept:
                for name, value in row.arrays.items():
                    path = f"{row.key}/{name}"
                    if path in file:
                        del file[path]
                    file[path] = np.asarray(value)

    def finished(self, *, again: Sequence[str] = ()) -> set[str]:
        """Return the keys of the trials that were run, but for those of some statuses."""
        marks = ", ".join("?" for _ in again)
        text = f"SELECT key FROM trial WHERE status NOT IN ({marks})"
        with _named(self.folder / NAME):
            return {key for (key,) in self._rows.execute(text, tuple(again))}

    def rows(self, keys: set[str] | None = None) -> Iterator[TrialRow]:
        """Yield the rows, of some keys only, in the order of their keys."""
        names = [*_COLUMNS, *METRICS]
        text = f"SELECT {', '.join(names)} FROM trial ORDER BY key"
        with _named(self.folder / NAME):
            for key, factors, seed, status, error, seconds, *metrics in self._rows.execute(text):
                if keys is None or key in keys:
                    numbers = dict(zip(METRICS, metrics, strict=True))
                    content = json.loads(factors)
                    yield TrialRow(key, content, seed, status, error, seconds, numbers)

    def counts(self) -> dict[str, int]:
        """Return how many trials have every status."""
        with _named(self.folder / NAME):
            text = "SELECT status, COUNT(*) FROM trial GROUP BY status"
            return {str(status): int(count) for status, count in self._rows.execute(text)}

    def is_whole(self) -> bool:
        """Return whether SQLite finds its file in order."""
        with _named(self.folder / NAME):
            return tuple(self._rows.execute("PRAGMA integrity_check").fetchone()) == ("ok",)


def _values(row: TrialRow) -> list[Any]:
    metrics = [row.metrics.get(name) for name in METRICS]
    factors = json.dumps(dict(row.factors))
    return [row.key, factors, row.seed, row.status, row.error, row.seconds, *metrics]


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Turn errors of SQLite and HDF5 into one that names the file and the remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise FileFormatError(
            f"{file}: {error}; see that its folder can be written and has room, then run it again: "
            "what is finished stays"
        ) from error
