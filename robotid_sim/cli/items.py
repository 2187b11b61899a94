"""Kinds, the items of each, and what there is to say of an item, without their modules.

What the registries say of the package's own parts stands in ``items.json``, which `cli.kinds`
writes, for their modules take seconds to load. A plugin may have added to the registries: where one
is loaded, they are asked themselves.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from robotid_sim.files import read_json
from robotid_sim.model.catalog_files import describe_catalog
from robotid_sim.plugins import loaded_plugins
from robotid_sim.table import Table

Items = list[dict[str, str]]

FILE = Path(__file__).with_name("items.json")

SCHEMA = ("items", 1)


class ListedKind(NamedTuple):
    """One kind of items."""

    summary: str
    rows: Callable[[], Items]
    """Name, summary and source of every item."""
    tables: Callable[[str], list[Table]]
    """What there is to say of an item by its name."""
    use: str
    """Where its name goes."""


def listed_kinds() -> Mapping[str, ListedKind]:
    """Return the kinds by name."""
    if loaded_plugins():
        return _of_registries()
    return {name: _as_written(name, kind) for name, kind in read_json(FILE, *SCHEMA).items()}


def _of_registries() -> Mapping[str, ListedKind]:
    from robotid_sim.cli.kinds import KINDS

    return KINDS


def with_state(engines: Items) -> Items:
    """Return the rows of engines, which have the names of their packages, with what is missing."""
    missing = {row["name"]: find_spec(row["name"]) is None for row in engines}
    return [
        {**row, "summary": f"{row['summary']}, not installed"} if missing[row["name"]] else row
        for row in engines
    ]


def _as_written(name: str, kind: Mapping[str, Any]) -> ListedKind:
    items = {item["name"]: item for item in kind["items"]}

    def rows() -> Items:
        if name == "robots":  # a folder of the catalog is a robot, whoever put it there
            return describe_catalog()
        each = [{key: item[key] for key in ("name", "summary", "source")} for item in kind["items"]]
        return with_state(each) if name == "engines" else each

    def tables(item: str) -> list[Table]:
        if item not in items:
            return _of_registries()[name].tables(item)
        return [_table(**table) for table in items[item]["tables"]]

    return ListedKind(kind["summary"], rows, tables, kind["use"])


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    cells = tuple(tuple(row) for row in rows)
    return Table(tuple(columns), cells, title, text_columns=len(columns))
