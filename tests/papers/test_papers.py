"""What every reproduced paper has in common."""

import inspect
import json
from dataclasses import replace

import papers_table
import pytest

from robotid_sim.errors import UnknownNameError
from robotid_sim.model.catalog import catalog
from robotid_sim.papers import PAPERS, describe_papers, find_paper
from robotid_sim.papers.claims import Claim, ClaimRange
from robotid_sim.papers.paper import Lab, Paper, Reproduction

NAMES = (
    "twolink-elpidso", "rocr6-wlsrwpso", "irb120-mupso", "rs010n-sedsabso", "irb140-qpso",
)  # fmt: skip


def test_the_five_papers_are_there() -> None:
    assert set(PAPERS) == set(NAMES)
    assert [row["name"] for row in describe_papers()] == list(PAPERS)


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_names_itself_its_robot_and_its_source(name) -> None:
    paper = find_paper(name)
    assert isinstance(paper, Paper)
    assert paper.name == name
    assert name.partition("-")[0] in catalog()
    assert "doi:" in paper.citation
    assert paper.title
    assert not inspect.isabstract(type(paper))


def test_an_unknown_paper_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown paper 'qpso'; known: twolink-elpidso"):
        find_paper("qpso")


def test_effort_is_what_was_asked_for_else_the_papers_else_the_quick_one(tmp_path) -> None:
    assert Lab(tmp_path).runs_of(30, 2) == 30
    assert Lab(tmp_path, quick=True).runs_of(30, 2) == 2
    assert Lab(tmp_path, quick=True, runs=5).runs_of(30, 2) == 5


@pytest.mark.parametrize(
    ("interval", "outcome"), [(None, "missed"), ((0.5, 2.5), "undecided"), ((0.5, 0.9), "missed")]
)
def test_a_reproduction_passes_only_with_every_judged_band_met(interval, outcome) -> None:
    band = ClaimRange.parse("2 to 3")
    content = {"name": "n", "claim": "c", "published": None, "band": band, "holds": {"ours": band}}
    met, out = (Claim(**content, ours=ours, interval=interval, reason="r") for ours in (2.5, 0.7))
    assert out.outcome == outcome
    shared = {"paper": find_paper("irb140-qpso"), "finding": "f", "sections": ()}
    assert Reproduction(**shared, claims=(met,)).passed
    assert not Reproduction(**shared, claims=(met, out)).passed
    assert Reproduction(**shared, claims=(met, replace(out, judged=False))).passed


def test_readme_has_the_table_of_the_stored_runs() -> None:
    runs = json.loads(papers_table.STORED.read_text(encoding="utf-8"))
    readme = (papers_table.STORED.parents[1] / "README.md").read_text(encoding="utf-8")
    assert papers_table.table(runs) in readme
    assert papers_table.counts(runs) in readme
    for paper, claims in next(iter(runs.values())).items():
        assert [row["name"] for row in claims] == [c.name for c in PAPERS[paper].sheet.claim]


def test_the_table_says_where_a_verdict_depends_on_the_seed() -> None:
    rows = [{"verdict": v, "ours": n, "unit": "%"} for v, n in (("a", 1.0), ("b", 2.0), ("a", 3.0))]
    assert papers_table.verdict(rows) == "depends on the seed: a 2 of 3, b 1 of 3"
    assert papers_table.value(rows, "ours") == "1 … 3 %"
