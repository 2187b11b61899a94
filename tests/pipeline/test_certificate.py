"""The same study in both engines: every proof is there, and what breaks one fails its check."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.chart import Panel
from robotid_sim.engine.engines import ENGINES
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.certificate import Certificate, certificate, judge
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.report.comparison_report import certificate_report
from robotid_sim.report.sections import Recipe
from robotid_sim.report.tables import CHECK_MEANINGS

pytestmark = pytest.mark.slow

SEEDS = (0, 1)
ARM = "2r"
PAIRS = [(source, target) for source in ENGINES for target in ENGINES]


def setup_of(seed: int, **changes):
    design = {"candidates": 20, "starts": 1, "iterations": 10, "periods": 2}
    experiment = {"rate": 250.0}
    given = {"seed": seed, "design": design, "experiment": experiment, **changes}
    config = load_config(None, given)
    return build_setup(urdf_path(ARM), config.quick())


@pytest.fixture(scope="module")
def done() -> Certificate:
    return certificate(setup_of, SEEDS)


def checks(crossings):
    return {check.name: check for check in judge(crossings).checks}


def test_every_model_is_proved_in_every_engine(done) -> None:
    for crossing in done.engine_comparisons:
        assert [(p.identified_in, p.validated_in) for p in crossing.validations] == PAIRS
    assert done.engines == tuple(ENGINES)


def test_either_model_is_right_in_the_other_engine(done) -> None:
    assert done.verdict.passed, done.verdict
    for proof in done.validations:
        assert proof.worst_error < 6e-4
        assert abs(proof.remaining_gap) < 0.02


def test_the_engines_are_told_apart_by_their_noise_alone(done) -> None:
    """Logs of both engines have the noise of their own, so that the estimates differ."""
    for pair in done.differences:
        assert (pair.values != 0.0).all()
        assert pair.labels == ("PyBullet", "MuJoCo")


def test_a_seed_does_not_depend_on_those_beside_it(done) -> None:
    alone = certificate(setup_of, SEEDS[1:])
    assert alone.validations[1].content() == done.engine_comparisons[1].validations[1].content()
    assert (alone.differences[0].values == done.differences[1].values).all()


def test_the_verdict_has_every_check_in_words(done) -> None:
    names = [check.name for check in done.verdict.checks]
    assert names == [
        *(
            "model_predicts_other_engine",
            "tracking_gap_closed_in_other_engine",
            "all_closed_loops_completed",
        ),
        *("estimates_agree_jointly", "differences_within_intervals"),
    ]
    assert set(names) <= set(CHECK_MEANINGS)


def with_difference(crossing, factor):
    pair = crossing.difference
    values = factor * pair.std
    changed = replace(pair, values=values, chi_squared=factor**2 * pair.rank)
    return replace(crossing, difference=changed)


def test_estimates_that_differ_by_more_than_their_covariances_fail(done) -> None:
    judged = checks([with_difference(c, 3.0) for c in done.engine_comparisons])
    assert not judged["estimates_agree_jointly"].passed
    assert not judged["differences_within_intervals"].passed
    assert judged["differences_within_intervals"].value == 0.0


def test_covariances_that_are_far_too_large_fail(done) -> None:
    judged = checks([with_difference(c, 0.05) for c in done.engine_comparisons])
    assert not judged["estimates_agree_jointly"].passed
    assert judged["differences_within_intervals"].passed


def test_more_seeds_have_narrower_limits(done) -> None:
    few, many = (checks(done.engine_comparisons * n) for n in (1, 20))
    assert many["estimates_agree_jointly"].limit < few["estimates_agree_jointly"].limit
    for name in ("estimates_agree_jointly", "differences_within_intervals"):
        assert many[name].lower > few[name].lower


def with_proof(crossing, k, **changes):
    proofs = [replace(p, **changes) if i == k else p for i, p in enumerate(crossing.validations)]
    return replace(crossing, validations=tuple(proofs))


@pytest.mark.parametrize(("k", "passed"), [(0, True), (1, False), (2, False), (3, True)])
def test_only_proofs_in_the_other_engine_decide(done, k, passed) -> None:
    first, second = done.engine_comparisons
    worse = with_proof(second, k, model_error=np.array([0.0, 0.1]), remaining_gap=0.5)
    judged = checks([first, worse])
    for name in ("model_predicts_other_engine", "tracking_gap_closed_in_other_engine"):
        assert judged[name].passed is passed
    source, target = (ENGINES[name].words for name in PAIRS[k])
    where = f"(identified in {source}, validated in {target}, seed 1)"
    assert (where in judged["model_predicts_other_engine"].message) is not passed


def test_a_failed_fit_or_loop_fails(done) -> None:
    first = done.engine_comparisons[0]
    judged = checks([replace(first, difference=None, failed_loops=1)])
    assert not judged["differences_within_intervals"].passed
    assert not judged["all_closed_loops_completed"].passed
    missing = checks([with_proof(first, 1, model_error=None, remaining_gap=None)])
    assert missing["model_predicts_other_engine"].value is None
    assert not missing["model_predicts_other_engine"].passed
    assert not missing["tracking_gap_closed_in_other_engine"].passed


def test_without_enough_residuals_the_whole_is_not_tested(done) -> None:
    pair = replace(done.differences[0], f_dof=None)
    judged = checks([replace(done.engine_comparisons[0], difference=pair)])
    assert "estimates_agree_jointly" not in judged
    assert judged["differences_within_intervals"].passed


def test_a_study_without_loops_has_no_gap() -> None:
    one = certificate(lambda seed: setup_of(seed, control={"enabled": False}), [0])
    assert all(proof.remaining_gap is None for proof in one.validations)
    assert "tracking_gap_closed_in_other_engine" not in {check.name for check in one.verdict.checks}


def test_the_page_has_all_pairs_and_the_differences_of_every_parameter(done) -> None:
    recipe = Recipe(command="robotid certify", seed=0, settings="{}", versions={})
    page = certificate_report(done, setup_of(0).cell.plant, recipe)
    assert page.passed
    by_title = {section.title: section for section in page.sections}
    (table,) = by_title["Cross-engine validation"].tables
    words = [engine.words for engine in ENGINES.values()]
    assert [row[:2] for row in table.rows] == [(a, b) for a in words for b in words]
    first, pooled = by_title["Difference of the estimates"].charts
    assert isinstance(first.panels[0], Panel)
    assert first.panels[0].y_ticks == done.differences[0].names
    parameters = sum(len(pair.names) for pair in done.differences)
    assert f"All {parameters} differences of 2 seeds" in pooled.caption
    assert {"Verdict", "Assumptions", "Reproduce"} <= set(by_title)
    (motion,) = page.replay.motions
    (other,) = motion.ghosts
    assert [motion.animation.name, other.name] == words
    assert 0.0 < np.abs(other.difference).max() < 1e-3
    assert motion.magnification > 1.0
    assert [crossing.excitation is None for crossing in done.engine_comparisons] == [False, True]


def test_the_share_of_the_limits_is_that_of_the_study(done) -> None:
    limits = StudyConfig().quick().validation
    judged = checks(done.engine_comparisons)
    assert judged["model_predicts_other_engine"].limit == limits.model_error
    assert judged["tracking_gap_closed_in_other_engine"].limit == limits.gap
