"""Words of ``robotid reproduce``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="See `robotid list papers`; or `all`.",
            autocompletion=names("papers"),
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for everything.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs and smaller budgets; the same outputs.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=10_000, help="Runs a method.  [default: the paper's number]"
        ),
    ] = None,
    engine: options.EngineName = None,
    plugin: options.Plugins = None,
    workers: options.Workers = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all randomness.", min=0)] = 0,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce a published system: tables, figures, and a verdict on every claim.

    Finished runs are kept in the folder and not repeated when the command is started again; tables,
    figures and the page replace earlier ones when all is done. Exit 1 if a number is not where it
    is expected, or a check fails.
    """
