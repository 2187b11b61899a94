"""Campaigns in words and tables."""

from collections.abc import Iterator
from pathlib import Path

from robotid_sim.campaign.outcome import CampaignForecast, CampaignResult
from robotid_sim.campaign.run import Finished
from robotid_sim.report.text.parts import Text


def forecast_text(forecast: CampaignForecast) -> Iterator[Text]:
    """Return what a run would do."""
    for key, value in forecast.content.items():
        yield f"{key:20} {value}"
    yield f"{forecast.work}"


def status_text(result: CampaignResult) -> Iterator[Text]:
    """Return how many trials have ended, by status."""
    title, trials, left, *counts = result.status().items()
    yield f"{title[1]}: {len(result.rows)} of {trials[1]} trials, {left[1]} left"
    for status, count in counts:
        yield f"  {status:8} {count}"


def summary_text(result: CampaignResult) -> Iterator[Text]:
    """Return the answers to what the plan asks."""
    yield f"{result.plan.title} {len(result.rows)} of {len(result.trials)} trials"
    for sentence in result.answers():
        yield f"  {sentence}"


def finished_text(done: Finished, out: Path) -> Iterator[Text]:
    """Return what a run has done."""
    yield (
        f"{done.new} trials were run, {done.before} were there; "
        f"{', '.join(f'{count} {status}' for status, count in done.counts.items())}"
    )
    if done.others:
        yield f"{done.others} more in the folder belong to earlier forms of the plan"
    if done.new:
        yield f"{done.work}"
    yield f"see what came of it with `robotid campaign summary {out}`"
