"""Words of ``robotid list``."""

from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import item_names, kind_names


def list_(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="Kind of items.", autocompletion=kind_names)
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One of the items.", autocompletion=item_names),
    ] = None,
    plugin: options.Plugins = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """List the kinds, the items of a KIND, or what there is to say of the item NAME.

    Of an item: its source, its options with default and meaning, and where its name goes.
    """
