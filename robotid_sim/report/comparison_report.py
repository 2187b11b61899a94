"""A comparison of estimates, and of what studies make of them: its page, and its text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from robotid_sim.arrays import relative_std
from robotid_sim.pipeline.compare import EstimateComparison, tracking_rows
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.report.figures.parameters import differences
from robotid_sim.report.loop_section import MILLI
from robotid_sim.report.page import Page
from robotid_sim.report.tables import number_within
from robotid_sim.report.text import Text
from robotid_sim.section import Section, number, percent, unit_text
from robotid_sim.table import Table
from robotid_sim.validation.agreement import LEVEL, Agreement, ComparedEstimate, Difference

ROWS = 8
"""Parameters of a pair that are shown at most."""

NEAREST = 3
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
    if tracked := tracking_table(comparison.results):
        sections.append(Section(title="Closed loop", tables=(tracked,)))
    return Page(
        title=f"Comparison of {len(estimates)} estimates",
        finding=f"{agreement.finding[0].upper()}{agreement.finding[1:]}.",
        passed=agreement.agrees,
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
        if len(pairs) > 1 and pair.agrees:
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
    return Table.of(columns, "estimate ± half of its 95 % interval", text_columns=3)


def prediction_table(results: Mapping[str, StudyResult]) -> Table | None:
    """Return what the chosen estimates predict of unseen motions, by joint; None if unknown."""
    tried = {name: result.chosen_estimate.validation for name, result in results.items()}
    known = {name: value for name, value in tried.items() if value is not None}
    if not known:
        return None
    columns = {"joint": list(next(iter(results.values())).robot.joint_names)}
    for name, value in known.items():
        columns[f"residual, {name}"] = [percent(v) for v in value.torque_rms_relative]
    for name, value in known.items():
        columns[f"model error, {name}"] = [percent(v) for v in value.model_error_relative]
    return Table.of(columns, "unseen motion, over the RMS torque")


def tracking_table(results: Mapping[str, StudyResult]) -> Table | None:
    """Return tracking errors of the identified models by case; None without closed loops."""
    rows = {name: tracking_rows(result) for name, result in results.items() if result.control}
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
        columns[name] = ["-" if v is None else number(MILLI * v.mean) for v in shown]
    return Table.of(columns, "RMS tracking error of the identified model", text_columns=4)


def compare_text(comparison: EstimateComparison) -> Iterator[Text]:
    """Return pairs, differences, what to know of them, and what the studies came to."""
    agreement, sources = comparison.agreement, comparison.sources
    pairs = agreement.pairs
    count = len(pairs[0].names)
    yield f"{len(sources)} estimates of {count} base parameters"
    yield ""
    yield pair_table(agreement)
    shown = pairs if len(pairs) == 1 else [pair for pair in pairs if not pair.agrees]
    for pair in shown:
        yield ""
        yield difference_table(pair)
    yield ""
    yield f"{agreement.finding} (false alarms: {agreement.false_alarm:.0%})"
    yield from comparison.notes
    for source in sources:
        if source.context.get("doubt"):
            yield f"WARNING: of {source.label}: {source.context['doubt']}"
    for table in (prediction_table(comparison.results), tracking_table(comparison.results)):
        if table is not None:
            yield ""
            yield table


def pair_table(agreement: Agreement) -> Table:
    """Return all pairs, each with the test of all parameters at once."""
    pairs = agreement.pairs
    return Table.of(
        {
            "first": [pair.labels[0] for pair in pairs],
            "second": [pair.labels[1] for pair in pairs],
            "chi² / parameters": [number(pair.chi_squared / pair.rank, 3) for pair in pairs],
            "p": [number(pair.p_value, 2) for pair in pairs],
            f"within {LEVEL:.0%}": [percent(pair.share_within) for pair in pairs],
            "differ": [str(int(pair.differs.sum())) for pair in pairs],
        },
        text_columns=2,
    )


def difference_table(pair: Difference) -> Table:
    """Return the parameters that differ, or those nearest to it; [%] is of the first estimate's."""
    count = min(int(pair.differs.sum()) or NEAREST, ROWS)
    rows, half = pair.strongest_first[:count], pair.half_width
    share = relative_std(pair.reference, pair.values)
    shown = "what differs, the strongest first"
    if not pair.differs.any():
        shown = "no parameter differs by itself, the nearest to it first"

    def within(k: int, value: float) -> str:
        return number_within(float(value), float(pair.std[k]))

    return Table.of(
        {
            "parameter": [pair.names[k] for k in rows],
            "grouping": [pair.groupings[k] for k in rows],
            "unit": [unit_text(pair.units[k]) for k in rows],
            "difference": [within(k, pair.values[k]) for k in rows],
            f"{LEVEL:.0%} interval": [
                f"{within(k, pair.values[k] - half[k])} … {within(k, pair.values[k] + half[k])}"
                for k in rows
            ],
            "[%]": [number(100.0 * float(share[k]), 3) for k in rows],
            "z": [number(float(pair.z[k]), 3) for k in rows],
        },
        f"{pair.labels[1]} minus {pair.labels[0]}: {shown}",
        text_columns=3,
    )
