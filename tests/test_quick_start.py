"""The Python of the README, and short scripts that are written from it and from `help`."""

import re
from pathlib import Path

import pytest
from robots import urdf_path

ROOT = Path(__file__).parent.parent

FOREIGN_LOG = """
import robotid_sim as rid

robot = rid.load_robot(URDF)
logs = rid.read_logs(CSV, robot)
print(logs.notes)
fit = rid.identify(logs, robot, hold_out="last:30%")
assessment = rid.assess(fit, logs)
print(fit.chosen.to_frame())
for cause in assessment.causes:
    print(cause.sentence, cause.evidence, cause.remedy)
prediction = fit.held_out.prediction
for joint, error in zip(robot.joint_names, prediction.error):
    print(f"{joint}: {error:.1%} of the RMS torque is not predicted")
fit.write("out")
assessment.report("out/page.html", replay=False)
"""

OWN_OPTIMIZERS = """
from dataclasses import dataclass
import numpy as np
import pandas as pd
import robotid_sim as rid
from robotid_sim.optim.optimizer import Optimizer

@dataclass(kw_only=True)
class Guess(Optimizer):
    share: float = 1.0
    def _first(self):
        self.best, self.least = None, np.inf
        return self._next(np.array([]))
    def _next(self, f):
        if f.size and f.min() < self.least:
            self.best, self.least = self._points[f.argmin()], f.min()
        X = self.rng.uniform(self.box.lower, self.box.upper, (20, self.box.lower.size))
        return X if self.best is None else self.best + self.share * (X - self.best)

def cost(X):
    return ((X - 1.0) ** 2).sum(axis=1)

def run(share, seed):
    box = [-5.0] * 3, [5.0] * 3
    return rid.minimize(cost, *box, method=Guess(share=share), max_evals=2000, rng=seed).fun

rows = [(s, k, run(s, k)) for s in (1.0, 0.3, 0.1) for k in range(5)]
table = pd.DataFrame(rows, columns=["share", "seed", "cost"]).groupby("share").cost.describe()
"""


def lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


@pytest.mark.slow
def test_the_quick_start_of_the_readme_runs_the_whole_chain(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert lines(code) <= 12
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "out/identified.urdf").is_file()
    assert "What if?" in (tmp_path / "out/report.html").read_text()
    assert "robotid design --prior LOG" in capsys.readouterr().out


@pytest.mark.slow
def test_a_foreign_csv_becomes_a_robot_with_causes_and_prediction(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lines(FOREIGN_LOG) <= 25
    names = {"URDF": urdf_path("ur10"), "CSV": ROOT / "tests/data/ur10/ur10.csv.gz"}
    exec(compile(FOREIGN_LOG, "script", "exec"), names)
    assert (tmp_path / "out/identified.urdf").is_file()
    said = capsys.readouterr().out
    assert said.count("of the RMS torque is not predicted") == 6


def test_three_own_optimizers_are_compared_over_five_seeds_in_a_data_frame() -> None:
    names: dict[str, object] = {}
    assert lines(OWN_OPTIMIZERS) <= 25
    exec(compile(OWN_OPTIMIZERS, "script", "exec"), names)
    table = names["table"]
    assert list(table["count"]) == [5.0, 5.0, 5.0]
    assert table.loc[0.1, "mean"] < table.loc[1.0, "mean"]


def test_without_pandas_one_line_says_how_to_get_it(monkeypatch) -> None:
    import sys

    from robotid_sim.data_frames import data_frame
    from robotid_sim.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas: pip install .*frames"):
        data_frame({"a": [1]})


def test_signatures_have_short_names() -> None:
    import inspect

    import robotid_sim as rid

    assert "q: ArrayLike" in str(inspect.signature(rid.joint_torque))
    assert "cov: Float2D" in str(inspect.signature(rid.make_consistent))
