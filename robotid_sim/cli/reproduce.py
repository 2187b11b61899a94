"""``robotid reproduce``: a paper's tables and figures beside ours, with verdicts."""

import os
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from robotid_sim.cli import output
from robotid_sim.cli.command_line import command_line
from robotid_sim.engine.engines import engine_named, using_engine
from robotid_sim.errors import PluginError, RobotIdError
from robotid_sim.files import FILE_SPACE
from robotid_sim.papers import PAPERS, find_paper
from robotid_sim.papers.claims import CHECK, NOT_JUDGED, VERDICTS, claim_row, write_claims
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.parallel import kept_workers
from robotid_sim.plugins import load_plugins, plugin_of
from robotid_sim.progress import Progress
from robotid_sim.progress_display import progress_line
from robotid_sim.result_folder import Run, result_folder
from robotid_sim.study.result_parts import versions
from robotid_sim.table import Table

ALL = "all"

FILES = ("report.html", "claims.json", "tables", "figures")
"""What a reproduction leaves in its folder, beside its trials."""

OVERVIEW = "index.html"
"""Page of all reproductions."""

CELL = 18
"""Longest text of a cell but the first [characters]."""


def reproduce(
    *,
    paper: str,
    out: Path,
    quick: bool,
    runs: int | None,
    engine: str | None,
    plugin: list[str] | None,
    workers: int | None,
    seed: int,
    json: bool,
) -> int:
    """Do ``robotid reproduce``; its words are in `cli.syntax.reproduce`."""
    load_plugins(plugin or ())
    chosen = list(PAPERS.values()) if paper == ALL else [find_paper(paper)]
    for each in chosen:
        each.require()
    engine = engine_named(engine)
    places = [out / each.name if paper == ALL else out for each in chosen]
    reproductions = []
    with progress_line(enabled=not json) as progress, ExitStack() as stack:
        if paper == ALL:
            top = stack.enter_context(_folder(out, (OVERVIEW,), "all papers"))
        for each, place in zip(chosen, places, strict=True):
            lab = Lab(
                folder=place / "trials",
                quick=quick,
                runs=runs,
                seed=seed,
                workers=workers or os.cpu_count() or 1,
                engine=engine,
                progress=progress,
            )
            with _folder(place, FILES, each.name) as folder, kept_workers(), using_engine(engine):
                reproductions.append(_reproduced(each, lab, folder, progress))
        if paper == ALL:
            _write_overview(reproductions, top)
    page = out / (OVERVIEW if paper == ALL else "report.html")
    _say(reproductions, page, places, json=json)
    return 0 if all(result.passed for result in reproductions) else 1


def _folder(path: Path, names: tuple[str, ...], subject: str) -> AbstractContextManager[Path]:
    """Return the result folder of a reproduction, to be entered."""
    return result_folder(path, names, Run("reproduction", subject, command_line()), FILE_SPACE)


def _say(reproductions: list[Reproduction], page: Path, places: list[Path], *, json: bool) -> None:
    if json:
        output.print_json(_content(reproductions, page))
        return
    for result in reproductions:
        _print(result)
    if len(places) > 1:
        output.print_written([page])
    for place in places:
        output.print_written(place / name for name in (*FILES, "trials"))


def _reproduced(paper: Paper, lab: Lab, place: Path, progress: Progress) -> Reproduction:
    """Reproduce one paper and write what came out."""
    try:
        reproduction = paper.reproduce(lab)
    except KeyboardInterrupt:
        print(f"{paper.name}: finished runs are kept in {lab.folder}", file=sys.stderr)
        raise
    from robotid_sim.report.page import write_page  # loads matplotlib
    from robotid_sim.report.reproduction_report import reproduction_report, write_tables

    try:
        write_claims(place / "claims.json", paper.name, reproduction.claims)
        write_tables(reproduction, place / "tables")
        page = reproduction_report(reproduction, command_line(), lab, versions())
        write_page(page, place / "report.html", place / "figures", progress, lab.workers)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        if isinstance(error, RobotIdError) or (file := plugin_of(paper)) is None:
            raise
        what = f"{type(error).__name__}: {error}"
        raise PluginError(
            f"plugin {file}: what paper '{paper.name}' returns cannot be written: {what}"
        ) from error
    return reproduction


def _write_overview(reproductions: list[Reproduction], folder: Path) -> None:
    from robotid_sim.report.page import write_page
    from robotid_sim.report.reproduction_report import overview_report

    write_page(overview_report(reproductions, command_line(), versions()), folder / OVERVIEW)


def _content(reproductions: list[Reproduction], page: Path) -> dict[str, Any]:
    return {
        "passed": all(result.passed for result in reproductions),
        "report": str(page),
        "papers": [
            {
                "paper": result.paper.name,
                "passed": result.passed,
                "finding": result.finding,
                "claims": [claim_row(claim) for claim in result.claims],
            }
            for result in reproductions
        ],
    }


def _short(text: str) -> str:
    """Return a text that fits a cell; the page has the whole one."""
    return text if len(text) <= CELL else f"{text[: CELL - 1].rstrip()}…"


def _print(reproduction: Reproduction) -> None:
    """Print the claims of a paper with their verdicts."""
    from robotid_sim.report.reproduction_report import claim_cells

    rows = []
    for verdict in (*VERDICTS, NOT_JUDGED, CHECK):
        for claim in reproduction.claims:
            if claim.shown_verdict == verdict:
                published, ours, _, band, met = claim_cells(claim)
                row = [claim.name, verdict, published, ours, band, met]
                rows.append([row[0], *(_short(cell) for cell in row[1:])])
    columns = ("claim", "verdict", "published", "ours", "expected", "met")
    cells = tuple(map(tuple, rows))
    output.print_table(Table(columns, cells, reproduction.paper.title, text_columns=2))
    output.print_line(reproduction.finding)
    output.print_line()
