"""No bad input of the corpus ends in a traceback, hangs, or says more than the line that helps."""

import io
import os
import random
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from bad_input import BadInput, Study
from bad_logs import hdf5, tables
from bad_texts import configurations, json_files, robots
from bad_words import folders, words
from robots import DATA
from sampling import sampled

from robotid_sim.cli.app import main

pytestmark = pytest.mark.slow

SEED = 0
HANGS = 20.0
"""Time after which a command is taken to hang [s]."""

LONGEST = 2100
"""Longest line that a person reads [characters]."""

FAMILIES = ("urdf", "toml", "csv", "h5", "json", "words", "out", "-o", "input")

SHORT = """
[design]
candidates = 5
iterations = 5
period = 2.8
periods = 1
[experiment]
rate = 250.0
"""


class Hang(BaseException):
    """A command took too long; nothing catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
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
        with limited(HANGS), redirect_stdout(out), redirect_stderr(err):
            return main(list(words)), err.getvalue()
    except Hang:
        return "hangs", err.getvalue()
    except Exception as error:  # whatever gets out of the program is what is looked for
        return f"{type(error).__name__}: {error}", err.getvalue()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a robot and the files of a short study of it."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copy(DATA / "2r.urdf", folder)
    (folder / "short.toml").write_text(SHORT)
    arm, log, config = f"{folder}/2r.urdf", f"{folder}/l.csv", f"{folder}/short.toml"
    for command in (
        ("design", arm, "-o", f"{folder}/t.json", "--config", config),
        ("simulate", arm, "--trajectory", f"{folder}/t.json", "-o", log, "--config", config),
        ("import", log, "--robot", arm, "-o", f"{folder}/l.h5"),
        ("identify", arm, log, "-o", f"{folder}/e.json", "--config", config),
    ):
        code, said = run(command)
        assert code in (0, 1), said
    return folder


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


@pytest.mark.parametrize("step", sampled((1, 3), 3))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_bad_input_is_one_line(
    study: Path, family: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them nightly, every third for a change."""
    monkeypatch.chdir(tmp_path)  # and back at the end
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = []
    cases = [case for case in all_cases(study) if case.name.split()[0] == family][::step]
    for k, case in enumerate(cases):
        found += wrongs(case, study, tmp_path / str(k))
        os.chdir(tmp_path)
        shutil.rmtree(tmp_path / str(k))
    assert not found, f"{len(found)} of {len(cases)}:\n" + "\n".join(found)


def test_the_corpus_has_500_bad_inputs_of_all_families(study: Path) -> None:
    cases = list(all_cases(study))
    assert len(cases) >= 500
    assert {case.name.split()[0] for case in cases} == set(FAMILIES)
    assert [case.name for case in cases] == [case.name for case in all_cases(study)]


def all_cases(study: Path) -> Iterator[BadInput]:
    """Yield the bad inputs of all families, drawn from a seed: damaged files, words, folders."""
    texts = (study / name for name in ("2r.urdf", "t.json", "e.json", "l.csv"))
    files = Study(*(file.read_text() for file in texts), (study / "l.h5").read_bytes())
    for k, family in enumerate((robots, configurations, tables, hdf5, json_files, words, folders)):
        yield from family(files, random.Random(f"{SEED} {k}"))
