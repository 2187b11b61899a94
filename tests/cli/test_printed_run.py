"""The run that the documentation shows is what its command prints."""

import os
import re
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
import readme_run
from PIL import Image

from robotid_sim.cli.openblas import CORETYPE_VARIABLE, KERNELS

ROOT = Path(__file__).parents[2]
TIME = re.compile(r"\b\d+(?:\.\d+)?(?= s\b)")
"""Times are the machine's."""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

SHADE = 2.0
"""Mean difference of two pictures of one motion, of 255 shades; an arm in another pose has 5."""
FACTOR, SMALL = 4.0, 0.05
"""Without the common kernels sums are in another order, and then the search for a motion ends
elsewhere: numbers agree within this factor there, or within that much."""


def agree(shown: str, printed: str) -> bool:
    if os.environ.get(CORETYPE_VARIABLE) == KERNELS:  # set for all tests where they work
        return shown == printed
    one, other = float(shown), float(printed)
    return abs(one - other) <= max(SMALL, (FACTOR - 1.0) * min(abs(one), abs(other)))


def shown_run(page="docs/start.md", before="and prints:"):
    text = (ROOT / page).read_text(encoding="utf-8")
    (shown,) = re.findall(rf"{before}\n\n```\n(.*?)\n```", text, re.DOTALL)
    return shown


def assert_same_lines(shown, printed):
    for ours, line in zip_longest(shown.splitlines(), printed.rstrip().splitlines()):
        parts = [TIME.sub("", part) for part in (ours, line)]
        words = [NUMBER.sub("", part).split() for part in parts]
        assert words[0] == words[1], (ours, line)
        pairs = zip(*(NUMBER.findall(part) for part in parts), strict=True)
        wrong = [pair for pair in pairs if not agree(*pair)]
        assert not wrong, (ours, line)


def test_readme_shows_the_same_run():
    assert shown_run("README.md") == shown_run()
    assert len(shown_run().splitlines()) <= 14


@pytest.mark.slow
def test_run_and_pictures_are_what_the_command_prints_and_draws(tmp_path):
    printed = readme_run.robotid(*readme_run.COMMAND, "--figures", folder=tmp_path)
    assert_same_lines(shown_run(), printed)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    readme_run.draw(tmp_path, pictures)
    for file in pictures.iterdir():
        ours, theirs = (
            np.asarray(Image.open(folder / file.name).convert("RGB"), dtype=float)
            for folder in (pictures, readme_run.PICTURES)
        )
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).mean() < SHADE, file.name


@pytest.mark.slow
def test_the_real_log_of_readme_is_predicted_as_it_says(tmp_path):
    printed = readme_run.robotid(*readme_run.REAL_LOG, folder=tmp_path)
    table = readme_run.joint_table(printed)
    assert_same_lines(shown_run("README.md", "prints, among others:"), table)
    assert len(printed.splitlines()) <= 30
    assert (tmp_path / "page.html").exists()
