"""What every reproduced paper has in common."""

import inspect
from dataclasses import replace

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
