"""A reproduced paper: its trials in Python, and what is said of them in a file beside it.

A paper measures its claims and returns a `Reproduction`. A `TrialPaper` has two things instead. Its
trials, functions that are run and kept by their parameters, fill a `TrialTable`; its
``claims.toml`` says what claims, figures, tables and texts of the page take from that table, in the
words of `Measure`, `charts` and `tables`::

    class Drop(TrialPaper):
        \"\"\"The torque that holds an arm stretched out.\"\"\"

        name: ClassVar[str] = "holding"

        def run(self, lab):
            cells = lab.cells(("torque", "", "true"), f"{__name__}:hold", runs=8)
            return lab.tabulate("hold", cells)
"""

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from robotid_sim.campaign.trials import Trial, run_trials
from robotid_sim.chart import Chart
from robotid_sim.papers.claims import Claim, MeasuredValue, RunsNeeded, fill, judge
from robotid_sim.papers.sheet import ClaimSheet, read_sheet
from robotid_sim.papers.trial_table import EMPTY_TABLE, TrialKey, TrialTable
from robotid_sim.progress import Progress, silent
from robotid_sim.section import Section
from robotid_sim.table import Table

MIN_RUNS = 6
"""Runs below which no statistic is judged: the interval of a median and rank tests need six."""
T = TypeVar("T")
TrialFunction = str | Callable[..., Mapping[str, Any]]
"""What a trial calls, itself or by its dotted name."""


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial, and the place of its result in the trial table."""

    key: TrialKey
    trial: Trial


@dataclass(frozen=True, slots=True, eq=False)
class ReproductionSetup:
    """Where a reproduction is run: effort, seed, processes, and the folder of finished trials."""

    folder: Path
    """Receives the trials."""
    quick: bool = False
    """Fewer runs and smaller budgets; the same outputs."""
    runs: int | None = None
    """Independent runs a method; None for the paper's number, or the quick one."""
    seed: int = 0
    workers: int = 1
    engine: str | None = None
    """What plants are in; None for the first engine that is installed."""
    progress: Progress = silent

    def choose(self, full: T, quick: T) -> T:
        """Choose a budget."""
        return quick if self.quick else full

    def runs_of(self, published: int, quick: int) -> int:
        """Choose the number of runs: what was asked for, else the paper's, else the quick one."""
        return self.runs or self.choose(published, quick)

    def is_judged(self, least: int = MIN_RUNS) -> bool:
        """Tell whether statistics are judged: not in a quick run, and not with fewer runs."""
        return not self.quick and (self.runs is None or self.runs >= least)

    def cell(self, key: TrialKey, function: TrialFunction, **parameters: Any) -> PlannedTrial:
        """Plan one trial of a function, with the seed of the lab."""
        words = [*key, *(f"{n} {parameters[n]}" for n in ("run",) if n in parameters)]
        name = re.sub(r"[^A-Za-z0-9._+-]+", "-", " ".join(filter(None, words))).strip("-.")
        return PlannedTrial(key, self.trial(name, function, **parameters))

    def cells(
        self,
        key: TrialKey,
        function: TrialFunction,
        runs: int | Sequence[int] = 1,
        **parameters: Any,
    ) -> list[PlannedTrial]:
        """Plan a trial for every run, which the function is called with."""
        numbers = range(runs) if isinstance(runs, int) else runs
        return [self.cell(key, function, run=run, **parameters) for run in numbers]

    def trial(self, name: str, function: TrialFunction, **parameters: Any) -> Trial:
        """Plan a trial of a function, itself or ``module:name``, with the seed of the lab."""
        if not isinstance(function, str):
            function = f"{function.__module__}:{function.__qualname__}"
        return Trial(name, function, {"seed": self.seed, **parameters}, self.engine)

    def plan_runs(
        self, name: str, function: TrialFunction, runs: int, **parameters: Any
    ) -> list[Trial]:
        """Plan a trial for every run, which it is called with."""
        return [self.trial(f"{name}-{run}", function, run=run, **parameters) for run in range(runs)]

    def run(self, stage: str, trials: Sequence[Trial]) -> list[dict[str, Any]]:
        """Run what is not finished of trials, and return their results in order.

        The stage is what is shown beside the progress bar.
        """
        done = partial(self.progress, stage)
        return run_trials(trials, self.folder, workers=self.workers, progress=done)

    def tabulate(self, stage: str, planned: Iterable[PlannedTrial]) -> TrialTable:
        """Run what is not finished, and return the table of all results."""
        cells = list(planned)
        results = self.run(stage, [cell.trial for cell in cells])
        return TrialTable.from_results(zip((cell.key for cell in cells), results, strict=True))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reproduction:
    """What came out: claims with verdicts, and tables and figures like the paper's."""

    paper: "Paper"
    finding: str
    """The result, in a short paragraph for someone with the paper beside them."""
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    """In the order of the paper; the title of a table or figure names the paper's."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Tables that are written as CSV, by the stem of their file; most are on the page."""
    quick: bool = False

    @property
    def passed(self) -> bool:
        """Whether every number that is judged is where it is expected; undecided is not enough."""
        return all(claim.outcome in (None, "met") for claim in self.claims)


class Paper(ABC):
    """A published system that the testbench runs; what it claims stands in a file beside it."""

    name: ClassVar[str]
    """Kebab-case: robot and method."""

    @cached_property
    def sheet(self) -> ClaimSheet:
        """What the paper is, claims, and does not say: the ``claims.toml`` beside its module."""
        module = sys.modules[type(self).__module__]
        return read_sheet(Path(str(module.__file__)).with_name("claims.toml"))

    @property
    def title(self) -> str:
        """Robot and method, as the page has it."""
        return self.sheet.title

    @property
    def citation(self) -> str:
        """Authors, year, title, journal, DOI."""
        return self.sheet.citation

    @property
    def summary(self) -> str:
        """One line for `robotid list papers`."""
        return self.sheet.summary

    def require(self) -> None:  # noqa: B027 - most papers need nothing more
        """Raise `MissingExtraError` if an optional package that is needed is missing."""

    @abstractmethod
    def reproduce(self, lab: ReproductionSetup) -> Reproduction:
        """Run what is not finished, and return claims with verdicts, tables and figures."""

    def reproduction(
        self,
        lab: ReproductionSetup,
        measurements: Mapping[str, MeasuredValue],
        facts: Mapping[str, Any],
        charts: Iterable[Chart],
        tables: Iterable[Table],
        table: TrialTable = EMPTY_TABLE,
    ) -> Reproduction:
        """Judge the claims as far as the lab's effort allows, and lay out the page.

        Parameters
        ----------
        lab : Lab
            Effort and seed.
        measurements : mapping of str to Measured
            By claim.
        facts : mapping of str to Any
            What fills the texts of the page.
        charts, tables : iterable
            They find their places by their names; tables without one are written only.
        table : TrialTable
            All values of trials.

        Returns
        -------
        reproduction : Reproduction
            Claims with their verdicts, and the page.
        """
        enough: dict[RunsNeeded, bool] = {
            "full": not lab.quick,
            "runs": lab.is_judged(),
            "any": True,
        }
        complete = self.sheet.tables(facts, tables, table)
        drawn = (*charts, *self.sheet.charts(table))
        return Reproduction(
            paper=self,
            finding=fill(self.sheet.finding, facts),
            claims=judge(self.sheet.claim, measurements, enough),
            sections=self.sheet.sections(facts, drawn, complete),
            tables=complete,
            quick=lab.quick,
        )


class TrialPaper(Paper):
    """A paper whose claims and tables are made from a trial table, as its file says."""

    @abstractmethod
    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run what is not finished of all trials, and compute what needs none."""

    def measurements(self, table: TrialTable) -> dict[str, MeasuredValue]:
        """Measure what every claim is about, as the file says."""
        facts = self.sheet.measure_facts(table)
        return {c.name: c.measure(table, facts) for c in self.sheet.claim if c.ours is not None}

    def reproduce(self, lab: ReproductionSetup) -> Reproduction:
        """Run what is not finished, and return claims with verdicts, tables and figures."""
        table = self.run(lab)
        facts = self.sheet.measure_facts(table)
        return self.reproduction(lab, self.measurements(table), facts, (), (), table)
