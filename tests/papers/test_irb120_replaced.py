"""Umar et al. (2021): verdicts when MuPSO is replaced by random search, by SPSO, by the truth."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from judging import judged_claims

from robotid_sim.papers.claims import Claim
from robotid_sim.papers.grid import RunGrid
from robotid_sim.papers.irb120 import engine, identification, model, trials
from robotid_sim.papers.irb120.campaign import DRIVEN, SINGLE, MupsoResults, SearchEffort
from robotid_sim.papers.irb120.measurements import measurements

RUNS, DRIVEN_RUNS = 4, 4
BUDGET = {"population": 10, "iterations": 4}
EXACT = 1e-6
"""Stands for an error of zero, of which there is no logarithm [%]."""
SPREAD = 1e-3
"""Of what is perfect, as tests of means need some."""
Replaced = tuple[MupsoResults, identification.ExactIdentification]


@pytest.fixture(scope="module")
def found() -> Replaced:
    """Return a small run of everything; studies that the verdicts need not share one search."""
    swarms = {
        method: [
            trials.swarm(
                seed=0, run=run, method=method, reading=model.MAIN_READING, handling="scaling",
                **BUDGET,
            )
            for run in range(RUNS)
        ]
        for method in model.METHODS
    }  # fmt: skip
    chance = [trials.random_search(seed=0, run=run, **BUDGET) for run in range(RUNS)]
    rows = {("table-3", method): runs for method, runs in swarms.items()}
    rows |= {("penalty", method): runs for method, runs in swarms.items()}
    rows |= {("table-3", "random"): chance, ("table-3", "gradient"): chance}
    for study, names in {
        "reading": model.READINGS,
        "unprinted": model.UNPRINTED,
        "size": model.SWARM_SIZES,
    }.items():
        rows |= {(study, name): swarms["mupso"] for name in names}
    single = engine.random_motions(seed=0, count=DRIVEN_RUNS)["motions"]
    motions = {"mupso": [run["x"] for run in swarms["mupso"]], SINGLE: single}
    driven = {
        kind: [
            engine.identification(seed=0, kind=kind, run=run, x=x, logs=2)
            for run, x in enumerate(of_kind[:DRIVEN_RUNS])
        ]
        for kind, of_kind in motions.items()
    }
    rows |= {("engine", kind): driven.get(kind, driven["mupso"]) for kind in DRIVEN}
    effort = SearchEffort(RUNS, BUDGET["iterations"], RUNS, RUNS, BUDGET["iterations"], 1, 1, 1)
    seconds = {"50": [1.0], "70": [1.4]}
    results = MupsoResults(effort, RunGrid(rows), seconds)
    rng = np.random.default_rng(0)
    return results, identification.identify(model.problem(), results.best, rng)


def put(found: Replaced, rows: Mapping[tuple[str, str], list]) -> Replaced:
    """Return the results with other runs in places of the grid."""
    results, identified = found
    return replace(results, grid=RunGrid({**results.grid.rows, **rows})), identified


def by_random_search(found: Replaced) -> Replaced:
    """Return what comes out if MuPSO is random search, and its motions single random draws."""
    grid = found[0].grid
    chance = [{**run, "mutations": [], "best_at": 3} for run in grid.runs("random", "table-3")]
    rows = {("table-3", "mupso"): chance, ("penalty", "mupso"): chance}
    return put(found, {**rows, ("engine", "mupso"): list(grid.runs(SINGLE, "engine"))})


def by_spso(found: Replaced) -> Replaced:
    """Return what comes out if MuPSO is SPSO: without mutation and schedules."""
    runs = list(found[0].grid.runs("spso", "table-3"))
    return put(found, {("table-3", "mupso"): runs, ("penalty", "mupso"): runs})


def by_the_truth(found: Replaced) -> Replaced:
    """Return what comes out if the motions of MuPSO are perfect and all estimates exact."""
    grid = found[0].grid
    perfect = [
        {**run, "condition": 1.0 + SPREAD * k}
        for k, run in enumerate(grid.runs("mupso", "table-3"))
    ]
    exact = [
        {**run, "condition": 1.0 + SPREAD * k, "within": 1.0}
        | {what: [EXACT * (1.0 + k)] for what in ("relative", "unseen")}
        for k, run in enumerate(grid.runs("mupso", "engine"))
    ]
    results, identified = put(
        found,
        {("table-3", "mupso"): perfect, ("penalty", "mupso"): perfect, ("engine", "mupso"): exact},
    )
    true = identified.beta_true
    noisy = np.tile(true, (len(identified.beta_noisy), 1))
    return results, replace(identified, beta_exact=true, beta_noisy=noisy)


def verdicts(found: Replaced) -> dict[str, Claim]:
    return judged_claims("irb120-mupso", measurements(*found, model.published_motions()))


HOLDS, FAILS, DEPENDS = "reproduced", "not-reproducible", "conditional"
UNTESTED = "not-testable"


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (
            by_random_search,
            {
                "mupso-best-of-six": FAILS,
                "gain-in-minimum": FAILS,
                "largest-gain": FAILS,
                "mutation": FAILS,
                "excitation-improves-accuracy": FAILS,
                "identified-in-engine": FAILS,
            },
        ),
        (
            by_spso,
            {
                "mupso-best-of-six": FAILS,
                "gain-in-minimum": FAILS,
                "largest-gain": FAILS,
                "mutation": FAILS,
                "excitation-improves-accuracy": DEPENDS,
            },
        ),
        (
            by_the_truth,
            {
                "mupso-best-of-six": HOLDS,
                "mupso-against-de": DEPENDS,
                "gain-in-minimum": HOLDS,
                "largest-gain": HOLDS,
                "condition-number-mean": UNTESTED,
                "low-condition-number": HOLDS,
                "excitation-improves-accuracy": DEPENDS,
                "identified-in-engine": DEPENDS,
                "identified-equals-ideal": DEPENDS,
                "identifiability": FAILS,
            },
        ),
    ],
)
def test_verdicts_change_with_what_is_put_in_place_of_the_method(found, by, expected) -> None:
    claims = verdicts(by(found))
    assert {name: claims[name].verdict for name in expected} == expected


def test_no_claim_of_superiority_is_reproduced_by_random_search(found) -> None:
    claims = verdicts(by_random_search(found))
    superior = ("mupso-best-of-six", "gain-in-minimum", "excitation-improves-accuracy")
    assert not any(claims[name].verdict == HOLDS for name in superior)
