"""RowStore in an SQLite file: one process writes, others may read at any time (write-ahead log)."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from robotid_sim.errors import FileFormatError
from robotid_sim.inputs import require_file

TABLE = "trial"

MAX_VALUE_SIZE = 100_000_000
"""Longest value in a store [bytes]."""

MAX_STEPS, BYTES_OF_STEPS = 1_000_000, 10_000
"""Steps that a query may take for so many bytes of a file: its pages may lead to one another."""


class RowStore:
    """The table ``trial`` of an SQLite file, and what is noted beside it; a context manager.

    `columns` has the type of every column by its name, the first is the key; `schema` is their
    version. With `write` what is missing is created; otherwise the file must be there and is only
    read. Raises `FileFormatError` if the file cannot be opened, or is of another schema.
    """

    def __init__(self, file: Path, columns: Mapping[str, str], schema: int, *, write: bool) -> None:
        self.file, self._names = file, tuple(columns)
        for suffix in ("", "-wal", "-shm", "-journal"):
            require_file(file.with_name(file.name + suffix))
        with named(file):
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
        """Raise unless the file has the tables of a store and nothing that runs beside them.

        A view, trigger or column that another program put there may compute without end.
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
                f"{self.file} has other tables, views or triggers than a store of this version; "
                "restore it, or choose another folder"
            )

    def _require_schema(self, schema: int) -> None:
        found = self.about("schema")
        if found != str(schema):
            raise FileFormatError(
                f"{self.file} is of schema {found}, and this robotid_sim has {schema}; export its "
                "rows with the version that wrote it, or choose another folder"
            )

    def about(self, name: str) -> str | None:
        """Return what is noted under a name."""
        with named(self.file):
            row = self._read("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Keep something under a name."""
        with named(self.file):
            self._rows.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def insert(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows, values in the order of the columns: all or none of them."""
        marks = ", ".join("?" for _ in self._names)
        text = f"INSERT OR REPLACE INTO {TABLE} ({', '.join(self._names)}) VALUES ({marks})"
        with named(self.file):
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                self._rows.executemany(text, rows)
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:  # SQLite ends it itself where the disk is full
                    self._rows.execute("ROLLBACK")
                raise

    def select(self, what: str, rest: str = "", values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield what a query of the table gives: expressions, and what follows its name."""
        with named(self.file):
            yield from self._read(f"SELECT {what} FROM {TABLE} {rest}", values)

    def is_whole(self) -> bool:
        """Return whether SQLite finds its file in order."""
        with named(self.file):
            return tuple(self._read("PRAGMA integrity_check").fetchone()) == ("ok",)

    def _read(self, text: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Begin a query that ends after as many steps as the size of the file warrants."""
        self._rows.set_progress_handler(None, 0)
        size = self._rows.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()[0]
        left = iter(range(1 + size // BYTES_OF_STEPS))
        self._rows.set_progress_handler(lambda: next(left, None) is None, MAX_STEPS)
        return self._rows.execute(text, tuple(values))


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Turn errors of SQLite and HDF5 into one that names the file and the remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise FileFormatError(
            f"{file}: {error}; see that its folder can be written and has room, then run it again: "
            "what is finished stays"
        ) from error
