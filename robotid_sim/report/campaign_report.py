"""Page and texts of a campaign: answers, spreads and significant differences."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from robotid_sim.campaign import statistics
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.outcome import CampaignForecast, CampaignResult
from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.campaign.run import CampaignRun
from robotid_sim.campaign.store import DONE, TrialRow
from robotid_sim.campaign.trial_list import SharedWork
from robotid_sim.report.figures.campaign import heat_map, spread_chart
from robotid_sim.report.page import Page
from robotid_sim.report.text import Text
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table

MAX_TESTED_LEVELS = 8
"""Largest number of levels of a factor that are tested in pairs."""

SIGNIFICANCE = 0.05
"""p-value below which a difference is significant."""

MIN_RATIO = 2.0
"""Relative difference above which the ratio is printed."""


def campaign_report(
    plan: CampaignPlan, rows: Sequence[TrialRow], work: SharedWork, command: str
) -> Page:
    """Build the page of the finished trials of a plan."""
    sentences = [text for config in plan.answers for text in statistics.answer(config, rows)]
    done_count = sum(row.status == DONE for row in rows)
    finding = (
        f"{done_count} of {len(rows)} trials are finished; metrics are {', '.join(plan.record)}."
    )
    answers = Section(title="Answer", text=plan.question, notes=tuple(sentences))
    failures = statistics.failures(rows).most_common(20)
    failure_table = Table.from_columns(
        {
            "status": [status for (status, _), _ in failures],
            "reason": [reason for (_, reason), _ in failures],
            "trials": [str(count) for _, count in failures],
        },
        text_columns=2,
    )
    return Page(
        title=plan.title,
        finding=sentences[0] if sentences else finding,
        badge="campaign",
        facts=(
            ("trials", str(len(rows))),
            ("failed", str(len(rows) - done_count)),
            ("designs with rollouts", str(work.designs)),
            ("logs", str(work.logs)),
            ("time of the trials", f"{number(sum(row.seconds for row in rows), 3)} s"),
        ),
        sections=(
            *((answers,) if sentences else ()),
            *(_metric_section(plan, rows, metric) for metric in plan.record),
            *_effects(plan, rows),
            *([Section(title="Failures", tables=(failure_table,))] if failures else []),
            Section(
                title="Plan",
                text=f"{work}. `{command}` resumes the campaign; finished trials are kept.",
                code=plan.model_dump_json(indent=1, exclude_defaults=True),
            ),
        ),
    )


def _metric_section(plan: CampaignPlan, rows: Sequence[TrialRow], metric: str) -> Section:
    factors, shown = tuple(plan.factors), METRICS[metric]
    maps = [heat_map(rows, pair, metric) for pair in combinations(factors, 2)]
    tests = [table for factor in factors if (table := _test_table(rows, factor, metric))]
    return Section(
        title=f"{shown.label[0].upper()}{shown.label[1:]}",
        charts=(
            *((spread_chart(rows, factors, metric),) if factors else ()),
            *(chart for chart in maps[:1] if chart is not None),
        ),
        tables=(*(_spread_table(rows, factor, metric) for factor in factors), *tests),
    )


def _spread_table(rows: Sequence[TrialRow], factor: str, metric: str) -> Table:
    if statistics.is_continuous([row.factors[factor] for row in rows]):
        return Table.from_columns(
            {factor: [], "trials": []}, f"continuous {factor}: see the figure"
        )
    shown, spreads = METRICS[metric].format_value, statistics.spread_by(rows, factor, metric)
    return Table.from_columns(
        {
            factor: [statistics.text_of(s.level) for s in spreads],
            "trials": [str(s.values.size) for s in spreads],
            "failed": [str(s.failed) for s in spreads],
            "lower quartile": [shown(s.quantile(0.25)) for s in spreads],
            "median": [shown(s.quantile(0.5)) for s in spreads],
            "95 % interval of the median": [
                "-" if s.interval is None else " … ".join(map(shown, s.interval)) for s in spreads
            ],
            "upper quartile": [shown(s.quantile(0.75)) for s in spreads],
            "95 % quantile": [shown(s.quantile(0.95)) for s in spreads],
        },
        f"By {factor} (bootstrap interval)",
    )


def _test_table(rows: Sequence[TrialRow], factor: str, metric: str) -> Table | None:
    """Tabulate the paired tests of the levels of a factor; None without tests."""
    labels = [row.factors[factor] for row in rows]
    if statistics.is_continuous(labels) or len(set(labels)) > MAX_TESTED_LEVELS:
        return None
    tests = statistics.test_pairs(rows, factor, metric)
    if not tests:
        return None
    return Table.from_columns(
        {
            "first": [statistics.text_of(t.first) for t in tests],
            "second": [statistics.text_of(t.second) for t in tests],
            "pairs": [str(t.pairs) for t in tests],
            "second relative to first, median": [_difference(t) for t in tests],
            "p": [number(t.p, 2) for t in tests],
            "significant": ["yes" if t.p < SIGNIFICANCE else "no" for t in tests],
        },
        f"{factor} in trials that are otherwise the same (Wilcoxon's signed-rank test, Holm's "
        "correction)",
        text_columns=2,
    )


def _difference(test: statistics.PairedTest) -> str:
    if test.difference > MIN_RATIO:
        return f"{number(1.0 + test.difference, 2)} x"
    sign = "+" if test.difference > 0.0 else ""
    return f"{sign}{percent(test.difference, 2)}"


def _effects(plan: CampaignPlan, rows: Sequence[TrialRow]) -> tuple[Section, ...]:
    factors = tuple(plan.factors)
    shares = {metric: statistics.effects(rows, factors, metric) for metric in plan.record}
    if not factors or not any(shares.values()):
        return ()
    columns = {"factor": list(factors)}
    for metric, by_factor in shares.items():
        columns[metric] = [percent(by_factor.get(factor), 2) for factor in factors]
    text = (
        "Share of the rank variance that each factor explains alone. The part up to 100 % is noise "
        "and interaction of factors."
    )
    return (Section(title="Effects of factors", text=text, tables=(Table.from_columns(columns),)),)


def forecast_text(forecast: CampaignForecast) -> Iterator[Text]:
    """Report the planned work of a run."""
    for key, value in forecast.content.items():
        yield f"{key:20} {value}"
    yield f"{forecast.work}"


def status_text(result: CampaignResult) -> Iterator[Text]:
    """Report the number of trials by status."""
    title, trials, remaining, *counts = result.status().items()
    yield f"{title[1]}: {len(result.rows)} of {trials[1]} trials, {remaining[1]} remaining"
    for status, count in counts:
        yield f"  {status:8} {count}"


def summary_text(result: CampaignResult) -> Iterator[Text]:
    """Report the answers to the questions of the plan."""
    yield f"{result.plan.title} {len(result.rows)} of {len(result.trials)} trials"
    for sentence in result.answers():
        yield f"  {sentence}"


def run_text(campaign_run: CampaignRun, out: Path) -> Iterator[Text]:
    """Report the trials of a run."""
    yield (
        f"{campaign_run.new} trials were run, {campaign_run.before} were stored already; "
        f"{', '.join(f'{count} {status}' for status, count in campaign_run.counts.items())}"
    )
    if campaign_run.others:
        yield f"{campaign_run.others} trials in the folder belong to earlier versions of the plan"
    if campaign_run.new:
        yield f"{campaign_run.work}"
    yield f"next: `robotid campaign summary {out}` reports the results"
