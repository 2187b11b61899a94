"""What every reproduction of a paper has in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from robotid_sim.campaign.trials import Trial, run_trials
from robotid_sim.papers.claims import Claim
from robotid_sim.progress import Progress, silent
from robotid_sim.section import Section, Table

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
    progress: Progress = silent

    def runs_of(self, published: int, quick: int) -> int:
        """Return the number of runs: what was asked for, else the paper's, else the quick one."""
        return self.runs or (quick if self.quick else published)

    def judged(self, least: int = LEAST_RUNS) -> bool:
        """Return whether statistics are judged: not in a quick run, and not with fewer runs."""
        return not self.quick and (self.runs is None or self.runs >= least)

    def run(self, stage: str, trials: Sequence[Trial]) -> list[dict[str, Any]]:
        """Return the results of trials in order; finished ones are read, not run.

        Parameters
        ----------
        stage : str
            What is shown beside the progress bar.
        trials : sequence of Trial
            The work.
        """
        done = partial(self.progress, stage)
        return run_trials(trials, self.folder, workers=self.workers, progress=done)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reproduction:
    """What came out: claims with verdicts, and tables and figures like the paper's."""

    paper: "Paper"
    finding: str
    """What was found, in a short paragraph for someone with the paper beside them."""
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    """In the order of the paper; the title of a table or figure names the paper's."""
    files: tuple[tuple[str, Table], ...] = ()
    """Tables written as CSV, as they are on the page: stem of the file, and the table."""
    quick: bool = False

    @property
    def passed(self) -> bool:
        """Whether every band that is judged is met; an undecided one is not."""
        return all(claim.outcome in (None, "met") for claim in self.claims)


class Paper(ABC):
    """A published system that the testbench runs.

    A subclass knows the paper's settings and data, cuts the work into trials, and makes tables,
    figures and claims of their results.
    """

    name: ClassVar[str]
    """Kebab-case: robot and method."""
    title: ClassVar[str]
    citation: ClassVar[str]
    """Authors, year, title, journal, DOI."""
    summary: ClassVar[str]
    """One line for `robotid list papers`."""

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
