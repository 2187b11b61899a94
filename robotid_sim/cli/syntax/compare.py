"""Words of ``robotid compare``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options

EstimateFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="ESTIMATE ESTIMATE…",
        help="Estimate files of `robotid identify`, or result folders of `robotid run`, two or "
        "more.",
    ),
]


def compare(
    estimates: EstimateFiles,
    out: options.ResultFile = None,
    report: options.ReportFile = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Say whether estimates of independent logs are of one robot, and what differs.

    The chosen estimates are compared pair by pair, by their covariances; of 100 sets of estimates
    of one robot 1 at most is called different. Of result folders, predictions and tracking errors
    stand side by side, too. Exit 1 if they differ.
    """
