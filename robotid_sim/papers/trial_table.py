"""The trial table: results of all runs of a paper, by study, case and method.

All values of a page are read from it. A study here is a part of a paper, such as the searches on
exact data; its cases are common to all methods, such as a trajectory or a scenario; a row is the
result of one run, by name. Printed numbers are rows of the study ``printed``.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isnan
from numbers import Real
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from robotid_sim.arrays import Float
from robotid_sim.errors import OptionError
from robotid_sim.papers.statistics import (
    COMPARISON_STATISTICS,
    PAIRED_STATISTICS,
    SAMPLE_STATISTICS,
    Ends,
    Measurement,
    interval_of_mean,
)

ResultRow = Mapping[str, Any]
"""Result of a run: numbers, lists of numbers, or texts, by name."""
TrialKey = tuple[str, str, str]
"""Study, case and method; case and method are empty if there is only one."""
COMPUTED_STUDY = "computed"
"""The study of values that are computed once; it has one row."""
PRINTED_STUDY = "printed"
"""The study of printed values; its cases are the tables of the paper."""


@dataclass(frozen=True, slots=True, eq=False)
class TrialTable:
    """Rows of all runs."""

    rows: Mapping[TrialKey, Sequence[ResultRow]] = field(default_factory=dict)
    """One row per run, in the given order."""

    @classmethod
    def from_results(cls, results: Iterable[tuple[TrialKey, ResultRow]]) -> "TrialTable":
        """Collect rows by their keys, one per run.

        A result is a row, or has ``studies`` or ``methods`` by name, or a list of ``runs``.
        """
        rows: dict[TrialKey, list[ResultRow]] = {}
        for key, result in results:
            for place, row in split_result(key, result):
                rows.setdefault(place, []).append(row)
        return cls(rows)

    @classmethod
    def from_computed(cls, **values: Any) -> "TrialTable":
        """Store values that are computed once."""
        return cls({(COMPUTED_STUDY, "", ""): [values]})

    @classmethod
    def from_printed(cls, tables: Mapping[str, Mapping[str, ResultRow]]) -> "TrialTable":
        """Store printed values, given as rows by table and method."""
        rows = {
            (PRINTED_STUDY, t, m): [row]
            for t, methods in tables.items()
            for m, row in methods.items()
        }
        return cls(rows)

    def __or__(self, other: "TrialTable") -> "TrialTable":
        """Join two tables; for keys in both, the rows are those of the other."""
        return TrialTable({**self.rows, **other.rows})

    def cases(self, study: str, method: str = "") -> list[str]:
        """List the cases of a study, or of one of its methods."""
        keys = (key for key in self.rows if key[0] == study and method in ("", key[2]))
        return list(dict.fromkeys(case for _, case, _ in keys))

    def methods(self, study: str, case: str | None = None) -> list[str]:
        """List the methods of a study, or of one of its cases."""
        keys = (key for key in self.rows if key[0] == study and case in (None, key[1]))
        return list(dict.fromkeys(method for _, _, method in keys))

    def runs(self, study: str, method: str = "", case: str | None = None) -> list[ResultRow]:
        """List the rows of a method by run; without a case those of all cases.

        Raises `OptionError` if there are none.
        """
        places = self.cases(study) if case is None else [case]
        runs = [row for place in places for row in self.rows.get((study, place, method), ())]
        if not runs:
            raise OptionError(f"the trial table has no runs of {(study, case, method)}")
        return runs

    def values(self, study: str, method: str, metric: str, case: str | None = None) -> Float:
        """Read a value of every run, shape (R, ...); NaN for a value of None.

        Raises `OptionError` if there are no runs, or a run does not have the value.
        """
        try:
            return np.array([row[metric] for row in self.runs(study, method, case)], dtype=float)
        except KeyError as error:
            raise OptionError(
                f"the runs of {(study, case, method)} have no value {error}"
            ) from error

    def best(self, study: str, method: str, metric: str, case: str | None = None) -> ResultRow:
        """Find the run with the smallest value."""
        return min(self.runs(study, method, case), key=lambda row: float(row[metric]))


EMPTY_TABLE = TrialTable()


def split_result(key: TrialKey, result: ResultRow) -> Iterator[tuple[TrialKey, ResultRow]]:
    """Split a result of several studies, methods or runs into rows."""
    study, case, method = key
    if "studies" in result:
        for name, part in result["studies"].items():
            yield from split_result((name, case, method), part)
    elif "methods" in result:
        for name, part in result["methods"].items():
            yield from split_result((study, case, name), part)
    else:
        yield from ((key, row) for row in result.get("runs", [result]))


INTERVAL_SUFFIX = " with its interval"

_NUMBER_PATTERN = r"(-?[\d.]+(?:e[-+]?\d+)?)"
_RANGE_FORMS: dict[str, Callable[..., tuple[float | None, float | None, bool]]] = {
    rf"above {_NUMBER_PATTERN}": lambda a: (a, None, True),
    rf"below {_NUMBER_PATTERN}": lambda a: (None, a, True),
    rf"at least {_NUMBER_PATTERN}": lambda a: (a, None, False),
    rf"at most {_NUMBER_PATTERN}": lambda a: (None, a, False),
    rf"exactly {_NUMBER_PATTERN}": lambda a: (a, a, False),
    rf"{_NUMBER_PATTERN} to {_NUMBER_PATTERN}": lambda a, b: (a, b, False),
    "a number": lambda: (None, None, False),
}


@dataclass(frozen=True, slots=True)
class ClaimRange:
    """A range as text: above, below, at least, at most or exactly a number; a to b; a number."""

    text: str
    lower: float | None
    """Lower end; None if open."""
    upper: float | None
    strict: bool
    """Whether the ends are excluded."""
    whole_interval: bool = False
    """Whether the whole 95 % interval must lie in it, if there is one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text of a range; raises `OptionError` with the valid forms."""
        form = text.removesuffix(INTERVAL_SUFFIX)
        for pattern, ends in _RANGE_FORMS.items():
            if match := re.fullmatch(pattern, form):
                numbers = map(literal_eval, match.groups())
                return cls(text, *ends(*numbers), whole_interval=form != text)
        raise OptionError(
            f"unknown range '{text}'; write above, below, 'at least', 'at most' or exactly 1, "
            f"'1 to 2' or 'a number', with '{INTERVAL_SUFFIX.strip()}' if needed"
        )

    def is_met(self, value: object, interval: tuple[float, float] | None = None) -> bool:
        """Check whether a number, or its whole interval, lies in the range; a text never does."""
        if not isinstance(value, Real) or isnan(value):
            return False
        ends = interval if self.whole_interval and interval is not None else (float(value),) * 2
        return self._is_above(ends[0]) and self._is_below(ends[1])

    def is_subset(self, other: "ClaimRange") -> bool:
        """Check whether this range lies in another one, by its ends."""
        below = other.lower is None or (
            self.lower is not None
            and (other.is_met(self.lower) or (self.strict and self.lower == other.lower))
        )
        above = other.upper is None or (
            self.upper is not None
            and (other.is_met(self.upper) or (self.strict and self.upper == other.upper))
        )
        return below and above

    def overlaps(self, interval: tuple[float, float]) -> bool:
        """Check whether an interval overlaps the range."""
        return self._is_above(interval[1]) and self._is_below(interval[0])

    def _is_above(self, value: float) -> bool:
        limit = self.lower
        return limit is None or value > limit or (not self.strict and value == limit)

    def _is_below(self, value: float) -> bool:
        limit = self.upper
        return limit is None or value < limit or (not self.strict and value == limit)


REDUCTIONS: Mapping[str, Callable[..., Float]] = {
    "mean": np.mean,
    "rms": lambda x, axis: np.sqrt((x**2).mean(axis=axis)),
    "mean square": lambda x, axis: (x**2).mean(axis=axis),
    "largest": np.max,
    "all": lambda x, axis: np.moveaxis(x, axis, -1).ravel(),
}
"""Reductions of the entries of a run, such as its joints, to one number."""
TRANSFORMS: Mapping[str, Callable[[float], float]] = {
    "": lambda x: x,
    "percent above": lambda x: 100.0 * (x - 1.0),
    "percent below": lambda x: 100.0 * (1.0 - x),
    "root": lambda x: float(np.sqrt(x)),
}


class StrictModel(BaseModel):
    """A part of a TOML file without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Measure(StrictModel):
    """A number of the trial table."""

    study: str = COMPUTED_STUDY
    case: str | None = None
    """Case; None for all cases, one after the other."""
    metric: str
    """Name of a value of every run."""
    of: str | tuple[str, ...] = ""
    """Method, or several with all of their runs; with ``each = "of"`` empty for all methods."""
    over: str | tuple[str, ...] = ""
    """Method that the statistic compares with."""
    over_case: str = ""
    """Case that the statistic compares with; by default the same."""
    by: str = ""
    """Other value of the same runs that the statistic compares with."""
    run: int | None = None
    """Run; None for all runs."""
    entry: int | str | tuple[int, ...] | None = None
    """Entry of values that are lists, such as by joint: one, some, or a name of `REDUCTIONS`."""
    statistic: str = "value"
    floor: float = -np.inf
    """Lower limit of the values, such as the rounding error."""
    each: Literal["", "case", "of", "over", "entry", "run"] = ""
    """Parts with a separate statistic."""
    pick: Literal["", "least", "greatest", "mean", "rises", "place", "range"] = ""
    """Combination of these statistics; ``rises`` counts increases, ``place`` is one plus the number
    of values above 1, and ``range`` is a text with ``{low}`` and ``{high}``, and with ``{least}``
    and ``{greatest}`` for the names."""
    end: Literal["", "lower", "upper"] = ""
    """End of the interval to use instead of the number, if there is one."""
    rule: str = ""
    """Range; the measure is then the number of values in it."""
    shown: Literal["", "percent above", "percent below", "root"] = ""
    """Form in which a ratio is shown."""
    scale: float = 1.0
    text: str = ""
    """Format of each value in a list, such as ``{name} {value:.3g}``; the measure is then the
    joined text, or that of the least or greatest value alone."""
    separator: str = ", "
    absent: str = "-"
    """Text for a missing number."""
    interval: bool = True
    """Whether the interval is used."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, content: Any) -> Any:
        """Accept the name of a computed value."""
        return {"metric": content} if isinstance(content, str) else content

    @field_validator("statistic")
    @classmethod
    def _require_known(cls, name: str) -> str:
        names = (*SAMPLE_STATISTICS, *COMPARISON_STATISTICS, *PAIRED_STATISTICS)
        if name not in names:
            raise ValueError(f"unknown statistic '{name}'; known: {', '.join(names)}")
        return name

    def estimate(self, table: TrialTable) -> tuple[Any, Ends]:
        """Compute the number and its interval; a single value, such as a text, is not changed.

        Raises `OptionError` if the table has no such runs.
        """
        if self.statistic == "value" and not self.each and isinstance(self.of, str):
            single = table.runs(self.study, self.of, self.case)[self.run or 0].get(self.metric)
            if isinstance(self.entry, int) and single is not None:
                single = single[self.entry]
            if isinstance(single, str | int):
                return single, None
        parts = self._parts(table)
        if self.rule:
            bounds = ClaimRange.parse(self.rule)
            return sum(bounds.is_met(value, ends) for value, ends in parts), None
        if self.text:
            named = list(zip(self._names(table), (value for value, _ in parts), strict=True))
            if self.pick == "range":
                shown = [(self._display_value(value), name) for name, value in named]
                (low, least), (high, greatest) = (f(shown, key=itemgetter(0)) for f in (min, max))
                return self.text.format(low=low, high=high, least=least, greatest=greatest), None
            if self.pick:
                chosen = max if self.pick == "greatest" else min
                named = [chosen(named, key=lambda part: part[1])]
            texts = (
                self.absent
                if np.isnan(value)
                else self.text.format(name=name, value=self._display_value(value))
                for name, value in named
            )
            return self.separator.join(texts), None
        value, ends = _combine(parts, self.pick)
        if self.end and ends is not None:
            return self._display_value(ends[self.end == "upper"]), None
        if ends is None or not self.interval:
            return self._display_value(value), None
        low, high = sorted(map(self._display_value, ends))
        return self._display_value(value), (low, high)

    def _display_value(self, value: float) -> float:
        result = TRANSFORMS[self.shown](value)
        return result if self.scale == 1.0 else self.scale * result

    def _names(self, table: TrialTable) -> Sequence[str]:
        """Name the cases, methods or entries with a separate statistic."""
        if self.each == "case":
            return table.cases(self.study)
        if self.each in ("of", "over"):
            return tuple(getattr(self, self.each)) or table.methods(self.study, self.case)
        return [str(k + 1) for k in range(len(self._parts(table)))]

    def _parts(self, table: TrialTable) -> list[Measurement]:
        """Compute the statistic of each case, method, entry or run, or of all at once."""
        if self.each == "case":
            return [self._measure_at(table, case=case) for case in table.cases(self.study)]
        if self.each in ("of", "over"):
            return [self._measure_at(table, **{self.each: method}) for method in self._names(table)]
        if self.each == "run":
            return [(float(value), None) for value in self.values_of(table, self.of, self.metric)]
        if self.each == "entry":
            first = table.values(self.study, str(self.of), self.metric, self.case)[0]
            entries = self.entry if isinstance(self.entry, tuple) else range(first.size)
            return [self._measure_at(table, entry=k) for k in entries]
        return [self._measure_at(table)]

    def _measure_at(self, table: TrialTable, **place: Any) -> Measurement:
        """Compute the statistic at a case, method or entry."""
        part, name = self.model_copy(update=place), self.statistic
        # Comparisons within a run are reduced afterwards: a mean of quotients is not a quotient.
        joined = name in PAIRED_STATISTICS and isinstance(part.entry, str)
        values = part.values_of(table, part.of, part.metric, joined=joined)
        if name in SAMPLE_STATISTICS:
            return SAMPLE_STATISTICS[name](values)
        other = part.model_copy(update={"case": part.over_case or part.case})
        others = other.values_of(table, part.over or part.of, part.by or part.metric, joined=joined)
        if name in PAIRED_STATISTICS:
            pairs = PAIRED_STATISTICS[name](values, others)
            return SAMPLE_STATISTICS["mean"](_reduce(pairs, part.entry if joined else None))
        return COMPARISON_STATISTICS[name](values, others)

    def values_of(
        self, table: TrialTable, of: str | Sequence[str], metric: str, *, joined: bool = False
    ) -> Float:
        """Read the values of all runs of one or several methods, whole or reduced to an entry."""
        methods = (of,) if isinstance(of, str) else of
        values = [table.values(self.study, name, metric, self.case) for name in methods]
        runs = np.maximum(np.concatenate(values), self.floor)
        if self.run is not None:
            runs = runs[self.run : self.run + 1]
        return runs if joined else _reduce(runs, self.entry)


def _reduce(values: Float, entry: int | str | tuple[int, ...] | None) -> Float:
    """Select entries, or reduce them."""
    if isinstance(entry, str):
        return np.asarray(REDUCTIONS[entry](values, axis=-1))
    if entry is None:
        return values
    return np.asarray(values[..., list(entry) if isinstance(entry, tuple) else entry])


def _combine(parts: Sequence[Measurement], pick: str) -> Measurement:
    """Select one of several estimates, or combine them."""
    values = [value for value, _ in parts]
    if pick == "mean":
        return float(np.mean(values)), interval_of_mean(values)
    if pick == "rises":
        return float(sum(a < b for a, b in pairwise(values))), None
    if pick == "place":
        return float(1 + sum(value > 1.0 for value in values)), None
    chosen = max if pick == "greatest" else min
    return chosen(parts, key=lambda part: part[0])
