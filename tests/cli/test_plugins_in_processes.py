"""Plugins on the command line: in every process, trusted where a file names them, named."""

import re
import subprocess
import sys

import pytest
from kept_trials import kept_names

pytestmark = pytest.mark.slow

OPTIMIZER = '''
from dataclasses import dataclass

from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.optim.pso import ParticleSwarm

@OPTIMIZERS.register("own-swarm")
@dataclass(kw_only=True)
class OwnSwarm(ParticleSwarm):
    """A swarm of the user's own."""
'''

PAPER = '''
from typing import ClassVar

import numpy as np

from robotid_sim.chart import Chart, Curve, Panel
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.papers import register_paper
from robotid_sim.papers.paper import Paper
from robotid_sim.papers.claims import collect_measured
from robotid_sim.table import Table

COLOR = "nominal"
CELL = "1"

def search(*, seed, run):
    """Return a number, by an optimizer of another plugin."""
    return {"value": 10.0 + run + seed + ("own-swarm" in OPTIMIZERS)}

class Sixth(Paper):
    """A paper of the user's own."""

    name: ClassVar[str] = "sixth"

    def reproduce(self, lab):
        trials = lab.plan_runs("search", f"{__name__}:search", 4)
        values = np.array([result["value"] for result in lab.run("searches", trials)])
        curve = Curve(np.arange(4.0), values, "value", COLOR)
        chart = Chart(name="values", title="", caption="", panels=(Panel(marks=(curve,)),))
        table = Table(("run", "value"), (("0", CELL),), name="runs")
        return self.reproduction(lab, {"first": collect_measured(values[0])}, {}, [chart], [table])

register_paper(Sixth())
'''

CLAIMS = """
title = "Six"
citation = "Nobody (2026), An example."
summary = "one number"
finding = "It is eleven."
section = [{title = "All", charts = ["values"], tables = ["runs"]}]
figure = [{name = "values", title = "Values", caption = "By run."}]
table = [{name = "runs"}]
[[claim]]
name = "first"
claim = "The first is eleven."
published = "11"
band = "11 to 11"
reason = "By the optimizer of another plugin."
"""

STUDY = """
plugins = ["own.py"]
[estimation]
estimators = ["wls", "wls-own-swarm"]
chosen = "wls"
options.wls-own-swarm = {evaluations = 300}
[design]
candidates = 5
iterations = 5
period = 4.0
periods = 2
[experiment]
rate = 250.0
[control]
enabled = false
"""

PLAN = """
robot = "twolink"
seeds = 2
[study]
plugins = ["own.py"]
[study.estimation]
estimators = ["wls-own-swarm"]
chosen = "wls-own-swarm"
options.wls-own-swarm = {evaluations = 300}
[study.design]
candidates = 5
iterations = 5
period = 4.0
periods = 2
[study.experiment]
rate = 250.0
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a plugin of an optimizer, one of a paper, and a study."""
    (tmp_path / "own.py").write_text(OPTIMIZER)
    (tmp_path / "sixth.py").write_text(PAPER)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def robotid(folder, words: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder; a plugin stays in the process that loaded it."""
    command = [sys.executable, "-m", "robotid_sim", *words.split()]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )


def test_a_paper_and_an_optimizer_of_plugins_run_in_processes(folder) -> None:
    words = "reproduce sixth --plugin own.py --plugin sixth.py --workers 2 --out out"
    done = robotid(folder, words)
    assert done.returncode == 0, done.stderr
    assert re.search(r"first +reproduced (±|\+-)? +11", done.stdout)
    again = robotid(folder, words)
    assert again.returncode == 0, again.stderr
    names = sorted(kept_names(folder / "out" / "trials"))
    assert names == [f"search-{k}" for k in range(4)]  # none was run anew
    (folder / "sixth.py").write_text(PAPER.replace('"nominal"', '"identified"'))
    changed = robotid(folder, words)
    assert changed.returncode == 0, changed.stderr
    assert len(kept_names(folder / "out" / "trials")) == 8  # the file may decide results


def test_a_swarm_around_least_squares_comes_with_an_optimizer(folder) -> None:
    listed = robotid(folder, "list optimizers own-swarm --plugin own.py")
    assert listed.stdout.startswith("own-swarm: ")
    words = "run twolink --config study.toml --trust-plugins --workers 2 --quick --out out"
    done = robotid(folder, words)
    assert done.returncode in (0, 1), done.stderr
    assert "wls-own-swarm" in done.stdout + (folder / "out" / "result.json").read_text()


def test_a_campaign_with_a_plugin_goes_on_where_it_is_trusted(folder) -> None:
    plan = PLAN
    (folder / "plan.toml").write_text(plan)
    for words in ("campaign run plan.toml --out c", "campaign run plan.toml --out c --dry-run"):
        refused = robotid(folder, words)
        assert refused.returncode == 2
        assert "own.py, which is code and would run as you" in refused.stderr
        assert "--trust-plugins" in refused.stderr
    done = robotid(folder, "campaign run plan.toml --out c --workers 2 --trust-plugins")
    assert (done.returncode, "2 trials were run" in done.stdout) == (0, True), done.stderr
    (folder / "plan.toml").write_text(plan.replace("seeds = 2", "seeds = 3"))
    more = robotid(folder, "campaign run plan.toml --out c --workers 2 --trust-plugins")
    assert "1 trials were run, 2 were stored already" in more.stdout
    assert "--trust-plugins" in robotid(folder, "campaign status c").stderr
    assert "3 of 3" in robotid(folder, "campaign status c --trust-plugins").stdout


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('COLOR = "nominal"', 'COLOR = "purple"', "mark 'value': unknown color 'purple'; known: "),
        pytest.param(
            'CELL = "1"',
            "CELL = 1.0",
            "table 'runs', row 1: 1.0 is not text; write numbers by",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "marks=(curve,)",
            "marks=(curve,), x_scale='wavy'",
            "the result of paper 'sixth' cannot be written: ",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_mistake_of_a_plugin_is_told_as_its_own(folder, old, new, said) -> None:
    (folder / "sixth.py").write_text(PAPER.replace(old, new))
    done = robotid(folder, "reproduce sixth --plugin own.py --plugin sixth.py --workers 1 --out o")
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"robotid: plugin {folder / 'sixth.py'}")
    assert said in line
