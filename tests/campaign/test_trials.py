"""Trials: run once, cached one by one, read back the same; and the code that decides a result."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from kept_trials import kept_names

from robotid_sim.campaign import code_fingerprint as sources
from robotid_sim.campaign import trials as campaign
from robotid_sim.campaign.code_fingerprint import code_fingerprint, reached_code
from robotid_sim.campaign.trials import Trial, run_trials
from robotid_sim.engine.engines import default_engine
from robotid_sim.errors import FileFormatError, OptionError, RobotIdError, UnknownNameError
from robotid_sim.optim.minimize import minimize


def count(folder: str, number: int, seconds: float = 0.0) -> dict[str, object]:
    """Leave a trace of every call."""
    time.sleep(seconds)
    with (Path(folder) / f"calls-{number}").open("a") as file:
        file.write("x")
    return {"number": number, "pair": (1.5, 2.5)}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def not_json() -> dict[str, object]:
    return {"value": float("nan")}


def trials(folder: Path, numbers, seconds: float = 0.0) -> list[Trial]:
    parameters = {"folder": str(folder), "seconds": seconds}
    where = f"{__name__}:count"
    return [Trial(f"t{n}", where, {**parameters, "number": n}) for n in numbers]


def plants_engine() -> dict[str, object]:
    return {"engine": default_engine()}


def calls(folder: Path) -> int:
    return sum(len(path.read_text()) for path in folder.glob("calls-*"))


@pytest.mark.slow
def test_finished_trials_are_read_and_not_run(tmp_path) -> None:
    store = tmp_path / "store"
    first = run_trials(trials(tmp_path, range(3)), store)
    shares: list[float] = []
    again = run_trials(trials(tmp_path, range(5)), store, progress=shares.append)
    assert again[:3] == first
    assert [result["number"] for result in again] == [0, 1, 2, 3, 4]
    assert calls(tmp_path) == 5
    assert shares == pytest.approx([0.6, 0.8, 1.0])


@pytest.mark.pybullet
def test_trials_run_in_their_engine_and_results_are_kept_apart(tmp_path) -> None:
    where = f"{__name__}:plants_engine"
    for _ in range(2):  # run, and read
        for engine in (None, "mujoco", "pybullet"):
            (result,) = run_trials([Trial("t", where, engine=engine)], tmp_path / "store")
            assert result == {"engine": engine or "pybullet"}
    assert len(kept_names(tmp_path / "store")) == 2
    with pytest.raises(UnknownNameError, match="unknown engine 'bullet'"):
        run_trials([Trial("t", where, engine="bullet")], tmp_path / "store")


def test_the_same_work_under_two_names_is_done_once(tmp_path) -> None:
    (trial,) = trials(tmp_path, [1])
    twin = Trial("twin", trial.function, trial.parameters)
    first, second = run_trials([trial, twin], tmp_path / "store")
    assert first == second
    assert calls(tmp_path) == 1


@pytest.mark.slow
def test_processes_cache_what_they_finish(tmp_path) -> None:
    fresh = run_trials(trials(tmp_path, range(3)), tmp_path / "store", workers=2)
    assert run_trials(trials(tmp_path, range(3)), tmp_path / "store") == fresh
    assert calls(tmp_path) == 3


def test_a_result_is_the_same_run_or_read(tmp_path) -> None:
    (fresh,) = run_trials(trials(tmp_path, [7]), tmp_path / "store")
    (read,) = run_trials(trials(tmp_path, [7]), tmp_path / "store")
    assert fresh == read == {"number": 7, "pair": [1.5, 2.5]}


def test_other_parameters_are_run_and_both_results_stay(tmp_path) -> None:
    store = tmp_path / "store"
    run_trials(trials(tmp_path, [1]), store)
    run_trials(trials(tmp_path, [1], seconds=1e-9), store)
    assert calls(tmp_path) == 2
    run_trials(trials(tmp_path, [1]), store)
    run_trials(trials(tmp_path, [1], seconds=1e-9), store)
    assert calls(tmp_path) == 2


def test_a_broken_store_is_named_and_left_as_it_is(tmp_path) -> None:
    store = tmp_path / "store"
    run_trials(trials(tmp_path, [1]), store)
    (store / campaign.NAME).write_bytes(b"broken" * 1000)
    with pytest.raises(FileFormatError, match=r"trials\.sqlite: file is not a database"):
        run_trials(trials(tmp_path, [1]), store)
    assert (store / campaign.NAME).read_bytes() == b"broken" * 1000


@pytest.mark.slow
def test_a_trial_whose_process_dies_is_named(tmp_path) -> None:
    with pytest.raises(RobotIdError, match="trial 'd': its process died 3 times"):
        run_trials([Trial("d", f"{__name__}:die")], tmp_path, workers=2)
    assert kept_names(tmp_path) == []


def test_a_result_counts_only_with_the_code_that_computed_it(tmp_path, monkeypatch) -> None:
    run_trials(trials(tmp_path, [1]), tmp_path / "store")
    monkeypatch.setattr(campaign, "code_fingerprint", lambda module: "of another day")
    run_trials(trials(tmp_path, [1]), tmp_path / "store")
    assert calls(tmp_path) == 2
    monkeypatch.undo()
    run_trials(trials(tmp_path, [1]), tmp_path / "store")
    assert calls(tmp_path) == 2  # that of today is still there


ENGINE = '''"""A trial."""
from robotid_sim_x.deep import GAIN

def run():
    """Return a number."""
    return {"value": GAIN}
'''


def fresh_fingerprint(function: str) -> str:
    """Return the fingerprint of a function whose sources may have changed since."""
    sources._source.cache_clear()
    sources._spec.cache_clear()
    return code_fingerprint.__wrapped__(function)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in the place of ours: a trial imports `deep`, which imports `deeper`."""
    folder = tmp_path / "robotid_sim_x"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "trial": ENGINE,
        "deep": "from robotid_sim_x import deeper\nGAIN = 2 * deeper.HALF\n",
        "deeper": "HALF = 0.5\n",
        "report": "WIDTH = 80\n",
    }.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "PACKAGE", "robotid_sim_x")

    def fingerprint_after(name: str, text: str) -> str:
        (folder / name).write_text(text)
        return fresh_fingerprint("robotid_sim_x.trial:run")

    yield fingerprint_after
    for name in [name for name in sys.modules if name.startswith("robotid_sim_x")]:
        del sys.modules[name]


def test_only_code_that_a_trial_runs_changes_its_fingerprint(package) -> None:
    before = package("trial.py", ENGINE)
    assert package("deep.py", "from robotid_sim_x import deeper\n# twice\nGAIN = 2*deeper.HALF"
                   '\n"""Of the loop."""\n') == before  # fmt: skip
    assert package("trial.py", ENGINE.replace("Return a number", "Tell a number")) == before
    assert package("report.py", "WIDTH = 90\n") == before
    assert package("claims.toml", "text = 'of a claim'\n") == before
    assert package("deeper.py", "HALF = 0.6\n") != before
    assert package("deeper.py", "HALF = 0.5\n") == before
    assert package("table.csv", "1,2\n") != before


PAPER = """
from robotid_sim_x.chart import Curve, thinned
from robotid_sim_x.papers import METHODS, Paper, register_paper

COLOR = "nominal"
GAIN = 2.0

def search():
    return {"value": thinned(GAIN)}

def figure():
    return Curve(COLOR)

@METHODS.register("own")
class Own:
    step = 1.0

class Sixth(Paper):
    def reproduce(self):
        return figure()

register_paper(Sixth())
"""


def test_what_only_draws_results_throws_no_trial_away(package) -> None:
    chart = "from robotid_sim_x.palette import HUES\nHUE = HUES[0]\nclass Curve:\n    hue = HUE\n"
    package("chart.py", f"{chart}def thinned(n):\n    return n\n")
    package("papers.py", "METHODS, Paper, register_paper = {}, object, print\n")
    package("palette.py", "HUES = ('red',)\n")
    function = "robotid_sim_x.trial:search"

    def after(name: str, text: str) -> str:
        package(name, text)
        return fresh_fingerprint(function)

    before = after("trial.py", PAPER)
    assert after("trial.py", PAPER.replace('"nominal"', '"identified"')) == before
    assert after("trial.py", PAPER.replace("Curve(COLOR)", "Curve(COLOR, 2.0)")) == before
    assert after("palette.py", "HUES = ('blue',)\n") == before
    assert after("chart.py", f"{chart}def thinned(n):\n    return n\nSTYLE = 'dotted'\n") == before
    assert after("trial.py", PAPER.replace("GAIN = 2.0", "GAIN = 3.0")) != before
    assert after("trial.py", PAPER.replace("step = 1.0", "step = 2.0")) != before  # registered
    assert after("trial.py", PAPER) == before
    assert after("chart.py", f"{chart}def thinned(n):\n    return -n\n") != before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "inside", "outside"),
    [
        (
            "irb120.trials:swarm",
            ("dynamics.kernels", "optim.pso", "excitation"),
            ("pipeline", "engine"),
        ),
        ("twolink.trials", ("engine.plant", "papers.twolink.model"), ("pipeline", "papers.rocr6")),
        ("rocr6.cell", ("pipeline.nominal", "estimation", "engine.plant"), ("papers.twolink",)),
    ],
)
def test_a_trial_depends_on_what_it_imports(module, inside, outside) -> None:
    names = set(reached_code(f"robotid_sim.papers.{module}"))
    assert {f"robotid_sim.{name}" for name in inside} <= names
    for part in (*outside, "cli", "report"):
        assert not any(name.startswith(f"robotid_sim.{part}") for name in names), part


@pytest.mark.slow
def test_robots_of_the_catalog_count_where_they_are_read(tmp_path, monkeypatch) -> None:
    fingerprints = []
    monkeypatch.setattr(sources, "catalog_folder", lambda: tmp_path)
    for text in ("<robot/>", "<robot />"):
        (tmp_path / "arm.urdf").write_text(text)
        for module in ("robotid_sim.papers.twolink.model", "robotid_sim.parallel"):
            fingerprints.append(fresh_fingerprint(module))
    assert fingerprints[0] != fingerprints[2]
    assert fingerprints[1] == fingerprints[3]


def search(seed: int, number: int) -> dict[str, float]:
    """A search in which a signal comes, and which takes that for its end."""

    def cost(points):
        cost.batches += 1
        if cost.batches == 3:
            signal.raise_signal(number)
        return (points**2).sum(axis=1)

    cost.batches = 0
    rng = np.random.default_rng(seed)
    result = minimize(cost, [-1.0], [1.0], method="pso", max_evals=1000, rng=rng)
    return {"fun": result.fun}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_is_no_result(tmp_path, number) -> None:
    trial = Trial("s", f"{__name__}:search", {"seed": 0, "number": int(number)})
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_trials([trial], tmp_path)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert kept_names(tmp_path) == []


def test_bad_trials_are_named(tmp_path) -> None:
    with pytest.raises(OptionError, match="two trials are named 't1'"):
        run_trials(trials(tmp_path, [1, 1]), tmp_path)
    with pytest.raises(OptionError, match="is no name of a trial"):
        Trial("../t", "a:b")
    with pytest.raises(UnknownNameError, match="trial 't': no function"):
        run_trials([Trial("t", "robotid_sim.nowhere:f")], tmp_path)
    with pytest.raises(FileFormatError, match="trial 't': JSON cannot hold its result"):
        run_trials([Trial("t", f"{__name__}:not_json")], tmp_path)


@pytest.mark.slow
def test_a_killed_run_keeps_what_was_finished(tmp_path) -> None:
    code = (
        f"import sys; sys.path[:0] = {[str(p) for p in Path(__file__).parents[:2]]!r}\n"
        "from pathlib import Path\n"
        "from test_trials import trials\n"
        "from robotid_sim.campaign.trials import run_trials\n"
        f"run_trials(trials(Path({str(tmp_path)!r}), range(50), 0.2), Path({str(tmp_path)!r}))\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code])
    while len(kept_names(tmp_path)) < 2 and program.poll() is None:
        time.sleep(0.02)
    program.send_signal(signal.SIGKILL)
    program.wait(30.0)
    finished = len(kept_names(tmp_path))
    assert 2 <= finished < 50
    before = calls(tmp_path)
    run_trials(trials(tmp_path, range(finished), 0.2), tmp_path)
    assert calls(tmp_path) == before
