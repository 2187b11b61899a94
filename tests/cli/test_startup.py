"""What is wrong with the words of a command, and what there is, is said before work is loaded."""

import inspect
import json
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from robotid_sim import plugins
from robotid_sim.cli import kinds
from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.items import FILE, SCHEMA, listed_kinds
from robotid_sim.cli.work import FLAGS, words_of, work_of
from robotid_sim.files import read_json
from robotid_sim.optim.methods import OPTIMIZERS

HEAVY = {
    *("numpy", "scipy", "numba", "pybullet", "mujoco", "matplotlib", "plotly", "pandas", "h5py"),
    *("lxml", "joblib", "cloudpickle", "jinja2", "PIL", "trimesh", "clarabel", "threadpoolctl"),
}
"""Packages that take a while to load."""

WRONG = ["--nope", "nope", "list nope", "list estimators nope", "run irb140 --nope", "run --seed x"]
WRONG += ["run irb140 --engine foo", "run irb140 --out out --engine foo", "run nope --out out"]
WRONG += ["run irb140 --out out --preset labb", "view irb140 --fps 30", "list --plugin"]
WRONG += [f"{command} --nope" for command in COMMANDS]
WRONG += [command for command in COMMANDS if command != "list"]

RIGHT = ["", "--help", "--version", "list", "list --json", "list estimators wls"]
RIGHT += [f"list {kind}" for kind in kinds.KINDS]
RIGHT += [f"{command} --help" for command in COMMANDS]

PLUGIN = """
from dataclasses import dataclass
from robotid_sim.optim.methods import OPTIMIZERS

@OPTIMIZERS.register("installed")
@dataclass(kw_only=True)
class Installed(OPTIMIZERS["de"]):
    '''My search.'''
"""

PROGRAM = """
import contextlib, io, json, sys
from robotid_sim.cli.app import main

heavy, lines = map(json.loads, sys.argv[1:])
for line in lines:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(line.split())
    print(json.dumps([line, code, sorted(set(heavy) & set(sys.modules))]))
"""


def codes(lines: list[str]) -> dict[str, int]:
    """Return the exit codes of commands in a process that has loaded no heavy package."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(sorted(HEAVY)), json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result for result in results if result[2]] == []
    return {line: code for line, code, _heavy in results}


def test_wrong_words_are_refused_without_loading_what_would_work_with_them() -> None:
    assert codes(WRONG) == dict.fromkeys(WRONG, 2)


def test_help_and_lists_load_no_part_that_they_describe() -> None:
    assert codes(RIGHT) == dict.fromkeys(RIGHT, 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_work_of_a_command_takes_the_values_of_its_words(command) -> None:
    words = words_of(command)
    use = getattr(words, "study_use", None)
    shared = () if use is None else use.options
    declared = {
        name: parameter.annotation.__origin__  # of Annotated
        for name, parameter in inspect.signature(words).parameters.items()
        if name not in (*FLAGS, *shared)
    }
    work = inspect.signature(work_of(command)).parameters
    taken = {name: parameter.annotation for name, parameter in work.items() if name != "study"}
    assert taken == declared
    assert ("study" in work) == (use is not None)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in work.values())


def test_what_the_lists_read_is_what_the_registries_say() -> None:
    """``python -m robotid_sim.cli.kinds`` writes it anew."""
    assert read_json(FILE, *SCHEMA) == json.loads(json.dumps(kinds.content()))


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_what_is_listed_is_what_the_registries_hold_here(kind) -> None:
    listed, registered = listed_kinds()[kind], kinds.KINDS[kind]
    assert (listed.summary, listed.use) == (registered.summary, registered.use)
    assert listed.rows() == registered.rows()
    for row in listed.rows():
        assert listed.tables(row["name"]) == registered.tables(row["name"])


def test_parts_of_an_installed_plugin_are_listed(robotid, monkeypatch, tmp_path) -> None:
    (tmp_path / "installed_searches.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("searches", "installed_searches", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    for owner, attribute in (
        (plugins, "_loaded"),
        (OPTIMIZERS, "_entries"),
        (OPTIMIZERS, "_origins"),
    ):
        monkeypatch.setattr(owner, attribute, dict(getattr(owner, attribute)))
    listed = json.loads(robotid("list", "optimizers", "--json").out)
    assert [row["summary"] for row in listed if row["name"] == "installed"] == ["My search."]
