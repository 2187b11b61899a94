"""Page and text of a comparison of estimates and studies, and of a certificate.

A certificate validates models that are identified in one engine in the other engine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.arrays import relative_std
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.certificate import Certificate
from robotid_sim.pipeline.compare import EstimateComparison, make_tracking_rows
from robotid_sim.pipeline.engine_comparison import engine_title
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.report.figures.excitation import MOTION_NAME
from robotid_sim.report.figures.parameters import differences, plot_pooled_differences
from robotid_sim.report.loop_section import MILLI_FACTOR
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, logs_motion
from robotid_sim.report.sections import Recipe, make_closing_sections
from robotid_sim.report.tables import check_number, check_table, number_within
from robotid_sim.report.text import Text
from robotid_sim.section import Section, number, percent, unit_text
from robotid_sim.table import Table
from robotid_sim.validation.agreement import (
    CONFIDENCE_LEVEL,
    FALSE_ALARM_RATE,
    Agreement,
    ComparedEstimate,
    Difference,
)
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.sources import visible_magnification

MAX_ROWS = 8
"""Largest number of parameters of a pair in a table."""

NEAREST_COUNT = 3
"""Number of parameters in a table of a pair that agrees."""


def comparison_report(comparison: EstimateComparison, command: str) -> Page:
    """Build the page of a comparison; `command` reproduces it."""
    agreement, estimates = comparison.agreement, comparison.estimates
    shares = [pair.share_within for pair in agreement.pairs]
    sections = []
    if predictions := prediction_table(comparison.results):
        text = "Residual and noise-free model error on the validation motion of each study, over "
        text += "its RMS torque."
        sections.append(Section(title="Prediction", text=text, tables=(predictions,)))
    if tracking := make_tracking_table(comparison.results):
        sections.append(Section(title="Closed loop", tables=(tracking,)))
    # The only pair is shown, and of several pairs those that differ.
    several, differing = len(agreement.pairs) > 1, []
    for k, pair in enumerate(agreement.pairs, 1):
        if several and pair.is_agreement:
            continue
        chart, title = differences(pair), "Differences"
        if several:
            chart, title = replace(chart, name=f"{chart.name}-{k}"), f"{title} of pair {k}"
        differing.append(Section(title=title, charts=(chart,), tables=(difference_table(pair),)))
    return Page(
        title=f"Comparison of {len(estimates)} estimates",
        finding=f"{agreement.agreement_text[0].upper()}{agreement.agreement_text[1:]}.",
        passed=agreement.is_agreement,
        facts=(
            ("base parameters", str(len(agreement.pairs[0].names))),
            ("false alarms", percent(agreement.false_alarm)),
            ("parameters within intervals, worst pair", percent(min(shares))),
        ),
        sections=(
            Section(title="Agreement", tables=(pair_table(agreement),), notes=comparison.notes),
            *differing,
            Section(title="Parameters", tables=(parameters_table(estimates),)),
            *sections,
            Section(title="Reproduce", code=command),
        ),
    )


def parameters_table(estimates: Sequence[ComparedEstimate]) -> Table:
    """Tabulate every parameter of all estimates, with half of its 95 % interval."""
    first = estimates[0]
    columns = {
        "parameter": list(first.estimate.names),
        "grouping": list(first.groupings),
        "unit": [unit_text(unit) for unit in first.estimate.units],
    }
    for each in estimates:
        values = zip(each.estimate.beta, each.estimate.std, each.half_width, strict=True)
        columns[each.label] = [
            f"{number_within(float(value), float(std))} ± {number(float(half), 2)}"
            for value, std, half in values
        ]
    return Table.from_columns(columns, "estimate ± half of its 95 % interval", text_columns=3)


def prediction_table(results: Mapping[str, StudyResult]) -> Table | None:
    """Compare prediction errors on validation motions by joint; None without validation."""
    validations = {name: result.selected_estimate.validation for name, result in results.items()}
    available = {name: value for name, value in validations.items() if value is not None}
    if not available:
        return None
    columns = {"joint": list(next(iter(results.values())).robot.joint_names)}
    for name, value in available.items():
        columns[f"residual, {name}"] = [percent(v) for v in value.torque_rms_relative]
    for name, value in available.items():
        columns[f"model error, {name}"] = [percent(v) for v in value.model_error_relative]
    return Table.from_columns(columns, "validation motion, over the RMS torque")


def make_tracking_table(results: Mapping[str, StudyResult]) -> Table | None:
    """Compare tracking errors of the identified models by case; None without closed loops."""
    rows = {name: make_tracking_rows(result) for name, result in results.items() if result.control}
    if not rows:
        return None
    values = {
        name: {(row.case, key): v for row in of_run for key, v in row.values.items()}
        for name, of_run in rows.items()
    }
    cases = list(dict.fromkeys(key for of_run in values.values() for key in of_run))
    columns = {
        "task": [case.task for case, _ in cases],
        "scenario": [case.scenario for case, _ in cases],
        "controller": [case.controller for case, _ in cases],
        "unit": [f"m{unit}" for _, unit in cases],
    }
    for name, of_run in values.items():
        shown = [of_run.get(key) for key in cases]
        columns[name] = ["-" if v is None else number(MILLI_FACTOR * v.mean) for v in shown]
    return Table.from_columns(columns, "RMS tracking error of the identified model", text_columns=4)


def compare_text(comparison: EstimateComparison) -> Iterator[Text]:
    """Report pairs, differences, notes and the results of the studies."""
    agreement, sources = comparison.agreement, comparison.sources
    pairs = agreement.pairs
    yield f"{len(sources)} estimates of {len(pairs[0].names)} base parameters"
    yield ""
    yield pair_table(agreement)
    shown = pairs if len(pairs) == 1 else [pair for pair in pairs if not pair.is_agreement]
    for pair in shown:
        yield ""
        yield difference_table(pair)
    yield ""
    yield f"{agreement.agreement_text} (false alarms: {agreement.false_alarm:.0%})"
    yield from comparison.notes
    for source in sources:
        if source.context.get("warning"):
            yield f"WARNING: {source.label}: {source.context['warning']}"
    for table in (prediction_table(comparison.results), make_tracking_table(comparison.results)):
        if table is not None:
            yield ""
            yield table


def pair_table(agreement: Agreement) -> Table:
    """Tabulate all pairs, each with the joint test of all parameters."""
    pairs = agreement.pairs
    return Table.from_columns(
        {
            "first": [pair.labels[0] for pair in pairs],
            "second": [pair.labels[1] for pair in pairs],
            "chi² / parameters": [number(pair.chi_squared / pair.rank, 3) for pair in pairs],
            "p": [number(pair.p_value, 2) for pair in pairs],
            f"within {CONFIDENCE_LEVEL:.0%}": [percent(pair.share_within) for pair in pairs],
            "differ": [str(int(pair.differs.sum())) for pair in pairs],
        },
        text_columns=2,
    )


def difference_table(pair: Difference) -> Table:
    """Tabulate the parameters that differ, or those closest to it; [%] is of the first estimate."""
    count = min(int(pair.differs.sum()) or NEAREST_COUNT, MAX_ROWS)
    rows, half = pair.strongest_first[:count], pair.half_width
    share = relative_std(pair.reference, pair.values)
    selection = "parameters that differ, largest z first"
    if not pair.differs.any():
        selection = "no single parameter differs; largest z first"

    def text(k: int, value: float) -> str:
        return number_within(float(value), float(pair.std[k]))

    return Table.from_columns(
        {
            "parameter": [pair.names[k] for k in rows],
            "grouping": [pair.groupings[k] for k in rows],
            "unit": [unit_text(pair.units[k]) for k in rows],
            "difference": [text(k, pair.values[k]) for k in rows],
            f"{CONFIDENCE_LEVEL:.0%} interval": [
                f"{text(k, pair.values[k] - half[k])} … {text(k, pair.values[k] + half[k])}"
                for k in rows
            ],
            "[%]": [number(100.0 * float(share[k]), 3) for k in rows],
            "z": [number(float(pair.z[k]), 3) for k in rows],
        },
        f"{pair.labels[1]} minus {pair.labels[0]}: {selection}",
        text_columns=3,
    )


SHARED_ERRORS_TEXT = (
    "The engines differ in rigid-body dynamics and integration. Friction, rotors, drives, control "
    "loop and sensors are the same code of robotid_sim in both; the certificate does not detect "
    "their errors."
)
"""Limit of the certificate."""


def certificate_report(certificate: Certificate, plant: Robot, recipe: Recipe) -> Page:
    """Build the page of a certificate."""
    first, replay = certificate.engine_comparisons[0], None
    pairs = [pair for pair in certificate.validations if pair.has_other_engine]
    error = reduce_values([pair.worst_error for pair in pairs])
    gap = reduce_values([pair.remaining_gap for pair in pairs])
    count = len(certificate.engine_comparisons)
    studies = "The study has" if count == 1 else f"Each of the {count} studies has"
    if first.excitation is not None:  # in one engine, with the magnified difference of the other
        logs = first.excitation.items()
        runs = [Animation.from_log(plant, log, engine_title(name)) for name, log in logs]
        motion = logs_motion(runs)
        magnification = visible_magnification(plant, [arm.difference for arm in motion.ghosts])
        replay = Replay(plant, (replace(motion, name=MOTION_NAME, magnification=magnification),))
    return Page(
        title=f"Certificate of {certificate.robot} in two engines",
        finding=certificate_finding(certificate),
        passed=certificate.verdict.passed,
        facts=(
            ("engines", ", ".join(engine_title(name) for name in certificate.engines)),
            ("seeds", str(count)),
            ("model error in the other engine", percent(error, 2)),
            *([] if gap is None else [("tracking gap closed in it", percent(1.0 - gap))]),
            ("differences within their intervals", percent(certificate.share_within)),
        ),
        sections=(
            Section(title="Verdict", tables=(check_table(certificate.verdict.checks),)),
            Section(
                title="Cross-engine validation",
                text=f"{studies} one excitation, designed with the nominal model; it runs in every "
                "engine with independent sensor noise. Each log is identified alone; its model is "
                "validated on the validation motion and in the closed loop of every engine.",
                tables=(cross_validation_table(certificate),),
            ),
            *_differences(certificate),
            *make_closing_sections(plant, (*first.assumptions, SHARED_ERRORS_TEXT), "true", recipe),
        ),
        replay=replay,
    )


def certificate_finding(certificate: Certificate) -> str:
    """Summarize a certificate in one sentence."""
    pairs = [pair for pair in certificate.validations if pair.has_other_engine]
    error = reduce_values([pair.worst_error for pair in pairs])
    gap = reduce_values([pair.remaining_gap for pair in pairs])
    parts = [f"predict its validation torques within {percent(error, 2)}"]
    if gap is not None:
        parts.append(f"close {percent(1.0 - gap)} of its tracking gap")
    failed = [check for check in certificate.verdict.checks if not check.passed]
    text = f"In the other engine the identified models {' and '.join(parts)} or better"
    if failed:
        first = failed[0]
        return f"Failed: {first.name} is {check_number(first, first.value)}. {text}."
    return (
        f"{text}; {percent(certificate.share_within)} of the differences between the engines' "
        "estimates are within their intervals."
    )


def cross_validation_table(certificate: Certificate) -> Table:
    """Tabulate errors and gaps by engine of identification and validation, over all seeds."""
    cells = [
        [
            p
            for p in certificate.validations
            if (p.identified_in, p.validated_in) == (source, target)
        ]
        for source in certificate.engines
        for target in certificate.engines
    ]
    columns = {
        "identified in": [engine_title(validations[0].identified_in) for validations in cells],
        "validated in": [engine_title(validations[0].validated_in) for validations in cells],
    }
    several = len(certificate.engine_comparisons) > 1
    errors = [[validation.worst_error for validation in validations] for validations in cells]
    gaps = [[validation.remaining_gap for validation in validations] for validations in cells]
    for name, values in (("model error", errors), ("remaining tracking gap", gaps)):
        if several:
            columns[f"{name}, median"] = [percent(reduce_values(v, np.median)) for v in values]
        columns[f"{name}, worst" if several else name] = [percent(reduce_values(v)) for v in values]
    title = "Validation motion (model error: worst joint) and laps in the closed loop"
    return Table.from_columns(columns, title, text_columns=2)


def reduce_values(
    values: Sequence[float | None], statistic: Callable[[list[float]], Any] = max
) -> float | None:
    """Return the largest value or another statistic, None if a value is missing."""
    numbers = [value for value in values if value is not None]
    return float(statistic(numbers)) if len(numbers) == len(values) else None


def _differences(certificate: Certificate) -> tuple[Section, ...]:
    """Build the section on differences of the estimates; empty without differences."""
    pairs = certificate.differences
    if not pairs:
        return ()
    first, several = pairs[0], len(pairs) > 1
    text = (
        "The compared estimates are unconstrained: the difference d of two estimates of one robot "
        "has the covariance C = C₁ + C₂, and dᵀ C⁻¹ d over the number of parameters is about 1."
    )
    checks = certificate.verdict.checks
    band = next((check for check in checks if check.name == "estimates_agree_jointly"), None)
    if band is None:
        text += " The covariances follow from too few residuals for a test."
    else:
        total, directions = sum(p.chi_squared for p in pairs), sum(p.rank for p in pairs)
        text += (
            f" Here it is {number(total, 4)} for {directions} parameters, "
            f"{number(band.value, 3)} each; between {number(band.lower, 3)} and "
            f"{number(band.limit, 3)} the estimates agree."
        )
    if several:
        text += f" Figure and table are of seed {certificate.engine_comparisons[0].seed}."
    return (
        Section(
            title="Difference of the estimates",
            text=text,
            charts=(differences(first), *((plot_pooled_differences(pairs),) if several else ())),
            tables=(pair_table(Agreement((first,), FALSE_ALARM_RATE)), difference_table(first)),
        ),
    )


def certify_text(certificate: Certificate) -> Iterator[Text]:
    """Report the validations, the checks and the verdict."""
    seeds = [crossing.seed for crossing in certificate.engine_comparisons]
    seed_text = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    yield f"{certificate.robot}: {seed_text}"
    yield ""
    yield cross_validation_table(certificate)
    yield ""
    yield check_table(certificate.verdict.checks)
    yield ""
    yield certificate_finding(certificate)
    yield f"verdict: {'PASSED' if certificate.verdict.passed else 'FAILED'}"
