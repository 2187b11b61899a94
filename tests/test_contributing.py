"""The recipes for parts of every kind run as they stand there."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robotid_sim import testing
from robotid_sim.part_kinds import PART_KINDS
from robotid_sim.registry import Registry

TEXT = (Path(__file__).parents[1] / "docs" / "how-to" / "recipes.md").read_text(encoding="utf-8")
RECIPES = dict(
    re.findall(
        r"^## Add an? (\w+)(?: of any kind)?\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE
    )
)
BLOCK = re.compile(r"^```(\w+)(?: ([\w.]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MAY_FAIL_A_VERDICT = "robotid run"
"""What a user adds may miss a limit of the verdict, which is exit 1."""


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_are_there(page):
    root = Path(__file__).parents[1]
    named = re.findall(r"`([\w/]+\.py)`", (root / page).read_text(encoding="utf-8"))
    places = (root, root / "robotid_sim", root / "tests")
    assert named
    assert [n for n in named if not any((place / n).exists() for place in places)] == []


def test_there_is_a_recipe_for_each_kind_of_part():
    assert set(RECIPES) == {"part", "sensor", "estimator", "controller", "robot", "paper", "figure"}


def test_the_table_has_every_kind_of_part_as_the_package_has_it():
    rows = re.findall(
        r"^\| ([a-z-]+) \| `(\S+)` \| `(\S+)` \| `(check_\w+)` \|", TEXT, re.MULTILINE
    )
    checks = {check for *_, check in rows}
    assert checks == {name for name in vars(testing) if name.startswith("check_")}
    for kind, base, registry, _ in rows:
        module, _, name = registry.rpartition(".")
        entries = getattr(importlib.import_module(f"robotid_sim.{module}"), name)
        assert isinstance(entries, Registry)
        assert base == f"{entries.base.__module__}.{entries.base.__name__}".removeprefix(
            "robotid_sim."
        )
        assert {row["name"] for row in PART_KINDS[kind].rows()} == set(entries)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_short(recipe):
    for kind, _, code in BLOCK.findall(RECIPES[recipe]):
        if kind == "python":
            assert sum(bool(line.strip()) for line in code.splitlines()) <= 30


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe, tmp_path):
    commands = []
    for kind, name, code in BLOCK.findall(RECIPES[recipe]):
        if kind == "sh":
            commands += code.strip().splitlines()
        else:
            (tmp_path / name).write_text(code, encoding="utf-8")
    assert commands
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        allowed = (0, 1) if command.startswith(MAY_FAIL_A_VERDICT) else (0,)
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
