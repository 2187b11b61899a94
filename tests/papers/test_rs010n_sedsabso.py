"""Kou, Guo, Ren (2022): base parameters, printed columns, searches, and the run in the engine."""

from pathlib import Path

import numpy as np
import pytest
from judging import printed_claims

from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.model.catalog import load_published_parameters
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.papers import PAPERS
from robotid_sim.papers.claims import Claim
from robotid_sim.papers.paper import ReproductionSetup
from robotid_sim.papers.rs010n import engine, model
from robotid_sim.papers.rs010n.engine import CLAMPED, MisprintedBeetleSwarm
from robotid_sim.papers.rs010n.paper import impossible_links, judge_printed_columns
from robotid_sim.papers.trial_table import TrialTable

PRINT = 0.005  # half a unit of the last printed digit


def some_motion(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 40, 3))


@pytest.mark.parametrize("row", range(21))
def test_corrected_label_gives_the_theoretical_value(row: int) -> None:
    assert abs(model.theoretical()[row] - model.TABLE_5["theoretical"][row]) < PRINT


def test_label_of_row_9_as_printed_does_not() -> None:
    phi = load_published_parameters("rs010n", "table-5").phi
    masses = phi[10] + phi[20]
    lever = model.theoretical()[8] - masses * model.A2
    assert lever + masses * model.A2**2 == pytest.approx(49.02, abs=PRINT)


def test_36_parameters_make_21() -> None:
    assert model.base().considered.size == 36
    assert model.base().rank == 21
    assert model.base().inertial_rank == np.linalg.matrix_rank(model.combinations()) == 15


def test_rows_of_table_5_carry_all_torques() -> None:
    phi = load_published_parameters("rs010n", "table-5").phi
    Y = torque_regressor(model.arm(), *some_motion())[:, :, :30]
    W = model.regressor(*some_motion())
    np.testing.assert_allclose(W @ model.theoretical(), Y @ phi[:30], atol=1e-11)


def test_truth_of_the_engine_gives_the_torques_of_the_robot() -> None:
    arm, motion = model.arm(), some_motion(1)
    W = model.regressor(*motion, np.tanh(motion[1] / arm.eps))
    expected = joint_torque(arm, *motion)
    np.testing.assert_allclose(W @ model.true_of_engine(), expected, atol=1e-10)


def test_coulomb_column_is_the_sign_of_the_velocity() -> None:
    motion = some_motion(2)
    W = model.regressor(*motion)
    labels = model.TABLE_5["label"]
    np.testing.assert_array_equal(W[:, 1, labels.index("F2c")], np.sign(motion[1][:, 1]))
    np.testing.assert_array_equal(W[:, 2, labels.index("F3v")], motion[1][:, 2])
    assert not W[:, 0, labels.index("F2c")].any()


def test_printed_errors_and_what_robots_can_have() -> None:
    sets = judge_printed_columns(random_fitness())
    found = {m: (sets[m]["mean_error"], sets[m]["largest_error"]) for m in model.PRINTED_METHODS}
    assert found["SEDSABSO"] == pytest.approx((0.1445, 0.39), abs=1e-4)
    assert found["BSO"] == pytest.approx((0.2312, 1.02), abs=1e-4)
    assert found["LDWPSO"] == pytest.approx((0.4564, 1.87), abs=1e-4)
    assert [sets[name]["best_rows"] for name in model.PRINTED_METHODS] == [11, 7, 3]
    assert sets["theoretical"]["second_moment"] == pytest.approx(-0.525)
    assert sets["LDWPSO"]["least_inertia"] < 0.0 < sets["theoretical"]["least_inertia"]
    assert len(impossible_links()) == 2


def random_fitness() -> AbsoluteFitness:
    W = model.regressor(*some_motion()).reshape(-1, 21)
    return AbsoluteFitness(W, W @ model.theoretical())


def test_linear_program_returns_the_theoretical_values() -> None:
    np.testing.assert_allclose(random_fitness().minimum(), model.theoretical(), atol=1e-9)


def test_a_search_is_repeated_bit_for_bit_in_a_box_that_holds_the_truth() -> None:
    fitness, truth = random_fitness(), model.theoretical()
    found, again = (
        engine.search_once(fitness, truth, "LDWPSO", engine.CLAMPED, 0, 4) for _ in range(2)
    )
    assert found["beta"] == again["beta"]
    assert found["evaluations"] == 30_000
    beta = np.array(found["beta"])
    assert np.abs(beta - truth).max() <= 0.75  # half a box and the shift of its center
    assert np.abs(beta - engine.box_middle(truth, 0.5, 0, 4)).max() <= 0.5
    assert found["fitness"] == pytest.approx(fitness(beta[None])[0])


def test_genetic_algorithm_keeps_table_3() -> None:
    budget = {"population": 10, "generations": 3}
    found = engine.genetic_excitation(seed=0, run=0, columns="unit", **budget)
    q, dq, ddq = model.motion(np.array(found["x"]), 500)
    assert found["limit_use"] <= 1.0 + 1e-9
    limits = model.arm().limits
    assert (q >= limits.lower).all()
    assert (q <= limits.upper).all()
    assert (np.abs(np.degrees(dq)) <= np.array([125.0, 100.0, 165.0])).all()
    assert (np.abs(np.degrees(ddq)) <= np.array([45.0, 40.0, 75.0])).all()


@pytest.mark.parametrize(("genetic", "outcome"), [(4.0, "met"), (6.0, "met"), (9.0, "missed")])
def test_a_search_is_worth_its_effort_only_beside_as_many_draws(genetic, outcome) -> None:
    units = {"unit": genetic, "few": 8.0, "many": 5.0}
    rows = {
        ("excitation", "", name): [{"unit": unit, "evaluations": 10}]
        for name, unit in units.items()
    }
    table = TrialTable(rows) | TrialTable.from_computed(limit_use=1.0, si=100.0)
    claims = printed_claims("rs010n-sedsabso", table, "excitation", "excitation-against-random")
    assert claims["excitation-against-random"].outcome == outcome
    assert claims["excitation"].outcome == "met"


def clamped(**fitness: np.ndarray) -> dict[str, Claim]:
    """Return the claims on the order with clamp, for given fitness of the runs."""
    parts = {name: fitness["SEDSABSO"] for name in model.SETTINGS["ablations"]}
    literal = {f"{name}, literal": fitness[name] for name in ("SEDSABSO", "BSO")}
    rows = {
        (study, case, name): [{"fitness": value, "evaluations": 30_000} for value in values]
        for study, case, of_case in (
            ("search", CLAMPED, {**fitness, **literal}),
            ("beetles", "", {**fitness, **parts}),
        )
        for name, values in of_case.items()
    }
    table = TrialTable(rows) | TrialTable.from_computed(still=0, still_bso=0)
    return printed_claims("rs010n-sedsabso", table, "order-with-clamp", "beetles-with-clamp")


def test_order_with_clamp_follows_from_means_and_their_intervals() -> None:
    noise = np.random.default_rng(0).uniform(0.9, 1.1, 10)
    found = clamped(SEDSABSO=5.0 * noise, BSO=8.0 * noise, LDWPSO=1.0 + noise)
    assert found["order-with-clamp"].verdict == "not-reproducible"
    assert found["order-with-clamp"].outcome == "met"
    assert found["beetles-with-clamp"].verdict == "conditional"
    assert found["beetles-with-clamp"].nulls_that_pass  # SEDSABSO without disturbances is as good
    found = clamped(SEDSABSO=5.1 * noise, BSO=5.0 * noise[::-1], LDWPSO=noise)
    assert found["order-with-clamp"].outcome == "met"
    assert found["beetles-with-clamp"].verdict == "not-reproducible"
    found = clamped(SEDSABSO=noise, BSO=noise, LDWPSO=2.0 * noise)
    assert found["order-with-clamp"].verdict == "conditional"
    assert found["order-with-clamp"].outcome == "missed"


@pytest.mark.parametrize("equation", [12, 14, 16])
def test_one_misprint_at_a_time(equation: int) -> None:
    printed = MisprintedBeetleSwarm(equation=equation)
    corrected, literal = (AnnealedBeetleSwarm(form=form) for form in ("corrected", "literal"))
    grows = [printed.population_at(t) for t in (0.2, 1.0)]
    expected = literal if equation == 16 else corrected
    assert grows == pytest.approx([expected.population_at(t) for t in (0.2, 1.0)], abs=2)


def test_the_printed_penalty_is_paid_outside_of_table_3() -> None:
    rest = np.full(model.problem().space.size, 1e-3)
    inside, outside = engine.compute_penalized_cost(np.array([rest, 1e4 * rest]))
    assert inside < engine.PENALTY_WEIGHT < outside
    found = engine.search_penalized_excitation(
        seed=0, run=0, width=1.0, population=8, generations=2
    )
    assert found["feasible"] == "no"
    assert found["limit_use"] > 1.0


@pytest.mark.slow
@pytest.mark.nightly
def test_quick_reproduction_finds_what_holds_and_what_does_not(tmp_path: Path) -> None:
    found = PAPERS["rs010n-sedsabso"].reproduce(ReproductionSetup(tmp_path, quick=True, workers=2))
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    assert claims["population"].ours == 29_467 / 600
    assert claims["theoretical-values"].is_within
    assert claims["engine"].ours < 1e-9
    assert claims["order-without-clamp"].ours < 1.0
    assert claims["order-with-clamp"].verdict_text == "not judged"
    tables = found.tables
    assert len(tables["table-5"].rows) == 21
    named = zip(model.TABLE_5["label"], model.TABLE_5["unit"], strict=True)
    assert [row[1:3] for row in tables["table-5"].rows] == list(named)
    rows = tables["table-4-no-velocity-clamp"].rows
    assert [row[0] for row in rows][-2:] == ["L1 optimum (LP)", "least squares"]
    charts = [chart.name for section in found.sections for chart in section.charts]
    assert charts == ["figure-3", "figure-5", "figure-6", "compensation"]
    assert [row[0] for row in tables["compensation"].rows][-3:] == list(model.PRINTED_METHODS)
    assert len(tables["beetles"].rows) == 2 + len(model.SETTINGS["ablations"])
