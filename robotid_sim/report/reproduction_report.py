"""Page and text of a reproduced paper, and the overview page of all papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robotid_sim.files import make_folder, write_text
from robotid_sim.papers.claims import CHECK_VERDICT, UNJUDGED_VERDICT, VERDICTS, Claim
from robotid_sim.papers.paper import Reproduction, ReproductionSetup
from robotid_sim.papers.stored import find_differences, load_stored_runs, load_stored_verdicts
from robotid_sim.pipeline.engine_comparison import engine_title
from robotid_sim.report.page import Page
from robotid_sim.report.text import JunitCase, Text
from robotid_sim.section import PageLink, Section, csv_table, number
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.papers.reproduce import Reproductions


HEADINGS = {
    "reproduced": "Confirmed",
    "conditional": "Confirmed under conditions",
    "not-reproducible": "Not confirmed",
    "not-testable": "Not testable",
    UNJUDGED_VERDICT: "Too few runs",
    CHECK_VERDICT: "Checks of robotid_sim",
}
"""Headings by verdict, in the order of the page."""

EXPECTED_TEXT = "as expected"
"""Column with the number of results in their expected range."""

LEAD_TEXTS = {
    "reproduced": "Claims that are confirmed as printed, or within the printed precision.",
    "conditional": "Claims that are confirmed under the conditions below, which the paper does not "
    "state or states differently.",
    "not-reproducible": "Claims that are not confirmed, with the evidence.",
    "not-testable": "Claims whose test needs data that the paper does not print. Our numbers "
    "are listed for information only.",
    UNJUDGED_VERDICT: "Statistics of too few runs for a verdict. Run without --quick and with the "
    "number of runs of the paper.",
    CHECK_VERDICT: "Checks of robotid_sim itself, which are not claims of the paper.",
}

MAX_CELL_LENGTH = 18
"""Longest text of a cell except the first [characters]."""


def reproduction_report(
    reproduction: Reproduction, command: str, lab: ReproductionSetup, versions: Mapping[str, str]
) -> Page:
    """Build the page of a paper: finding, claims by verdict, tables, figures, command."""
    setting = f"Seed {lab.seed}, plants in {engine_title(lab.engine)}. "
    paper = reproduction.paper
    quick = " This is a quick run: it has few repetitions, and statistics are not judged."
    return Page(
        title=paper.title,
        finding=reproduction.finding + (quick if reproduction.quick else ""),
        badge=badge_of(reproduction.claims),
        facts=_counts(reproduction.claims),
        sections=(
            *_verdict_sections([("", claim) for claim in reproduction.claims]),
            *reproduction.sections,
            _reproduction_section(command, setting, versions, paper.citation),
        ),
    )


def overview_report(
    reproductions: Sequence[Reproduction], command: str, versions: Mapping[str, str]
) -> Page:
    """Build the overview page; those of the papers are ``<paper>/report.html``."""
    claims = [(each.paper.name, claim) for each in reproductions for claim in each.claims]
    every = [claim for _, claim in claims]
    reproduced, conditional, refuted, untestable, unjudged = (
        _count(every, verdict) for verdict in (*VERDICTS, UNJUDGED_VERDICT)
    )
    rows, columns = [], ("paper", "source", *VERDICTS, UNJUDGED_VERDICT, EXPECTED_TEXT)
    for each in reproductions:
        counts = (str(_count(each.claims, verdict)) for verdict in (*VERDICTS, UNJUDGED_VERDICT))
        rows.append((each.paper.name, each.paper.citation, *counts, _count_expected(each.claims)))
    name = "All claims, tables and figures"
    links = [PageLink(name, f"{each.paper.name}/report.html") for each in reproductions]
    unjudged_text = f"; {unjudged} need more runs than this quick run" if unjudged else ""
    return Page(
        title="Papers reproduced",
        finding=f"Of {sum(claim.printed.kind != CHECK_VERDICT for claim in every)} claims of "
        f"{len(reproductions)} papers, {reproduced} are reproduced, "
        f"{conditional} hold under conditions, {refuted} do not hold and {untestable} are not "
        f"testable from the printed data{unjudged_text}.",
        facts=_counts(every),
        sections=(
            Section(title="The papers", tables=(Table(columns, tuple(rows), text_columns=2),)),
            *(
                Section(title=each.paper.title, text=each.finding, links=(link,))
                for each, link in zip(reproductions, links, strict=True)
            ),
            *_seed_sections(reproductions),
            *_verdict_sections(claims),
            _reproduction_section(command, "", versions, ""),
        ),
    )


def _seed_sections(reproductions: Sequence[Reproduction]) -> Iterator[Section]:
    """Build the section on verdicts over the stored seeds and differences from them."""
    if not load_stored_runs():
        return
    stored = [load_stored_verdicts(each.paper.name) for each in reproductions]
    verdicts = [
        verdict for paper in stored for verdict in paper.values() if verdict != CHECK_VERDICT
    ]
    same = sum(verdict in VERDICTS for verdict in verdicts)
    rows = [row for each in reproductions for row in find_differences(each.paper.name, each.claims)]
    subject = "claims have a verdict" if len(rows) > 1 else "claim has a verdict"
    text = (
        f"Stored full runs with seeds {', '.join(load_stored_runs())} have the same verdict on "
        f"{same} of {len(verdicts)} claims. {len(rows) or 'No'} {subject} that differs from the "
        "stored runs."
    )
    columns = ("paper", "claim", "here", "stored")
    tables = (Table(columns, tuple(rows), text_columns=len(columns)),) if rows else ()
    yield Section(title="Verdicts by seed", text=text, tables=tables)


def write_tables(reproduction: Reproduction, folder: Path) -> None:
    """Write the tables of a reproduction as CSV.

    Raises `FileFormatError` if a file cannot be written.
    """
    make_folder(folder)
    for stem, table in reproduction.tables.items():
        write_text(folder / f"{stem}.csv", csv_table(table))


def _counts(claims: Sequence[Claim]) -> tuple[tuple[str, str], ...]:
    numbers = {verdict: _count(claims, verdict) for verdict in (*VERDICTS, UNJUDGED_VERDICT)}
    counts = ((name, str(n)) for name, n in numbers.items() if n or name != UNJUDGED_VERDICT)
    return (*counts, (EXPECTED_TEXT, _count_expected(claims)))


def badge_of(claims: Sequence[Claim]) -> str:
    """Format the counts of the verdicts, such as ``3 reproduced, 2 not reproducible``."""
    words = (*VERDICTS[:2], "not reproducible", "not testable", UNJUDGED_VERDICT)
    counts = [_count(claims, verdict) for verdict in (*VERDICTS, UNJUDGED_VERDICT)]
    shown = zip(counts, words, strict=True)
    return ", ".join(f"{count} {word}" for count, word in shown if count)


def _count(claims: Sequence[Claim], verdict: str) -> int:
    return sum(claim.verdict_text == verdict for claim in claims)


def _count_expected(claims: Sequence[Claim]) -> str:
    judged = [claim.outcome for claim in claims if claim.outcome is not None]
    undecided = judged.count("undecided")
    undecided_text = f", {undecided} undecided" if undecided else ""
    return f"{judged.count('met')} of {len(judged)}{undecided_text}"


def _verdict_sections(claims: Sequence[tuple[str, Claim]]) -> Iterator[Section]:
    columns = ("claim", "reason", "published", "ours (95 %)", "expected")
    for verdict, heading in HEADINGS.items():
        chosen = [(paper, claim) for paper, claim in claims if claim.verdict_text == verdict]
        if not chosen:
            continue
        several = any(paper for paper, _ in chosen)
        rows = []
        for paper, claim in chosen:
            printed = claim.printed
            claim_text = f"{printed.claim} ({printed.source})" if printed.source else printed.claim
            reason = claim.reason
            if printed.missing:
                reason = f"Not printed: {printed.missing}. {reason}"
            elif claim.verdict_text == "conditional":
                reason = f"Condition: {'; '.join(claim.remaining_conditions)}. {reason}"
            lead = (paper, claim_text, reason) if several else (claim_text, reason)
            published, ours, interval, band, met = claim_cells(claim)
            value = ours if interval == "-" else f"{ours} ({interval})"
            rows.append((*lead, published, value, band if met == "-" else f"{band}: {met}"))
        table = Table(
            columns=("paper", *columns) if several else columns,
            rows=tuple(rows),
            text_columns=3 if several else 2,
        )
        yield Section(title=heading, text=LEAD_TEXTS[verdict], tables=(table,))


def claim_cells(claim: Claim) -> tuple[str, ...]:
    """Format published and own value, interval, expected range and whether it is met."""
    unit = f" {claim.printed.unit}" if claim.printed.unit else ""

    def text(value: float | str | None) -> str:
        if isinstance(value, str):
            return value
        return number(value) + (unit if value is not None else "")

    # The interval of a few runs is not informative.
    ends = claim.interval if claim.judged else None
    interval = "-" if ends is None else " … ".join(number(end) for end in ends)
    met = claim.miss_text or claim.outcome or "-"
    return text(claim.printed.published), text(claim.ours), interval, band_text(claim), met


def band_text(claim: Claim) -> str:
    """Format the expected range of the number of a claim."""
    expectation = claim.printed.expectation
    if expectation is None:
        return "-"
    lower, upper = expectation.lower, expectation.upper
    if lower is None:
        return f"≤ {number(upper)}"
    if upper is None:
        return f"≥ {number(lower)}"
    return number(lower) if lower == upper else f"{number(lower)} … {number(upper)}"


def _reproduction_section(
    command: str, setting: str, versions: Mapping[str, str], citation: str
) -> Section:
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return Section(
        title="Reproduce",
        text=f"{setting}The same command, versions and kind of machine give the same numbers "
        f"except for times: {packages}.",
        notes=(citation,) if citation else (),
        code=command,
    )


def reproduce_text(reproductions: Reproductions) -> Iterator[Text]:
    """Report the claims of every paper with their verdicts."""
    columns = ("claim", "verdict", "published", "ours", "expected", "met")
    for reproduction in reproductions.papers:
        rows = []
        for verdict in HEADINGS:
            for claim in reproduction.claims:
                if claim.verdict_text == verdict:
                    published, ours, _, band, met = claim_cells(claim)
                    # The page has the whole text.
                    cells = (
                        cell
                        if len(cell) <= MAX_CELL_LENGTH
                        else f"{cell[: MAX_CELL_LENGTH - 1].rstrip()}…"
                        for cell in (verdict, published, ours, band, met)
                    )
                    rows.append((claim.name, *cells))
        yield Table(columns, tuple(rows), reproduction.paper.title, text_columns=2)
        yield reproduction.finding
        yield ""


def reproduce_cases(reproductions: Reproductions) -> list[JunitCase]:
    """List every claim as a check: whether its number is in the expected range."""
    return [
        (
            f"{reproduction.paper.name}: {claim.name}",
            ""
            if claim.outcome in (None, "met")
            else f"{claim.ours} is outside of the expected range",
        )
        for reproduction in reproductions.papers
        for claim in reproduction.claims
    ]
