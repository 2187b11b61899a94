"""The files of which bad inputs are made."""

import shutil
from pathlib import Path

import pytest
from robots import DATA
from taking import run

SHORT = """
[design]
candidates = 5
iterations = 5
period = 2.8
periods = 1
[experiment]
rate = 250.0
"""


@pytest.fixture(scope="session")
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
