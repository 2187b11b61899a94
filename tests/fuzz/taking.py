"""How a bad input is taken: code, lines, files and time."""

import io
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from bad_input import BadInput, Study

from robotid_sim.cli.app import main

HANGS = 20.0
"""Time after which a command is taken to hang [s]."""

LONGEST = 2100
"""Longest line that a person reads [characters]."""


class Hang(BaseException):
    """A command took too long; nothing catches it."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `Hang` after a time."""

    def raise_hang(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, raise_hang)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def run(words: tuple[str, ...]) -> tuple[int | str, str]:
    """Return the exit code of a command, or how it ended, and what it said to stderr."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with limit_time(HANGS), redirect_stdout(out), redirect_stderr(err):
            return main(list(words)), err.getvalue()
    except Hang:
        return "hangs", err.getvalue()
    except Exception as error:  # whatever gets out of the program is what is looked for
        return f"{type(error).__name__}: {error}", err.getvalue()


def wrongs(case: BadInput, study: Path, folder: Path) -> list[str]:
    """Return what is wrong with how a bad input is taken."""
    shutil.copytree(study, folder)
    case.damage(folder)
    before = sorted(folder.rglob("*"))
    os.chdir(folder)
    code, said = run(case.words)
    lines = said.splitlines()
    found = []
    if code not in case.codes:
        found.append(f"code {code} is none of {sorted(case.codes)}")
    if "Traceback" in said:
        found.append("traceback")
    if code == 2:
        if len(lines) != 1 or not said.startswith("robotid: "):
            found.append(f"{len(lines)} lines")
        if max(map(len, lines), default=0) > LONGEST:
            found.append(f"a line of {max(map(len, lines))} characters")
        if not re.search(case.thing, said):
            found.append(f"does not name {case.thing}")
        if sorted(folder.rglob("*")) != before:
            found.append("left files")
    return [f"{case.name}: {', '.join(found)}: {said[-300:]}"] if found else []


def texts_of(study: Path) -> Study:
    """Return what the files of a short study hold."""
    texts = (study / name for name in ("2r.urdf", "t.json", "e.json", "l.csv"))
    return Study(*(file.read_text() for file in texts), (study / "l.h5").read_bytes())
