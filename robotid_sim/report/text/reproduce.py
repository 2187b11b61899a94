"""Reproduced papers in words and tables."""

from collections.abc import Iterator

from robotid_sim.papers.claims import CHECK, NOT_JUDGED, VERDICTS
from robotid_sim.papers.paper import Reproduction
from robotid_sim.papers.reproduce import Reproductions
from robotid_sim.report.junit import JunitCase
from robotid_sim.report.reproduction_report import claim_cells
from robotid_sim.report.text.parts import Text
from robotid_sim.table import Table

CELL = 18
"""Longest text of a cell but the first [characters]."""


def reproduce_text(done: Reproductions) -> Iterator[Text]:
    """Return the claims of every paper with their verdicts."""
    for reproduction in done.each:
        yield _claim_table(reproduction)
        yield reproduction.finding
        yield ""


def reproduce_cases(done: Reproductions) -> list[JunitCase]:
    """Return every claim as a check: whether the number is where it is expected."""
    return [
        JunitCase(
            f"{reproduction.paper.name}: {claim.name}",
            "" if claim.outcome in (None, "met") else f"{claim.ours} is not where it is expected",
        )
        for reproduction in done.each
        for claim in reproduction.claims
    ]


def _claim_table(reproduction: Reproduction) -> Table:
    rows = []
    for verdict in (*VERDICTS, NOT_JUDGED, CHECK):
        for claim in reproduction.claims:
            if claim.shown_verdict == verdict:
                published, ours, _, band, met = claim_cells(claim)
                row = [claim.name, verdict, published, ours, band, met]
                rows.append((row[0], *(_short(cell) for cell in row[1:])))
    columns = ("claim", "verdict", "published", "ours", "expected", "met")
    return Table(columns, tuple(rows), reproduction.paper.title, text_columns=2)


def _short(text: str) -> str:
    """Return a text that fits a cell; the page has the whole one."""
    return text if len(text) <= CELL else f"{text[: CELL - 1].rstrip()}…"
