"""No bad input of the corpus ends in a traceback, hangs, or says more than the line that helps."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_input import BadInput
from bad_logs import hdf5, tables
from bad_texts import configurations, json_files, robots
from bad_words import folders, words
from sampling import sampled
from taking import texts_of, wrongs

pytestmark = pytest.mark.slow

SEED = 0

FAMILIES = ("urdf", "toml", "csv", "h5", "json", "words", "out", "-o", "input")


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
    for k, family in enumerate((robots, configurations, tables, hdf5, json_files, words, folders)):
        yield from family(texts_of(study), random.Random(f"{SEED} {k}"))
