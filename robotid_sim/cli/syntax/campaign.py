"""Words of ``robotid campaign``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options


class CampaignAction(StrEnum):
    """What to do with a campaign."""

    RUN = "run"
    STATUS = "status"
    SUMMARY = "summary"
    EXPORT = "export"
    LIST = "list"


def campaign(
    action: Annotated[
        CampaignAction,
        typer.Argument(metavar="ACTION", help="run, status, summary, export, or list."),
    ],
    where: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            help="For run a plan: a TOML file, or the name of one of `robotid campaign list`; "
            "for the others the folder of a campaign.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="PATH", help="Folder of the run; of export a .csv or .parquet."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller campaign of the same kind.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print trials, shared work, time and disk; run none.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run those once more that failed or were late.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Run by Dask (extra cluster): local, or the address of a scheduler, as in "
            "tcp://node1:8786.",
        ),
    ] = None,
    trust_plugins: Annotated[
        bool, typer.Option("--trust-plugins", help="Run the plugins that the plan names.")
    ] = False,
    json: options.Json = False,
    workers: options.Workers = None,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Run a plan of many virtual experiments, or see what came of it.

    A plan is a study, factors that change in it, and seeds of the noise. Designs, rollouts, logs
    and fits that trials share are made once. Every finished trial is kept in campaign.sqlite: a run
    that was ended goes on where it was, and more seeds or levels add their trials only. The summary
    writes summary.html and figures/ into the folder. Exit 1 if a trial failed.
    """
