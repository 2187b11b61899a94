"""Page and text of an identification from logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import rms
from robotid_sim.model.perturb import unlikely_masses
from robotid_sim.report.finding import limits_of_noise, trust_section
from robotid_sim.report.page import Page
from robotid_sim.report.prediction_report import (
    explain_columns,
    log_prediction_sections,
    log_prediction_table,
    remarks,
)
from robotid_sim.report.replay.motions import LOG, Replay, log_motion, tie_to_motion
from robotid_sim.report.sections import (
    Recipe,
    bodies_section,
    diagnosis_section,
    friction_section,
    make_closing_sections,
    make_export_sections,
    make_preprocessing_section,
    next_steps_section,
    parameters_section,
    prediction_section,
)
from robotid_sim.report.tables import (
    number_within,
    parameter_table,
    residual_table,
    tabulate_unmodeled,
    terms_table,
)
from robotid_sim.report.text import Text, log_reading_text
from robotid_sim.report.what_if_section import what_if_section
from robotid_sim.section import Section, fold, number, percent, torque_unit, unit_text
from robotid_sim.table import Table
from robotid_sim.validation.prediction import scale_by_measured

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis
    from robotid_sim.estimation.problem import LinearProblem
    from robotid_sim.importing.reading import Logs
    from robotid_sim.measurement.long_log import LongLog
    from robotid_sim.pipeline.assess import Assessment

MAX_NAMED_CAUSES = 2
"""Largest number of causes that are named at the top of a page."""

MIN_FITTED_SHARE = 0.9
"""Smallest share of a long log in a fit of all samples; edges of the parts are excluded."""


def identification_report(assessment: Assessment, recipe: Recipe) -> Page:
    """Build the page of an identification; like the fit, it ignores `log.truth`."""
    fit, nominal = assessment.fit, assessment.nominal
    chosen, basis = fit.chosen, fit.basis
    count, names = len(assessment.parts), _names(assessment)
    first: list[Section] = [] if fit.consistent_robot is None else [bodies_section(fit)]
    if fit.held_out is not None:
        unmodeled = fit.discrepancy.unmodeled
        predicted = fit.held_out.prediction
        first += log_prediction_sections(predicted, chosen, unmodeled, " of held-out data")
    first.append(next_steps_section(assessment))
    folded = [section for each in assessment.diagnoses for section in diagnosis_section(each)]
    folded += [*_sections(assessment), *what_if_section(assessment.refit, recipe)]
    sentence = f"The fit failed: {chosen.message}."
    if chosen.success:
        shares = scale_by_measured(chosen.torque_rms, rms(fit.problem.unstack_rows(fit.problem.y)))
        worst = float(np.nanmax(shares))
        excluded = " without the unmodeled torque" if fit.discrepancy.significant else ""
        sentence = (
            f"The residual is at most {percent(worst)} of the RMS torque of a joint{excluded}; "
        )
        sentence += f"{limits_of_noise(chosen, basis)}."
    sentence += summarize_causes([each for each in assessment.diagnoses if each is not None])
    motions = [
        log_motion(
            nominal,
            part.log,
            name,
            None if part.predictions is None else part.predictions[0],
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
            (
                "identified robot",
                "none" if fit.consistent_robot is None else fit.consistent_robot.message,
            ),
        ),
        sections=(
            *first,
            *map(fold, folded),
            *map(fold, make_export_sections(fit.consistent_robot)),
            *map(fold, make_closing_sections(nominal, nominal.assumptions, "nominal", recipe)),
        ),
        replay=Replay(nominal, tuple(motions)),
    )


def _names(assessment: Assessment) -> list[str]:
    """Name the motions of the logs."""
    count = len(assessment.parts)
    return [LOG] if count == 1 else [f"{LOG} {k}" for k in range(1, count + 1)]


def _tie_charts(section: Section, name: str) -> Section:
    """Link the section of a log to its motion and make the names of its charts unique."""
    number = name.removeprefix(LOG).strip()
    charts = (replace(c, name=f"{c.name}-{number}") if number else c for c in section.charts)
    return tie_to_motion(replace(section, charts=tuple(charts)), name)


def summarize_causes(diagnoses: Sequence[Diagnosis]) -> str:
    """Summarize the faults for the top of a page; empty without faults."""
    causes = list(dict.fromkeys(c.sentence for diagnosis in diagnoses for c in diagnosis.causes))
    if not causes:
        return ""
    more = f" {len(causes) - MAX_NAMED_CAUSES} more." if len(causes) > MAX_NAMED_CAUSES else ""
    return f" Faults were found; see What to do next. {' '.join(causes[:MAX_NAMED_CAUSES])}{more}"


def _sections(assessment: Assessment) -> list[Section]:
    fit, nominal = assessment.fit, assessment.nominal
    chosen, basis = fit.chosen, fit.basis
    parts = list(zip(_names(assessment), assessment.parts, strict=True))
    sections = [
        _tie_charts(make_preprocessing_section(part, part.log), name) for name, part in parts
    ]
    sections += [
        parameters_section(
            chosen,
            basis,
            (residual_table(fit.estimates, nominal.joint_units),),
            basis.project(nominal.parameters()),
            intervals=assessment.intervals,
        )
    ]
    sections += trust_section(assessment)
    for name, part in parts:
        if part.predictions is None:
            continue
        section = prediction_section(*part.predictions, chosen.noise_std, "fitted", part.log.period)
        text = "Measured and fitted torque of the log itself; test the estimate with another log "
        sections.append(_tie_charts(replace(section, text=text + "by `robotid predict`."), name))
    if chosen.success:
        sections.append(friction_section(assessment))
    return sections


MAX_CHANGED_PARAMETERS = 5
"""Number of listed parameters with the largest change from the nominal model."""


def identify_text(assessment: Assessment, logs: Logs) -> Iterator[Text]:
    """Report the reading of logs, residuals, changed parameters and the next step."""
    fit = assessment.fit
    chosen = fit.chosen
    yield from log_reading_text(fit.notes)
    if logs.long is not None:
        yield _describe_parts(logs.long, fit.problem_without_terms)
    yield (
        f"{fit.nominal.name}: {len(chosen.names)} base parameters by '{chosen.estimator}' from "
        f"{chosen.rows} rows"
    )
    yield from filter(None, (preprocessor.message for preprocessor in fit.preprocessors))
    if not chosen.success:
        yield f"FAILED: {chosen.estimator}: {chosen.message}"
        yield "run `robotid diagnose` to find the parameters that the log does not excite"
        return
    if not fit.problem_without_terms.measured_joints.all():
        yield assessment.remarks[0]
    yield _joint_table(assessment)
    changed = _most_changed(assessment)
    if changed is not None:
        yield changed
    if fit.structure.terms:
        terms = (f"{each.term.kind} ({each.term.joint})" for each in fit.structure.terms)
        yield f"terms chosen: {', '.join(terms)}"
    if fit.discrepancy.significant:
        quantities: dict[str, list[str]] = {}
        for function in fit.discrepancy.significant:
            quantities.setdefault(function.joint, []).append(function.quantity)
        functions = (f"{joint} ({', '.join(names)})" for joint, names in quantities.items())
        yield f"unmodeled torque as a function of: {', '.join(functions)}"
    if fit.consistent_robot is not None:
        unlikely = unlikely_masses(fit.consistent_robot.robot, fit.nominal)
        yield f"identified robot: {fit.consistent_robot.message}"
        if unlikely:
            yield f"  unlikely: {'; '.join(unlikely)}"
    if fit.warning:
        yield f"WARNING: {fit.warning}"
    elif fit.discrepancy.significant:
        yield "next: run `robotid diagnose` to find the causes of the unmodeled torque"
    else:
        least = ", ".join(assessment.least_known)
        yield f"next: `robotid design --prior LOG` to identify {least} better"


def _joint_table(assessment: Assessment) -> Table:
    """Tabulate the residuals of the fit and the prediction errors of held-out data."""
    fit = assessment.fit
    chosen, units = fit.chosen, map(torque_unit, fit.nominal.joint_units)
    of_torque = scale_by_measured(chosen.torque_rms, rms(fit.problem.unstack_rows(fit.problem.y)))
    columns: dict[str, Iterable[str]] = {
        "joint": chosen.joint_names,
        "fit residual": [
            f"{number(value, 3)} {unit}"
            for value, unit in zip(chosen.torque_rms, units, strict=True)
        ],
        "of RMS torque": map(percent, of_torque),
    }
    if fit.held_out is not None:
        predicted = fit.held_out.prediction
        columns |= {
            "hold-out": map(percent, predicted.error),
            "nominal model": map(percent, predicted.nominal.torque_rms_relative),
        }
    return Table.from_columns(columns)


def _most_changed(assessment: Assessment) -> Table | None:
    """Tabulate the largest changes from the nominal model, in standard deviations."""
    fit, intervals = assessment.fit, assessment.intervals
    if intervals is None:
        return None
    nominal = fit.basis.project(fit.nominal.parameters())
    away = np.abs(intervals.values - nominal) / intervals.std
    order = np.argsort(-away, kind="stable")[:MAX_CHANGED_PARAMETERS]
    rows = []
    for k in order.tolist():
        ends = (intervals.values[k], intervals.lower[k], intervals.upper[k], nominal[k])
        value, lower, upper, before = (number_within(x, intervals.std[k]) for x in ends)
        unit = unit_text(intervals.units[k])
        rows.append((intervals.names[k], f"{value} {unit}", f"{lower} … {upper}", before))
    columns = ("largest change", "value", "95 % interval", "nominal")
    return Table(columns, tuple(rows))


def _describe_parts(log: LongLog, rows: LinearProblem) -> str:
    """Explain how the parts of a long log are used."""
    reading = (
        f"The log has {log.samples} samples and is read in parts. The first {log.head.t.size} "
        "determine the smoothing and are shown on pages. Unmodeled torque is estimated from "
        "excerpts"
    )
    share = rows.samples * rows.dt / (log.samples * log.dt)
    if share < MIN_FITTED_SHARE:
        return (
            f"{reading}, {share:.2g} of the log. The fit uses them, too: there is unmodeled torque."
        )
    return f"{reading}; the fit uses all samples."


def identify_details(assessment: Assessment) -> Iterator[Text]:
    """Report the estimates, the unmodeled torque and the prediction, with remarks."""
    fit = assessment.fit
    chosen, nominal = fit.chosen, fit.nominal
    yield ""
    yield residual_table(fit.estimates, nominal.joint_units)
    if not chosen.success:
        return
    yield ""
    yield parameter_table(chosen, fit.basis, fit.basis.project(nominal.parameters()))
    if fit.structure.terms:
        yield ""
        yield terms_table(fit.structure, nominal)
    if fit.discrepancy.significant:
        yield ""
        yield tabulate_unmodeled(fit.discrepancy, nominal)
        yield (
            "The residuals above include the unmodeled torque. `robotid diagnose` finds its "
            "causes; --terms all selects joint terms instead."
        )
    yield ""
    yield from assessment.remarks
    if fit.held_out is not None:
        predicted = fit.held_out.prediction
        yield ""
        yield f"held out ({fit.held_out.what}): {predicted.t.size} samples"
        yield log_prediction_table(predicted)
        yield from (explain_columns(predicted), *remarks(predicted, fit.discrepancy.unmodeled))
