"""ABB IRB 140: the rules that make verdicts of numbers, and the claims they are used in."""

from collections.abc import Callable

import numpy as np
import pytest

from robotid_sim.papers import find_paper
from robotid_sim.papers.claims import OUT_OF_BAND, Claim, Measured, measured
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS
from robotid_sim.papers.irb140.paper import (
    CLAMPS,
    SMALL,
    WIDE,
    compared_models,
    constants,
    pairs_of_clamps,
    sums_of_print,
)
from robotid_sim.papers.irb140.swarms import METHODS, PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.trial_table import TrialTable

SHEET = find_paper("irb140-qpso").sheet
SHARED = {"pso_clamp": PSO_CLAMP, "qubit_clamp": QUBIT_CLAMP}
"""Facts of the whole paper that claims name."""
LOOP = (
    "torque-closest", "torque-settled", "torque-smoother", "table-4", "tracking-error",
    "energy-closest", "energy-higher",
)  # fmt: skip
CONTROL = (*(f"{name}-{s}" for name in LOOP for s in SCENARIOS), "energy-rises", "resilience")
SEARCHED = (
    *(f"{n}-{m}" for n in ("qpso-beats-pso", "equal-clamps") for m in ("mape-com", "mape-inertia")),
    "delta-well-beats-pso-com", "delta-well-beats-pso-inertia", "final-fitness",
    "equal-clamps-final-fitness", "iterations-qpso", "iterations-pso", "iterations-ratio",
    "iterations-qpso-spread", "iterations-pso-spread", "equal-clamps-iterations-ratio",
    "pso-stagnates-early", "pso-flies-away", "time-per-iteration",
)  # fmt: skip
"""Claims on what is made up here."""
RUNS = 8
WIGGLE = 1.0 + 0.01 * np.sin(np.arange(RUNS))
"""Runs differ by a percent."""


def searched(error: float, clamp: float = 0.0) -> list[dict[str, object]]:
    """Return runs of a search that all end near one error."""
    alike = {"last_gain": 2.0, "reach": 1e9, "clamp": clamp}
    return [
        {
            "cost": (error * wiggle) ** 2,
            "mape_com": error * wiggle,
            "mape_inertia": error * wiggle,
            "converged": 30.0 * wiggle,
            "time": wiggle,
            **alike,
        }
        for wiggle in WIGGLE
    ]


def case(model: str, **values: float | list[float]) -> dict[str, object]:
    """Return a row of the loop, all joints alike."""
    step = dict.fromkeys(("rise_time", "settling_time", "overshoot", "steady_state_error"), 0.1)
    apart = {"reference": 0.0, "QPSO": 0.1, "PSO": 0.5}[model]
    values_of_joints = {
        "torque_difference": 1.0,
        "torque_difference_settled": 1.0,
        "torque_rate": 1.0,
        "torque_rate_settled": 1.0,
        "energy": 100.0 + apart,
        "energy_signed": 20.0,
        "energy_gap": apart,
        "energy_gap_settled": apart,
    }
    alike = {name: [value] * 3 for name, value in values_of_joints.items()}
    step |= {name: value for name, value in values.items() if name in step}
    error = {"tracking_error": values.pop("tracking_error", 1.0), "step_bandwidth": 5.0}
    changes = {name: [value] * 3 for name, value in values.items() if name not in step}
    return {**alike, **error, **changes, "step": list(step.values())}


def results(
    loop: Callable[[str, str, int], dict[str, object]] = lambda scenario, model, run: {},
    errors: dict[tuple[str, float], float] | None = None,
) -> TrialTable:
    """Return a table in which the loop and the clamped searches are as given."""
    given = errors or {}
    rows = {
        ("search", box, method): searched(0.1 if method == "delta-well" else 5.0)
        for method in METHODS
        for box in (WIDE, SMALL)
    }
    rows |= {
        ("clamp", f"{clamp:.4f}", method): searched(given.get((method, clamp), 5.0), clamp)
        for method, clamp in CLAMPS
    }
    rows |= {
        (study, scenario, model): [case(model, **loop(scenario, model, run)) for run in range(runs)]
        for study in ("loop", "arms")
        for scenario, runs in (("nominal", 1), ("disturbed", RUNS))
        for model in MODELS
    }
    table = TrialTable(rows) | TrialTable.of(sums_of_print().items())
    table |= TrialTable.computed(**constants())
    table |= TrialTable.of(pairs_of_clamps(table).items())
    for scenario in SCENARIOS:
        table |= TrialTable.of(compared_models(table, scenario).items())
    return table


def judged(measurements: dict[str, Measured]) -> dict[str, Claim]:
    """Return the claims of some measurements, as with enough runs."""
    printed = {claim.name: claim for claim in SHEET.claim}
    return {name: printed[name].judge(value, judged=True) for name, value in measurements.items()}


def claims_on(table: TrialTable, names: tuple[str, ...]) -> dict[str, Claim]:
    """Return some claims by what is measured in a table."""
    printed = {claim.name: claim for claim in SHEET.claim}
    return judged({name: printed[name].measure(table, SHARED) for name in names})


def search_claims(table: TrialTable) -> dict[str, Claim]:
    return claims_on(table, SEARCHED)


@pytest.mark.parametrize(
    ("name", "value", "verdict"),
    [
        # The printed number itself holds; far from it nothing does, wherever its interval reaches.
        ("iterations-pso", measured(44.0, (40.0, 49.0)), "conditional"),
        ("iterations-pso", measured(47.0, (44.0, 50.0)), "conditional"),
        ("iterations-pso", measured(75.0, (48.0, 80.0)), "not-reproducible"),
        # Early stagnation is that of a swarm that flies away.
        ("pso-stagnates-early", measured(2.0, nearest=1e9), "conditional"),
        ("pso-stagnates-early", measured(2.0, nearest=0.5), "not-reproducible"),
        ("pso-stagnates-early", measured(12.0, nearest=1e9), "not-reproducible"),
        # Smoother means more than alike, and on every joint.
        ("torque-smoother-nominal", measured(2.5, rougher=0), "conditional"),
        ("torque-smoother-nominal", measured(2.5, rougher=1), "not-reproducible"),
        ("torque-smoother-nominal", measured(0.4, rougher=0), "not-reproducible"),
        # A printed number holds where its last digits allow it.
        ("fitness-reduction", measured(51.2, off=0.0), "reproduced"),
        ("fitness-reduction", measured(51.2, off=0.01), "not-reproducible"),
    ],
)  # fmt: skip
def test_rules_judge_by_all_that_a_claim_needs(name, value, verdict) -> None:
    texts = ("runs", "joint", "after", "qubit_clamp", "equal", "low", "high")
    facts = {**dict.fromkeys(texts, 1.0), **value.facts}
    (claim,) = judged({name: measured(value.ours, value.interval, **facts)}).values()
    assert claim.verdict == verdict


def test_equal_clamps_are_judged_apart_from_ours() -> None:
    errors = {("pso", PSO_CLAMP): 6.0, ("qubit", QUBIT_CLAMP): 3.0, ("pso", QUBIT_CLAMP): 2.0}
    claims = search_claims(results(errors=errors))
    equal = claims["equal-clamps-mape-com"]
    assert equal.ours == pytest.approx(2.0 / 3.0)
    assert (equal.outcome, equal.verdict) == ("met", "not-reproducible")
    fitness = claims["equal-clamps-final-fitness"]
    assert fitness.ours == pytest.approx(2.25)
    assert (fitness.outcome, fitness.verdict) == ("met", "not-reproducible")
    assert "0.67 to" in claims["qpso-beats-pso-mape-com"].reason
    assert "clamps decide" in claims["qpso-beats-pso-mape-com"].reason


def test_a_search_without_a_difference_has_no_order() -> None:
    claims = search_claims(results())
    for name in ("qpso-beats-pso-mape-com", "final-fitness", "iterations-ratio"):
        assert claims[name].ours == pytest.approx(1.0)
        assert claims[name].verdict == "not-reproducible"
    assert claims["delta-well-beats-pso-com"].verdict == "reproduced"
    assert claims["pso-stagnates-early"].verdict == "conditional"
    assert claims["pso-flies-away"].outcome == "met"
    assert claims["time-per-iteration"].shown_verdict == "not-testable"


def claims_of(loop: Callable[[str, str, int], dict[str, object]]) -> dict[str, Claim]:
    return claims_on(results(loop), CONTROL)


def test_torques_are_judged_over_the_lap_and_after_it_has_settled() -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        whole, settled = {"PSO": (4.0, 1.5), "QPSO": (1.0, 1.0), "reference": (0.0, 0.0)}[model]
        return {"torque_difference": whole, "torque_difference_settled": settled}

    claims = claims_of(loop)
    for scenario in SCENARIOS:
        whole, settled = (claims[f"torque-{part}-{scenario}"] for part in ("closest", "settled"))
        assert (whole.ours, whole.outcome) == (pytest.approx(4.0), "met")
        assert (settled.ours, settled.outcome) == (pytest.approx(1.5), "missed")
        assert settled.verdict == "conditional"  # the order holds, not the factor
        assert settled.standing_conditions == (OUT_OF_BAND,)
        assert whole.verdict == "reproduced"
    assert claims["torque-closest-nominal"].interval is None


def test_metrics_of_table_4_count_where_every_run_has_their_order() -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        better = {"PSO": 0.0, "QPSO": 1.0, "reference": 2.0}[model]
        if scenario == "nominal":
            rising = {"rise_time": 0.1 + 0.01 * better, "settling_time": 0.2 + 0.01 * better}
            return {**rising, "overshoot": 0.1 - 0.01 * better}
        noise = 0.05 * np.sin(3.0 * run + better)
        return {
            "overshoot": 0.1 + 0.01 * better + 0.001 * np.sin(run),
            "rise_time": 0.1 + noise,
            "settling_time": None,
            "tracking_error": 1.0 + noise,
        }

    claims = claims_of(loop)
    assert claims["table-4-nominal"].ours == 2.0  # rise and settling, not overshoot
    assert claims["table-4-disturbed"].ours == 1.0  # overshoot
    assert "settling never / never / never s" in claims["table-4-disturbed"].reason
    assert claims["table-4-nominal"].verdict == "not-reproducible"
    assert claims["tracking-error-disturbed"].verdict == "not-reproducible"


@pytest.mark.parametrize(
    ("rate", "outcome", "verdict"),
    [(1.013, "met", "not-reproducible"), (1.025, "missed", "conditional")],
)
def test_a_torque_is_smoother_from_two_percent_on(rate, outcome, verdict) -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        return {"torque_rate": rate if model == "PSO" else 1.0}

    claims = claims_of(loop)
    for scenario in SCENARIOS:
        claim = claims[f"torque-smoother-{scenario}"]
        assert claim.ours == pytest.approx(100.0 * (rate - 1.0))
        assert (claim.outcome, claim.verdict) == (outcome, verdict)


def test_energy_must_be_nearer() -> None:
    claims = claims_of(lambda scenario, model, run: {})
    for scenario in SCENARIOS:
        assert claims[f"energy-closest-{scenario}"].ours == pytest.approx(5.0)
        assert claims[f"energy-closest-{scenario}"].verdict == "reproduced"
    turned = {"QPSO": 101.0, "PSO": 100.5, "reference": 100.0}

    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        return {"energy": turned[model], "energy_gap": abs(turned[model] - turned["reference"])}

    claims = claims_of(loop)
    assert claims["energy-closest-nominal"].outcome == "missed"
    assert claims["energy-closest-nominal"].verdict == "not-reproducible"
