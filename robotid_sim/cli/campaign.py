"""``robotid campaign``: many virtual experiments as one plan."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.errors import OptionError


class CampaignAction(StrEnum):
    """What to do with a campaign."""

    RUN = "run"
    STATUS = "status"
    SUMMARY = "summary"
    EXPORT = "export"
    LIST = "list"


PlanOrFolder = Annotated[
    Path | None,
    options.argument(
        "PLAN",
        "For run a plan: a TOML file, or the name of one of `robotid campaign list`; "
        "for status, summary and export: the folder of a campaign.",
    ),
]

RunOrTable = Annotated[
    Path | None,
    options.output_option(
        "For run: the folder to write; for export: a .csv or .parquet file.", "PATH"
    ),
]

ClusterName = Annotated[
    str | None,
    options.value(
        "WHERE",
        "Run on Dask (needs the extra cluster): local, or the address of a scheduler, as in "
        "tcp://node1:8786.",
    ),
]


@command()
def campaign(
    action: Annotated[
        CampaignAction, options.argument("ACTION", "run, status, summary, export, or list.")
    ],
    where: PlanOrFolder = None,
    out: RunOrTable = None,
    quick: Annotated[bool, options.flag("--quick", "A smaller campaign of the same kind.")] = False,
    dry_run: Annotated[
        bool, options.flag("--dry-run", "Print trials, shared work, time and disk; run none.")
    ] = False,
    again: Annotated[
        bool, options.flag("--again", "Repeat the trials that failed or exceeded the time limit.")
    ] = False,
    cluster: ClusterName = None,
    trust_plugins: Annotated[
        bool, options.flag("--trust-plugins", "Run the plugins that the plan names.")
    ] = False,
    json: options.Json = False,
    workers: options.Workers = None,
) -> int:
    """Run a plan of many virtual experiments, or report its results.

    A plan is a study, factors that change in it, and seeds of the noise. Designs, rollouts, logs
    and fits that trials share are made once. Every finished trial is kept in campaign.sqlite: a run
    that was interrupted resumes, and for added seeds or levels only the new trials run. The summary
    writes summary.html and figures/ into the folder. Exit 1 if a trial failed.
    """
    from robotid_sim.cli import campaign_actions as actions

    output.begin()
    arguments: dict[str, Any] = {"quick": quick, "dry_run": dry_run, "again": again}
    arguments |= {"cluster": cluster, "out": out}
    for name, value in arguments.items():
        fitting = (CampaignAction.RUN, *([CampaignAction.EXPORT] if name == "out" else []))
        if value and action not in fitting:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag} acts only with {' or '.join(fitting)}; leave it out")
    if action is CampaignAction.LIST:
        if where is not None:
            raise OptionError(f"list takes no PLAN, got {where}; leave it out")
        return actions.list_plans(as_json=json)
    if where is None:
        subject = "a plan" if action is CampaignAction.RUN else "the folder of a campaign"
        raise OptionError(f"campaign {action} needs {subject}; see `robotid campaign --help`")
    shared: dict[str, Any] = {"trust_plugins": trust_plugins, "as_json": json}
    if action is CampaignAction.RUN:
        return actions.run(where, workers=workers, **arguments, **shared)
    if action is CampaignAction.EXPORT:
        return actions.export(where, out, **shared)
    if action is CampaignAction.STATUS:
        return actions.status(where, **shared)
    return actions.summary(where, workers=workers, **shared)
