"""Reproductions of published systems, one package per paper."""

from robotid_sim.errors import PluginError, UnknownNameError
from robotid_sim.papers.irb120.paper import MutatingSwarmPaper
from robotid_sim.papers.irb140.paper import QuantumSwarms
from robotid_sim.papers.paper import Paper
from robotid_sim.papers.rocr6.paper import Rocr6WlsRwpso
from robotid_sim.papers.rs010n.paper import AnnealedBeetlePaper
from robotid_sim.papers.twolink.paper import TwoLinkElpidso

PAPERS: dict[str, Paper] = {
    "twolink-elpidso": TwoLinkElpidso(),
    "rocr6-wlsrwpso": Rocr6WlsRwpso(),
    "irb120-mupso": MutatingSwarmPaper(),
    "rs010n-sedsabso": AnnealedBeetlePaper(),
    "irb140-qpso": QuantumSwarms(),
}
"""The papers by name."""


def register_paper(paper: Paper) -> Paper:
    """Add a paper of the user, with ``claims.toml`` next to its module.

    Raises `PluginError` if the name is taken.
    """
    if paper.name in PAPERS:
        raise PluginError(f"paper '{paper.name}' exists already; choose another name")
    PAPERS[paper.name] = paper
    return paper


def find_paper(name: str) -> Paper:
    """Find a paper by its name; raises `UnknownNameError` if there is none."""
    if name not in PAPERS:
        raise UnknownNameError.from_names("paper", name, PAPERS)
    return PAPERS[name]


def describe_papers() -> list[dict[str, str]]:
    """Return name, summary and source of every paper, for `robotid list papers`."""
    return [
        {"name": name, "summary": paper.summary, "source": paper.citation}
        for name, paper in PAPERS.items()
    ]
