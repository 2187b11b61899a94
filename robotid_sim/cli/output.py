"""What the commands print: tables on stdout, progress and notes on stderr."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from robotid_sim.progress import Progress as ProgressCallback
from robotid_sim.progress import silent
from robotid_sim.section import Table

WIDTH = 110
"""Columns of a table that does not go to a terminal."""


def console() -> Console:
    """Return the console of stdout; without colour and of fixed width unless it is a terminal."""
    width = None if sys.stdout.isatty() else WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def print_json(content: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print JSON on stdout."""
    print(json.dumps(content, indent=1, allow_nan=False))


def print_table(table: Table) -> None:
    """Print a table; the text columns are left-aligned, the others right, checks have a mark.

    Texts wrap between words; no name and no number is broken. A table that needs more than the
    width of the console for that takes more.
    """
    if table.title:
        print_line(table.title)
    grid = RichTable(box=None, pad_edge=False)
    if table.marks:
        grid.add_column("", min_width=4)
    for k, name in enumerate(table.columns):
        cells, is_text = [row[k] for row in table.rows], k < table.text_columns
        words = [word for cell in cells for word in cell.split()]
        parts = [*name.split(), *(words if is_text else cells)]  # a number stays with its unit
        grid.add_column(
            name,
            justify="left" if is_text else "right",
            overflow="fold",
            min_width=max(map(cell_len, parts), default=0),
        )
    for k, row in enumerate(table.rows):
        grid.add_row(*(["ok" if table.marks[k] else "FAIL"] if table.marks else []), *row)
    screen = console()
    needed = sum(column.min_width or 0 for column in grid.columns) + 2 * len(grid.columns)
    screen.width = max(screen.width, needed)
    screen.print(grid, crop=False)


def print_line(text: str = "") -> None:
    """Print one line of text, wrapped at the width of the console."""
    console().print(text)


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[ProgressCallback]:
    """Give a progress callback that draws on stderr if that is a terminal."""
    if not enabled or not sys.stderr.isatty():
        yield silent
        return
    columns = (TextColumn("{task.description:10}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, share: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0)
            bars.update(tasks[stage], completed=share)

        yield show
