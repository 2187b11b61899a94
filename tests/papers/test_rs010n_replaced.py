"""Kou, Guo, Ren (2022): verdicts when SEDSABSO gives way to random search, BSO, or the truth."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from judging import judged_claims

from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.papers.claims import Claim
from robotid_sim.papers.grid import RunGrid
from robotid_sim.papers.rs010n import compensation, excitation, model, trials
from robotid_sim.papers.rs010n.ablations import ABLATIONS, WITHOUT, ablation
from robotid_sim.papers.rs010n.campaign import MORE, MORE_METHODS, PENALTY, WIDTHS, BeetleResults
from robotid_sim.papers.rs010n.direct import DirectSolutions, direct_solutions
from robotid_sim.papers.rs010n.measurements import measurements
from robotid_sim.papers.rs010n.penalty import penalized_excitation
from robotid_sim.papers.rs010n.trials import CLAMPED, FREE

RUNS = 4
LITERAL = ("SEDSABSO, literal", "BSO, literal")
GUESSES = 2000
"""Random points of the box, of which a random search returns the best."""
ZERO = 1e-9
"""Stands for an error of zero, by which others are divided."""
METHOD = "SEDSABSO"


def some_excitation() -> list[float]:
    paper = excitation.problem()
    plain = ExcitationProblem(paper.nominal, paper.basis, paper.options, paper.criterion)
    return feasible_draws(plain, np.random.default_rng(0), 20)[0].x.tolist()


@pytest.fixture(scope="module")
def found() -> tuple[BeetleResults, DirectSolutions]:
    """Return some runs of every search along a random motion, and one batch in the engine."""
    x = some_excitation()
    rows = {
        (variant, method): [
            trials.search(seed=0, run=run, method=method, variant=variant, x=x)
            for run in range(RUNS)
        ]
        for variant in (FREE, CLAMPED)
        for method in (*model.PRINTED, *(LITERAL if variant == CLAMPED else ()))
    }
    rows |= {(FREE, method): rows[CLAMPED, method] for method in LITERAL}
    rows |= {(MORE, method): rows[CLAMPED, method] for method in MORE_METHODS}
    whole = [ablation(seed=0, run=run, part=WITHOUT, x=x) for run in range(RUNS)]
    rows |= {(MORE, part): whole for part in ABLATIONS}
    size = {"population": 10, "generations": 2}
    penalized = {w: penalized_excitation(seed=0, run=0, width=w, **size) for w in WIDTHS}
    rows |= {(PENALTY, width): [run] for width, run in penalized.items()}
    motion = {"x": x, "limit_use": excitation.limit_use(np.array(x))}
    rows["excitation", "unit"] = [{**motion, **excitation.condition_numbers(np.array(x))}]
    drawn = [trials.random_excitation(seed=0, draws=n) for n in (4, 8)]
    batch = compensation.compensation(seed=0, run=0, count=RUNS, x=x)
    results = BeetleResults(RUNS, *drawn, RunGrid(rows), {"exact_error": 0.0}, [batch])
    return results, direct_solutions(np.array(x))


def put(results: BeetleResults, rows: Mapping[tuple[str, str], list], sets: Mapping[str, str]):
    """Return the results with other runs in the grid, and other sets for those of the engine."""
    batch = results.batches[0]
    runs = [
        {
            what: {**of_set, **{k: of_set[v] for k, v in sets.items()}}
            for what, of_set in run.items()
        }
        for run in batch["runs"]
    ]
    tracking = {**batch["tracking"], **{k: batch["tracking"][v] for k, v in sets.items()}}
    changed = {**batch, "runs": runs, "tracking": tracking}
    return replace(results, grid=RunGrid({**results.grid.rows, **rows}), batches=[changed])


def everywhere(runs: Mapping[str, list]) -> dict[tuple[str, str], list]:
    """Return runs in place of SEDSABSO's, by variant; more runs are those with clamp."""
    return {
        (FREE, METHOD): runs[FREE],
        (CLAMPED, METHOD): runs[CLAMPED],
        (CLAMPED, "SEDSABSO, literal"): runs[CLAMPED],
        (MORE, METHOD): runs[CLAMPED],
    }


def by_random_search(results: BeetleResults) -> BeetleResults:
    """Return what comes out if SEDSABSO is the best of random points of its box."""
    W = model.regressor(*excitation.motion(np.array(results.excitation["x"])))
    W = W.reshape(-1, W.shape[-1])
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    runs = []
    for k, run in enumerate(results.grid.runs(METHOD, CLAMPED)):
        rng = np.random.default_rng(k)
        middle = compensation.box_middle(model.theoretical(), 0, k)
        points = middle + rng.uniform(-0.5, 0.5, (GUESSES, middle.size))
        costs = fitness(points)
        best = int(costs.argmin())
        runs.append({**run, "fitness": float(costs[best]), "beta": points[best].tolist()})
    rows = everywhere({FREE: runs, CLAMPED: runs})
    return put(results, rows, {METHOD: compensation.NOMINAL})


def by_bso(results: BeetleResults) -> BeetleResults:
    """Return what comes out if SEDSABSO is BSO: without disturbances and with all beetles."""
    runs = {variant: list(results.grid.runs("BSO", variant)) for variant in (FREE, CLAMPED)}
    rows = everywhere(runs)
    rows[CLAMPED, "SEDSABSO, literal"] = list(results.grid.runs("BSO, literal", CLAMPED))
    return put(results, rows, {})


def by_the_truth(results: BeetleResults) -> BeetleResults:
    """Return what comes out if SEDSABSO finds the true parameters."""
    beta = (model.theoretical() + ZERO).tolist()
    true = {"beta": beta, "fitness": ZERO, "at": [1, 2], "costs": [1.0, 0.0]}
    runs = [{**run, **true} for run in results.grid.runs(METHOD, CLAMPED)]
    changed = put(results, everywhere({FREE: runs, CLAMPED: runs}), {})
    batch = changed.batches[0]
    zero = {"measured": [ZERO] * 3, "true": [ZERO] * 3, "error": ZERO, "fitness": ZERO}
    exact = [
        {what: {**of_set, METHOD: zero[what]} for what, of_set in run.items()}
        for run in batch["runs"]
    ]
    tracking = {**batch["tracking"], METHOD: batch["tracking"][compensation.TRUE]}
    return replace(changed, batches=[{**batch, "runs": exact, "tracking": tracking}])


def verdicts(results: BeetleResults, exact: DirectSolutions) -> dict[str, Claim]:
    return judged_claims("rs010n-sedsabso", measurements(results, exact))


HOLDS, FAILS, DEPENDS = "reproduced", "not-reproducible", "conditional"
UNTESTED = "not-testable"


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (
            by_random_search,
            {
                "order-without-clamp": FAILS,
                "order-with-clamp": FAILS,
                "beetles-with-clamp": FAILS,
                "disturbances": FAILS,
                "order-of-errors": FAILS,
                "compensation": FAILS,
                "compensation-against-least-squares": FAILS,
                "swarm-under-noise": FAILS,
                "cost-under-noise": FAILS,
            },
        ),
        (
            by_bso,
            {
                "order-without-clamp": FAILS,
                "beetles-with-clamp": FAILS,
                "disturbances": FAILS,
                "converges-faster": FAILS,
                "order-of-errors": FAILS,
            },
        ),
        (
            by_the_truth,
            {
                "order-without-clamp": DEPENDS,
                "order-with-clamp": DEPENDS,
                "beetles-with-clamp": DEPENDS,
                "disturbances": HOLDS,
                "converges-faster": HOLDS,
                "order-of-errors": HOLDS,
                "mean-error": UNTESTED,
                "compensation": DEPENDS,
                "compensation-against-least-squares": DEPENDS,
                "compensation-in-the-loop": DEPENDS,
                "swarm-under-noise": DEPENDS,
                "cost-under-noise": DEPENDS,
                "bodies": FAILS,
            },
        ),
    ],
)
def test_verdicts_change_with_what_is_put_in_place_of_the_method(found, by, expected) -> None:
    results, exact = found
    claims = verdicts(by(results), exact)
    assert {name: claims[name].verdict for name in expected} == expected


def test_a_random_point_of_the_box_has_no_order(found) -> None:
    results, exact = found
    claims = verdicts(by_random_search(results), exact)
    assert not any(claim.verdict == HOLDS for name, claim in claims.items() if "order" in name)
