"""Umar et al. (2021): identifiability, least squares, and the searches on the Cartesian path."""

from collections.abc import Mapping

import numpy as np
import pytest
from judging import CONDITIONAL, FAILED, REPRODUCED, UNTESTED, by_claim, printed_claims, verdicts_of
from kept_trials import kept_names

from robotid_sim.papers import PAPERS
from robotid_sim.papers.irb120 import model, trials
from robotid_sim.papers.irb120.paper import SINGLE_DRAW_NAME, compute_rows
from robotid_sim.papers.paper import ReproductionSetup
from robotid_sim.papers.trial_table import TrialTable

NAME = "irb120-mupso"
MUPSO = ("table 3", "", "MuPSO")
EXACT = 1e-6
"""Stands for an error of zero, of which there is no logarithm [%]."""
SPREAD = 1e-3
"""Of what is perfect, as tests of means need some."""
EXCITING = (0.21, -0.31, -0.39, -0.41, -0.33, 0.57, 0.31)
"""A motion that a swarm has found."""


@pytest.mark.parametrize(
    ("measured", "rank", "counts"),
    [
        (model.JOINT_TORQUES, 15, (6, 15, 9)),
        ("moments along z of frame i, through joint i", 19, (11, 13, 6)),
        (model.PRINTED_SELECTOR_NAME, 22, (21, 2, 7)),
        ("wrench at the base", 20, (9, 17, 4)),
        ("moment vectors at the 3 joints", 23, (17, 8, 5)),
        (model.WRENCHES, 26, (26, 0, 4)),
    ],
)
def test_no_measurement_gives_the_published_identifiability(measured, rank, counts) -> None:
    base = model.rank_analysis()[measured]
    assert base.rank == rank
    assert model.counts(base) == counts
    assert counts != model.IDENTIFIABLE_PARAMETERS


def test_joint_torques_show_six_parameters_alone_in_the_frames_of_the_paper() -> None:
    base = model.rank_analysis()[model.JOINT_TORQUES]
    assert set(base.identifiable_alone) == {"my2", "Ixy2", "Iyz2", "mz3", "Ixz3", "Iyz3"}
    no_effect = {"m1", "mx1", "my1", "mz1", "Ixx1", "Izz1", "Ixy1", "Ixz1", "Iyz1"}
    assert set(base.not_identifiable) == no_effect


@pytest.mark.slow
def test_least_squares_without_noise_is_exact_and_with_noise_keeps_its_bound() -> None:
    rng = np.random.default_rng(0)
    found = model.identify(model.problem(), np.array(EXCITING), rng)
    assert found.exact_error < 1e-9
    true = dict(zip(found.basis.names, found.beta_true, strict=True))
    # Eq. (50): mcy2 and mcz3 in kg mm, the two first moments that show alone.
    assert (true["my2"], true["mz3"]) == pytest.approx((93.9465e-3, 100.6463e-3))
    assert (np.abs(found.scores) <= 3.0).mean() >= 0.98
    assert found.scores.std() == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_errors_in_the_engine_are_those_of_the_noise() -> None:
    found = trials.identification(seed=0, kind="test", run=0, x=EXCITING, logs=6)
    assert found["within"] >= 0.95
    assert max(found["unseen"]) < 2.0
    assert len(found["estimate"]) == 15
    assert found["tracking"] < 1e-3


def test_ideal_values_of_table_4_have_other_first_moments() -> None:
    values = model.ideal_values().items()
    other = {name for name, (ideal, true) in values if abs(ideal - true) >= 1.0}
    assert other == {"my1", "mx2", "my2", "mz2", "mx3", "mz3"}
    assert model.rank_of([row[0] for row in model.PRINTED_VALUES["table_4"]]) == 14


def test_every_value_that_is_not_printed_makes_another_problem() -> None:
    main = model.READINGS[model.MAIN_READING_NAME]
    for name, meant in model.UNPRINTED.items():
        changed = [field for field in main if meant[field] != main[field]]
        assert len(changed) == 1
        family = model.problem(name).family
        assert getattr(family, changed[0]) == meant[changed[0]]


def test_published_coefficients_leave_the_reach_and_do_not_start_at_rest() -> None:
    for motion in model.evaluate_published_motions().values():
        assert motion["followed"] == "no"
        assert motion["scale"] < 0.1
        assert motion["start_speed"] == pytest.approx(0.92781)
    reach = 0.58  # of the wrist center from the shoulder [m]
    assert sum(model.PRINTED_VALUES["optimum"]["a"]) > reach


def test_a_search_is_repeated_bit_for_bit_and_keeps_the_limits() -> None:
    parameters = {"seed": 3, "run": 1, "population": 8, "iterations": 3}
    first, second = (trials.swarm(**parameters) for _ in range(2))
    assert first["x"] == second["x"]
    assert first["evaluations"] == 24
    assert first["curve"][1][-1] == pytest.approx(first["condition"])
    assert first["limit_use"] <= 1.0 + 1e-9
    other = trials.swarm(**{**parameters, "run": 2})
    assert other["x"] != first["x"]


def test_gradient_counts_its_evaluations_and_beats_its_draws() -> None:
    common = {"seed": 0, "run": 0, "draws": 2}
    drawn = trials.gradient(**common, iterations=1)
    found = trials.gradient(**common, iterations=6)
    assert found["evaluations"] > drawn["evaluations"] > 2
    assert found["condition"] < drawn["condition"]
    assert found["limit_use"] <= 1.0 + 1e-6


def conditions(**means: dict[str, float]) -> TrialTable:
    """Return runs of all methods with a spread of 0.5 about given means by study, 7 for others."""
    spread = np.random.default_rng(0).normal(0.0, 0.5, (len(model.METHOD_NAMES), 20))
    rows = {
        (study.replace("_", " "), "", name): [
            {"condition": levels.get(name, 7.0) + offset} for offset in offsets
        ]
        for study, levels in means.items()
        for name, offsets in zip(model.METHOD_NAMES, spread, strict=True)
    }
    return TrialTable(rows) | TrialTable.from_computed(means="")


def test_the_best_of_six_is_judged_by_what_the_runs_can_tell() -> None:
    clear, near, behind = ({"MuPSO": m, "GWO": 6.0} for m in (3.0, 6.0, 6.8))

    def verdict(first, second) -> str:
        table, name = conditions(table_3=first, penalty=second), "mupso-best-of-six"
        return printed_claims(NAME, table, name)[name].verdict

    assert verdict(clear, clear) == REPRODUCED
    assert verdict(clear, near) == CONDITIONAL
    assert verdict(near, clear) == verdict(behind, behind) == FAILED


def test_a_motion_that_the_arm_cannot_follow_is_not_driven():
    x = model.problem().space.random(np.random.default_rng(0))
    assert trials.is_drivable(x.tolist())
    assert not trials.is_drivable((5.0 * x).tolist())


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> ReproductionSetup:
    return ReproductionSetup(tmp_path_factory.mktemp("irb120"), quick=True, runs=4, workers=2)


@pytest.mark.slow
def test_quick_reproduction_makes_all_tables_and_keeps_the_exact_claims(lab) -> None:
    found = PAPERS[NAME].reproduce(lab)
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    assert claims["identifiability"].ours == 15
    assert claims["identifiability"].verdict == "not-reproducible"
    assert claims["identified-equals-ideal"].is_within
    assert claims["condition-number-mean"].verdict_text == "not-testable"
    assert 4.0 < claims["condition-number-minimum"].ours < 12.0
    tables = found.tables
    methods = [row[0] for row in tables["table-3"].rows]
    assert methods[:-3] == list(model.METHOD_NAMES)
    assert methods[-1] == "gradient, best of 3 starts"
    assert len(tables["table-4-base"].rows) == 15
    assert len(tables["table-4-printed"].rows) == 22
    charts = [chart.name for section in found.sections for chart in section.charts]
    assert charts == ["figure-2", "figure-3", "figure-4", "figure-5", "engine"]
    assert [row[0] for row in tables["unprinted"].rows[1:]] == list(model.UNPRINTED)
    assert tables["engine"].rows[0][0] == "MuPSO"
    assert len(tables["engine-parameters"].rows) == 15
    # 56 trials, of which the first of MuPSO and that of the first reading are the same work.
    assert len(kept_names(lab.folder)) == 55


@pytest.fixture(scope="module")
def table(lab) -> TrialTable:
    return PAPERS[NAME].run(lab)


def by_random_search(table: TrialTable) -> Mapping[tuple[str, str, str], list]:
    """Return what comes out if MuPSO is random search, and its motions single random draws."""
    runs = table.runs("table 3", "random search")
    chance = [
        {**run, "mutations": 0, "mutated_at_10": 0, "helped": 0, "best_at": 3} for run in runs
    ]
    driven = table.runs("engine", SINGLE_DRAW_NAME)
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


@pytest.mark.slow
@pytest.mark.parametrize("put", EXPECTED)
def test_verdicts_change_with_what_is_put_in_place_of_the_method(table, put) -> None:
    changed = table | TrialTable(put(table))
    effort = {name: changed.runs("computed")[0][name] for name in model.PRINTED_VALUES["effort"]}
    found = verdicts_of(NAME, changed | compute_rows(changed, 0, effort))
    expected = by_claim(EXPECTED[put])
    assert {name: found[name] for name in expected} == expected
