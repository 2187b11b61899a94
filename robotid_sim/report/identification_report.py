"""The page of an identification from logs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.report.closing import Recipe, closing, in_other_tools
from robotid_sim.report.diagnosis_section import diagnosis_section
from robotid_sim.report.finding import limits_of_noise
from robotid_sim.report.page import Page
from robotid_sim.report.prediction_report import log_prediction_sections
from robotid_sim.report.replay.motions import LOG, Replay, in_motion, log_motion
from robotid_sim.report.sections import (
    friction_section,
    next_motion_section,
    parameters_section,
    prediction_section,
    preprocessing_section,
)
from robotid_sim.report.tables import residual_table
from robotid_sim.report.trust_section import trust_section
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.section import Section, number, percent
from robotid_sim.validation.prediction import over_measured, rms

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis
    from robotid_sim.pipeline.assess import Assessment

NAMED = 2
"""Causes that are named at the top of a page."""


def identification_report(assessment: "Assessment", recipe: Recipe) -> Page:
    """Return the page of an identification; like the fit, it does not look at any truth."""
    fit, nominal = assessment.fit, assessment.nominal
    chosen, basis = fit.chosen, fit.basis
    count, names = len(assessment.parts), _names(assessment)
    sections = _sections(assessment)
    sections += what_if_section(assessment.refit, recipe)
    if fit.held_out is not None:
        lacks = fit.discrepancy.lacks
        predicted = fit.held_out.prediction
        sections += log_prediction_sections(predicted, chosen, lacks, " of data held out")
    sentence = f"The fit failed: {chosen.message}."
    if chosen.success:
        left = over_measured(chosen.torque_rms, rms(fit.problem.by_joint(fit.problem.y)))
        worst = float(np.nanmax(left))
        beside = ", beside what the model lacks" if fit.discrepancy.notable else ""
        sentence = f"The fit leaves at most {percent(worst)} of the RMS torque of a joint{beside}; "
        sentence += f"{limits_of_noise(chosen, basis)}."
    sentence += causes_in_short([found for found in assessment.diagnoses if found is not None])
    motions = [
        log_motion(
            nominal,
            part.log,
            name,
            None if part.predicted is None else part.predicted[0],
            chosen.noise_std,
        )
        for name, part in zip(names, assessment.parts, strict=True)
    ]
    return Page(
        title=f"Identification of {nominal.name} from "
        + ("a log" if count == 1 else f"{count} logs"),
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
        replay=Replay(nominal, tuple(motions)),
    )


def _names(assessment: "Assessment") -> list[str]:
    """Return the names of the motions of the logs."""
    count = len(assessment.parts)
    return [LOG] if count == 1 else [f"{LOG} {k}" for k in range(1, count + 1)]


def _tied(section: Section, name: str) -> Section:
    """Return a section of a log tied to its motion, the names of its charts unique."""
    number = name.removeprefix(LOG).strip()
    charts = (replace(c, name=f"{c.name}-{number}") if number else c for c in section.charts)
    return in_motion(replace(section, charts=tuple(charts)), name)


def causes_in_short(diagnoses: "Sequence[Diagnosis]") -> str:
    """Return what is wrong for the top of a page, empty if nothing is."""
    causes = list(dict.fromkeys(c.sentence for found in diagnoses for c in found.causes))
    if not causes:
        return ""
    more = f" And {len(causes) - NAMED} more." if len(causes) > NAMED else ""
    return f" Something is wrong, see Diagnosis. {' '.join(causes[:NAMED])}{more}"


def _sections(assessment: "Assessment") -> list[Section]:
    fit, nominal = assessment.fit, assessment.nominal
    chosen, basis = fit.chosen, fit.basis
    parts = list(zip(_names(assessment), assessment.parts, strict=True))
    sections = [_tied(preprocessing_section(part, part.log), name) for name, part in parts]
    sections += [
        parameters_section(
            chosen,
            basis,
            (residual_table(fit.estimates, nominal.joint_units),),
            basis.of(nominal.parameters()),
            intervals=assessment.intervals,
            models=assessment.models,
        )
    ]
    for diagnosis in assessment.diagnoses:
        sections += diagnosis_section(diagnosis)
    sections += trust_section(assessment)
    for name, part in parts:
        if part.predicted is None:
            continue
        section = prediction_section(*part.predicted, chosen.noise_std, "fitted", part.log.period)
        text = "Measured and fitted torque of the log itself; try the estimate on another log "
        sections.append(_tied(replace(section, text=text + "with `robotid predict`."), name))
    if chosen.success:
        sections += [friction_section(assessment), next_motion_section(assessment)]
    return sections
