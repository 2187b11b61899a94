"""Progress of long work: a line that is rewritten, in a terminal or a notebook, or plain lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from robotid_sim.progress import Portion, Progress, silent

MIN_LINE_INTERVAL = 10.0
"""Least time between two lines where stderr is not a terminal [s]."""

MIN_REDRAW_INTERVAL = 0.1
"""Least time between two states of a bar in a notebook [s]."""


@contextmanager
def progress_line(*, enabled: bool = True) -> Iterator[Progress]:
    """Yield a progress callback that shows the current stage and its share done.

    A notebook shows a bar under the cell, a terminal a line on stderr; both vanish when the work
    ends. Elsewhere stderr gets a plain line now and then. With `enabled` false nothing is shown.
    """
    if not enabled:
        yield silent
    elif is_notebook():
        bar = _NotebookBar()
        try:
            yield bar
        finally:
            bar.clear()
    elif not sys.stderr.isatty():
        yield _PlainLines()
    else:
        columns = (
            TextColumn("{task.description:10}"),
            BarColumn(),
            TaskProgressColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[counts]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        with Bars(*columns, console=Console(file=sys.stderr), transient=True) as bars:
            yield _TerminalLine(bars)


def is_notebook() -> bool:
    """Return whether this runs in a kernel of Jupyter."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _TerminalLine:
    """The bar of the current stage."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.stage = ""
        self.task = bars.add_task("", total=1.0, counts="", visible=False)

    def __call__(self, stage: str, share: float) -> None:
        if stage != self.stage:
            self.stage = stage
            self.bars.reset(self.task, description=stage, total=1.0, visible=True)
        self.bars.update(self.task, completed=share, counts=_format_counts(share))


class _PlainLines:
    """Plain lines on stderr for stages that take long, at least `MIN_LINE_INTERVAL` apart."""

    def __init__(self) -> None:
        self.stage = ""
        self.began = self.written = time.monotonic()

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.began = stage, now
        if now - self.written < MIN_LINE_INTERVAL or not 0.0 < share < 1.0:
            return
        self.written = now
        spent = now - self.began
        remaining = f"about {spent * (1.0 - share) / share:.0f} s left" if spent >= 1.0 else ""
        parts = (f"{stage}: {share:.0%}", _format_counts(share), remaining)
        sys.stderr.write(", ".join(filter(None, parts)) + "\n")
        sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class _BarState:
    """State of a notebook's bar; without a stage nothing is shown."""

    stage: str = ""
    share: float = 0.0

    def __repr__(self) -> str:
        parts = (f"{self.stage}: {self.share:.0%}", _format_counts(self.share))
        return ", ".join(filter(None, parts)) if self.stage else ""

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.share:.3f}"></progress> {escape(repr(self))}'
        return bar if self.stage else ""


class _NotebookBar:
    """The bar of the current stage under a cell; the bar of rich would need ipywidgets."""

    def __init__(self) -> None:
        self.stage = ""
        self.drawn = 0.0
        self.handle: Any = None

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage == self.stage and now - self.drawn < MIN_REDRAW_INTERVAL:
            return
        self.stage, self.drawn = stage, now
        self._show(_BarState(stage, share))

    def clear(self) -> None:
        """Remove the bar."""
        if self.handle is not None:
            self._show(_BarState())

    def _show(self, state: _BarState) -> None:
        from IPython.display import display

        if self.handle is None:
            self.handle = display(state, display_id=True)
        else:
            self.handle.update(state)


def _format_counts(share: float) -> str:
    if not isinstance(share, Portion):
        return ""
    failed = f", {share.failed} failed" if share.failed else ""
    return f"{share.done} of {share.total}{failed}"
