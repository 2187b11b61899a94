"""Umar et al. (2021): verdicts when MuPSO is replaced by random search, by SPSO, by the truth."""

from collections.abc import Mapping

import pytest
from judging import CONDITIONAL, FAILED, REPRODUCED, UNTESTED, by_claim, verdicts_of

from robotid_sim.papers.irb120 import model, trials
from robotid_sim.papers.irb120.paper import DRIVEN, SINGLE, compute_rows
from robotid_sim.papers.trial_table import TrialTable

pytestmark = pytest.mark.slow

RUNS, DRIVEN_RUNS = 4, 4
BUDGET = {"population": 10, "iterations": 4}
EFFORT = {"iterations": 4, "study_iterations": 4, "draws": 1, "engine_runs": 1, "logs": 2}
EXACT = 1e-6
"""Stands for an error of zero, of which there is no logarithm [%]."""
SPREAD = 1e-3
"""Of what is perfect, as tests of means need some."""
CHANCE = ("random search", "gradient", "gradient, best of 3 starts")
"""What random search stands for here."""
MUPSO, DRIVEN_ALONE = ("table 3", "", "MuPSO"), SINGLE


@pytest.fixture(scope="module")
def table() -> TrialTable:
    """Return a small run of everything; studies that the verdicts need not share one search."""
    swarms = {
        method: [trials.swarm(seed=0, run=run, method=method, **BUDGET) for run in range(RUNS)]
        for method in model.METHODS
    }
    chance = [trials.random_search(seed=0, run=run, **BUDGET) for run in range(RUNS)]
    rows = {
        (study, "", method): runs
        for study in ("table 3", "penalty")
        for method, runs in swarms.items()
    }
    rows |= {("table 3", "", name): chance for name in CHANCE}
    for study, names in {
        "reading": model.READINGS,
        "unprinted": model.UNPRINTED,
        "size": map(str, model.SWARM_SIZES),
    }.items():
        rows |= {(study, "", name): swarms["MuPSO"] for name in names}
    single = trials.random_motions(seed=0, count=DRIVEN_RUNS)["motions"]
    motions = {"MuPSO": [run["x"] for run in swarms["MuPSO"]], SINGLE: single}
    driven = {
        kind: [
            trials.identification(seed=0, kind=DRIVEN[kind], run=run, x=x, logs=2)
            for run, x in enumerate(of_kind[:DRIVEN_RUNS])
        ]
        for kind, of_kind in motions.items()
    }
    rows |= {("engine", "", label): driven.get(label, driven["MuPSO"]) for label in DRIVEN}
    rows |= {("timed", "", size): [{"seconds": s}] for size, s in (("50", 1.0), ("70", 1.4))}
    return TrialTable(rows)


def by_random_search(table: TrialTable) -> Mapping[tuple[str, str, str], list]:
    """Return what comes out if MuPSO is random search, and its motions single random draws."""
    runs = table.runs("table 3", "random search")
    chance = [
        {**run, "mutations": 0, "mutated_at_10": 0, "helped": 0, "best_at": 3} for run in runs
    ]
    driven = table.runs("engine", DRIVEN_ALONE)
    return {MUPSO: chance, ("penalty", "", "MuPSO"): chance, ("engine", "", "MuPSO"): driven}


def by_spso(table: TrialTable) -> Mapping[tuple[str, str, str], list]:
    """Return what comes out if MuPSO is SPSO: without mutation and schedules."""
    runs = table.runs("table 3", "SPSO")
    return {MUPSO: runs, ("penalty", "", "MuPSO"): runs}


def by_the_truth(table: TrialTable) -> Mapping[tuple[str, str, str], list]:
    """Return what comes out if the motions of MuPSO are perfect and all estimates exact."""
    perfect = [
        {**run, "condition": 1.0 + SPREAD * k}
        for k, run in enumerate(table.runs("table 3", "MuPSO"))
    ]
    exact = [
        {**run, "condition": 1.0 + SPREAD * k, "within": 1.0}
        | {what: EXACT * (1.0 + k) for what in ("relative_rms", "unseen_rms")}
        for k, run in enumerate(table.runs("engine", "MuPSO"))
    ]
    return {MUPSO: perfect, ("penalty", "", "MuPSO"): perfect, ("engine", "", "MuPSO"): exact}


BEST = "mupso-best-of-six gain-in-minimum largest-gain "
EXPECTED = {
    by_random_search: {FAILED: BEST + "mutation excitation-improves-accuracy identified-in-engine"},
    by_spso: {FAILED: BEST + "mutation", CONDITIONAL: "excitation-improves-accuracy"},
    by_the_truth: {
        REPRODUCED: BEST + "low-condition-number",
        CONDITIONAL: """mupso-against-de excitation-improves-accuracy identified-in-engine
        identified-equals-ideal""",
        FAILED: "identifiability",
        UNTESTED: "condition-number-mean",
    },
}
"""What is put in place of MuPSO, and the claims by their verdicts then."""


@pytest.mark.parametrize("put", EXPECTED)
def test_verdicts_change_with_what_is_put_in_place_of_the_method(table, put) -> None:
    changed = table | TrialTable(put(table))
    found = verdicts_of("irb120-mupso", changed | compute_rows(changed, 0, EFFORT))
    expected = by_claim(EXPECTED[put])
    assert {name: found[name] for name in expected} == expected
