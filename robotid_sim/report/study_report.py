"""The report of a whole study."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import assess
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.report.finding import finding
from robotid_sim.report.loop_section import loop_section
from robotid_sim.report.page import Page
from robotid_sim.report.recipe import Recipe
from robotid_sim.report.sections import (
    excitation_section,
    parameters_section,
    prediction_section,
    preprocessing_section,
)
from robotid_sim.report.trust_section import trust_section
from robotid_sim.report.wording import assumptions, check_table, reproduction
from robotid_sim.section import Section, Table, number, percent
from robotid_sim.study.result import StudyResult, TrajectoryResult
from robotid_sim.study.study import Study
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.prediction import exact_problem, predictions


def study_report(study: Study, command: str) -> Page:
    """Return the report of a whole study.

    Parameters
    ----------
    study : Study
        What was done.
    command : str
        The command that does it again.
    """
    result, fit = study.result, study.fit
    recipe = Recipe(
        command=command,
        seed=result.seed,
        settings=study.setup.settings,
        versions=result.versions,
    )
    units = study.plant.joint_units
    gap = None if study.loop is None else study.loop.gap_left(units)
    with one_blas_thread():
        sections = _study_sections(study)
    return Page(
        title=f"Identification of {result.robot.name}",
        finding=finding(result, fit.chosen, fit.basis, gap),
        passed=result.verdict.passed,
        facts=_facts(result, gap),
        sections=(
            *sections,
            assumptions(study.plant, result.assumptions, "true"),
            _timings(result),
            reproduction(recipe),
        ),
    )


def _study_sections(study: Study) -> list[Section]:
    result, fit, log = study.result, study.fit, study.log
    nominal, basis, path = study.nominal, fit.basis, result.trajectory
    before = basis.of(nominal.parameters())
    sections = [
        Section(title="Verdict", tables=(check_table(result.verdict.checks),)),
        excitation_section(
            study.trajectory,
            nominal,
            assess(nominal, basis, study.trajectory),
            [
                ("family", f"{path.family}, {path.duration_s:g} s"),
                ("criterion", path.criterion),
                ("largest share of the torque limits, true", _true_torque(path)),
            ],
        ),
        preprocessing_section(fit.preprocessor, log, nominal, result.preprocessing.compared),
        parameters_section(
            fit.estimates,
            fit.chosen,
            basis,
            before,
            joint_units=nominal.joint_units,
            true=basis.of(study.plant.parameters()),
            bound=_bound(log, nominal, basis),
            estimator_rows=_scored_estimators(result),
        ),
    ]
    trust = trust_section(fit)
    if trust is not None:
        sections.append(trust)
    if fit.chosen.success:
        pair = predictions(fit.chosen.beta, study.unseen, nominal, basis, fit.preprocessor)
        sections.append(prediction_section(*pair, fit.chosen.noise_std, "unseen"))
    if study.loop is not None:
        sections.append(loop_section(study.loop, study.plant))
    return sections


def _true_torque(path: TrajectoryResult) -> str:
    """Return the largest share of a torque limit under the true model, and if it is too much."""
    share = percent(path.max_torque_ratio_true)
    if (path.max_torque_ratio_true or 0.0) > 1.0:
        return f"{share}: more than the limit, which the nominal model did not foresee"
    return share


def _bound(log: Log, nominal: Robot, basis: BaseParameters) -> Float1D | None:
    """Return Cramér-Rao standard deviations, where truth and noise give them."""
    if log.truth is None:
        return None
    noise = np.maximum(np.std(log.tau_meas - log.truth.tau, axis=0), np.finfo(float).tiny)
    try:
        covariance = cramer_rao(exact_problem(log, nominal, basis, 0.0), noise)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.sqrt(np.diag(covariance)))


def _facts(result: StudyResult, gap: float | None) -> tuple[tuple[str, str], ...]:
    chosen = next(e for e in result.estimates if e.estimator == result.chosen)
    errors = [] if chosen.validation is None else chosen.validation.model_error_relative
    numbers = [e for e in errors if e is not None]
    nees = next((e.nees for e in result.estimates if e.estimator == "wls"), None)
    facts = [
        ("joints", str(result.robot.dof)),
        ("base parameters", str(len(chosen.base_parameters))),
        ("model error, worst joint", percent(max(numbers), 2) if numbers else "-"),
        ("error over stated error", number(None if nees is None else nees**0.5, 3)),
    ]
    if gap is not None:
        facts.append(("tracking gap closed", percent(1.0 - gap)))
    return tuple(facts)


def _scored_estimators(result: StudyResult) -> Table:
    rows = []
    for e in result.estimates:
        errors = [] if e.validation is None else e.validation.model_error_relative
        numbers = [v for v in errors if v is not None]
        rows.append(
            (
                e.estimator,
                "done" if e.success else e.message,
                "yes" if e.physically_consistent else "no",
                f"{e.seconds:.3g} s",
                number(e.fitness_over_ls, 6),
                number(e.criterion_over_optimum, 6),
                number(e.nees, 3),
                percent(max(e.torque_rms_relative)),
                percent(max(numbers)) if numbers else "-",
            )
        )
    columns = ("estimator", "state", "consistent", "time", "fitness / LS", "criterion / optimum")
    more = ("NEES", "fit residual, worst joint", "model error unseen, worst joint")
    return Table(columns=columns + more, rows=tuple(rows), text_columns=3, title="Estimators")


def _timings(result: StudyResult) -> Section:
    rows = [(name, f"{seconds:.2f}") for name, seconds in result.timings.items()]
    rows.append(("all", f"{sum(result.timings.values()):.2f}"))
    return Section(
        title="Timings",
        tables=(Table(columns=("stage", "wall time [s]"), rows=tuple(rows)),),
    )
