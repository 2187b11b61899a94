"""A comparison of estimates, and of what studies make of them: its page, and its text.

A certificate, what either engine's model is worth in the other one: its page, and its text.
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
from robotid_sim.pipeline.result import CheckResult, StudyResult
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
"""Parameters of a pair that are shown at most."""

NEAREST_COUNT = 3
"""Parameters that are shown where none differs."""


def comparison_report(comparison: EstimateComparison, command: str) -> Page:
    """Return the page of a comparison; `command` makes it again."""
    agreement, estimates = comparison.agreement, comparison.estimates
    shares = [pair.share_within for pair in agreement.pairs]
    sections = []
    if predicted := prediction_table(comparison.results):
        text = "Residual of an unseen motion over its RMS torque, each study's own, and the error "
        text += "of the model there (without noise)."
        sections.append(Section(title="Prediction", text=text, tables=(predicted,)))
    if tracked := make_tracking_table(comparison.results):
        sections.append(Section(title="Closed loop", tables=(tracked,)))
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
            *_pair_sections(agreement.pairs),
            Section(title="Parameters", tables=(parameters_table(estimates),)),
            *sections,
            Section(title="Reproduce", code=command),
        ),
    )


def _pair_sections(pairs: Sequence[Difference]) -> list[Section]:
    """Return the differences of the one pair, or of those that differ."""
    sections = []
    for k, pair in enumerate(pairs, 1):
        if len(pairs) > 1 and pair.is_agreement:
            continue
        chart, title = differences(pair), "Differences"
        if len(pairs) > 1:
            chart, title = replace(chart, name=f"{chart.name}-{k}"), f"{title} of pair {k}"
        sections.append(Section(title=title, charts=(chart,), tables=(difference_table(pair),)))
    return sections


def parameters_table(estimates: Sequence[ComparedEstimate]) -> Table:
    """Return every parameter of all estimates, with half of its 95 % interval."""
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
    """Return what the chosen estimates predict of unseen motions, by joint; None if unknown."""
    tried = {name: result.selected_estimate.validation for name, result in results.items()}
    known = {name: value for name, value in tried.items() if value is not None}
    if not known:
        return None
    columns = {"joint": list(next(iter(results.values())).robot.joint_names)}
    for name, value in known.items():
        columns[f"residual, {name}"] = [percent(v) for v in value.torque_rms_relative]
    for name, value in known.items():
        columns[f"model error, {name}"] = [percent(v) for v in value.model_error_relative]
    return Table.from_columns(columns, "unseen motion, over the RMS torque")


def make_tracking_table(results: Mapping[str, StudyResult]) -> Table | None:
    """Return tracking errors of the identified models by case; None without closed loops."""
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
    """Return pairs, differences, what to know of them, and what the studies came to."""
    agreement, sources = comparison.agreement, comparison.sources
    pairs = agreement.pairs
    count = len(pairs[0].names)
    yield f"{len(sources)} estimates of {count} base parameters"
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
            yield f"WARNING: of {source.label}: {source.context['doubt']}"
    for table in (prediction_table(comparison.results), make_tracking_table(comparison.results)):
        if table is not None:
            yield ""
            yield table


def pair_table(agreement: Agreement) -> Table:
    """Return all pairs, each with the test of all parameters at once."""
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
    """Return the parameters that differ, or those nearest to it; [%] is of the first estimate's."""
    count = min(int(pair.differs.sum()) or NEAREST_COUNT, MAX_ROWS)
    rows, half = pair.strongest_first[:count], pair.half_width
    share = relative_std(pair.reference, pair.values)
    shown = "what differs, the strongest first"
    if not pair.differs.any():
        shown = "no parameter differs by itself, the nearest to it first"

    def within(k: int, value: float) -> str:
        return number_within(float(value), float(pair.std[k]))

    return Table.from_columns(
        {
            "parameter": [pair.names[k] for k in rows],
            "grouping": [pair.groupings[k] for k in rows],
            "unit": [unit_text(pair.units[k]) for k in rows],
            "difference": [within(k, pair.values[k]) for k in rows],
            f"{CONFIDENCE_LEVEL:.0%} interval": [
                f"{within(k, pair.values[k] - half[k])} … {within(k, pair.values[k] + half[k])}"
                for k in rows
            ],
            "[%]": [number(100.0 * float(share[k]), 3) for k in rows],
            "z": [number(float(pair.z[k]), 3) for k in rows],
        },
        f"{pair.labels[1]} minus {pair.labels[0]}: {shown}",
        text_columns=3,
    )


SHARED_ERRORS_TEXT = (
    "The engines differ in the dynamics of the bodies and in their integration. Friction, rotors, "
    "drives, the control loop and the sensors are the testbench's own and the same in both: what "
    "they do wrong no engine shows."
)
"""What the certificate cannot tell."""


def certificate_report(certificate: Certificate, plant: Robot, recipe: Recipe) -> Page:
    """Return the page of a certificate."""
    first, replay = certificate.crossings[0], None
    crossed = [proof for proof in certificate.proofs if proof.has_other_engine]
    error = worst([proof.worst_error for proof in crossed])
    gap = worst([proof.remaining_gap for proof in crossed])
    many = len(certificate.crossings)
    studies = "The study has" if many == 1 else f"Each of the {many} studies has"
    if first.excitation is not None:  # as one engine runs it, with the other beside it, magnified
        logs = first.excitation.items()
        runs = [Animation.from_log(plant, log, engine_title(name)) for name, log in logs]
        motion = logs_motion(runs)
        apart = visible_magnification(plant, [arm.difference for arm in motion.beside])
        replay = Replay(plant, (replace(motion, name=MOTION_NAME, magnification=apart),))
    return Page(
        title=f"Certificate of {certificate.robot} in two engines",
        finding=certificate_finding(certificate),
        passed=certificate.verdict.passed,
        facts=(
            ("engines", ", ".join(engine_title(name) for name in certificate.engines)),
            ("seeds", str(many)),
            ("model error in the other engine", percent(error, 2)),
            *([] if gap is None else [("tracking gap closed there", percent(1.0 - gap))]),
            ("differences in their intervals", percent(certificate.share_within)),
        ),
        sections=(
            Section(title="Verdict", tables=(check_table(certificate.verdict.checks),)),
            Section(
                title="Proofs",
                text=f"{studies} one excitation, designed with the nominal model; it runs in every "
                "engine, with sensor noise of its own. Either log is identified alone, and its "
                "model is tried on the unseen motion and on the laps of every engine.",
                tables=(proof_table(certificate),),
            ),
            *_differences(certificate),
            *make_closing_sections(plant, (*first.assumptions, SHARED_ERRORS_TEXT), "true", recipe),
        ),
        replay=replay,
    )


def certificate_finding(certificate: Certificate) -> str:
    """Return what comes out in one sentence."""
    crossed = [proof for proof in certificate.proofs if proof.has_other_engine]
    error = worst([proof.worst_error for proof in crossed])
    gap = worst([proof.remaining_gap for proof in crossed])
    parts = [f"predict its unseen torques within {percent(error, 2)}"]
    if gap is not None:
        parts.append(f"close {percent(1.0 - gap)} of its tracking gap")
    failed = [check for check in certificate.verdict.checks if not check.passed]
    text = f"In the other engine the identified models {' and '.join(parts)} or better"
    if failed:
        first = failed[0]
        return f"Failed: {first.name} is {check_number(first, first.value)}. {text}."
    return (
        f"{text}; {percent(certificate.share_within)} of the differences between the engines' "
        "estimates are in their intervals."
    )


def proof_table(certificate: Certificate) -> Table:
    """Return identified in x proved in: errors and gaps of all seeds, the median and the worst."""
    cells = [
        [p for p in certificate.proofs if (p.identified_in, p.validated_in) == (source, target)]
        for source in certificate.engines
        for target in certificate.engines
    ]
    columns = {
        "identified in": [engine_title(proofs[0].identified_in) for proofs in cells],
        "validated in": [engine_title(proofs[0].validated_in) for proofs in cells],
    }
    several = len(certificate.crossings) > 1
    errors = [[proof.worst_error for proof in proofs] for proofs in cells]
    gaps = [[proof.remaining_gap for proof in proofs] for proofs in cells]
    for name, values in (("model error", errors), ("tracking gap left", gaps)):
        if several:
            columns[f"{name}, median"] = [percent(worst(v, np.median)) for v in values]
        columns[f"{name}, worst" if several else name] = [percent(worst(v)) for v in values]
    title = "Unseen motion (model error: worst joint) and laps in the closed loop"
    return Table.from_columns(columns, title, text_columns=2)


def worst(
    values: Sequence[float | None], statistic: Callable[[list[float]], Any] = max
) -> float | None:
    """Return the largest value, or another statistic; None if one is missing: its fit failed."""
    numbers = [value for value in values if value is not None]
    return float(statistic(numbers)) if len(numbers) == len(values) else None


def _differences(certificate: Certificate) -> tuple[Section, ...]:
    """Return the differences of the estimates; nothing if there are none."""
    pairs = certificate.differences
    if not pairs:
        return ()
    first, several = pairs[0], len(pairs) > 1
    text = _statistic(certificate.verdict.checks, pairs)
    if several:
        text += f" Figure and table are of seed {certificate.crossings[0].seed}."
    return (
        Section(
            title="Difference of the estimates",
            text=text,
            charts=(differences(first), *((plot_pooled_differences(pairs),) if several else ())),
            tables=(pair_table(Agreement((first,), FALSE_ALARM_RATE)), difference_table(first)),
        ),
    )


def _statistic(checks: Sequence[CheckResult], pairs: Sequence[Difference]) -> str:
    """Return the statistic of all parameters at once, in words."""
    words = (
        "Compared are estimates without constraints, whose covariances count: the difference d of "
        "two estimates of one robot has the covariance C = C₁ + C₂, and dᵀ C⁻¹ d over the number "
        "of parameters is about 1."
    )
    band = next((check for check in checks if check.name == "estimates_agree_jointly"), None)
    if band is None:
        return f"{words} Here the covariances come from too few residuals to test it."
    total, directions = sum(p.chi_squared for p in pairs), sum(p.rank for p in pairs)
    return (
        f"{words} Here it is {number(total, 4)} for {directions} parameters, "
        f"{number(band.value, 3)} each; between {number(band.lower, 3)} and "
        f"{number(band.limit, 3)} it is no alarm."
    )


def certify_text(done: Certificate) -> Iterator[Text]:
    """Return the proofs, the checks and the verdict."""
    seeds = [crossing.seed for crossing in done.crossings]
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    yield f"{done.robot}: {which}"
    yield ""
    yield proof_table(done)
    yield ""
    yield check_table(done.verdict.checks)
    yield ""
    yield certificate_finding(done)
    yield f"verdict: {'PASSED' if done.verdict.passed else 'FAILED'}"
