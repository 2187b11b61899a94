"""The ELPIDSO paper, reproduced in a hurry."""

import numpy as np
import pytest

from robotid_sim.papers import find_paper
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.campaign import Campaign, Searches
from robotid_sim.papers.twolink.criterion import Criterion
from robotid_sim.papers.twolink.trials import costs_in_engine, engine_run
from robotid_sim.papers.twolink.verdicts import best_of_four, count_below

SAME_COST = Searches(
    parameters=np.tile(model.TRUE, (8, 1)),
    excess=np.full(8, 1e-30),
    curves=np.ones((8, 2)),
    evaluations=10,
)


def campaign(**searches: Searches) -> Campaign:
    criteria = {1.0: Criterion(np.eye(4), model.TRUE, 0.0)}
    return Campaign(criteria, {(1.0, name): found for name, found in searches.items()})


def test_costs_at_rounding_do_not_differ_significantly() -> None:
    smaller = Searches(SAME_COST.parameters, np.full(8, 1e-33), SAME_COST.curves, 10)
    found = campaign(ELPIDSO=smaller, SPSO=SAME_COST)
    assert found.rank_sum(1.0, "SPSO") == 1.0
    assert found.rank_sum(1.0, "LS") == 1.0


def test_clear_costs_differ_significantly() -> None:
    larger = Searches(SAME_COST.parameters, np.linspace(1.0, 2.0, 8), SAME_COST.curves, 10)
    assert campaign(ELPIDSO=SAME_COST, GA=larger).rank_sum(1.0, "GA") < 0.01


def test_being_the_best_is_judged_against_least_squares_too() -> None:
    errors = {"LS": 2.0, "GA": 3.0, "SPSO": 2.5, "ELPIDSO": 1.0}
    assert best_of_four(errors, 0.1) == "reproduced"
    assert best_of_four({**errors, "LS": 1.05}, 0.1) == "conditional"
    assert best_of_four({**errors, "LS": 0.5}, 0.1) == "conditional"
    assert best_of_four({**errors, "SPSO": 0.95}, 0.1) == "conditional"
    assert best_of_four({**errors, "SPSO": 0.5}, 0.1) == "not-reproducible"


def test_costs_below_least_squares_are_counted_but_rounding_is_not() -> None:
    assert count_below(np.array([1.0, 0.0, -1e-15, -1e-9])) == 1


def test_costs_in_the_engine_are_those_of_the_quadratic_form() -> None:
    criterion = Criterion.from_content(engine_run(1.0, seed=3)["noisy"])
    points = np.array([model.TRUE, criterion.least_squares, model.TRUE + 0.1])
    found = costs_in_engine(1.0, points.tolist(), seed=3)
    assert found["least_squares"] == pytest.approx(criterion.floor, rel=1e-12)
    expected = criterion.floor + criterion.excess(points)
    np.testing.assert_allclose(found["searches"], expected, rtol=1e-10)


@pytest.mark.slow
def test_quick_reproduction_keeps_the_exact_facts(tmp_path) -> None:
    found = find_paper("twolink-elpidso").reproduce(Lab(folder=tmp_path, quick=True, workers=2))
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    assert claims["lambda"].within is True
    assert claims["y-identity"].verdict == "conditional"
    assert claims["elpidso-better-than-ls"].ours == 0
    assert claims["elpidso-better-than-ls"].verdict == "not-reproducible"
    assert claims["ls-worst-1e-6-rad"].ours > 30.0
    assert claims["wilcoxon"].shown_verdict == "not judged"
    tables = dict(found.files)
    assert {f"table-{k}" for k in range(1, 10)} <= set(tables)
    searched = [row for row in tables["runs"].rows if row[0] == "noisy"]
    assert len(searched) == 5 * 3 * 3
    costs = np.array([float(row[8]) for row in tables["runs"].rows])
    assert (costs >= 0.0).all()
    charts = [chart.name for section in found.sections for chart in section.charts]
    assert [name for name in charts if name.startswith("figure")] == [
        "figure-4", "figure-5", "figure-6", "figure-7"
    ]  # fmt: skip
    again = find_paper("twolink-elpidso").reproduce(Lab(folder=tmp_path, quick=True))
    assert again.claims == found.claims
