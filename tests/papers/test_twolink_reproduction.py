"""The ELPIDSO paper, reproduced in a hurry."""

import json

import numpy as np
import pytest

from robotid_sim.cli.app import main
from robotid_sim.papers import find_paper
from robotid_sim.papers.reproduce import reproduce
from robotid_sim.papers.trial_table import Measure, TrialTable
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.trials import TorqueCriterion, costs_in_engine, engine_run


@pytest.mark.parametrize(
    ("ours", "others", "p"),
    [
        ([1e-33] * 8, [1e-30] * 8, 1.0),  # both are rounding
        ([1e-33] * 8, [0.0], 1.0),  # least squares
        ([1e-30] * 8, np.linspace(1.0, 2.0, 8), pytest.approx(0.0, abs=0.01)),
    ],
)
def test_costs_at_rounding_do_not_differ_significantly(ours, others, p) -> None:
    costs = {"ours": ours, "others": others}
    table = TrialTable({("s", "", m): [{"J": J} for J in of] for m, of in costs.items()})
    options = {"statistic": "two-sided rank test", "floor": 1e-25}
    assert Measure(study="s", metric="J", of="ours", over="others", **options).estimate(table) == (
        p,
        None,
    )


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "reproduced"),
        ({"LS": 1.00005}, "conditional"),
        ({"LS": 0.5}, "conditional"),
        ({"SPSO": 0.99995}, "conditional"),
        ({"SPSO": 0.5}, "not-reproducible"),
    ],
)
def test_being_the_best_is_judged_against_least_squares_too(changes, verdict) -> None:
    sheet = find_paper("twolink-elpidso").sheet
    (printed,) = (claim for claim in sheet.claim if claim.name == "validation-noise")
    errors = {"LS": 2.0, "GA": 3.0, "SPSO": 2.5, "ELPIDSO": 1.0, **changes}
    rows = {
        ("unseen noisy", average, method): [{"largest": error}]
        for method, error in errors.items()
        for average in ("medians", "means")
    }
    measured = printed.measure(TrialTable(rows) | TrialTable.computed(left=""), {})
    assert printed.judge(measured, judged=True).verdict == verdict


def test_costs_in_the_engine_are_those_of_the_quadratic_form() -> None:
    criterion = TorqueCriterion.from_content(engine_run(1.0, seed=3)["noisy"])
    points = np.array([model.TRUE, criterion.least_squares, model.TRUE + 0.1])
    found = [run["excess"] for run in costs_in_engine(1.0, points.tolist(), seed=3)["runs"]]
    expected = criterion.excess(points) / criterion.floor
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_quick_reproduction_keeps_the_exact_facts_by_command_and_python(tmp_path, capsys) -> None:
    words = ("--quick", "--out", str(tmp_path), "--workers", "2", "--json")
    assert main(["reproduce", "twolink-elpidso", *words]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["papers"]
    done = reproduce("twolink-elpidso", tmp_path, quick=True)  # of the trials of the command
    assert printed == json.loads(json.dumps(done.content()))["papers"][0]
    (found,) = done.each
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    assert claims["lambda"].within is True
    assert claims["y-identity"].verdict == "conditional"
    assert claims["elpidso-better-than-ls"].ours == 0
    assert claims["elpidso-better-than-ls"].verdict == "not-reproducible"
    assert claims["ls-worst-1e-6-rad"].ours > 30.0
    assert claims["wilcoxon"].shown_verdict == "not judged"
    tables = found.tables
    assert {f"table-{k}" for k in range(1, 10)} <= set(tables)
    searched = [row for row in tables["runs"].rows if row[0] == "noisy"]
    assert len(searched) == 5 * 3 * 3
    costs = np.array([float(row[8]) for row in tables["runs"].rows])
    assert (costs >= 0.0).all()
    charts = [chart.name for section in found.sections for chart in section.charts]
    assert [name for name in charts if name.startswith("figure")] == [
        "figure-4", "figure-5", "figure-6", "figure-7"
    ]  # fmt: skip
