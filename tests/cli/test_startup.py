"""What is wrong with the words of a command, and what there is, is said before work is loaded."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from robotid_sim import plugins
from robotid_sim.cli.commands import COMMANDS
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.part_kinds import KINDS

HEAVY = {
    *("numpy", "scipy", "numba", "pybullet", "mujoco", "matplotlib", "plotly", "pandas", "h5py"),
    *("lxml", "joblib", "cloudpickle", "jinja2", "PIL", "trimesh", "clarabel", "threadpoolctl"),
}
"""Packages that take a while to load."""

WRONG = ["--nope", "nope", "list nope", "run irb140 --nope", "run --seed x"]
WRONG += ["run irb140 --engine foo", "run nope --out out"]
WRONG += ["view irb140 --fps 30", "list --plugin"]
WRONG += [f"{command} --nope" for command in COMMANDS]
WRONG += [command for command in COMMANDS if command != "list"]

RIGHT = ["", "--help", "--version", "list", "list --json"]
RIGHT += [f"{command} --help" for command in COMMANDS]

PLUGIN = """
from dataclasses import dataclass
from robotid_sim.optim.optimizer import OPTIMIZERS

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


def test_the_list_of_kinds_takes_half_a_second_of_a_processor() -> None:
    program = "import resource, sys; from robotid_sim.cli.app import main; main(sys.argv[1:])"
    program += "; print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, file=sys.stderr)"
    command = [sys.executable, "-c", program, "list"]
    seconds = min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stderr)
        for _ in range(3)
    )
    assert seconds < 0.5


def test_identifying_loads_few_of_our_modules() -> None:
    program = "import json, sys; import robotid_sim as rid; rid.read_logs, rid.identify"
    program += "; print(sum(name.startswith('robotid_sim') for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 180


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_lists_its_items(kind, robotid) -> None:
    rows = json.loads(robotid("list", kind, "--json").out)
    assert rows
    assert rows == KINDS[kind].rows()
    assert all(row["name"] and row["summary"] for row in rows)


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
