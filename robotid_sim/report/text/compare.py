"""A comparison of estimates in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.compare import EstimateComparison
from robotid_sim.report.agreement_table import difference_table, pair_table
from robotid_sim.report.comparison_report import prediction_table, tracking_table
from robotid_sim.report.text.parts import Text


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
