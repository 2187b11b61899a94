"""The trial table: what every run of a paper returned, by study, case and method.

Everything that a page shows is read from it: statistics of claims, tables, figures. A study is a
part of the work, such as the searches on exact data; its cases are what all methods meet, such as
a trajectory or a scenario; a row is what one run returned, by name. Printed numbers are rows of the
study ``printed``, so that they stand beside ours by the same means.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robotid_sim.arrays import Float
from robotid_sim.errors import OptionError

ResultRow = Mapping[str, Any]
"""What a run returned: numbers, lists of them, or texts, by name."""
TrialKey = tuple[str, str, str]
"""Study, case and method; case and method are empty where there is only one."""
COMPUTED = "computed"
"""The study of what is computed once, from other runs or from none; it has one row."""
PRINTED = "printed"
"""The study of what the paper prints; its cases are the tables."""


@dataclass(frozen=True, slots=True, eq=False)
class TrialTable:
    """Rows of all runs."""

    rows: Mapping[TrialKey, Sequence[ResultRow]] = field(default_factory=dict)
    """One row a run, in the order in which they were given."""

    @classmethod
    def of(cls, cells: Iterable[tuple[TrialKey, ResultRow]]) -> "TrialTable":
        """Collect rows by their keys, one a run."""
        rows: dict[TrialKey, list[ResultRow]] = {}
        for key, row in cells:
            rows.setdefault(key, []).append(row)
        return cls(rows)

    @classmethod
    def computed(cls, **values: Any) -> "TrialTable":
        """Keep what is computed once."""
        return cls({(COMPUTED, "", ""): [values]})

    @classmethod
    def printed(cls, tables: Mapping[str, Mapping[str, ResultRow]]) -> "TrialTable":
        """Keep what a paper prints: rows by method, by the name of their table."""
        rows = {
            (PRINTED, t, m): [row] for t, methods in tables.items() for m, row in methods.items()
        }
        return cls(rows)

    def __or__(self, other: "TrialTable") -> "TrialTable":
        """Join two tables; where both have a key, the rows are those of the other."""
        return TrialTable({**self.rows, **other.rows})

    def cases(self, study: str, method: str = "") -> list[str]:
        """List the cases of a study, or those that a method has."""
        keys = (key for key in self.rows if key[0] == study and method in ("", key[2]))
        return list(dict.fromkeys(case for _, case, _ in keys))

    def methods(self, study: str, case: str | None = None) -> list[str]:
        """List the methods of a study, or of one of its cases."""
        keys = (key for key in self.rows if key[0] == study and case in (None, key[1]))
        return list(dict.fromkeys(method for _, _, method in keys))

    def runs(self, study: str, method: str = "", case: str | None = None) -> list[ResultRow]:
        """List the rows of a method, run by run; without a case those of all, one after the other.

        Raises `OptionError` if there are none.
        """
        places = self.cases(study) if case is None else [case]
        runs = [row for place in places for row in self.rows.get((study, place, method), ())]
        if not runs:
            raise OptionError(f"the trial table has no runs of {(study, case, method)}")
        return runs

    def values(self, study: str, method: str, metric: str, case: str | None = None) -> Float:
        """Read a value of every run, shape (R, ...); NaN for what a run never reached.

        Raises `OptionError` if there are no runs, or none has it.
        """
        try:
            return np.array([row[metric] for row in self.runs(study, method, case)], dtype=float)
        except KeyError as error:
            raise OptionError(
                f"the runs of {(study, case, method)} have no value {error}"
            ) from error

    def best(self, study: str, method: str, metric: str, case: str | None = None) -> ResultRow:
        """Find the run with the least of a value."""
        return min(self.runs(study, method, case), key=lambda row: float(row[metric]))


NO_TRIALS = TrialTable()


def take_apart(key: TrialKey, result: ResultRow) -> Iterator[tuple[TrialKey, ResultRow]]:
    """Take a result of several studies, methods or runs apart."""
    study, case, method = key
    if "studies" in result:
        for name, part in result["studies"].items():
            yield from take_apart((name, case, method), part)
    elif "methods" in result:
        for name, part in result["methods"].items():
            yield from take_apart((study, case, name), part)
    else:
        yield from ((key, row) for row in result.get("runs", [result]))
