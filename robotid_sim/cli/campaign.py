"""``robotid campaign``: many virtual experiments as one plan."""

import csv
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from robotid_sim.campaign.backend import working_in
from robotid_sim.campaign.effort import Effort
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.plan import CampaignPlan, load_plan
from robotid_sim.campaign.run import (
    Finished,
    read_campaign,
    require_same_plan,
    rows_of,
    run_campaign,
)
from robotid_sim.campaign.shipped_plans import shipped_plans
from robotid_sim.campaign.statistics import answer
from robotid_sim.campaign.store import DONE, FAILED, LATE, LOST, Store, TrialRow
from robotid_sim.campaign.trial_list import SharedWork, StudyTrial, trials_of
from robotid_sim.cli import output
from robotid_sim.cli.command_line import command_line
from robotid_sim.cli.syntax.campaign import CampaignAction
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import FILE_SPACE, atomic_path, require_space, require_writable
from robotid_sim.progress_display import progress_line
from robotid_sim.report.campaign_report import campaign_report
from robotid_sim.report.page import write_page
from robotid_sim.table import Table

PAGE, FIGURES = "summary.html", "figures"

EXPORTS = (".csv", ".parquet")

ONLY = {
    "quick": (CampaignAction.RUN,),
    "dry_run": (CampaignAction.RUN,),
    "again": (CampaignAction.RUN,),
    "cluster": (CampaignAction.RUN,),
    "out": (CampaignAction.RUN, CampaignAction.EXPORT),
}
"""Options that act with some of the actions only."""


def campaign(
    *,
    action: CampaignAction,
    where: Path | None,
    out: Path | None,
    quick: bool,
    workers: int | None,
    cluster: str | None,
    again: bool,
    dry_run: bool,
    trust_plugins: bool,
    json: bool,
) -> int:
    """Do ``robotid campaign``; its words are in `cli.syntax.campaign`."""
    options: dict[str, Any] = {
        "out": out,
        "quick": quick,
        "cluster": cluster,
        "again": again,
        "dry_run": dry_run,
    }
    for name, actions in ONLY.items():
        if options[name] and action not in actions:
            flag, fitting = f"--{name.replace('_', '-')}", " or ".join(actions)
            raise OptionError(f"{flag} acts only with {fitting}; leave it out")
    if action is CampaignAction.LIST:
        if where is not None:
            raise OptionError(f"list takes no PLAN, got {where}; leave it out")
        return _list(as_json=json)
    if where is None:
        what = "a plan" if action is CampaignAction.RUN else "the folder of a campaign"
        raise OptionError(f"campaign {action} needs {what}; see `robotid campaign --help`")
    if action is CampaignAction.RUN:
        options["trust_plugins"] = trust_plugins
        return _run(load_plan(where), workers=workers, as_json=json, **options)
    if action is CampaignAction.EXPORT and (out is None or out.suffix.lower() not in EXPORTS):
        raise OptionError(f"campaign export writes {' or '.join(EXPORTS)}; give it with --out")
    with Store(where, write=False) as store:
        if action is CampaignAction.STATUS and not store.is_whole():
            raise FileFormatError(f"{where} holds a damaged store; restore it, or run it anew")
        plan, trials, rows = read_campaign(store, trust_plugins=trust_plugins)
    if action is CampaignAction.STATUS:
        return _status(plan, trials, rows, as_json=json)
    if action is CampaignAction.SUMMARY:
        return _summary(where, plan, trials, rows, workers or os.cpu_count() or 1, as_json=json)
    assert out is not None
    return _export(plan, rows, out, as_json=json)


def _list(*, as_json: bool) -> int:
    plans = {name: load_plan(name) for name in shipped_plans()}
    if as_json:
        output.print_json([{"name": n, "title": p.title} for n, p in plans.items()])
    else:
        rows = tuple((name, f"{plan.title} {plan.question}") for name, plan in plans.items())
        output.print_table(Table(("name", "question"), rows, text_columns=2))
    return 0


def _run(
    plan: CampaignPlan,
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
    if out is None:
        raise OptionError("campaign run needs a folder for its trials; give --out FOLDER")
    if quick:
        plan = plan.quick()
    if dry_run:
        trials = trials_of(plan, trust_plugins=trust_plugins)
        return _print_plan(plan, trials, out, workers or os.cpu_count() or 1, as_json=as_json)
    if out.is_dir():
        require_space(out, FILE_SPACE)
    statuses = (FAILED, LATE, LOST) if again else ()
    try:
        with progress_line(enabled=not as_json) as progress, working_in(cluster, workers) as count:
            options: Any = {"again": statuses, "trust_plugins": trust_plugins}
            done = run_campaign(plan, out, workers=count, progress=progress, **options)
    except KeyboardInterrupt:
        print(f"finished trials are kept; to go on: {command_line()}", file=sys.stderr)
        raise
    if as_json:
        output.print_json({"new": done.new, "before": done.before, "trials": dict(done.counts)})
    else:
        _print_finished(done, out)
    return 0 if set(done.counts) <= {DONE} else 1


def _print_finished(done: Finished, out: Path) -> None:
    output.print_line(
        f"{done.new} trials were run, {done.before} were there; "
        f"{', '.join(f'{count} {status}' for status, count in done.counts.items())}"
    )
    if done.others:
        output.print_line(f"{done.others} more in the folder belong to earlier forms of the plan")
    if done.new:
        output.print_line(f"{done.work}")
    output.print_line(f"see what came of it with `robotid campaign summary {out}`")


def _print_plan(
    plan: CampaignPlan, trials: Sequence[StudyTrial], out: Path, workers: int, *, as_json: bool
) -> int:
    rows: list[TrialRow] = []
    if (out / "campaign.sqlite").exists():
        with Store(out, write=False) as store:
            require_same_plan(store, plan)
            rows = rows_of(store, trials)
    finished = {row.key for row in rows}
    left = [trial for trial in trials if trial.key not in finished]
    work = SharedWork.of(left)
    effort = Effort.of(left, plan, [row.seconds for row in rows if row.status == DONE])
    content = {
        "title": plan.title,
        "trials": len(trials),
        "finished": len(trials) - len(left),
        "designs": work.bases,
        "logs": work.logs,
        "preprocessed_logs": work.fits,
        "sensors": _sensor_sets(trials),
        "expected_seconds": round(effort.seconds / workers),
        "expected_megabytes": round(effort.megabytes, 1),
        "out": str(out),
    }
    if as_json:
        output.print_json(content)
    else:
        for key, value in content.items():
            output.print_line(f"{key:20} {value}")
        output.print_line(f"{work}")
    return 0


def _sensor_sets(trials: Sequence[StudyTrial]) -> str:
    """Return the sensors of the trials, in words: a factor on one replaces the default ones."""
    sets = {", ".join(trial.study.measuring()) or "none" for trial in trials}
    return "; or ".join(sorted(sets))


def _status(
    plan: CampaignPlan, trials: Sequence[StudyTrial], rows: Sequence[TrialRow], *, as_json: bool
) -> int:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    left = len(trials) - len(rows)
    if as_json:
        output.print_json({"title": plan.title, "trials": len(trials), "left": left, **counts})
    else:
        output.print_line(f"{plan.title}: {len(rows)} of {len(trials)} trials, {left} left")
        for status, count in counts.items():
            output.print_line(f"  {status:8} {count}")
    return 0


def _summary(
    folder: Path,
    plan: CampaignPlan,
    trials: Sequence[StudyTrial],
    rows: Sequence[TrialRow],
    workers: int,
    *,
    as_json: bool,
) -> int:
    if not rows:
        raise OptionError(f"no trial of {folder} has ended; run the campaign first")
    require_writable(folder / PAGE)
    with progress_line(enabled=not as_json) as progress:
        page = campaign_report(plan, rows, SharedWork.of(trials), command_line())
        write_page(page, folder / PAGE, folder / FIGURES, progress, workers)
    sentences = [text for config in plan.answers for text in answer(config, rows)]
    if as_json:
        output.print_json({"title": plan.title, "trials": len(rows), "answers": sentences})
    else:
        output.print_line(f"{plan.title} {len(rows)} of {len(trials)} trials")
        for sentence in sentences:
            output.print_line(f"  {sentence}")
        output.print_written([folder / PAGE, folder / FIGURES])
    return 0


def _export(plan: CampaignPlan, rows: Sequence[TrialRow], out: Path, *, as_json: bool) -> int:
    require_writable(out)
    table = list(_columns(plan, rows))
    if out.suffix.lower() == ".csv":
        with atomic_path(out) as path, path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([name for name, _ in table])
            writer.writerows(zip(*(values for _, values in table), strict=True))
    else:
        _write_parquet(table, out)
    if as_json:
        output.print_json({"trials": len(rows), "columns": [name for name, _ in table]})
    else:
        output.print_written([out])
    return 0


def _columns(plan: CampaignPlan, rows: Sequence[TrialRow]) -> Iterator[tuple[str, list[Any]]]:
    for factor in plan.factors:
        yield factor, [row.factors[factor] for row in rows]
    for name in ("seed", "status", "error", "seconds"):
        yield name, [getattr(row, name) for row in rows]
    for metric in METRICS:
        yield metric, [row.metrics.get(metric) for row in rows]


def _write_parquet(table: Sequence[tuple[str, list[Any]]], out: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise OptionError(
            f"{out} needs pyarrow: pip install 'robotid_sim[logs]', or give a .csv"
        ) from error
    with atomic_path(out) as path:
        pq.write_table(pa.table(dict(table)), path)
