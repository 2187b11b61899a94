"""The page of a whole study."""

from typing import TYPE_CHECKING

from robotid_sim.pipeline.contacts import contact_notes
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
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.pipeline.result import StudyResult, TrajectoryResult
    from robotid_sim.pipeline.study import Study


def study_report(study: "Study", command: str) -> Page:
    """Return the page of a whole study; `command` does it again."""
    result, fit = study.result, study.fit
    recipe = Recipe(
        command=command, seed=result.seed, settings=study.setup.settings, versions=result.versions
    )
    gap = None if study.loop is None else study.loop.gap_left(study.plant.joint_units)
    return Page(
        title=f"Identification of {result.robot.name}",
        finding=finding(result, fit.chosen, fit.basis, gap),
        passed=result.verdict.passed,
        facts=_facts(result, gap),
        sections=(
            *_study_sections(study),
            *_tried_sections(study, recipe),
            *([] if study.loop is None else [loop_section(study.loop, study.plant)]),
            *in_other_tools(fit.lift),
            *closing(study.plant, result.assumptions, "true", recipe, _timings(result)),
        ),
        replay=_replay(study),
    )


def _replay(study: "Study") -> Replay:
    plant, std = study.plant, study.fit.chosen.noise_std
    motions = [trajectory_motion(study.nominal, study.trajectory)]
    for name, part in ((LOG, study.fitted), (UNSEEN, study.predicted)):
        identified = None if part.predicted is None else part.predicted[0]
        motions.append(log_motion(plant, part.log, name, identified, std))
    if study.loop is not None:
        motions += loop_motions(plant, study.loop)
    return Replay(plant, tuple(motions))


def _study_sections(study: "Study") -> list[Section]:
    result, fit, nominal = study.result, study.fit, study.nominal
    basis, path = fit.basis, result.trajectory
    compared = result.preprocessing.compared
    filters = [filter_table(compared, result.measurement.torque_noise_std)] if compared else []
    convergence = design_convergence(study.designs.designs, path.criterion)
    return [
        Section(title="Verdict", tables=(check_table(result.verdict.checks),)),
        excitation_section(
            study.trajectory,
            nominal,
            study.quality,
            [
                ("family", f"{path.family}, {path.duration_s:g} s"),
                ("criterion", path.criterion),
                ("largest share of the torque limits, true", _true_torque(path)),
            ],
            contact_notes(result.contacts),
            () if convergence is None else (convergence,),
            robot_picture(nominal, study.trajectory),
        ),
        in_motion(preprocessing_section(study.fitted, study.log, *filters), LOG),
        parameters_section(
            fit.chosen,
            basis,
            (scored_table(result), joint_table(result)),
            basis.of(nominal.parameters()),
            true=basis.of(study.plant.parameters()),
            bound=study.cramer_rao_std,
            intervals=study.assessment.intervals,
            models={**study.assessment.models, "true": study.plant},
        ),
        *diagnosis_section(study.diagnosis),
        *trust_section(study.assessment),
    ]


def _tried_sections(study: "Study", recipe: Recipe) -> list[Section]:
    """Return fit, friction, prediction and another fit; nothing of a fit that failed."""
    std, fitted, unseen = study.fit.chosen.noise_std, study.fitted, study.predicted
    if fitted.predicted is None or unseen.predicted is None:
        return []
    return [
        in_motion(prediction_section(*fitted.predicted, std, "fitted", study.log.period), LOG),
        friction_section(study.assessment),
        in_motion(prediction_section(*unseen.predicted, std, "unseen"), UNSEEN),
        *what_if_section(study.refit, recipe),
    ]


def _true_torque(path: "TrajectoryResult") -> str:
    """Return the largest share of a torque limit under the true model, and if it is too much."""
    share = percent(path.max_torque_ratio_true)
    if (path.max_torque_ratio_true or 0.0) > 1.0:
        return f"{share}: more than the limit, which the nominal model did not foresee"
    return share


def _facts(result: "StudyResult", gap: float | None) -> tuple[tuple[str, str], ...]:
    chosen = result.chosen_estimate
    worst = max(model_errors(chosen), default=None)
    return (
        ("joints", str(result.robot.dof)),
        ("base parameters", str(len(chosen.base_parameters))),
        ("model error, worst joint", percent(worst, 2)),
        (f"NEES of WLS, {nees_band(result)}", number(nees_of(result), 3)),
        *([] if gap is None else [("tracking gap closed", percent(1.0 - gap))]),
    )


def _timings(result: "StudyResult") -> Section:
    seconds = {**result.timings, "all": sum(result.timings.values())}
    columns = {"stage": seconds, "wall time [s]": [f"{value:.2f}" for value in seconds.values()]}
    return Section(title="Timings", tables=(Table.of(columns),))
