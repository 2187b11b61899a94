"""ABB IRB 140: the rules that make verdicts of numbers, and the claims they are used in."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from robotid_sim.papers.irb140 import control_verdicts, rules, search_verdicts
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS
from robotid_sim.papers.irb140.published import parameter_vector
from robotid_sim.papers.irb140.results import CASES, CLAMPS, Results
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP

RUNS = 8
WIGGLE = 1.0 + 0.01 * np.sin(np.arange(RUNS))
"""Runs differ by a percent."""


def searched(error: float) -> dict[str, list[float]]:
    """Return runs of a search that all end near one error."""
    errors = (error * WIGGLE).tolist()
    return {
        "cost": (np.array(errors) ** 2).tolist(),
        "mape_com": errors,
        "mape_inertia": errors,
        "converged": (30.0 * WIGGLE).tolist(),
        "last_gain": [2.0] * RUNS,
        "reach": [1e9] * RUNS,
        "seconds": WIGGLE.tolist(),
        "estimate": [parameter_vector("reference").tolist()] * RUNS,
    }


def case(scenario: str, model: str, **values: float | list[float]) -> dict[str, object]:
    """Return a case of the loop, all joints alike."""
    step = dict.fromkeys(("rise_time", "settling_time", "overshoot", "steady_state_error"), 0.1)
    apart = {"reference": 0.0, "QPSO": 0.1, "PSO": 0.5}[model]
    own = {
        "torque_difference": 1.0,
        "torque_difference_settled": 1.0,
        "torque_rate": 1.0,
        "torque_rate_settled": 1.0,
        "energy": 100.0 + apart,
        "energy_signed": 20.0,
        "energy_settled": 99.0 + apart,
        "rms_error": 1.0,
    }
    own = {name: [value] * 6 for name, value in own.items()}
    changes = {k: v if isinstance(v, list) else [v] * 6 for k, v in values.items() if k not in step}
    step |= {name: value for name, value in values.items() if name in step}
    return {"scenario": scenario, "model": model, **own, **changes, "step": step}


def results(
    loop: Callable[[str, str, int], dict[str, object]] = lambda scenario, model, run: {},
    errors: dict[tuple[str, float], float] | None = None,
) -> Results:
    """Return results in which the loop and the clamped searches are as given."""
    given = errors or {}
    runs = [("nominal", 0), *(("disturbed", run) for run in range(RUNS))]
    curve = {"energy": np.linspace(0.0, 1.0, 5)[:, None].repeat(3, axis=1).tolist()}
    return Results(
        searches={one: searched(0.1 if one[0] == "delta-well" else 5.0) for one in CASES},
        clamps={one: searched(given.get(one, 5.0)) for one in CLAMPS},
        loops=[
            {
                "cases": [case(s, model, **loop(s, model, run)) for model in MODELS],
                "curves": {f"{s} {model}": curve for model in MODELS} if run == 0 else {},
            }
            for s, run in runs
        ],
        networks={},
        torques=[],
        cad={},
        kinematics={},
        quick=False,
        judged=True,
    )


def test_a_ratio_is_that_of_geometric_means() -> None:
    value, interval = rules.ratio([2.0, 8.0, 2.0, 8.0], [1.0, 4.0, 1.0, 4.0])
    assert value == pytest.approx(2.0)
    assert interval == pytest.approx((2.0, 2.0))
    assert rules.ratio([6.0], [2.0]) == (pytest.approx(3.0), None)


def test_an_order_needs_all_of_the_interval() -> None:
    assert rules.is_above(1.1, (1.01, 1.2), 1.0)
    assert not rules.is_above(1.1, (0.99, 1.2), 1.0)
    assert rules.is_above(1.1, None, 1.0)
    assert rules.is_below(0.9, (0.8, 0.99), 1.0)
    assert not rules.is_below(0.9, (0.8, 1.01), 1.0)


def test_a_count_may_reach_the_band_or_hold_the_print() -> None:
    of = partial(rules.of_count, band=(30.0, 45.0), printed=47.0)
    assert of(44.0, (40.0, 49.0)) == "conditional"
    assert of(46.0, (46.0, 48.0)) == "conditional"
    assert of(52.0, (48.0, 60.0)) == "not-reproducible"


def test_early_stagnation_is_that_of_a_swarm_that_flies_away() -> None:
    assert rules.of_stagnation(2.0, 1e9) == "conditional"
    assert rules.of_stagnation(2.0, 0.5) == "not-reproducible"
    assert rules.of_stagnation(12.0, 1e9) == "not-reproducible"


def test_smoother_means_more_than_alike_and_on_every_joint() -> None:
    assert rules.of_smoothness(1.3, 1.0, [True, True, True]) == "conditional"
    assert rules.of_smoothness(1.3, 1.0, [True, False, True]) == "not-reproducible"
    assert rules.of_smoothness(0.4, 1.0, [True, True, True]) == "not-reproducible"


def test_swarms_find_parameters_from_torques_near_the_minimum_only() -> None:
    assert rules.of_search_on_torques((1.0, 1.005), 1.0) == "reproduced"
    assert rules.of_search_on_torques((100.0, 300.0), 1.001) == "conditional"
    assert rules.of_search_on_torques((100.0, 300.0), 1.2) == "not-reproducible"


def test_equal_clamps_are_judged_apart_from_ours() -> None:
    errors = {("pso", PSO_CLAMP): 6.0, ("qubit", QUBIT_CLAMP): 3.0, ("pso", QUBIT_CLAMP): 2.0}
    claims = {c.name: c for c in search_verdicts.search_claims(results(errors=errors))}
    equal = claims["equal-clamps-mape-com"]
    assert equal.ours == pytest.approx(2.0 / 3.0)
    assert (equal.outcome, equal.verdict) == ("missed", "not-reproducible")
    fitness = claims["equal-clamps-final-fitness"]
    assert fitness.ours == pytest.approx(2.25)
    assert (fitness.outcome, fitness.verdict) == ("missed", "not-reproducible")
    assert "0.67 to" in claims["qpso-beats-pso-mape-com"].reason
    assert "clamps decide" in claims["qpso-beats-pso-mape-com"].reason


def test_a_search_without_a_difference_has_no_order() -> None:
    claims = {c.name: c for c in search_verdicts.search_claims(results())}
    for name in ("qpso-beats-pso-mape-com", "final-fitness", "iterations-ratio"):
        assert claims[name].ours == pytest.approx(1.0)
        assert claims[name].verdict == "not-reproducible"
    assert claims["delta-well-beats-pso-com"].verdict == "reproduced"
    assert claims["pso-stagnates-early"].verdict == "conditional"
    assert claims["pso-flies-away"].verdict == "not-reproducible"


def claims_of(loop: Callable[[str, str, int], dict[str, object]]) -> dict[str, object]:
    return {c.name: c for c in control_verdicts.control_claims(results(loop))}


def test_torques_are_judged_over_the_lap_and_after_it_has_settled() -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        whole, settled = {"PSO": (4.0, 2.5), "QPSO": (1.0, 1.0), "reference": (0.0, 0.0)}[model]
        return {"torque_difference": whole, "torque_difference_settled": settled}

    claims = claims_of(loop)
    for scenario in SCENARIOS:
        whole, settled = (claims[f"torque-{part}-{scenario}"] for part in ("closest", "settled"))
        assert (whole.ours, whole.outcome) == (pytest.approx(4.0), "met")
        assert (settled.ours, settled.outcome) == (pytest.approx(2.5), "missed")
        assert settled.verdict == "reproduced"  # the order holds, not the factor
    assert claims["torque-closest-nominal"].interval is None


def test_every_metric_of_table_4_is_ranked_by_itself() -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        better = {"PSO": 0.0, "QPSO": 1.0, "reference": 2.0}[model]
        if scenario == "nominal":
            return {"overshoot": 0.1 - 0.01 * better, "rise_time": 0.1 + 0.01 * better}
        noise = 0.05 * np.sin(3.0 * run + better)
        return {
            "overshoot": 0.1 + 0.01 * better + 0.001 * np.sin(run),
            "rise_time": 0.1 + noise,
            "settling_time": None,
            "rms_error": 1.0 + noise,
        }

    claims = claims_of(loop)
    assert claims["table-4-rise-nominal"].verdict == "conditional"
    assert claims["table-4-overshoot-nominal"].verdict == "not-reproducible"
    assert claims["table-4-overshoot-disturbed"].verdict == "conditional"
    assert claims["table-4-overshoot-disturbed"].ours == pytest.approx(-2.0)
    assert claims["table-4-rise-disturbed"].verdict == "not-reproducible"
    assert claims["table-4-settling-disturbed"].ours == "some runs never do"
    assert claims["table-4-settling-disturbed"].verdict == "not-reproducible"
    assert claims["tracking-error-disturbed"].verdict == "not-reproducible"


def test_smoothness_has_a_band_for_every_scenario() -> None:
    def loop(scenario: str, model: str, run: int) -> dict[str, object]:
        return {"torque_rate": 1.013 if model == "PSO" else 1.0}

    claims = claims_of(loop)
    assert claims["torque-smoother-nominal"].ours == pytest.approx(1.3)
    assert claims["torque-smoother-nominal"].outcome == "missed"
    assert claims["torque-smoother-disturbed"].outcome == "met"
    assert claims["torque-smoother-nominal"].verdict == "conditional"
    assert claims["torque-smoother-disturbed"].verdict == "not-reproducible"  # alike


def test_energy_must_be_nearer() -> None:
    claims = claims_of(lambda scenario, model, run: {})
    for scenario in SCENARIOS:
        assert claims[f"energy-closest-{scenario}"].ours == pytest.approx(5.0)
        assert claims[f"energy-closest-{scenario}"].verdict == "reproduced"
    turned = {"QPSO": 101.0, "PSO": 100.5, "reference": 100.0}
    claims = claims_of(lambda scenario, model, run: {"energy": turned[model]})
    assert claims["energy-closest-nominal"].outcome == "missed"
    assert claims["energy-closest-nominal"].verdict == "not-reproducible"
