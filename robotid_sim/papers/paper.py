"""A reproduced paper: its trials in Python, and its claims and texts in a TOML file.

A paper measures its claims and returns a `Reproduction`. The trials of a `TrialPaper`, functions
whose results are stored by their parameters, fill a `TrialTable`. Its ``claims.toml`` declares the
claims, figures, tables and texts of the page from that table, with the keys of `Measure`, `charts`
and `tables`::

    class Drop(TrialPaper):
        \"\"\"The torque that holds a stretched arm.\"\"\"

        name: ClassVar[str] = "holding"

        def run(self, lab):
            planned = lab.plan_trials(("torque", "", "true"), f"{__name__}:hold", runs=8)
            return lab.tabulate("hold", planned)
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
from robotid_sim.renamed import old_members
from robotid_sim.section import Section
from robotid_sim.table import Table

MIN_RUNS = 6
"""Smallest number of runs of a judged statistic, for intervals of medians and rank tests."""
T = TypeVar("T")
TrialFunction = str | Callable[..., Mapping[str, Any]]
"""Function of a trial, or its dotted name."""


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial with the key of its result in the trial table."""

    key: TrialKey
    trial: Trial


@old_members(cell="plan_trial", cells="plan_trials", repeated="plan_runs")
@dataclass(frozen=True, slots=True, eq=False)
class ReproductionSetup:
    """Effort, seed, processes and folder of a reproduction."""

    folder: Path
    """Folder of the trials."""
    quick: bool = False
    """Use fewer runs and smaller budgets, with the same outputs."""
    runs: int | None = None
    """Independent runs per method; None for the number of the paper or of the quick mode."""
    seed: int = 0
    workers: int = 1
    engine: str | None = None
    """Engine of the plants; None for the first that is installed."""
    progress: Progress = silent

    def choose(self, full: T, quick: T) -> T:
        """Choose a budget."""
        return quick if self.quick else full

    def runs_of(self, published: int, quick: int) -> int:
        """Choose the number of runs: requested, otherwise of the paper or of the quick mode."""
        return self.runs or self.choose(published, quick)

    def is_judged(self, min_runs: int = MIN_RUNS) -> bool:
        """Check whether statistics are judged: not in a quick run or with too few runs."""
        return not self.quick and (self.runs is None or self.runs >= min_runs)

    def plan_trial(self, key: TrialKey, function: TrialFunction, **parameters: Any) -> PlannedTrial:
        """Plan one trial of a function, with the seed of the setup."""
        parts = [*key, *(f"{n} {parameters[n]}" for n in ("run",) if n in parameters)]
        name = re.sub(r"[^A-Za-z0-9._+-]+", "-", " ".join(filter(None, parts))).strip("-.")
        return PlannedTrial(key, self.trial(name, function, **parameters))

    def plan_trials(
        self,
        key: TrialKey,
        function: TrialFunction,
        runs: int | Sequence[int] = 1,
        **parameters: Any,
    ) -> list[PlannedTrial]:
        """Plan one trial per run; the function is called with the run."""
        numbers = range(runs) if isinstance(runs, int) else runs
        return [self.plan_trial(key, function, run=run, **parameters) for run in numbers]

    def trial(self, name: str, function: TrialFunction, **parameters: Any) -> Trial:
        """Plan a trial of a function or ``module:name``, with the seed of the setup."""
        if not isinstance(function, str):
            function = f"{function.__module__}:{function.__qualname__}"
        return Trial(name, function, {"seed": self.seed, **parameters}, self.engine)

    def plan_runs(
        self, name: str, function: TrialFunction, runs: int, **parameters: Any
    ) -> list[Trial]:
        """Plan one trial per run, which is an argument of the function."""
        return [self.trial(f"{name}-{run}", function, run=run, **parameters) for run in range(runs)]

    def run(self, stage: str, trials: Sequence[Trial]) -> list[dict[str, Any]]:
        """Run the unfinished trials, and return the results of all in order.

        `stage` is the label of the progress bar.
        """
        done = partial(self.progress, stage)
        return run_trials(trials, self.folder, workers=self.workers, progress=done)

    def tabulate(self, stage: str, planned: Iterable[PlannedTrial]) -> TrialTable:
        """Run the unfinished trials, and return the table of all results."""
        cells = list(planned)
        results = self.run(stage, [cell.trial for cell in cells])
        return TrialTable.from_results(zip((cell.key for cell in cells), results, strict=True))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reproduction:
    """Results of a reproduction: claims with verdicts, tables and figures."""

    paper: "Paper"
    finding: str
    """The result in a short paragraph, for readers of the paper."""
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    """Sections in the order of the paper; titles of tables and figures refer to the paper."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Tables of the CSV files, by the stem of the file; most are on the page."""
    quick: bool = False

    @property
    def passed(self) -> bool:
        """Whether every judged number is in its expected range; undecided numbers do not pass."""
        return all(claim.outcome in (None, "met") for claim in self.claims)


class Paper(ABC):
    """A published system, with its claims in a file next to its module."""

    name: ClassVar[str]
    """Kebab-case: robot and method."""

    @cached_property
    def sheet(self) -> ClaimSheet:
        """Content of ``claims.toml`` next to the module."""
        module = sys.modules[type(self).__module__]
        return read_sheet(Path(str(module.__file__)).with_name("claims.toml"))

    @property
    def title(self) -> str:
        """Robot and method, title of the page."""
        return self.sheet.title

    @property
    def citation(self) -> str:
        """Authors, year, title, journal, DOI."""
        return self.sheet.citation

    @property
    def summary(self) -> str:
        """One line for `robotid list papers`."""
        return self.sheet.summary

    def require(self) -> None:  # noqa: B027 - most papers need no package
        """Raise `MissingExtraError` if an optional package that is needed is missing."""

    @abstractmethod
    def reproduce(self, lab: ReproductionSetup) -> Reproduction:
        """Run unfinished trials, and return claims with verdicts, tables and figures."""

    def reproduction(
        self,
        lab: ReproductionSetup,
        measurements: Mapping[str, MeasuredValue],
        facts: Mapping[str, Any],
        charts: Iterable[Chart],
        tables: Iterable[Table],
        table: TrialTable = EMPTY_TABLE,
    ) -> Reproduction:
        """Judge the claims according to the effort, and compose the page.

        Parameters
        ----------
        lab : ReproductionSetup
            Effort and seed.
        measurements : mapping of str to MeasuredValue
            Measured values by claim.
        facts : mapping of str to Any
            Values for the texts of the page.
        charts, tables : iterable
            Placed on the page by their names; a table without a place is only written as CSV.
        table : TrialTable
            Results of all trials.

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
        all_charts = (*charts, *self.sheet.charts(table))
        return Reproduction(
            paper=self,
            finding=fill(self.sheet.finding, facts),
            claims=judge(self.sheet.claim, measurements, enough),
            sections=self.sheet.sections(facts, all_charts, complete),
            tables=complete,
            quick=lab.quick,
        )


class TrialPaper(Paper):
    """A paper whose file declares claims and tables from a trial table."""

    @abstractmethod
    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run the unfinished trials, and compute values without trials."""

    def measurements(self, table: TrialTable) -> dict[str, MeasuredValue]:
        """Measure the values of all claims of the file."""
        facts = self.sheet.measure_facts(table)
        return {c.name: c.measure(table, facts) for c in self.sheet.claim if c.ours is not None}

    def reproduce(self, lab: ReproductionSetup) -> Reproduction:
        """Run unfinished trials, and return claims with verdicts, tables and figures."""
        table = self.run(lab)
        facts = self.sheet.measure_facts(table)
        return self.reproduction(lab, self.measurements(table), facts, (), (), table)
