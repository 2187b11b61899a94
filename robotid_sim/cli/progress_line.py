"""Progress of long work on stderr: one line that is rewritten, or plain lines now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from robotid_sim.progress import Portion, Progress, silent

PAUSE = 10.0
"""Least time between two lines where stderr is no terminal [s]."""


@contextmanager
def progress_line(*, enabled: bool) -> Iterator[Progress]:
    """Give a progress callback that writes to stderr; with `enabled` false one that is silent."""
    if not enabled:
        yield silent
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


class _TerminalLine:
    """One bar, that of the stage at work."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.stage = ""
        self.task = bars.add_task("", total=1.0, counts="", visible=False)

    def __call__(self, stage: str, share: float) -> None:
        if stage != self.stage:
            self.stage = stage
            self.bars.reset(self.task, description=stage, total=1.0, visible=True)
        self.bars.update(self.task, completed=share, counts=_counts(share))


class _PlainLines:
    """A line when a stage takes long, and again after every pause."""

    def __init__(self) -> None:
        self.stage = ""
        self.began = self.written = time.monotonic()

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.began = stage, now
        if now - self.written < PAUSE or not 0.0 < share < 1.0:
            return
        self.written = now
        spent = now - self.began
        left = f"about {spent * (1.0 - share) / share:.0f} s left" if spent >= 1.0 else ""
        parts = (f"{stage}: {share:.0%}", _counts(share), left)
        print(", ".join(filter(None, parts)), file=sys.stderr, flush=True)


def _counts(share: float) -> str:
    if not isinstance(share, Portion):
        return ""
    failed = f", {share.failed} failed" if share.failed else ""
    return f"{share.done} of {share.total}{failed}"
