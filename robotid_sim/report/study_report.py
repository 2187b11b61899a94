"""Page and text of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotid_sim.pipeline.excitation import contact_notes
from robotid_sim.report import sections, tables
from robotid_sim.report.figures.excitation import design_convergence
from robotid_sim.report.finding import summarize_study, trust_section
from robotid_sim.report.loop_section import loop_section, make_tracking_section, model_table
from robotid_sim.report.page import Page
from robotid_sim.report.replay import motions as replay
from robotid_sim.report.sections import Recipe, make_closing_sections, make_export_sections
from robotid_sim.report.text import Text, select_assumptions
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.section import Section, fold, number, percent
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.pipeline.result import CheckResult
    from robotid_sim.pipeline.study import Study


HEADLINE_CHECKS = frozenset(
    ("model_predicts_validation_motion", "tracking_gap_closed", "residual_matches_noise")
)
"""Checks that are always printed."""

NEAR_LIMIT_SHARE = 0.95
"""Smallest share of the limit of a check that is near its limit."""

RANK_CHECK = "all_base_parameters_excited"
"""Check whose limit is the required value."""


def study_report(study: Study, command: str) -> Page:
    """Build the page of a study; `command` reproduces it."""
    result, fit = study.result, study.fit
    recipe = Recipe(
        command=command, seed=result.seed, settings=study.setup.settings, versions=result.versions
    )
    gap = None if study.loop is None else study.loop.gap_left(study.plant.joint_units)
    worst = max(tables.model_errors(result.selected_estimate), default=None)
    seconds = {**result.timings, "all": sum(result.timings.values())}
    columns = {"stage": seconds, "wall time [s]": [f"{value:.2f}" for value in seconds.values()]}
    timings = Section(title="Timings", tables=(Table.from_columns(columns),))
    return Page(
        title=f"Identification of {result.robot.name}",
        finding=summarize_study(result, fit.chosen, fit.basis, gap),
        passed=result.verdict.passed,
        facts=(
            ("joints", str(result.robot.dof)),
            ("base parameters", str(len(result.selected_estimate.base_parameters))),
            ("model error, worst joint", percent(worst, 2)),
            (f"NEES of WLS, {tables.nees_band(result)}", number(tables.nees_of(result), 3)),
            *([] if gap is None else [("tracking gap closed", percent(1.0 - gap))]),
        ),
        sections=(
            *_first_sections(study),
            *map(fold, _study_sections(study)),
            *map(fold, _fit_sections(study, recipe)),
            *([] if study.loop is None else [fold(loop_section(study.loop, study.plant))]),
            *map(fold, make_export_sections(fit.consistent_robot)),
            *map(
                fold,
                make_closing_sections(study.plant, result.assumptions, "true", recipe, timings),
            ),
        ),
        replay=_replay(study),
    )


def _replay(study: Study) -> replay.Replay:
    plant, std = study.plant, study.fit.chosen.noise_std
    motions = [replay.trajectory_motion(study.nominal, study.trajectory)]
    for name, part in ((replay.LOG, study.fit_log), (replay.UNSEEN, study.unseen_log)):
        identified = None if part.predictions is None else part.predictions[0]
        motions.append(replay.log_motion(plant, part.log, name, identified, std))
    if study.loop is not None:
        motions += replay.loop_motions(plant, study.loop)
    return replay.Replay(plant, tuple(motions))


def _first_sections(study: Study) -> list[Section]:
    """Build the main sections; a failed verdict comes first."""
    verdict, loop = study.result.verdict, study.loop
    checks = Section(title="Verdict", tables=(tables.check_table(verdict.checks),))
    first = [sections.bodies_section(study.fit, study.plant)]
    if study.unseen_log.predictions is not None:
        std = study.fit.chosen.noise_std
        prediction = sections.prediction_section(*study.unseen_log.predictions, std, "unseen")
        first.append(replay.tie_to_motion(prediction, replay.UNSEEN))
    if loop is not None:
        first.append(make_tracking_section(loop, study.plant.joint_units))
    first.append(sections.next_steps_section(study.assessment))
    return [*first, fold(checks)] if verdict.passed else [checks, *first]


def _study_sections(study: Study) -> list[Section]:
    result, fit, nominal = study.result, study.fit, study.nominal
    basis, path = fit.basis, result.trajectory
    compared = result.preprocessing.compared
    filters = (
        [tables.filter_table(compared, result.measurement.torque_noise_std)] if compared else []
    )
    convergence = design_convergence(study.designs.designs, path.criterion)
    share = percent(path.max_torque_ratio_true)
    if (path.max_torque_ratio_true or 0.0) > 1.0:
        share += ": above the limit, unlike the prediction of the nominal model"
    return [
        sections.excitation_section(
            study.trajectory,
            nominal,
            study.quality,
            [
                ("family", f"{path.family}, {path.duration_s:g} s"),
                ("criterion", path.criterion),
                ("largest torque / limit, true model", share),
            ],
            contact_notes(result.contacts),
            convergence,
        ),
        replay.tie_to_motion(
            sections.make_preprocessing_section(study.fit_log, study.log, *filters), replay.LOG
        ),
        sections.parameters_section(
            fit.chosen,
            basis,
            (tables.score_table(result), tables.joint_table(result)),
            basis.project(nominal.parameters()),
            true=basis.project(study.plant.parameters()),
            bound=study.cramer_rao_std,
            intervals=study.assessment.intervals,
        ),
        *sections.diagnosis_section(study.diagnosis),
        *trust_section(study.assessment),
    ]


def _fit_sections(study: Study, recipe: Recipe) -> list[Section]:
    """Build the sections on fit, friction and repeated fit; empty for a failed fit."""
    std, fitted = study.fit.chosen.noise_std, study.fit_log
    if fitted.predictions is None:
        return []
    return [
        replay.tie_to_motion(
            sections.prediction_section(*fitted.predictions, std, "fitted", study.log.period),
            replay.LOG,
        ),
        sections.friction_section(study.assessment),
        *what_if_section(study.refit, recipe),
    ]


def study_text(study: Study, folder: Path, seconds: float) -> Iterator[Text]:
    """Report the verdict of a study, its numbers, and the written files."""
    result = study.result
    robot, checks = result.robot, result.verdict.checks
    verdict = "PASSED" if result.verdict.passed else "FAILED"
    passed = sum(check.passed for check in checks)
    yield (
        f"{robot.name}: {verdict} in {seconds:.1f} s, {passed} of {len(checks)} checks; "
        f"{len(result.selected_estimate.base_parameters)} base parameters, seed {result.seed}"
    )
    for check in checks:
        if not check.passed:
            mark = "FAIL"
        elif is_near_limit(check):
            mark = "near its limit"
        elif check.name in HEADLINE_CHECKS:
            mark = "ok"
        else:
            continue
        name, limit = (tables.CHECK_MEANINGS.get(check.name, check.name), tables.check_limit(check))
        value = tables.check_number(check, check.value)
        yield f"  {mark}: {name}: {value} (limit {limit.lstrip('≤ ')}) {check.message}".rstrip()
    for note in (*select_assumptions(result.assumptions), *contact_notes(result.contacts)):
        yield f"  {note}"
    share = result.trajectory.max_torque_ratio_true or 0.0
    if share > 1.0:
        yield (
            f"  the true model needs {share:.0%} of a torque limit, more than the nominal model "
            "predicts; lower torque_ratio or state an uncertainty"
        )
    yield tables.joint_table(result)
    if result.verdict.passed:
        yield "next: `robotid identify` with a log of the machine; -v prints all numbers"
    else:
        yield "next: see What to do next and Diagnosis in report.html; -v prints all numbers"
    yield f"written in {folder}: report.html, identified.urdf, result.json and more"


def is_near_limit(check: CheckResult) -> bool:
    """Check whether a value is near its limit."""
    has_margin = check.value is not None and check.lower is None and check.limit > 0.0
    return (
        check.name != RANK_CHECK
        and has_margin
        and abs(check.value or 0.0) > NEAR_LIMIT_SHARE * check.limit
    )


def study_details(study: Study) -> Iterator[Text]:
    """Report the settings of a study, and compare estimators, filters, models and checks."""
    result, chosen = study.result, study.result.selected_estimate
    yield ""
    path = result.trajectory
    for note in result.assumptions:
        yield f"  assumed: {note}"
    yield (
        f"excitation: {path.family}, {path.criterion}, {path.duration_s:g} s of motion; "
        f"condition number {path.cond_raw:.3g} raw, {path.cond_normalized:.3g} normalized; uses "
        f"{path.max_position_ratio:.0%} of position, {path.max_velocity_ratio:.0%} of velocity, "
        f"{path.max_torque_ratio_nominal:.0%} of torque limits"
    )
    if result.preprocessing.message:
        yield "preprocessing:"
        for decision in result.preprocessing.message.split("; "):
            yield f"  {decision}"
    yield ""
    ratios = [
        abs(p.value - p.true) / p.std
        for p in chosen.base_parameters
        if p.std is not None and p.true is not None
    ]
    if ratios:
        nees = tables.nees_of(result)
        text = "" if nees is None else f"; NEES of WLS {nees:.3g}, {tables.nees_band(result)}"
        yield (
            f"base parameters: |error| / std median {np.median(ratios):.2f}, worst "
            f"{max(ratios):.2f}{text}"
        )
        yield ""
    shown = [tables.score_table(result)]
    if result.preprocessing.compared:
        noise = result.measurement.torque_noise_std
        shown.append(tables.filter_table(result.preprocessing.compared, noise))
    if study.loop is not None and study.loop.runs:
        shown.append(model_table(study.loop, result.robot.joint_units))
    shown.append(tables.check_table(result.verdict.checks))
    for table in shown:
        yield table
        yield ""


def plan_text(plan: Mapping[str, Any]) -> Iterator[Text]:
    """Report the plan of a study."""
    for key, value in plan.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{key:16} {text}"
