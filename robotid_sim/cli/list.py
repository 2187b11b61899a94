"""``robotid list`` and ``schema``: what there is, with its options, and the forms of files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.errors import UnknownNameError
from robotid_sim.part_kinds import KINDS, PartKind, PartRows
from robotid_sim.table import Table


def kind_names(incomplete: str) -> options.Words:
    """Return the kinds that begin like a word."""
    return [(key, kind.summary) for key, kind in KINDS.items() if key.startswith(incomplete)]


def item_names(ctx: typer.Context, incomplete: str) -> options.Words:
    """Return the items of the kind before it that begin like a word."""
    kind = str(ctx.params.get("kind"))
    return options.names(kind)(incomplete) if kind in KINDS else []


@command()
def list_(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="Kind of items.", autocompletion=kind_names)
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One of the items.", autocompletion=item_names),
    ] = None,
    plugin: list[str] | None = None,
    json: bool = False,
) -> int:
    """List the kinds, the items of a KIND, or what there is to say of the item NAME.

    Of an item: its source, its options with default and meaning, and where its name goes.
    """
    from robotid_sim.plugins import load_plugins

    output.begin()
    load_plugins(plugin or ())
    if kind is None:
        _say([{"name": key, "summary": each.summary} for key, each in KINDS.items()], json)
    elif kind not in KINDS:
        raise UnknownNameError.of("kind", kind, KINDS)
    elif name is None:
        _say(KINDS[kind].rows(), json)
    else:
        rows = {row["name"]: row for row in KINDS[kind].rows()}
        if name not in rows:
            raise UnknownNameError.of(f"name among {kind}", name, rows)
        _say_item(KINDS[kind], rows[name], json)
    return 0


@command()
def schema(name: str, out: Path | None = None, json: bool = False) -> int:
    """Print the JSON Schema of a kind of files: what another program may read or write.

    Of a log it is that of the comment lines of a CSV, of a study that of the configuration.
    """
    from json import dumps

    from robotid_sim.files import write_text
    from robotid_sim.pipeline.schemas import schema as schema_of

    output.begin(out)
    content = schema_of(name)
    if out is None:
        output.print_json(content)
        return 0
    write_text(out, dumps(content, indent=1) + "\n")
    output.print_result({"schema": name, "file": str(out)}, [], [out], as_json=json)
    return 0


def _say(rows: PartRows, json: bool) -> None:
    cells = tuple((row["name"], row["summary"]) for row in rows)
    table = Table(("name", "summary"), cells, text_columns=2)
    output.print_result(rows, [table], as_json=json)


def _say_item(kind: PartKind, row: dict[str, str], json: bool) -> None:
    tables, use = kind.tables(row["name"]), kind.use.format(name=row["name"])
    content: dict[str, Any] = {**row, "use": use}
    text: list[str | Table] = [f"{row['name']}: {row['summary']}"]
    text += [f"source: {row['source']}"] if row["source"] else []
    text.append(f"use: {use}")
    for table in tables:
        title = table.title.partition(":")[0].partition(",")[0]
        content[title] = [dict(zip(table.columns, cells, strict=True)) for cells in table.rows]
        text += ["", table]
    output.print_result(content, text, as_json=json)
