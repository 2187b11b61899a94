"""The report of an identification from one log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identification import Identification, diagnosed, intervals_of
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.report.closing import Recipe, closing, in_other_tools
from robotid_sim.report.diagnosis_section import diagnosis_section
from robotid_sim.report.finding import limits_of_noise
from robotid_sim.report.page import Page
from robotid_sim.report.prediction_report import log_prediction_sections
from robotid_sim.report.replay.motions import LOG, Replay, ReplayMotion, in_motion, log_motion
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
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import LogPrediction
from robotid_sim.validation.prediction import Prediction, over_measured, predictions, rms

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
        parts = _fitted_logs(nominal, seen, fit)
        sections = _sections(nominal, parts, fit, diagnoses)
        sections += what_if_section(fit, recipe)
    if predicted is not None:
        lacks = fit.discrepancy.lacks
        sections += log_prediction_sections(predicted, chosen, lacks, " of data held out")
    sentence = f"The fit failed: {chosen.message}."
    if chosen.success:
        left = over_measured(chosen.torque_rms, rms(fit.problem.by_joint(fit.problem.y)))
        worst = float(np.nanmax(left))
        beside = ", beside what the model lacks" if fit.discrepancy.notable else ""
        sentence = f"The fit leaves at most {percent(worst)} of the RMS torque of a joint{beside}; "
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
        replay=Replay(nominal, tuple(part.motion(nominal, chosen) for part in parts)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _FittedLog:
    """A log of a fit, as the page shows it."""

    name: str
    """Of its motion."""
    log: Log
    preprocessor: Preprocessor
    made: Motion
    """What the preprocessor makes of the log."""
    predicted: tuple[Prediction, Prediction] | None
    """By the identified and the nominal model; None if the fit failed."""

    def motion(self, nominal: Robot, chosen: Estimate) -> ReplayMotion:
        identified = None if self.predicted is None else self.predicted[0]
        return log_motion(nominal, self.log, self.name, identified, chosen.noise_std)

    def tied(self, section: Section) -> Section:
        """Return a section of the log tied to its motion, the names of its charts unique."""
        number = self.name.removeprefix(LOG).strip()
        charts = (replace(c, name=f"{c.name}-{number}") if number else c for c in section.charts)
        return in_motion(replace(section, charts=tuple(charts)), self.name)


def _fitted_logs(nominal: Robot, logs: Sequence[Log], fit: Identification) -> list[_FittedLog]:
    names = [LOG] if len(logs) == 1 else [f"{LOG} {k}" for k in range(1, len(logs) + 1)]
    parts = []
    for name, log, preprocessor in zip(names, logs, fit.preprocessors, strict=False):
        pair, made = None, preprocessor(log, nominal)
        if fit.chosen.success:
            pair = predictions(fit.chosen.beta, log, made, nominal, fit.basis)
        parts.append(_FittedLog(name, log, preprocessor, made, pair))
    return parts


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
    parts: Sequence[_FittedLog],
    fit: Identification,
    diagnoses: Sequence[Diagnosis | None],
) -> list[Section]:
    chosen, basis, intervals = fit.chosen, fit.basis, intervals_of(fit)
    models = {"nominal": nominal} | ({} if fit.lift is None else {"identified": fit.lift.robot})
    sections = [
        part.tied(preprocessing_section(part.preprocessor, part.log, part.made, nominal))
        for part in parts
    ]
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
    for part in parts:
        if part.predicted is None:
            continue
        fitted, before = part.predicted
        section = part.tied(
            prediction_section(fitted, before, chosen.noise_std, "fitted", part.log.period)
        )
        text = "Measured and fitted torque of the log itself; try the estimate on another log "
        sections.append(replace(section, text=text + "with `robotid predict`."))
    if chosen.success:
        sections += [friction_section(fit, [part.log for part in parts]), next_motion_section(fit)]
    return sections
