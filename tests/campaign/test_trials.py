"""Trials: run once, kept one by one, read back the same."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from robotid_sim.campaign import code_state
from robotid_sim.campaign.trials import Trial, run_trials, trial_path
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.optim.minimize import minimize


def count(folder: str, number: int, seconds: float = 0.0) -> dict[str, object]:
    """Leave a trace of every call."""
    time.sleep(seconds)
    with (Path(folder) / f"calls-{number}").open("a") as file:
        file.write("x")
    return {"number": number, "pair": (1.5, 2.5)}


def trials(folder: Path, numbers, seconds: float = 0.0) -> list[Trial]:
    parameters = {"folder": str(folder), "seconds": seconds}
    where = f"{__name__}:count"
    return [Trial(f"t{n}", where, {**parameters, "number": n}) for n in numbers]


def calls(folder: Path) -> int:
    return sum(len(path.read_text()) for path in folder.glob("calls-*"))


def test_finished_trials_are_read_and_not_run(tmp_path) -> None:
    store = tmp_path / "store"
    first = run_trials(trials(tmp_path, range(3)), store)
    shares: list[float] = []
    again = run_trials(trials(tmp_path, range(5)), store, progress=shares.append)
    assert again[:3] == first
    assert [found["number"] for found in again] == [0, 1, 2, 3, 4]
    assert calls(tmp_path) == 5
    assert shares == pytest.approx([0.6, 0.8, 1.0])


def test_a_result_is_the_same_run_or_read(tmp_path) -> None:
    (fresh,) = run_trials(trials(tmp_path, [7]), tmp_path / "store")
    (read,) = run_trials(trials(tmp_path, [7]), tmp_path / "store")
    assert fresh == read == {"number": 7, "pair": [1.5, 2.5]}


def test_other_parameters_and_broken_files_are_run_again(tmp_path) -> None:
    store = tmp_path / "store"
    run_trials(trials(tmp_path, [1]), store)
    run_trials(trials(tmp_path, [1], seconds=1e-9), store)
    assert calls(tmp_path) == 2
    run_trials(trials(tmp_path, [1]), store)
    assert calls(tmp_path) == 2  # the file of the first is still there
    (trial,) = trials(tmp_path, [1])
    file = trial_path(trial, store)
    whole = json.loads(file.read_text())
    assert whole["schema"] == "robotid/trial/1"
    assert whole["parameters"]["number"] == 1
    texts = ["{", "", "[" * 10**5, json.dumps({**whole, "result": None})]
    texts.append(json.dumps({key: value for key, value in whole.items() if key != "result"}))
    for k, text in enumerate(texts):
        file.write_text(text)
        run_trials([trial], store)
        assert calls(tmp_path) == 3 + k


def test_a_result_is_kept_only_with_the_code_that_made_it(tmp_path, monkeypatch) -> None:
    run_trials(trials(tmp_path, [1]), tmp_path / "store")
    monkeypatch.setattr("robotid_sim.campaign.trials.code_state", lambda: "of another day")
    run_trials(trials(tmp_path, [1]), tmp_path / "store")
    assert calls(tmp_path) == 2


def test_sources_and_data_make_the_state_of_the_code(tmp_path, monkeypatch) -> None:
    def state() -> str:
        return code_state.code_state.__wrapped__()

    monkeypatch.setattr(code_state, "catalog_folder", lambda: tmp_path)
    states = [state()]
    for name, counts in (("arm.urdf", True), ("cli/words.py", False), ("old.nbc", False)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<robot/>")
        states.append(state())
        assert (states[-1] != states[-2]) == counts
    (tmp_path / "arm.urdf").write_text("<robot />")
    assert state() not in states


def search(seed: int) -> dict[str, float]:
    """A search in which Ctrl-C comes, and which takes that for its end."""

    def cost(points):
        cost.batches += 1
        if cost.batches == 3:
            signal.raise_signal(signal.SIGINT)
        return (points**2).sum(axis=1)

    cost.batches = 0
    rng = np.random.default_rng(seed)
    found = minimize(cost, [-1.0], [1.0], method="pso", max_evals=1000, rng=rng)
    return {"fun": found.fun}


def test_an_interrupted_search_is_no_result(tmp_path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_trials([Trial("s", f"{__name__}:search", {"seed": 0})], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is before


def test_bad_trials_are_named(tmp_path) -> None:
    with pytest.raises(OptionError, match="two trials are named 't1'"):
        run_trials(trials(tmp_path, [1, 1]), tmp_path)
    with pytest.raises(OptionError, match="is no name of a trial"):
        Trial("../t", "a:b")
    with pytest.raises(UnknownNameError, match="trial 't': no function"):
        run_trials([Trial("t", "robotid_sim.nowhere:f")], tmp_path)


def test_a_killed_run_keeps_what_was_finished(tmp_path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from test_trials import trials\n"
        "from robotid_sim.campaign import run_trials\n"
        f"run_trials(trials(Path({str(tmp_path)!r}), range(50), 0.2), Path({str(tmp_path)!r}))\n"
    )
    program = subprocess.Popen([sys.executable, "-c", code])
    while len(list(tmp_path.glob("t*.json"))) < 2 and program.poll() is None:
        time.sleep(0.02)
    program.send_signal(signal.SIGKILL)
    program.wait(30.0)
    kept = {path.name.partition(".")[0] for path in tmp_path.glob("t*.json")}
    assert 2 <= len(kept) < 50
    before = calls(tmp_path)
    run_trials([t for t in trials(tmp_path, range(50), 0.2) if t.name in kept], tmp_path)
    assert calls(tmp_path) == before
