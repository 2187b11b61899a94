"""The report of an identification from one log."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.report.closing import Recipe, closing, in_other_tools
from robotid_sim.report.diagnosis_section import diagnosis_section
from robotid_sim.report.finding import limits_of_noise
from robotid_sim.report.page import Page
from robotid_sim.report.prediction_report import log_prediction_sections
from robotid_sim.report.sections import (
    friction_section,
    next_motion_section,
    parameters_section,
    prediction_section,
    preprocessing_section,
)
from robotid_sim.report.tables import residual_table
from robotid_sim.report.trust_section import trust_section
from robotid_sim.report.what_if import what_if_section
from robotid_sim.section import Section, number, percent
from robotid_sim.study.stages import Identification, diagnosed, intervals_of
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import LogPrediction
from robotid_sim.validation.prediction import over_measured, predictions, rms

NAMED = 2
"""Causes that are named at the top of a page."""


def identification_report(
    nominal: Robot,
    logs: Sequence[Log],
    fit: Identification,
    recipe: Recipe,
    predicted: LogPrediction | None = None,
) -> Page:
    """Return the report of an identification; like the stage, it does not look at any truth.

    `predicted` is what the fit predicts of data that were held out of it.
    """
    chosen, basis = fit.chosen, fit.basis
    with one_blas_thread():
        seen = [replace(log, truth=None) for log in logs]
        diagnoses = [diagnosed(log, fit) for log in seen]
        sections = _sections(nominal, seen, fit, diagnoses, recipe)
    if predicted is not None:
        lacks = fit.discrepancy.lacks
        sections += log_prediction_sections(predicted, chosen, lacks, " of data held out")
    sentence = f"The fit failed: {chosen.message}."
    if chosen.success:
        left = over_measured(chosen.torque_rms, rms(fit.problem.by_joint(fit.problem.y)))
        worst = float(np.nanmax(left))
        sentence = f"The fit leaves at most {percent(worst)} of the RMS torque of a joint; "
        sentence += f"{limits_of_noise(chosen, basis)}."
    sentence += causes_in_short([found for found in diagnoses if found is not None])
    return Page(
        title=f"Identification of {nominal.name} from " + _count(logs),
        finding=sentence,
        passed=None if chosen.success else False,
        facts=(
            ("rows", str(chosen.rows)),
            ("base parameters", str(len(chosen.names))),
            ("condition number", number(chosen.cond, 3)),
            ("identified robot", "none" if fit.lift is None else fit.lift.message),
        ),
        sections=(
            *sections,
            *in_other_tools(fit.lift),
            *closing(nominal, nominal.assumptions, "nominal", recipe),
        ),
    )


def _count(logs: Sequence[Log]) -> str:
    return "a log" if len(logs) == 1 else f"{len(logs)} logs"


def causes_in_short(diagnoses: Sequence[Diagnosis]) -> str:
    """Return what is wrong for the top of a page, empty if nothing is."""
    causes = list(dict.fromkeys(c.sentence for found in diagnoses for c in found.causes))
    if not causes:
        return ""
    more = f" And {len(causes) - NAMED} more." if len(causes) > NAMED else ""
    return f" Something is wrong, see Diagnosis. {' '.join(causes[:NAMED])}{more}"


def _sections(
    nominal: Robot,
    logs: Sequence[Log],
    fit: Identification,
    diagnoses: Sequence[Diagnosis | None],
    recipe: Recipe,
) -> list[Section]:
    chosen, basis, intervals = fit.chosen, fit.basis, intervals_of(fit)
    models = {"nominal": nominal} | ({} if fit.lift is None else {"identified": fit.lift.robot})
    pairs = list(zip(fit.preprocessors, logs, strict=False))
    sections = [preprocessing_section(use, log, nominal) for use, log in pairs]
    sections += [
        parameters_section(
            chosen,
            basis,
            (residual_table(fit.estimates, nominal.joint_units),),
            basis.of(nominal.parameters()),
            intervals=intervals,
            models=models,
        )
    ]
    for diagnosis in diagnoses:
        sections += diagnosis_section(diagnosis)
    sections += trust_section(fit, intervals)
    for preprocessor, log in pairs if chosen.success else ():
        pair = predictions(chosen.beta, log, nominal, basis, preprocessor)
        section = prediction_section(*pair, chosen.noise_std, "fitted")
        text = "Measured and fitted torque of the log itself; try the estimate on another log "
        sections.append(replace(section, text=text + "with `robotid predict`."))
    if chosen.success:
        sections += [friction_section(fit, logs), *what_if_section(fit, recipe)]
        sections.append(next_motion_section(fit))
    return sections
