"""The ELPIDSO paper, reproduced in a hurry, and with other things in the place of its method."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from judging import CONDITIONAL, FAILED, REPRODUCED, by_claim, printed_claims, verdicts_of

from robotid_sim.cli.app import main
from robotid_sim.engine.engines import default_engine
from robotid_sim.papers import find_paper
from robotid_sim.papers.paper import ReproductionSetup
from robotid_sim.papers.reproduce import reproduce
from robotid_sim.papers.trial_table import Measure, TrialTable
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.paper import RHO_VALUES, VARIANT_NAME, add_computed
from robotid_sim.papers.twolink.trials import (
    LOAD_METHOD_NAME,
    TorqueCriterion,
    costs_in_engine,
    criterion_of,
    make_loaded_criterion,
    score_load,
)

NAME = "twolink-elpidso"
GUESSES = 1000


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
    tested = Measure(study="s", metric="J", of="ours", over="others", **options)
    assert tested.estimate(table) == (p, None)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, REPRODUCED),
        ({"LS": 1.00005}, CONDITIONAL),
        ({"LS": 0.5}, CONDITIONAL),
        ({"SPSO": 0.99995}, CONDITIONAL),
        ({"SPSO": 0.5}, FAILED),
    ],
)
def test_being_the_best_is_judged_against_least_squares_too(changes, verdict) -> None:
    errors = {"LS": 2.0, "GA": 3.0, "SPSO": 2.5, "ELPIDSO": 1.0, **changes}
    rows = {
        ("unseen noisy", average, method): [{"largest": error}]
        for method, error in errors.items()
        for average in ("medians", "means")
    }
    table = TrialTable(rows) | TrialTable.from_computed(left="")
    assert printed_claims(NAME, table, "validation-noise")["validation-noise"].verdict == verdict


def test_costs_in_the_engine_are_those_of_the_quadratic_form() -> None:
    criterion = criterion_of("noisy", 1.0, 3, default_engine())
    points = np.array([model.TRUE_PARAMETERS, criterion.least_squares, model.TRUE_PARAMETERS + 0.1])
    found = [run["excess"] for run in costs_in_engine(1.0, points.tolist(), seed=3)["runs"]]
    expected = criterion.excess(points) / criterion.floor
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Receives trials of four runs, which all tests share."""
    return tmp_path_factory.mktemp("twolink")


@pytest.mark.slow
def test_quick_reproduction_keeps_the_exact_facts_by_command_and_python(folder, capsys) -> None:
    words = ("--quick", "--runs", "4", "--out", str(folder), "--workers", "2", "--json")
    assert main(["reproduce", NAME, *words]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["papers"]
    done = reproduce(NAME, folder, quick=True, runs=4)  # of the trials of the command
    assert printed == json.loads(json.dumps(done.content()))["papers"][0]
    (found,) = done.papers
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    assert claims["lambda"].is_within is True
    assert claims["y-identity"].verdict == CONDITIONAL
    assert claims["elpidso-better-than-ls"].ours == 0
    assert claims["elpidso-better-than-ls"].verdict == FAILED
    assert claims["ls-worst-1e-6-rad"].ours > 30.0
    assert claims["wilcoxon"].verdict_text == "not judged"
    assert {f"table-{k}" for k in range(1, 10)} <= set(found.tables)
    rows = found.tables["runs"].rows
    assert len([row for row in rows if row[0] == "noisy"]) == 5 * 3 * 4
    assert (np.array([float(row[8]) for row in rows]) >= 0.0).all()
    charts = [chart.name for section in found.sections for chart in section.charts]
    figures = [f"figure-{k}" for k in range(4, 8)]
    assert [name for name in charts if name.startswith("figure")] == figures


@pytest.fixture(scope="module")
def table(folder) -> TrialTable:
    return find_paper(NAME).run(ReproductionSetup(folder / "trials", quick=True, runs=4, workers=2))


def row(criterion: TorqueCriterion, points: np.ndarray, like: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a search that ends at the best of some points."""
    costs = criterion.excess(points)
    best = int(np.argmin(costs))
    found = criterion.row(points[best], float(costs[best]))
    return {**like, **found, "curve": np.full(80, costs[best]).tolist()}


def guessed(criterion: TorqueCriterion, like: Mapping[str, Any], k: int) -> dict[str, Any]:
    points = np.random.default_rng(k).uniform(model.LOWER, model.UPPER, (GUESSES, 4))
    return row(criterion, points, like)


def true(criterion: TorqueCriterion, like: Mapping[str, Any], _: int) -> dict[str, Any]:
    return {**row(criterion, model.TRUE_PARAMETERS[None], like), "excess": 0.0, "curve": [0.0] * 80}


def searches(table: TrialTable, *names: str, found: Callable[..., Any]) -> TrialTable:
    """Return the searches of ELPIDSO in some studies, with other results."""
    return TrialTable(
        {
            (name, rho, "ELPIDSO"): [
                found(criterion_of(name, float(rho), 0, default_engine()), run, k)
                for k, run in enumerate(table.runs(name, "ELPIDSO", rho))
            ]
            for name in names
            for rho in RHO_VALUES
        }
    )


def variants(table: TrialTable, other: str, **changes: float) -> TrialTable:
    """Return the searches without parts, with another one in place of the whole ELPIDSO."""
    return TrialTable(
        {
            ("variants", rho, name): [
                {**run, **changes} for run in table.runs("variants", other, rho)
            ]
            for rho in RHO_VALUES
            for name in ("ELPIDSO", "drawn velocities")
        }
    )


def loaded(table: TrialTable, found: Callable[..., Any]) -> TrialTable:
    """Return the searches with another payload, with other parameters."""
    rows = {}
    for load in table.cases("loaded"):
        (content,) = table.runs("loaded", "true", load)
        goal = make_loaded_criterion(load, 0)
        rows["loaded", load, LOAD_METHOD_NAME] = [
            score_load({**run, "parameters": found(goal, content, k)}, content["parameters"])
            for k, run in enumerate(table.runs("loaded", LOAD_METHOD_NAME, load))
        ]
    return TrialTable(rows)


def random_search(table: TrialTable) -> TrialTable:
    guesses = loaded(table, lambda goal, _, k: guessed(goal, {}, k)["parameters"])
    searched = searches(table, "exact", "short", "noisy", found=guessed)
    return searched | variants(table, "random search") | guesses


def without_parts(table: TrialTable) -> TrialTable:
    other = {
        ("short", rho, "ELPIDSO"): [
            {**run, "error": 0.0} for run in table.runs("short", VARIANT_NAME, rho)
        ]
        for rho in RHO_VALUES
    }
    return TrialTable(other) | variants(table, "without I, D")


def the_truth(table: TrialTable) -> TrialTable:
    searched = searches(table, "exact", "short", found=true)
    found = loaded(table, lambda _, content, __: content["parameters"])
    return searched | variants(table, "ELPIDSO", excess=0.0) | found


EXPECTED = {
    random_search: {
        FAILED: """elpidso-better-than-spso elpidso-better-than-spso-means wilcoxon wilcoxon-spso
        wilcoxon-ls pid-helps els-helps mutation-helps initial-velocities converges-faster
        elpidso-best ranking-by-means ranking-by-medians absolute-error validation-exact payload
        payload-offset""",
        CONDITIONAL: "diversity-by-pid",  # guessing is diverse
    },
    without_parts: {
        FAILED: "elpidso-better-than-spso pid-helps initial-velocities diversity-by-pid"
    },
    the_truth: {
        REPRODUCED: """elpidso-better-than-spso-means wilcoxon wilcoxon-spso pid-helps els-helps
        payload-offset""",
        CONDITIONAL: """elpidso-better-than-spso initial-velocities absolute-error validation-exact
        payload""",
        FAILED: "ranking-by-means elpidso-best wilcoxon-ls",  # least squares is at rounding too
    },
}
"""What is put in place of ELPIDSO, and the claims by their verdicts then."""
OTHERS = ("lambda", "y-identity", "routh-hurwitz", "spso-better-than-ga", "ls-bad-on-eta")
"""Claims that are not about ELPIDSO."""


@pytest.mark.slow
@pytest.mark.parametrize("put", EXPECTED)
def test_verdicts_follow_what_stands_in_place_of_the_method(table, put) -> None:
    found = verdicts_of(NAME, add_computed(table | put(table)))
    expected = by_claim(EXPECTED[put]) | {name: verdicts_of(NAME, table)[name] for name in OTHERS}
    assert {name: found[name] for name in expected} == expected
