"""One grid of runs: method x case x run, with the statistics that tables and claims need."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from robotid_sim.papers.statistics import Ends, ratio_of_means

RunRow = Mapping[str, Any]
"""What a run returns."""
Average = Literal["mean", "median"]
"""How runs are averaged; a mean is moved by one stuck search."""


@dataclass(frozen=True, slots=True, eq=False)
class RunGrid:
    """Results of independent runs, by case and method."""

    rows: Mapping[tuple[Any, Any], Sequence[RunRow]]
    """One result a run, by case and method, in the order in which they were given."""

    @classmethod
    def of(cls, results: Iterable[tuple[tuple[Any, Any], RunRow]]) -> Self:
        """Return the grid of results with their case and method."""
        rows: dict[tuple[Any, Any], list[RunRow]] = {}
        for key, row in results:
            rows.setdefault(key, []).append(row)
        return cls(rows)

    def runs(self, method: Hashable, case: Hashable = "") -> Sequence[RunRow]:
        """Return the results of a method in a case, run by run."""
        return self.rows[case, method]

    def case(self, case: Hashable) -> dict[Any, Sequence[RunRow]]:
        """Return the results of all methods in a case."""
        return {method: runs for (place, method), runs in self.rows.items() if place == case}

    def values(self, method: Hashable, name: str, case: Hashable = "") -> np.ndarray:
        """Return a result of every run, shape (R, ...); NaN for what a run never reached."""
        return values_of(self.runs(method, case), name)

    def mean(self, method: Hashable, name: str, case: Hashable = "") -> Any:
        """Return the mean of a result over the runs."""
        return self.values(method, name, case).mean(axis=0)

    def median(self, method: Hashable, name: str, case: Hashable = "") -> Any:
        """Return the median of a result over the runs."""
        return np.median(self.values(method, name, case), axis=0)

    def average(self, how: Average, method: Hashable, name: str, case: Hashable = "") -> Any:
        """Return the mean or median of a result over the runs."""
        return (self.mean if how == "mean" else self.median)(method, name, case)

    def best(self, method: Hashable, name: str, case: Hashable = "") -> RunRow:
        """Return the run with the least of a result."""
        return min(self.runs(method, case), key=lambda row: float(row[name]))

    def ratio(
        self,
        method: Hashable,
        other: Hashable,
        name: str,
        case: Hashable = "",
        *,
        paired: bool = False,
    ) -> tuple[float, Ends]:
        """Return the mean of a method over that of another, and its interval."""
        pair = (self.values(m, name, case) for m in (method, other))
        return ratio_of_means(*pair, paired=paired)


def values_of(rows: Sequence[RunRow], name: str) -> np.ndarray:
    """Return a result of every run, shape (R, ...)."""
    return np.array([row[name] for row in rows], dtype=float)
