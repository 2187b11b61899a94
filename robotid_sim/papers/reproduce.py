"""Reproduce papers: tables, figures and verdicts in a folder."""

import logging
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robotid_sim.engine.engines import engine_named, use_engine
from robotid_sim.errors import PluginError, RobotIdError
from robotid_sim.files import FILE_SPACE
from robotid_sim.papers import PAPERS, find_paper
from robotid_sim.papers.claims import claim_row, write_claims
from robotid_sim.papers.paper import Paper, Reproduction, ReproductionSetup
from robotid_sim.parallel import keep_workers
from robotid_sim.pipeline.result import versions
from robotid_sim.plugins import plugin_of
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.result_folder import Run, result_folder

ALL_PAPERS = "all"

RESULT_FILES = ("report.html", "claims.json", "tables", "figures")
"""Files of a reproduction in addition to its trials."""

OVERVIEW_FILE = "index.html"
"""Page of all reproductions."""

_log = logging.getLogger(__name__)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Reproductions:
    """Reproduced papers, with their files."""

    papers: tuple[Reproduction, ...]
    page: Path
    """The page of the paper, or of all papers."""
    folders: tuple[Path, ...]
    """One folder per paper."""

    @property
    def passed(self) -> bool:
        """Whether every number is in its expected range, and every check is passed."""
        return all(reproduction.passed for reproduction in self.papers)

    @property
    def files(self) -> list[Path]:
        """Written files."""
        overview = [self.page] if len(self.folders) > 1 else []
        names = (*RESULT_FILES, "trials")
        return [*overview, *(folder / name for folder in self.folders for name in names)]

    def content(self) -> dict[str, Any]:
        """Return all verdicts as JSON values."""
        papers = [
            {
                "paper": reproduction.paper.name,
                "passed": reproduction.passed,
                "finding": reproduction.finding,
                "claims": [claim_row(claim) for claim in reproduction.claims],
            }
            for reproduction in self.papers
        ]
        return {"passed": self.passed, "report": str(self.page), "papers": papers}


def reproduce(
    paper: str,
    out: str | Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    engine: str | None = None,
    seed: int = 0,
    workers: int = 1,
    command: str = "",
    progress: Progress = silent,
) -> Reproductions:
    """Reproduce one or all papers: tables, figures, a page, and a verdict on every claim.

    Parameters
    ----------
    paper : str
        Name of a paper, or ``all``.
    out : str or Path
        Folder of all files; stored runs are not repeated.
    quick : bool
        Fewer runs and smaller budgets.
    runs : int, optional
        Runs per method; by default the number of the paper.
    engine : str, optional
        Engine of the plants; by default the first that is installed.
    seed : int
        Seed of all randomness.
    workers : int
        Processes; the result does not depend on their number.
    command : str
        Command that reproduces the pages.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    reproductions : Reproductions
        Claims with verdicts, and the files.

    Raises
    ------
    UnknownNameError, MissingExtraError
        If the paper or engine is unknown, or a package is missing.
    FileFormatError
        If a file cannot be written.
    """
    chosen = list(PAPERS.values()) if paper == ALL_PAPERS else [find_paper(paper)]
    for each in chosen:
        each.require()
    engine, folder = engine_named(engine), Path(out)
    command = command or f"robotid_sim.reproduce({paper!r}, out)"
    folders = [folder / each.name if paper == ALL_PAPERS else folder for each in chosen]
    results = []
    with ExitStack() as stack:
        if paper == ALL_PAPERS:
            root = stack.enter_context(_folder(folder, (OVERVIEW_FILE,), "all papers", command))
        for each, target in zip(chosen, folders, strict=True):
            lab = ReproductionSetup(
                folder=target / "trials",
                quick=quick,
                runs=runs,
                seed=seed,
                workers=workers,
                engine=engine,
                progress=progress,
            )
            with (
                _folder(target, RESULT_FILES, each.name, command) as written,
                keep_workers(),
                use_engine(engine),
            ):
                results.append(_reproduce_paper(each, lab, written, command, progress))
        if paper == ALL_PAPERS:
            from robotid_sim.report.page import write_page  # loads matplotlib
            from robotid_sim.report.reproduction_report import overview_report

            write_page(overview_report(results, command, versions()), root / OVERVIEW_FILE)
    page = folder / (OVERVIEW_FILE if paper == ALL_PAPERS else "report.html")
    return Reproductions(tuple(results), page, tuple(folders))


def _folder(
    path: Path, names: tuple[str, ...], subject: str, command: str
) -> AbstractContextManager[Path]:
    """Return the result folder of a reproduction as a context manager."""
    return result_folder(path, names, Run("reproduction", subject, command), FILE_SPACE)


def _reproduce_paper(
    paper: Paper, lab: ReproductionSetup, folder: Path, command: str, progress: Progress
) -> Reproduction:
    """Reproduce one paper and write its files."""
    try:
        reproduction = paper.reproduce(lab)
    except KeyboardInterrupt:
        _log.warning("%s: finished runs are kept in %s", paper.name, lab.folder)
        raise
    from robotid_sim.report.page import write_page  # loads matplotlib
    from robotid_sim.report.reproduction_report import reproduction_report, write_tables

    try:
        write_claims(folder / "claims.json", paper.name, reproduction.claims)
        write_tables(reproduction, folder / "tables")
        page = reproduction_report(reproduction, command, lab, versions())
        write_page(page, folder / "report.html", folder / "figures", progress, lab.workers)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        if isinstance(error, RobotIdError) or (file := plugin_of(paper)) is None:
            raise
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(
            f"plugin {file}: the result of paper '{paper.name}' cannot be written: {reason}"
        ) from error
    return reproduction
