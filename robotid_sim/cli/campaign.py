"""``robotid campaign``: many virtual experiments as one plan."""

from enum import StrEnum
from pathlib import Path
from typing import Any

from robotid_sim.cli import output
from robotid_sim.cli.command import command
from robotid_sim.errors import OptionError


class CampaignAction(StrEnum):
    """What to do with a campaign."""

    RUN = "run"
    STATUS = "status"
    SUMMARY = "summary"
    EXPORT = "export"
    LIST = "list"


@command()
def campaign(
    action: CampaignAction,
    where: Path | None = None,
    out: Path | None = None,
    quick: bool = False,
    dry_run: bool = False,
    again: bool = False,
    cluster: str | None = None,
    trust_plugins: bool = False,
    json: bool = False,
    workers: int | None = None,
) -> int:
    """Run a plan of many virtual experiments, or see what came of it.

    A plan is a study, factors that change in it, and seeds of the noise. Designs, rollouts, logs
    and fits that trials share are made once. Every finished trial is kept in campaign.sqlite: a run
    that was ended goes on where it was, and more seeds or levels add their trials only. The summary
    writes summary.html and figures/ into the folder. Exit 1 if a trial failed.
    """
    from robotid_sim.cli import campaign_actions as actions

    output.begin()
    given: dict[str, Any] = {"quick": quick, "dry_run": dry_run, "again": again}
    given |= {"cluster": cluster, "out": out}
    for name, value in given.items():
        fitting = (CampaignAction.RUN, *([CampaignAction.EXPORT] if name == "out" else []))
        if value and action not in fitting:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag} acts only with {' or '.join(fitting)}; leave it out")
    if action is CampaignAction.LIST:
        if where is not None:
            raise OptionError(f"list takes no PLAN, got {where}; leave it out")
        return actions.list_plans(as_json=json)
    if where is None:
        what = "a plan" if action is CampaignAction.RUN else "the folder of a campaign"
        raise OptionError(f"campaign {action} needs {what}; see `robotid campaign --help`")
    shared: dict[str, Any] = {"trust_plugins": trust_plugins, "as_json": json}
    if action is CampaignAction.RUN:
        return actions.run(where, workers=workers, **given, **shared)
    if action is CampaignAction.EXPORT:
        return actions.export(where, out, **shared)
    if action is CampaignAction.STATUS:
        return actions.status(where, **shared)
    return actions.summary(where, workers=workers, **shared)
