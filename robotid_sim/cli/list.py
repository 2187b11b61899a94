"""``robotid list``: what there is, and the options of each item."""

from typing import Any

from robotid_sim.cli import output
from robotid_sim.cli.items import Items, ListedKind, listed_kinds
from robotid_sim.errors import UnknownNameError
from robotid_sim.plugins import load_plugins
from robotid_sim.table import Table


def list_(*, kind: str | None, name: str | None, plugin: list[str] | None, json: bool) -> int:
    """Do ``robotid list``; its words are in `cli.syntax.list`."""
    load_plugins(plugin or ())
    kinds = listed_kinds()
    if kind is None:
        _say([{"name": key, "summary": each.summary} for key, each in kinds.items()], json)
    elif kind not in kinds:
        raise UnknownNameError.of("kind", kind, kinds)
    elif name is None:
        _say(kinds[kind].rows(), json)
    else:
        _say_item(kinds[kind], _item(kinds[kind].rows(), kind, name), json)
    return 0


def _item(items: Items, kind: str, name: str) -> dict[str, str]:
    rows = {row["name"]: row for row in items}
    if name not in rows:
        raise UnknownNameError.of(f"name among {kind}", name, rows)
    return rows[name]


def _say(rows: list[dict[str, str]], json: bool) -> None:
    if json:
        output.print_json(rows)
        return
    cells = tuple((row["name"], row["summary"]) for row in rows)
    output.print_table(Table(("name", "summary"), cells, text_columns=2))


def _say_item(kind: ListedKind, row: dict[str, str], json: bool) -> None:
    tables, use = kind.tables(row["name"]), kind.use.format(name=row["name"])
    if json:
        content: dict[str, Any] = {**row, "use": use}
        for table in tables:
            title = table.title.partition(":")[0].partition(",")[0]
            content[title] = [dict(zip(table.columns, cells, strict=True)) for cells in table.rows]
        output.print_json(content)
        return
    output.print_line(f"{row['name']}: {row['summary']}")
    if row["source"]:
        output.print_line(f"source: {row['source']}")
    output.print_line(f"use: {use}")
    for table in tables:
        output.print_line()
        output.print_table(table)
