"""Directives: what a paper is, all its claims with the verdicts of the stored runs, its gaps."""

import inspect
import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from robotid_sim.papers import find_paper
from robotid_sim.papers.claims import CHECK_VERDICT, VERDICTS, PrintedClaim
from robotid_sim.papers.paper import Paper
from robotid_sim.papers.stored import (
    STORED_FILE,
    load_stored_runs,
    load_stored_verdicts,
    value_over_seeds,
)

SEEDS = "depends on the seed"
GROUPS = {
    "reproduced": "Holds by the rules of the claim, without conditions.",
    "conditional": "Holds under the conditions that stand first in the last column.",
    SEEDS: "The verdict differs between the seeds; the shares stand first in the last column.",
    "not-reproducible": "Does not hold; the last column says why.",
    "not-testable": "A test needs what the paper does not print, which stands first in the last "
    "column.",
    CHECK_VERDICT: "The testbench checks itself: only its own code could break these.",
}
"""What a group of claims has in common, in the order of the page."""
assert set(VERDICTS) < set(GROUPS)
MISSING = "not in the stored runs"
UNSTORED = "The reason is a number of the run: see its `claims.json`."


def markdown(text: str) -> str:
    """Return plain text in a line of Markdown; numbers of a run that are not stored are dots."""
    line = re.sub(r"\{[^}]*\}", "…", " ".join(text.split()))
    return re.sub(r"([\\`*_\[\]<>|$~#])", r"\\\1", line)


def doi_link(citation: str) -> str:
    """Return a citation with its DOI as a link."""
    before, _, doi = " ".join(citation.split()).partition("doi:")
    return markdown(before) + (f" [doi:{doi}](https://doi.org/{doi})" if doi else "")


def cells(paper: str, claim: PrintedClaim, verdict: str) -> Iterator[str]:
    """Yield claim with its place in the paper, printed number, ours, and conditions with reason."""
    runs = [
        run[paper][claim.name] for run in load_stored_runs().values() if claim.name in run[paper]
    ]
    source = f" *({markdown(claim.source)})*" if claim.source else ""
    yield markdown(claim.claim) + source
    yield markdown(value_over_seeds([claim.published], claim.unit))
    yield markdown(value_over_seeds([r["ours"] for r in runs], claim.unit)) if runs else MISSING
    reason = markdown(claim.reason)
    before = "; ".join(conditions(claim, verdict))
    yield (f"**{markdown(before)}.** " if before else "") + (reason if reason != "…" else UNSTORED)


def conditions(claim: PrintedClaim, verdict: str) -> Iterator[str]:
    """Yield what the verdict depends on; a claim without conditions of its own is met by a null."""
    if claim.missing:
        yield f"Not printed: {claim.missing}"
    if verdict.startswith(SEEDS):
        yield verdict.partition(": ")[2]
    if verdict.startswith(("conditional", SEEDS)):
        yield from claim.conditions or (f"{null} meets it too" for null in claim.nulls)


def grouped(paper: Paper) -> Iterator[tuple[str, list[tuple[PrintedClaim, str]]]]:
    """Yield the groups of verdicts that have claims, with claims and their verdicts."""
    verdicts = load_stored_verdicts(paper.name)
    pairs = [(claim, verdicts.get(claim.name, MISSING)) for claim in paper.sheet.claim]
    for group in (*GROUPS, MISSING):
        within = [pair for pair in pairs if pair[1].partition(":")[0] == group]
        if within:
            yield group, within


class PaperDirective(SphinxDirective):
    """What directives of a paper share; the argument is the paper's name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what the lines of Markdown say."""
        paper = find_paper(self.arguments[0])
        for source in (
            STORED_FILE,
            inspect.getfile(type(paper)).replace("paper.py", "claims.toml"),
        ):
            self.env.note_dependency(str(source))
        return self.parse_text_to_nodes("\n".join(self.lines(paper)), allow_section_headings=True)

    @abstractmethod
    def lines(self, paper: Paper) -> Iterator[str]:
        """Yield the lines of Markdown."""


class PaperSource(PaperDirective):
    """``paper-source:: NAME``: citation, what the paper describes, and how to run it."""

    def lines(self, paper: Paper) -> Iterator[str]:
        """Yield the lines of Markdown."""
        sheet = paper.sheet
        yield doi_link(sheet.citation)
        yield from ("", f"*System*: {markdown(sheet.summary)}.", "")
        yield from ("```", f"robotid reproduce {paper.name} --out out", "```")


class PaperClaims(PaperDirective):
    """``paper-claims:: NAME``: tables of all claims by verdict, then what the paper leaves open."""

    def lines(self, paper: Paper) -> Iterator[str]:
        """Yield the lines of Markdown."""
        for group, claims in grouped(paper):
            title = group.capitalize().replace("-", " ")
            yield from (f"## {title} ({len(claims)})", "", GROUPS.get(group, ""), "")
            yield from ("| claim | published | ours | conditions, reason |", "|:--|:--|:--|:--|")
            for claim, verdict in claims:
                yield f"| {' | '.join(cells(paper.name, claim, verdict))} |"
            yield ""
        if paper.sheet.notes:
            yield from ("## What the paper does not say, and what is done here", "")
            yield from (f"- {markdown(note)}" for note in paper.sheet.notes)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("paper-source", PaperSource)
    app.add_directive("paper-claims", PaperClaims)
    return {"parallel_read_safe": True}
