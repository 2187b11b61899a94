"""What every reproduced paper has in common."""

import inspect
import pkgutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import papers_table
import pytest

from robotid_sim.errors import UnknownNameError
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog
from robotid_sim.papers import PAPERS, describe_papers, find_paper, stored
from robotid_sim.papers.claims import MeasuredValue, PrintedClaim, collect_measured
from robotid_sim.papers.driving import (
    ENCODER_NOISE,
    LOW_PASS_FILTER,
    compute_tracking_error,
    drive,
    make_sensors,
)
from robotid_sim.papers.paper import Paper, Reproduction, ReproductionSetup
from robotid_sim.papers.trial_table import ClaimRange
from robotid_sim.trajectory.fourier import FourierTrajectory

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
    assert ReproductionSetup(tmp_path).runs_of(30, 2) == 30
    assert ReproductionSetup(tmp_path, quick=True).runs_of(30, 2) == 2
    assert ReproductionSetup(tmp_path, quick=True, runs=5).runs_of(30, 2) == 5


@pytest.mark.parametrize(
    ("interval", "outcome"), [(None, "missed"), ((0.5, 2.5), "undecided"), ((0.5, 0.9), "missed")]
)
def test_a_reproduction_passes_only_with_every_judged_band_met(interval, outcome) -> None:
    band = ClaimRange.parse("2 to 3")
    printed = PrintedClaim(name="n", claim="c", published=1, band=band, reason="r")
    met, out = (printed.judge(MeasuredValue(x, interval, {}), judged=True) for x in (2.5, 0.7))
    assert out.outcome == outcome
    shared = {"paper": find_paper("irb140-qpso"), "finding": "f", "sections": ()}
    assert Reproduction(**shared, claims=(met,)).passed
    assert not Reproduction(**shared, claims=(met, out)).passed
    assert Reproduction(**shared, claims=(met, replace(out, judged=False))).passed


def test_the_site_has_the_table_of_the_stored_runs() -> None:
    runs = stored.load_stored_runs()
    page = (Path(__file__).parents[2] / "docs/papers/index.md").read_text(encoding="utf-8")
    assert papers_table.table(runs) in page
    assert papers_table.counts(runs) in page
    for run in runs.values():
        assert list(run) == list(PAPERS)
        for paper, claims in run.items():
            assert list(claims) == [c.name for c in PAPERS[paper].sheet.claim]


def test_the_table_says_where_a_verdict_depends_on_the_seed() -> None:
    assert stored.verdict_over_seeds("aba") == "depends on the seed: a 2 of 3, b 1 of 3"
    assert stored.verdict_over_seeds("aaa") == "a"
    assert stored.value_over_seeds([1.0, 2.0, 3.0], "%") == "1 … 3 %"
    assert stored.value_over_seeds(["lost", "lost"], "") == "lost"


def test_what_comes_out_otherwise_than_in_the_stored_runs_is_listed(monkeypatch) -> None:
    runs = {seed: {"p": {"n": {"verdict": "reproduced"}}} for seed in "012"}
    monkeypatch.setattr(stored, "load_stored_runs", lambda: runs)
    rule = {"expected": "above 1", "holds": "above 1"}
    same, other, new = (
        PrintedClaim(name=name, claim="c", published=1, reason="r", **rule).judge(
            collect_measured(ours), judged=True
        )
        for name, ours in (("n", 2.0), ("n", 0.0), ("m", 0.0))
    )
    assert stored.find_differences("p", [same, new, replace(other, judged=False)]) == []
    assert stored.find_differences("p", [other]) == [("p", "n", "not-reproducible", "reproduced")]
    assert stored.find_differences("a-paper-of-mine", [other]) == []


def resolved(paper: str, where: str) -> object:
    """Return what an element's place names: code, or a claim, figure or table of the file."""
    kind, _, name = where.partition(":")
    if name:
        sheet = PAPERS[paper].sheet
        listed = {"claim": sheet.claim, "figure": sheet.figure, "table": sheet.table}[kind]
        return next(part for part in listed if part.name == name)
    return pkgutil.resolve_name(where)


@pytest.mark.parametrize("name", PAPERS)
def test_what_became_of_every_element_of_a_paper_can_be_found(name) -> None:
    elements = PAPERS[name].sheet.element
    assert len({element.number for element in elements}) == len(elements)
    for element in elements:
        for where in element.where:
            assert resolved(name, where) is not None


def test_a_driven_motion_is_followed_and_seen_with_noise() -> None:
    robot = load_robot("twolink")
    names = tuple(joint.name for joint in robot.joints)
    a = np.full((robot.dof, 1), 0.2)
    path = FourierTrajectory(names, np.zeros(robot.dof), a, 0.0 * a, base_period=2.0, periods=1)
    clean = drive(robot, path, 500.0)
    assert clean.dt * 500.0 == 1.0
    assert (compute_tracking_error(clean, path) < 1e-3).all()
    noisy = measure(clean, make_sensors("torque-noise", relative=0.01), np.random.default_rng(0))
    assert (noisy.q - clean.q).std() < 1.2 * ENCODER_NOISE
    assert np.abs(LOW_PASS_FILTER(noisy, robot).q - clean.q).max() < 1e-2
    assert (noisy.tau_meas != clean.tau_meas).all()
