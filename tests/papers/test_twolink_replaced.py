"""The ELPIDSO paper with its method replaced: verdicts must follow what is put in its place."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from judging import verdicts_of

from robotid_sim.papers import find_paper
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.trial_table import TrialTable
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink import paper as study
from robotid_sim.papers.twolink.paper import LOADED, RHOS, VARIANT
from robotid_sim.papers.twolink.trials import TorqueCriterion

pytestmark = pytest.mark.slow

GUESSES = 1000
REPRODUCED, CONDITIONAL, FAILED = "reproduced", "conditional", "not-reproducible"

EXPECTED = [
    ("random search", "elpidso-better-than-spso", {FAILED}),
    ("random search", "elpidso-better-than-spso-means", {FAILED}),
    ("random search", "wilcoxon", {FAILED}),
    ("random search", "wilcoxon-spso", {FAILED}),
    ("random search", "wilcoxon-ls", {FAILED}),
    ("random search", "pid-helps", {FAILED}),
    ("random search", "els-helps", {FAILED}),
    ("random search", "mutation-helps", {FAILED}),
    ("random search", "initial-velocities", {FAILED}),
    ("random search", "converges-faster", {FAILED}),
    ("random search", "elpidso-best", {FAILED}),
    ("random search", "ranking-by-means", {FAILED}),
    ("random search", "ranking-by-medians", {FAILED}),
    ("random search", "absolute-error", {FAILED}),
    ("random search", "validation-exact", {FAILED}),
    ("random search", "payload", {FAILED}),
    ("random search", "payload-offset", {FAILED}),
    ("random search", "diversity-by-pid", {CONDITIONAL}),  # guessing is diverse
    ("without I, D", "elpidso-better-than-spso", {FAILED}),
    ("without I, D", "pid-helps", {FAILED}),
    ("without I, D", "initial-velocities", {FAILED}),
    ("without I, D", "diversity-by-pid", {FAILED}),
    ("the truth", "elpidso-better-than-spso", {CONDITIONAL}),
    ("the truth", "elpidso-better-than-spso-means", {REPRODUCED}),
    ("the truth", "wilcoxon", {REPRODUCED}),
    ("the truth", "wilcoxon-spso", {REPRODUCED}),
    ("the truth", "pid-helps", {REPRODUCED}),
    ("the truth", "els-helps", {REPRODUCED}),
    ("the truth", "initial-velocities", {CONDITIONAL}),
    ("the truth", "ranking-by-means", {FAILED}),  # least squares is at rounding too
    ("the truth", "absolute-error", {CONDITIONAL}),
    ("the truth", "validation-exact", {CONDITIONAL}),
    ("the truth", "elpidso-best", {FAILED}),  # least squares ties
    ("the truth", "wilcoxon-ls", {FAILED}),
    ("the truth", "payload", {CONDITIONAL}),
    ("the truth", "payload-offset", {REPRODUCED}),
]
"""What is put in place of ELPIDSO, the claim, and its verdicts then."""


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> TrialTable:
    lab = Lab(folder=tmp_path_factory.mktemp("twolink"), quick=True, runs=4, workers=2)
    effort = {**study.EFFORT, "full": (10_000, 1_000), "short": (2_000, 1_000)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "EFFORT", effort)
        return study.run_all(lab)


def row(criterion: TorqueCriterion, points: np.ndarray, like: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a search that ends at the best of some points."""
    costs = criterion.excess(points)
    best = int(np.argmin(costs))
    off = float(np.abs(points[best] - model.TRUE).max())
    found = {"parameters": points[best].tolist(), "excess": float(costs[best]), "error": off}
    return {**like, **found, "curve": np.full(80, costs[best]).tolist()}


def guessed(criterion: TorqueCriterion, like: Mapping[str, Any], k: int) -> dict[str, Any]:
    points = np.random.default_rng(k).uniform(model.LOWER, model.UPPER, (GUESSES, 4))
    return row(criterion, points, like)


def true(criterion: TorqueCriterion, like: Mapping[str, Any], _: int) -> dict[str, Any]:
    return {**row(criterion, model.TRUE[None], like), "excess": 0.0, "curve": [0.0] * 80}


def searches(table: TrialTable, names: tuple[str, ...], found: Callable[..., Any]) -> TrialTable:
    """Return the searches of ELPIDSO in some studies, with other results."""
    return TrialTable(
        {
            (name, rho, "ELPIDSO"): [
                found(TorqueCriterion.from_content(table.runs("goal", name, rho)[0]), run, k)
                for k, run in enumerate(table.runs(name, "ELPIDSO", rho))
            ]
            for name in names
            for rho in RHOS
        }
    )


def variants(table: TrialTable, other: str, **changes: float) -> TrialTable:
    """Return the searches without parts, with another one in place of the whole ELPIDSO."""
    return TrialTable(
        {
            ("variants", rho, name): [
                {**run, **changes} for run in table.runs("variants", other, rho)
            ]
            for rho in RHOS
            for name in ("ELPIDSO", "drawn velocities")
        }
    )


def loaded(table: TrialTable, found: Callable[..., Any]) -> TrialTable:
    """Return the searches with another payload, with other parameters."""
    rows = {}
    for load in table.cases("loaded"):
        (content,) = table.runs("load", "", load)
        goal = TorqueCriterion.from_content(content["criterion"])
        rows["loaded", load, LOADED] = [
            {**run, "parameters": found(goal, content, k)}
            for k, run in enumerate(table.runs("loaded", LOADED, load))
        ]
    return study.with_payloads(table | TrialTable(rows))


def with_random_search(table: TrialTable) -> TrialTable:
    def guess(goal: TorqueCriterion, _: Mapping[str, Any], k: int) -> list[float]:
        return list(guessed(goal, {}, k)["parameters"])

    return (
        table
        | searches(table, ("exact", "short", "noisy"), guessed)
        | variants(table, "random search")
        | loaded(table, guess)
    )


def with_ablation(table: TrialTable) -> TrialTable:
    other = {
        ("short", rho, "ELPIDSO"): [
            {**run, "error": 0.0} for run in table.runs("short", VARIANT, rho)
        ]
        for rho in RHOS
    }
    return table | TrialTable(other) | variants(table, "without I, D")


def with_truth(table: TrialTable) -> TrialTable:
    found = loaded(table, lambda _, content, __: content["true"])
    searched = searches(table, ("exact", "short"), true)
    return table | searched | variants(table, "ELPIDSO", excess=0.0) | found


REPLACEMENTS = {
    "random search": with_random_search,
    "without I, D": with_ablation,
    "the truth": with_truth,
}


@pytest.fixture(scope="module")
def verdicts(table) -> dict[str, dict[str, str]]:
    paper = find_paper("twolink-elpidso")
    return {
        name: verdicts_of("twolink-elpidso", paper.measurements(study.with_computed(change(table))))
        for name, change in REPLACEMENTS.items()
    }


@pytest.mark.parametrize(("replacement", "claim", "expected"), EXPECTED)
def test_a_verdict_follows_what_stands_in_place_of_the_method(
    verdicts, replacement, claim, expected
) -> None:
    assert verdicts[replacement][claim] in expected


def test_claims_about_others_do_not_depend_on_the_method(verdicts) -> None:
    for name in ("lambda", "y-identity", "routh-hurwitz", "spso-better-than-ga", "ls-bad-on-eta"):
        assert len({by_claim[name] for by_claim in verdicts.values()}) == 1
