"""The actions of ``robotid campaign``."""

import logging
import os
from pathlib import Path
from typing import Any

from robotid_sim.campaign.backend import send_work
from robotid_sim.campaign.outcome import (
    EXPORT_SUFFIXES,
    CampaignResult,
    plan_campaign,
    require_whole_store,
)
from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.run import run_campaign
from robotid_sim.campaign.shipped_plans import list_shipped_plans
from robotid_sim.campaign.store import DONE, FAILED, LATE, LOST
from robotid_sim.campaign.trial_list import SharedWork
from robotid_sim.cli import output
from robotid_sim.errors import OptionError
from robotid_sim.files import FILE_SPACE, require_space, require_writable
from robotid_sim.report.campaign_report import (
    campaign_report,
    forecast_text,
    run_text,
    status_text,
    summary_text,
)
from robotid_sim.report.page import write_page
from robotid_sim.table import Table

PAGE, FIGURES = "summary.html", "figures"

_log = logging.getLogger(__name__)


def list_plans(*, as_json: bool) -> int:
    """Print the shipped plans."""
    plans = {name: load_plan(name) for name in list_shipped_plans()}
    rows = tuple((name, f"{plan.title} {plan.question}") for name, plan in plans.items())
    content = [{"name": name, "title": plan.title} for name, plan in plans.items()]
    table = Table(("name", "question"), rows, text_columns=2)
    output.print_result(content, [table], as_json=as_json)
    return 0


def run(
    where: Path,
    *,
    out: Path | None,
    quick: bool,
    dry_run: bool,
    again: bool,
    cluster: str | None,
    trust_plugins: bool,
    workers: int | None,
    as_json: bool,
) -> int:
    """Run the missing trials, or list them."""
    plan = load_plan(where)
    if out is None:
        raise OptionError("campaign run needs a folder for its trials; give --out FOLDER")
    plan = plan.quick() if quick else plan
    if dry_run:
        count = workers or os.cpu_count() or 1
        forecast = plan_campaign(plan, out, workers=count, trust_plugins=trust_plugins)
        output.print_result(forecast.content, forecast_text(forecast), as_json=as_json)
        return 0
    if out.is_dir():
        require_space(out, FILE_SPACE)
    options: dict[str, Any] = {"again": (FAILED, LATE, LOST) if again else ()}
    options["trust_plugins"] = trust_plugins
    try:
        with output.progress_line() as progress, send_work(cluster, workers) as count:
            result = run_campaign(plan, out, workers=count, progress=progress, **options)
    except KeyboardInterrupt:
        _log.warning("finished trials are kept; to continue: %s", output.command_line())
        raise
    content = {"new": result.new, "before": result.before, "trials": dict(result.counts)}
    output.print_result(content, run_text(result, out), as_json=as_json)
    return 0 if set(result.counts) <= {DONE} else 1


def status(folder: Path, *, trust_plugins: bool, as_json: bool) -> int:
    """Print how many trials have ended."""
    require_whole_store(folder)
    result = CampaignResult.load(folder, trust_plugins=trust_plugins)
    output.print_result(result.status(), status_text(result), as_json=as_json)
    return 0


def summary(folder: Path, *, workers: int | None, trust_plugins: bool, as_json: bool) -> int:
    """Write the page of a campaign, and print its answers."""
    result = CampaignResult.load(folder, trust_plugins=trust_plugins)
    result.require_rows(folder)
    page, figures = folder / PAGE, folder / FIGURES
    require_writable(page)
    with output.progress_line() as progress:
        work = SharedWork.from_trials(result.trials)
        drawn = campaign_report(result.plan, result.rows, work, output.command_line())
        write_page(drawn, page, figures, progress, workers or os.cpu_count() or 1)
    output.print_result(result.content(), summary_text(result), [page, figures], as_json=as_json)
    return 0


def export(folder: Path, out: Path | None, *, trust_plugins: bool, as_json: bool) -> int:
    """Write the trials as a table."""
    if out is None or out.suffix.lower() not in EXPORT_SUFFIXES:
        raise OptionError(
            f"campaign export writes {' or '.join(EXPORT_SUFFIXES)}; give it with --out"
        )
    result = CampaignResult.load(folder, trust_plugins=trust_plugins)
    table = result.export(out)
    content = {"trials": len(result.rows), "columns": list(table)}
    output.print_result(content, [], [out], as_json=as_json)
    return 0
