"""Output of commands on stdout: tables, lines, JSON, and the names of written files."""

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from robotid_sim.files import require_writable
from robotid_sim.progress import Progress
from robotid_sim.signals import let_signals_raise
from robotid_sim.table import Table

DEFAULT_WIDTH = 80
"""Columns of output that does not go to a terminal, unless ``COLUMNS`` is set."""

MIN_NAME_WIDTH = 6
"""Smallest width to which a text column is narrowed [characters]."""

MARK_WIDTH = 4
"""Columns of the mark of a check."""

COLUMN_GAP = 2
"""Columns between two columns of a table."""

NO_BREAK = "\N{NO-BREAK SPACE}"

UNIT_GAPS = re.compile(r"(?<=\d) (?=[%°]|[kmµ]?(?:A|Hz|N|V|W|deg|g|m|rad|s)\b)|(?<=\bN) (?=m\b)")
"""Spaces between a number and its unit, and within a unit."""


_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


def set_command_words(words: Sequence[str]) -> None:
    """Store the words of the running command; they decide what it prints, and reports show them."""
    _words.set(tuple(words))


def command_words() -> tuple[str, ...]:
    """Return the words of the command that is running."""
    return _words.get()


def command_line() -> str:
    """Return the running command, quoted for a shell."""
    return shlex.join(["robotid", *_words.get()])


def progress_line() -> AbstractContextManager[Progress]:
    """Show the progress of the running command, unless it prints nothing or JSON."""
    from robotid_sim.progress_display import progress_line

    return progress_line(enabled=not {"--quiet", "--json"} & set(_words.get()))


def print_error(kind: str, message: str, remedy: str) -> None:
    """Print why a command ends, if it prints JSON."""
    if "--json" in _words.get():
        print_json({"error": {"kind": kind, "message": message, "remedy": remedy}})


def width() -> int:
    """Return the number of columns of the terminal, or the default for other output."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def print_json(content: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print JSON on stdout."""
    print(json.dumps(content, indent=1, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one line of text, wrapped between words; what is indented or numbered continues deeper.

    A number and its unit stay in one line.
    """
    number = re.match(r"\d+\. ", text)
    margin = len(text) - len(text.lstrip())
    indent = " " * (number.end() if number else margin + COLUMN_GAP if margin else 0)
    lines = textwrap.fill(
        UNIT_GAPS.sub(NO_BREAK, text),
        width(),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    print(_color_verdicts(lines.replace(NO_BREAK, " ")))


def print_code(text: str) -> None:
    """Print lines for another program as they are."""
    if "--quiet" not in _words.get():
        print(text.rstrip())


def _color_verdicts(text: str) -> str:
    """Color the words of a verdict where a terminal shows them."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    text = re.sub(r"\b(PASSED|ok)\b", "\033[32m\\1\033[0m", text)
    return re.sub(r"\b(FAILED|FAIL|WARNING|IMPOSSIBLE)\b", "\033[31m\\1\033[0m", text)


def begin(*paths: Path | None) -> None:
    """Make signals raise from now on, and require that requested files can be written."""
    let_signals_raise()
    for path in filter(None, paths):
        require_writable(path)


def print_result(
    content: Mapping[str, Any] | Sequence[Any],
    text: Iterable[str | Table],
    written: Iterable[Path | None] = (),
    details: Iterable[str | Table] = (),
    *,
    as_json: bool,
) -> None:
    """Print a value as JSON, or as text and tables with the written files, by folder.

    None stands for a file that was not requested; the details are printed with ``-v``.
    """
    words = _words.get()
    if as_json:
        print_json(content)
    elif "--quiet" not in words:
        is_verbose = "-v" in words or "--verbose" in words
        for part in chain(text, details if is_verbose else ()):
            if isinstance(part, Table):
                print_table(part)
            else:
                print_line(part)
        files = [shorten_path(path) for path in written if path is not None]
        for folder, group in groupby(files, key=lambda path: path.parent):
            where = "" if folder == Path() else f" in {folder}"
            print_line(f"written{where}: {', '.join(path.name for path in group)}")


def shorten_path(path: Path) -> Path:
    """Return a path relative to the working folder if that is shorter."""
    relative = Path(os.path.relpath(path))
    return min(relative, path, key=lambda p: len(str(p)))


def print_table(table: Table) -> None:
    """Print a table; the text columns are left-aligned, the others right, checks have a mark.

    Texts wrap between words. Number columns that do not fit the width follow below, after the
    repeated text columns. Names are broken only if nothing else fits; numbers are never broken.
    """
    if table.title:
        print_line(table.title)
    cells = zip(table.columns, *table.rows, strict=True)
    full_width = (
        _mark_width(table)
        + sum(max(map(cell_len, column)) + COLUMN_GAP for column in cells)
        - COLUMN_GAP
    )
    if table.marks and full_width > width():  # the text of each check below its name
        rows = tuple((f"{name}\n  {text}", *rest) for name, text, *rest in table.rows)
        columns = (table.columns[0], *table.columns[2:])
        table = replace(table, columns=columns, rows=rows, text_columns=table.text_columns - 1)
    min_widths, room = _min_widths(table, width()), width() - _mark_width(table)
    texts = list(range(table.text_columns))
    groups = [texts]
    for k in range(table.text_columns, len(table.columns)):
        if groups[-1] != texts and _total(min_widths, [*groups[-1], k]) > room:
            groups.append(texts)
        groups[-1] = [*groups[-1], k]
    for k, group in enumerate(groups):
        if k:
            print()
        _print_grid(table, group, min_widths)


def _min_widths(table: Table, room: int) -> list[int]:
    """Return the minimum width of every column of a table: its longest word or number.

    Text columns are narrowed if not even one number column fits next to them.
    """
    widths = []
    for k, name in enumerate(table.columns):
        cells = [row[k] for row in table.rows]
        words = [word for cell in cells for word in cell.split()]
        parts = words if k < table.text_columns else cells  # a number stays with its unit
        widths.append(max(map(cell_len, [*name.split(), *parts]), default=0))
    texts = range(table.text_columns)
    space = max((widths[k] + COLUMN_GAP for k in range(table.text_columns, len(widths))), default=0)
    while texts and _mark_width(table) + _total(widths, texts) + space > room:
        longest = max(texts, key=widths.__getitem__)
        if widths[longest] <= MIN_NAME_WIDTH:
            break
        widths[longest] -= 1
    return widths


def _total(widths: Sequence[int], columns: Iterable[int]) -> int:
    """Return the width of columns side by side."""
    selected_widths = [widths[k] for k in columns]
    return sum(selected_widths) + COLUMN_GAP * (len(selected_widths) - 1)


def _mark_width(table: Table) -> int:
    return MARK_WIDTH + COLUMN_GAP if table.marks else 0


def _print_grid(table: Table, columns: Sequence[int], min_widths: Sequence[int]) -> None:
    widths = {k: min_widths[k] for k in columns}
    cells = {k: [table.columns[k], *(row[k] for row in table.rows)] for k in columns}
    full_widths = {k: max(cell_len(s) for c in cells[k] for s in c.split("\n")) for k in columns}
    spare_width = width() - _mark_width(table) - _total(min_widths, columns)
    for _ in range(spare_width):  # widen the narrowest column that is too narrow
        narrow_columns = [k for k in columns if widths[k] < full_widths[k]]
        if not narrow_columns:
            break
        widths[min(narrow_columns, key=widths.__getitem__)] += 1
    grid = RichTable(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
    if table.marks:
        grid.add_column("", width=MARK_WIDTH)
    for k in columns:
        justify: Any = "left" if k < table.text_columns else "right"
        grid.add_column(table.columns[k], justify=justify, overflow="fold", width=widths[k])
    for k, row in enumerate(table.rows):
        mark = ["ok" if table.marks[k] else "FAIL"] if table.marks else []
        grid.add_row(*mark, *(row[column] for column in columns))
    total = _mark_width(table) + sum(widths.values()) + COLUMN_GAP * len(columns)
    screen = Console(width=total, highlight=False, markup=False, emoji=False, color_system=None)
    with screen.capture() as capture:
        screen.print(grid)
    lines = (line.rstrip() for line in capture.get().splitlines())
    print(_color_verdicts("\n".join(lines)))
