"""What every reproduction of a paper has in common."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from robotid_sim.campaign.trials import Trial, run_trials
from robotid_sim.chart import Chart
from robotid_sim.papers.claims import Claim
from robotid_sim.papers.sheet import ClaimSheet, Measured, RunsNeeded, filled, judge, read_sheet
from robotid_sim.progress import Progress, silent
from robotid_sim.section import Section
from robotid_sim.table import Table

LEAST_RUNS = 6
"""Runs below which no statistic is judged: the interval of a median and rank tests need six."""


@dataclass(frozen=True, slots=True, eq=False)
class Lab:
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

    def runs_of(self, published: int, quick: int) -> int:
        """Return the number of runs: what was asked for, else the paper's, else the quick one."""
        return self.runs or (quick if self.quick else published)

    def judged(self, least: int = LEAST_RUNS) -> bool:
        """Return whether statistics are judged: not in a quick run, and not with fewer runs."""
        return not self.quick and (self.runs is None or self.runs >= least)

    def trial(self, name: str, function: str, **parameters: Any) -> Trial:
        """Return a trial of a function by its dotted name, with the seed of the lab."""
        return Trial(name, function, {"seed": self.seed, **parameters}, self.engine)

    def repeated(self, name: str, function: str, runs: int, **parameters: Any) -> list[Trial]:
        """Return a trial for every run, which it is called with."""
        return [self.trial(f"{name}-{run}", function, run=run, **parameters) for run in range(runs)]

    def run(self, stage: str, trials: Sequence[Trial]) -> list[dict[str, Any]]:
        """Return the results of trials in order; finished ones are read, not run.

        The stage is what is shown beside the progress bar.
        """
        done = partial(self.progress, stage)
        return run_trials(trials, self.folder, workers=self.workers, progress=done)


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
    """A published system that the testbench runs.

    A subclass knows the paper's settings and data, cuts the work into trials, and makes tables,
    figures and measurements of their results. What the paper is and claims stands in a
    ``claims.toml`` beside it.
    """

    name: ClassVar[str]
    """Kebab-case: robot and method."""

    @cached_property
    def sheet(self) -> ClaimSheet:
        """What the paper is, claims, and does not say."""
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
        """Raise if an optional package that the reproduction needs is missing.

        Raises
        ------
        MissingExtraError
            With the install command.
        """

    @abstractmethod
    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished, and return tables, figures and claims."""

    def reproduction(
        self,
        lab: Lab,
        measurements: Mapping[str, Measured],
        facts: Mapping[str, Any],
        charts: Sequence[Chart],
        tables: Sequence[Table],
    ) -> Reproduction:
        """Return what came out, with the claims judged as far as the lab's effort allows.

        Measurements are by claim, and facts fill the texts of the page. Charts and tables find
        their places by their names; tables without one are written only.
        """
        enough: dict[RunsNeeded, bool] = {"full": not lab.quick, "runs": lab.judged(), "any": True}
        complete = self.sheet.tables(facts, tables)
        return Reproduction(
            paper=self,
            finding=filled(self.sheet.finding, facts),
            claims=judge(self.sheet.claim, measurements, enough),
            sections=self.sheet.sections(facts, charts, complete),
            tables=complete,
            quick=lab.quick,
        )
