"""Inputs that read well and make no sense are refused, at once and by one line."""

import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_input import BadInput
from nonsense_files import senseless_files
from nonsense_robots import senseless_robots
from nonsense_studies import senseless_studies
from taking import run, texts_of, wrongs

from robotid_sim.errors import OptionError
from robotid_sim.pipeline.study_stages import StudyStages

SEED = 0

SLOW = 5.0
"""Time that a refusal may take [s]."""

FAMILIES = {"robots": senseless_robots, "studies": senseless_studies, "files": senseless_files}

BEGUN = "the work was begun"
DRY = ("run", "bad.urdf", "--out", "out", "--dry-run")
WORK = ("run", "bad.urdf", "--out", "out", "--workers", "1")


def cases_of(family: str, study: Path) -> Iterator[BadInput]:
    """Yield the inputs of a family, drawn from a seed."""
    return FAMILIES[family](texts_of(study), random.Random(f"{SEED} {family}"))


def late_wrongs(case: BadInput, study: Path, folder: Path) -> list[str]:
    """Return what is wrong with how an input is taken; twice too late is wrong, too.

    A kernel may be compiled the first time.
    """
    found: list[str] = []
    for again in (False, True):
        began = time.perf_counter()
        found = wrongs(case, study, folder)
        seconds = time.perf_counter() - began
        os.chdir(folder.parent)
        shutil.rmtree(folder)
        if seconds <= SLOW:
            break
        if again:
            found.append(f"{case.name}: takes {seconds:.1f} s")
    return found


@pytest.fixture
def place(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # and back at the end
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / "case"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_nonsense_is_refused(study: Path, family: str, place: Path) -> None:
    cases = list(cases_of(family, study))
    found = [text for case in cases for text in late_wrongs(case, study, place)]
    assert not found, f"{len(found)} of {len(cases)}:\n" + "\n".join(found)


def test_some_nonsense_is_refused(study: Path, place: Path) -> None:
    cases = [case for family in FAMILIES for case in cases_of(family, study)]
    assert len(cases) >= 600
    some = random.Random(SEED).sample(cases, 20)
    assert not [text for case in some for text in late_wrongs(case, study, place)]


@pytest.mark.slow
def test_a_study_begins_with_what_the_check_passes_and_no_other(
    study: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object) -> None:
        raise OptionError(BEGUN)

    monkeypatch.setattr(StudyStages, "begin_known_loops", begin)
    passed = 0
    for case in cases_of("robots", study):
        shutil.copytree(study, place)
        case.damage(place)
        os.chdir(place)
        (code, _), (dry, said) = run(case.words), run(DRY)
        assert dry == 0 or code != 0, (case.name, said)
        if code == 0:
            passed += 1
            assert BEGUN in run(WORK)[1], case.name
        os.chdir(place.parent)
        shutil.rmtree(place)
    assert passed >= 10
