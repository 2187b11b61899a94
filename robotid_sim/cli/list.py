"""``robotid list``: the available items and their options."""

from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.errors import UnknownNameError
from robotid_sim.part_kinds import PART_KINDS, PartRows
from robotid_sim.table import Table


def kind_names(incomplete: str) -> options.Words:
    """Return the kinds whose names begin with the incomplete word."""
    return [(key, kind.summary) for key, kind in PART_KINDS.items() if key.startswith(incomplete)]


def item_names(ctx: typer.Context, incomplete: str) -> options.Words:
    """Return the items of the given kind whose names begin with the incomplete word."""
    kind = str(ctx.params.get("kind"))
    return options.names(kind)(incomplete) if kind in PART_KINDS else []


@command()
def list_(
    kind: Annotated[
        str | None, options.argument("KIND", "Kind of items.", autocompletion=kind_names)
    ] = None,
    name: Annotated[
        str | None, options.argument("NAME", "One of the items.", autocompletion=item_names)
    ] = None,
    plugin: options.Plugins = None,
    json: options.Json = False,
) -> int:
    """List the kinds, the items of a KIND, or the properties of the item NAME.

    For an item: its source, its options with default and meaning, and where its name is used.
    """
    from robotid_sim.plugins import load_plugins

    output.begin()
    load_plugins(plugin or ())
    if kind is None:
        _show([{"name": key, "summary": each.summary} for key, each in PART_KINDS.items()], json)
    elif kind not in PART_KINDS:
        raise UnknownNameError.from_names("kind", kind, PART_KINDS)
    elif name is None:
        _show(PART_KINDS[kind].rows(), json)
    else:
        rows = {row["name"]: row for row in PART_KINDS[kind].rows()}
        if name not in rows:
            raise UnknownNameError.from_names(f"name among {kind}", name, rows)
        row, tables = rows[name], PART_KINDS[kind].tables(name)
        how_to_use = PART_KINDS[kind].use.format(name=name)
        content: dict[str, Any] = {**row, "use": how_to_use}
        text: list[str | Table] = [f"{name}: {row['summary']}"]
        text += [f"source: {row['source']}"] if row["source"] else []
        text.append(f"use: {how_to_use}")
        for table in tables:
            title = table.title.partition(":")[0].partition(",")[0]
            content[title] = [dict(zip(table.columns, cells, strict=True)) for cells in table.rows]
            text += ["", table]
        output.print_result(content, text, as_json=json)
    return 0


def _show(rows: PartRows, json: bool) -> None:
    cells = tuple((row["name"], row["summary"]) for row in rows)
    table = Table(("name", "summary"), cells, text_columns=2)
    output.print_result(rows, [table], as_json=json)
