"""Closed-loop runs in numbers: one row a case, with intervals over its runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from robotid_sim.validation.control_run import ControlRun
from robotid_sim.validation.prediction import rms

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean over the runs of a case, and the half width of its confidence interval."""

    mean: float
    half_width: float
    """Half width at 95 %, by Student's t; 0 for a single run, of which there is no spread."""
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Interval":
        """Return the interval of the mean of `values`."""
        count, mean = len(values), float(np.mean(values))
        if count < 2:
            return cls(mean, 0.0, count)
        quantile = float(stdtrit(count - 1, 0.5 + 0.5 * CONFIDENCE))
        return cls(mean, quantile * float(np.std(values, ddof=1)) / count**0.5, count)


@dataclass(frozen=True, slots=True)
class Case:
    """What all runs of a row have in common."""

    task: str
    scenario: str
    controller: str
    model: str


@dataclass(frozen=True, slots=True)
class Row:
    """A case and its quantities; None where a run does not have one."""

    case: Case
    runs: int
    values: Mapping[str, Interval | None]


Quantity = Callable[[ControlRun], float | None]


def summarize(runs: Iterable[ControlRun], quantities: Mapping[str, Quantity]) -> list[Row]:
    """Return a row for every case, in the order in which the cases come.

    `quantities` are what to average over the runs of a case, by name.
    """
    cases: dict[Case, list[ControlRun]] = {}
    for run in runs:
        case = Case(run.task, run.scenario, run.controller, run.model)
        cases.setdefault(case, []).append(run)
    rows = []
    for case, members in cases.items():
        values = {name: _interval(members, value) for name, value in quantities.items()}
        rows.append(Row(case, len(members), values))
    return rows


def _interval(runs: Sequence[ControlRun], value: Quantity) -> Interval | None:
    values = [value(run) for run in runs]
    numbers = [v for v in values if v is not None]
    return Interval.of(numbers) if len(numbers) == len(values) else None


def rms_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Return the quantity: RMS tracking error of all joints of one unit."""
    return lambda run: float(rms(run.rms_error[_of(units, unit)]))


def largest_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Return the quantity: largest tracking error among the joints of one unit."""
    return lambda run: float(run.max_error[_of(units, unit)].max())


def torque_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Return the quantity: root of the sum of mean squares of the torques of one unit."""
    return lambda run: float(np.linalg.norm(run.torque_rms[_of(units, unit)]))


def torque_rate_of_unit(units: Sequence[str], unit: str) -> Quantity:
    """Return the quantity: root of the sum of mean squares of the torque rates of one unit."""
    return lambda run: float(np.linalg.norm(run.torque_variation[_of(units, unit)]))


def _of(units: Sequence[str], unit: str) -> list[bool]:
    return [u == unit for u in units]
