"""Kou, Guo, Ren (2022): verdicts when SEDSABSO gives way to random search, BSO, or the truth."""

from collections.abc import Mapping

import numpy as np
import pytest
from judging import CONDITIONAL, FAILED, REPRODUCED, UNTESTED, by_claim, verdicts_of

from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.papers.rs010n import engine, model
from robotid_sim.papers.rs010n.engine import CLAMPED, FREE
from robotid_sim.papers.rs010n.paper import add_computed
from robotid_sim.papers.trial_table import TrialTable, split_result

pytestmark = pytest.mark.slow

RUNS = 4
LITERAL = ("SEDSABSO, literal", "BSO, literal")
GUESSES = 2000
"""Random points of the box, of which a random search returns the best."""
ZERO = 1e-9
"""Stands for an error of zero, by which others are divided."""
METHOD = "SEDSABSO"


def some_excitation() -> list[float]:
    return sample_feasible(model.gradient_problem(), np.random.default_rng(0), 20)[0].x.tolist()


@pytest.fixture(scope="module")
def table() -> TrialTable:
    """Return some runs of every search along a random motion, and one batch in the engine."""
    x = some_excitation()
    rows = {
        ("search", variant, method): [
            engine.search(seed=0, run=run, method=method, variant=variant, x=x)
            for run in range(RUNS)
        ]
        for variant in (FREE, CLAMPED)
        for method in (*model.PRINTED_METHODS, *(LITERAL if variant == CLAMPED else ()))
    }
    rows |= {("search", FREE, method): rows["search", CLAMPED, method] for method in LITERAL}
    rows |= {("beetles", "", method): rows["search", CLAMPED, method] for method in (METHOD, "BSO")}
    part = "without disturbances"
    ablation = {"seed": 0, "method": engine.ABLATION, "variant": part, "x": x}
    whole = [engine.search(run=run, **ablation) for run in range(RUNS)]
    rows |= {("beetles", "", part): whole for part in model.SETTINGS["ablations"]}
    size = {"run": 0, "population": 10, "generations": 2}
    for width in (1.0, 0.3, 0.1):
        penalized = engine.search_penalized_excitation(seed=0, width=width, **size)
        rows["penalty", "", f"± {width:g}"] = [penalized]
    at = np.array(x)
    best = {"x": x, "limit_use": model.limit_use(at), **model.condition_numbers(at)}
    rows["excitation", "", "unit"] = [best]
    for name, draws in (("few", 4), ("many", 8)):
        rows["excitation", "", name] = [engine.random_excitation(seed=0, draws=draws)]
    rows["engine log", "", ""] = [{"exact_error": 0.0, "samples": 1, "deviation": 0.0}]
    batch = split_result(("", "", ""), engine.compensation(seed=0, run=0, count=RUNS, x=x))
    found = TrialTable(rows) | TrialTable.from_results(batch)
    return found | add_computed(found, best)


def changed(table: TrialTable, rows: Mapping[tuple[str, str, str], list], engine_set: str = METHOD):
    """Return the table with other runs, and another set for that of the engine."""
    other = {
        (study, "", METHOD): table.rows[study, "", engine_set]
        for study in ("compensation", "tracking")
    }
    return table | TrialTable(other) | TrialTable(rows)


def everywhere(runs: Mapping[str, list]) -> dict[tuple[str, str, str], list]:
    """Return runs in place of SEDSABSO's, by variant; more runs are those with clamp."""
    return {
        ("search", FREE, METHOD): runs[FREE],
        ("search", CLAMPED, METHOD): runs[CLAMPED],
        ("search", CLAMPED, "SEDSABSO, literal"): runs[CLAMPED],
        ("beetles", "", METHOD): runs[CLAMPED],
    }


def scored(run: Mapping[str, object], beta: np.ndarray, **changes: object) -> dict[str, object]:
    """Return a run that has found other parameters."""
    errors = np.abs(beta - model.theoretical())
    found = {"errors": errors.tolist(), "beta": beta.tolist()}
    ends = {"mean_error": errors.mean(), "largest_error": errors.max()}
    return {**run, **found, **ends, **changes}


def by_random_search(table: TrialTable) -> TrialTable:
    """Return what comes out if SEDSABSO is the best of random points of its box."""
    fitness = engine.make_noise_free_fitness(
        np.array(table.best("excitation", "unit", "unit")["x"])
    )
    runs = []
    for k, run in enumerate(table.runs("search", METHOD, CLAMPED)):
        rng = np.random.default_rng(k)
        middle = engine.box_middle(model.theoretical(), 0.5, 0, k)
        points = middle + rng.uniform(-0.5, 0.5, (GUESSES, middle.size))
        costs = fitness(points)
        best = int(costs.argmin())
        runs.append(scored(run, points[best], fitness=float(costs[best])))
    return changed(table, everywhere({FREE: runs, CLAMPED: runs}), engine.NOMINAL)


def by_bso(table: TrialTable) -> TrialTable:
    """Return what comes out if SEDSABSO is BSO: without disturbances and with all beetles."""
    runs = {variant: table.runs("search", "BSO", variant) for variant in (FREE, CLAMPED)}
    literal = table.runs("search", "BSO, literal", CLAMPED)
    rows = everywhere(runs) | {("search", CLAMPED, "SEDSABSO, literal"): literal}
    return changed(table, rows)


def by_the_truth(table: TrialTable) -> TrialTable:
    """Return what comes out if SEDSABSO finds the true parameters."""
    beta = model.theoretical() + ZERO
    runs = [
        scored(run, beta, fitness=ZERO, converged_at=1)
        for run in table.runs("search", METHOD, CLAMPED)
    ]
    zero = {"measured": [ZERO] * 3, "true": [ZERO] * 3, "error": ZERO, "fitness": ZERO}
    rows = everywhere({FREE: runs, CLAMPED: runs}) | {("compensation", "", METHOD): [zero] * RUNS}
    rows["tracking", "", METHOD] = table.runs("tracking", engine.TRUE)
    return changed(table, rows)


ORDER = "order-without-clamp order-with-clamp beetles-with-clamp "
EXPECTED = {
    by_random_search: {
        FAILED: ORDER
        + """disturbances order-of-errors compensation compensation-against-least-squares
        swarm-under-noise cost-under-noise"""
    },
    by_bso: {
        FAILED: """order-without-clamp beetles-with-clamp disturbances converges-faster
        order-of-errors"""
    },
    by_the_truth: {
        REPRODUCED: "disturbances converges-faster order-of-errors",
        CONDITIONAL: ORDER
        + """compensation compensation-against-least-squares compensation-in-the-loop
        swarm-under-noise cost-under-noise""",
        FAILED: "bodies",
        UNTESTED: "mean-error",
    },
}
"""What is put in place of SEDSABSO, and the claims by their verdicts then."""


@pytest.mark.parametrize("put", EXPECTED)
def test_verdicts_change_with_what_is_put_in_place_of_the_method(table, put) -> None:
    found = verdicts_of("rs010n-sedsabso", put(table))
    expected = by_claim(EXPECTED[put])
    assert {name: found[name] for name in expected} == expected
    if put is by_random_search:  # a random point of the box has no order
        assert REPRODUCED not in {found[name] for name in found if "order" in name}
