"""The store of a campaign: one SQLite file with a row a trial, and arrays beside it.

What a group of trials found is written in one transaction, so that a row is there whole or not at
all.
"""

import json
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.row_store import RowStore, named
from robotid_sim.campaign.trial_list import StudyTrial
from robotid_sim.docstrings import documented
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.inputs import require_file

NAME = "campaign.sqlite"
ARRAYS = "arrays.h5"
SCHEMA = 1

DONE, FAILED, LATE, LOST = "done", "failed", "late", "lost"
"""What became of a trial: it ended; it raised; it took too long; its worker died three times."""

GROWING = ("seeds", "factors", "samples", "record", "answers", "title", "question", "time_limit")
"""What of a plan may change while its trials stay."""

_COLUMNS = {
    "key": "TEXT",
    "factors": "TEXT",
    "seed": "INTEGER",
    "status": "TEXT",
    "error": "TEXT",
    "seconds": "REAL",
    **dict.fromkeys(METRICS, "REAL"),
}


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


class Store(RowStore):
    """The rows of a campaign in a folder; a context manager.

    With `write` what is missing is created; otherwise the store must be there and is only read.
    Raises `FileFormatError` if there is no store, it cannot be opened, or it is of another schema.
    """

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        file = folder / NAME
        if not write and not file.is_file():
            raise FileFormatError(f"{folder} holds no campaign: there is no {NAME}; run it first")
        super().__init__(file, _COLUMNS, SCHEMA, write=write)

    def add(self, rows: Sequence[TrialRow]) -> None:
        """Write rows and their arrays, all or none of them."""
        with named(self.file):
            self._keep_arrays(rows)
        self.insert(
            [
                (
                    *(row.key, json.dumps(dict(row.factors)), row.seed, row.status, row.error),
                    *(row.seconds, *map(row.metrics.get, METRICS)),
                )
                for row in rows
            ]
        )

    def _keep_arrays(self, rows: Iterable[TrialRow]) -> None:
        """Write arrays before their row: those of a run that was killed in between are replaced."""
        kept = [row for row in rows if row.arrays]
        if not kept:
            return
        require_file(self.folder / ARRAYS)
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
        return {key for (key,) in self.select("key", f"WHERE status NOT IN ({marks})", again)}

    def rows(self, keys: set[str] | None = None) -> Iterator[TrialRow]:
        """Yield the rows, of some keys only, in the order of their keys.

        Raises `FileFormatError` if a value is of another type than this program writes.
        """
        for row in self.select(", ".join(_COLUMNS), "ORDER BY key"):
            if keys is None or row[0] in keys:
                yield self._row(*row)

    def rows_of(self, trials: Sequence[StudyTrial]) -> list[TrialRow]:
        """Return the rows of trials that have one, in their order, with the factors of the trial.

        A row that an earlier form of the plan wrote has names of that time.
        """
        rows = {row.key: row for row in self.rows({trial.key for trial in trials})}
        return [replace(rows[t.key], factors=t.factors) for t in trials if t.key in rows]

    def require_plan(self, plan: Mapping[str, Any]) -> None:
        """Raise `OptionError` if trials of another plan are here; `plan` is its content as JSON.

        A new store fits every plan.
        """
        before = self.noted("plan")
        if before is None:
            return
        for name in [*before, *plan]:
            old, new = before.get(name), plan.get(name)
            if name not in GROWING and old != new:
                where, one, two = _first_difference(name, old, new)
                raise OptionError(
                    f"{self.folder} holds a campaign of another plan: {where} is {one!r} there and "
                    f"{two!r} in this one; choose another folder"
                )

    def counts(self, keys: set[str] | None = None) -> dict[str, int]:
        """Return how many trials have every status, of all or of some keys."""
        pairs = self.select("key, status", "ORDER BY status")
        return dict(Counter(str(status) for key, status in pairs if keys is None or key in keys))

    def noted(self, name: str) -> dict[str, Any] | None:
        """Return the table that is noted under a name as JSON; None without one.

        Raises `FileFormatError` if something else is noted.
        """
        text = self.about(name)
        return None if text is None else self._table(text, f"its note '{name}'")

    def _row(self, key: Any, factors: Any, *rest: Any) -> TrialRow:
        """Return a row from the values of its columns; raise unless this program wrote them."""
        labels = self._table(factors, f"'factors' of trial {key}")
        kinds: dict[str, Any] = {"seed": int, "status": str, "error": str, "seconds": int | float}
        kinds |= dict.fromkeys(METRICS, int | float | None)
        for (name, kind), value in zip(kinds.items(), rest, strict=True):
            if not isinstance(value, kind):
                raise self._damaged(f"'{name}' of trial {key} is {reprlib.repr(value)}")
        seed, status, error, seconds, *metrics = rest
        numbers = dict(zip(METRICS, metrics, strict=True))
        return TrialRow(key, labels, seed, status, error, seconds, numbers)

    def _table(self, text: object, what: str) -> dict[str, Any]:
        try:
            table = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            raise self._damaged(f"{what} is no table in JSON")
        return table

    def _damaged(self, what: str) -> FileFormatError:
        return FileFormatError(
            f"{self.file} is damaged: {what}; restore it, or run the plan into another folder"
        )


def _first_difference(name: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *new]:
            if old.get(key) != new.get(key):
                return _first_difference(f"{name}.{key}", old.get(key), new.get(key))
    return name, old, new
