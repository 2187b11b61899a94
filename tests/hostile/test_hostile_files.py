"""Hostile files: nothing runs, hangs or fills memory, and each is a line with its remedy."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_files import HOSTILE_FILES

HERE = Path(__file__).parent

HANGS = 5.0
"""Time after which a file is taken to hang [s]."""

LARGEST = 1e9
"""Memory that a file may take [bytes]."""


def test_the_corpus_has_files_of_all_kinds_under_names_of_their_own() -> None:
    names = [case.name for case in HOSTILE_FILES]
    assert len(set(names)) == len(names) >= 60
    kinds = {"map", "study", "plan", "urdf", "mjcf", "mesh", "log", "estimate", "trajectory"}
    assert {name.split()[0] for name in names} == {*kinds, "store", "manifest"}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, dict]:
    """Read all files in a process of their own, and return what came of each."""
    done = subprocess.run(
        [sys.executable, HERE / "run_hostile.py", tmp_path_factory.mktemp("hostile")],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-300:]}\n{done.stderr[-3000:]}"
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.slow
def test_nothing_runs_hangs_or_fills_memory(results) -> None:
    assert results.keys() == {case.name for case in HOSTILE_FILES}
    assert not [name for name, result in results.items() if result["ran"]]
    slow = {name: r["seconds"] for name, r in results.items() if r["seconds"] > HANGS}
    large = {name: r["memory"] for name, r in results.items() if r["memory"] > LARGEST}
    assert (slow, large) == ({}, {})


@pytest.mark.slow
def test_each_is_a_line_that_names_it(results) -> None:
    wrong = []
    for case in HOSTILE_FILES:
        code, said = results[case.name]["code"], results[case.name]["said"]
        lines = said.splitlines()
        alone = (len(lines) == 1 and said.startswith("robotid: ")) or case.code == 0
        if code != case.code or not alone or "Traceback" in said or not re.search(case.said, said):
            wrong.append(f"{case.name}: code {code}, {case.said!r} in {said[-400:]!r}")
    assert not wrong, "\n".join(wrong)
