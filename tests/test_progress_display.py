"""Progress: plain lines where it is not a terminal, one line where it is."""

import io
import re
import sys

import pytest

from robotid_sim import progress_display as module
from robotid_sim.progress import Portion
from robotid_sim.progress_display import progress_line


class Screen(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """Return the times that the clock gives, one after another."""
    times: list[float] = []
    monkeypatch.setattr(module.time, "monotonic", lambda: times.pop(0))
    return times


def test_plain_lines_have_share_counts_and_time_left_and_pauses(capsys, clock) -> None:
    clock += [0.0, 1.0, 5.0, 11.0, 12.0, 22.0]
    with progress_line(enabled=True) as progress:
        progress("design", 0.1)
        progress("design", 0.4)
        progress("design", 0.5)
        progress("control", Portion(1, 4))
        progress("control", Portion(3, 4, begin=0.2))
    assert capsys.readouterr().err.splitlines() == [
        "design: 50%, about 10 s left",
        "control: 80%, 3 of 4, about 2 s left",
    ]


def test_a_terminal_has_one_line_that_is_cleared(monkeypatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with progress_line(enabled=True) as progress:
        for stage in ("design", "control"):
            progress(stage, Portion(1, 4))
    last = re.split(r"\r", screen.getvalue())
    assert any(re.search(r"control.*25 %.*1 of 4.*left", text) for text in last)
    assert not any("design" in text and "control" in text for text in last)
    assert screen.getvalue().count("\n") <= 1


def test_nothing_is_written_where_json_is_asked_for(capsys) -> None:
    with progress_line(enabled=False) as progress:
        progress("design", 0.5)
    assert capsys.readouterr().err == ""
