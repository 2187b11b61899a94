"""Commands killed at random: no process stays, no folder is mixed, a repetition is exact."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from short_study import SHORT

from robotid_sim.errors import FileFormatError
from robotid_sim.result_folder import MANIFEST, require_complete

COMMANDS = {
    "run": "run twolink --quick --config study.toml --workers 2 --out run",
    "reproduce": "reproduce twolink-elpidso --quick --runs 2 --workers 2 --out reproduce",
    "validate": "validate twolink estimate.json --quick --config study.toml --workers 2 -o v.json",
    "identify": "identify twolink log.h5 -o identify.json",
}

KILLS = 16
"""Signals for a command, every second one SIGKILL."""

TIMES = re.compile(r'"(seconds|began|pid|command)": .*|"(timings|files)": \{[^}]*\}')


def begin(words: str, folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "err").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "robotid_sim", *words.split()],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def finish(words: str, folder: Path) -> float:
    """Run a command to its end; return how long that took [s]."""
    began = time.monotonic()
    assert begin(words, folder).wait(300.0) in (0, 1), (folder / "err").read_text()
    return time.monotonic() - began


def results(folder: Path) -> dict[str, bytes]:
    """Return the files of all commands; pages and the log of a run hold times in every line."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        timed = path.suffix in (".html", ".log", ".h5") or path.name in (MANIFEST, "err")
        if path.is_file() and not timed and "/trials/" not in name:
            data = path.read_bytes()
            files[name] = TIMES.sub("", data.decode()).encode() if path.suffix == ".json" else data
    return files


def session(leader: int) -> Iterator[int]:
    """Give the processes that a command began and that still run."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, its_session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == leader and state != "Z":
                yield int(process.name)


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Return a folder with the results of a study, and what the other commands read."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "study.toml").write_text(SHORT)
    finish(COMMANDS["run"], folder)
    for name in ("log.h5", "estimate.json"):
        (folder / name).write_bytes((folder / "run" / name).read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_killed_at_any_moment_leaves_no_process_and_no_mixture(work, name) -> None:
    duration = finish(COMMANDS[name], work)
    before = results(work)
    rng = np.random.default_rng(7)
    for k in range(KILLS):
        number = signal.SIGKILL if k % 2 else signal.SIGTERM
        process = begin(COMMANDS[name], work)
        with suppress(subprocess.TimeoutExpired):
            process.wait(float(rng.uniform(0.0, duration)))
        ended = process.poll() is not None
        process.send_signal(number)
        sent = time.monotonic()
        code = process.wait(30.0)
        if number == signal.SIGTERM and not ended:
            assert time.monotonic() - sent < 2.5  # half a second for a busy machine
            assert code in (128 + number, -number)  # the latter before the first line of ours
            said = (work / "err").read_text()
            assert code < 0 or "robotid: interrupted" in said
            assert "Traceback" not in said
        until = sent + 5.0
        while any(session(process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(session(process.pid)) == []
        require_old_or_new_or_incomplete(work, name, before)
    finish(COMMANDS[name], work)
    after = results(work)
    assert [n for n in before if after.get(n) != before[n]] == []


def require_old_or_new_or_incomplete(work: Path, name: str, before: dict[str, bytes]) -> None:
    """Raise unless results are what they were: a repetition gives the same."""
    if (work / name).is_dir():
        if not (work / name / MANIFEST).is_file():
            with pytest.raises(FileFormatError, match="is incomplete"):
                require_complete(work / name)
            return
        require_complete(work / name)
    now = results(work)
    assert [n for n in before if now.get(n) != before[n]] == []
