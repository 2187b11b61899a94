"""The report of a whole study."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import assess
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.contacts import contact_notes
from robotid_sim.pipeline.identification import intervals_of
from robotid_sim.pipeline.result import StudyResult, TrajectoryResult
from robotid_sim.pipeline.study import Study
from robotid_sim.report.closing import Recipe, closing, in_other_tools
from robotid_sim.report.diagnosis_section import diagnosis_section
from robotid_sim.report.figures.excitation import design_convergence
from robotid_sim.report.finding import finding
from robotid_sim.report.loop_section import loop_section
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import (
    LOG,
    UNSEEN,
    Replay,
    in_motion,
    log_motion,
    loop_motions,
    trajectory_motion,
)
from robotid_sim.report.robot_picture import robot_picture
from robotid_sim.report.sections import (
    excitation_section,
    friction_section,
    parameters_section,
    prediction_section,
    preprocessing_section,
)
from robotid_sim.report.tables import (
    check_table,
    filter_table,
    joint_table,
    model_errors,
    nees_band,
    nees_of,
    scored_table,
)
from robotid_sim.report.trust_section import trust_section
from robotid_sim.report.what_if import what_if_section
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.prediction import Prediction, exact_problem, predictions


def study_report(study: Study, command: str) -> Page:
    """Return the report of a whole study; `command` does it again."""
    result, fit = study.result, study.fit
    recipe = Recipe(
        command=command, seed=result.seed, settings=study.setup.settings, versions=result.versions
    )
    units = study.plant.joint_units
    gap = None if study.loop is None else study.loop.gap_left(units)
    with one_blas_thread():
        motions = {name: fit.preprocessor(log, fit.nominal) for name, log in _logs(study).items()}
        predicted = _predictions(study, motions)
        sections = _study_sections(study, motions, predicted, recipe)
    return Page(
        title=f"Identification of {result.robot.name}",
        finding=finding(result, fit.chosen, fit.basis, gap),
        passed=result.verdict.passed,
        facts=_facts(result, gap),
        sections=(
            *sections,
            *in_other_tools(fit.lift),
            *closing(study.plant, result.assumptions, "true", recipe, _timings(result)),
        ),
        replay=_replay(study, predicted),
    )


def _logs(study: Study) -> dict[str, Log]:
    """Return the log of the fit and the unseen one by the names of their motions."""
    return {LOG: study.log, UNSEEN: study.unseen}


def _predictions(
    study: Study, motions: Mapping[str, Motion]
) -> dict[str, tuple[Prediction, Prediction]]:
    """Return what the identified and the nominal model predict of every log; none if none can."""
    chosen, model = study.fit.chosen, (study.fit.nominal, study.fit.basis)
    if not chosen.success:
        return {}
    return {
        name: predictions(chosen.beta, log, motions[name], *model)
        for name, log in _logs(study).items()
    }


def _replay(study: Study, predicted: Mapping[str, tuple[Prediction, Prediction]]) -> Replay:
    plant, std = study.plant, study.fit.chosen.noise_std
    motions = [trajectory_motion(study.nominal, study.trajectory)]
    for name, log in _logs(study).items():
        identified = predicted[name][0] if name in predicted else None
        motions.append(log_motion(plant, log, name, identified, std))
    if study.loop is not None:
        motions += loop_motions(plant, study.loop)
    return Replay(plant, tuple(motions))


def _study_sections(
    study: Study,
    motions: Mapping[str, Motion],
    predicted: Mapping[str, tuple[Prediction, Prediction]],
    recipe: Recipe,
) -> list[Section]:
    result, fit, log = study.result, study.fit, study.log
    nominal, basis, path = study.nominal, fit.basis, result.trajectory
    before, compared = basis.of(nominal.parameters()), result.preprocessing.compared
    filters = [filter_table(compared, result.measurement.torque_noise_std)] if compared else []
    convergence, intervals = design_convergence(study.designs.designs), intervals_of(fit)
    models = {"nominal": nominal} | ({} if fit.lift is None else {"identified": fit.lift.robot})
    models["true"] = study.plant
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
            contact_notes(result.contacts),
            () if convergence is None else (convergence,),
            robot_picture(nominal, study.trajectory),
        ),
        in_motion(
            preprocessing_section(fit.preprocessor, log, motions[LOG], nominal, *filters), LOG
        ),
        parameters_section(
            fit.chosen,
            basis,
            (scored_table(result), joint_table(result)),
            before,
            true=basis.of(study.plant.parameters()),
            bound=_bound(log, nominal, basis),
            intervals=intervals,
            models=models,
        ),
        *diagnosis_section(study.diagnosis),
        *trust_section(fit, intervals),
    ]
    if predicted:
        std = fit.chosen.noise_std
        sections.append(
            in_motion(prediction_section(*predicted[LOG], std, "fitted", log.period), LOG)
        )
        sections.append(friction_section(fit, [log]))
        sections.append(in_motion(prediction_section(*predicted[UNSEEN], std, "unseen"), UNSEEN))
        problem = build_problem(motions[UNSEEN], fit.nominal, basis)
        sections += what_if_section(fit, recipe, problem)
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
    chosen = result.chosen_estimate
    worst = max(model_errors(chosen), default=None)
    return (
        ("joints", str(result.robot.dof)),
        ("base parameters", str(len(chosen.base_parameters))),
        ("model error, worst joint", percent(worst, 2)),
        (f"NEES of WLS, {nees_band(result)}", number(nees_of(result), 3)),
        *([] if gap is None else [("tracking gap closed", percent(1.0 - gap))]),
    )


def _timings(result: StudyResult) -> Section:
    seconds = {**result.timings, "all": sum(result.timings.values())}
    columns = {"stage": seconds, "wall time [s]": [f"{value:.2f}" for value in seconds.values()]}
    return Section(title="Timings", tables=(Table.of(columns),))
