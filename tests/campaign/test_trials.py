"""Trials: run once, kept one by one, read back the same."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robotid_sim.campaign import Trial, run_trials
from robotid_sim.errors import OptionError, UnknownNameError


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
    (store / "t1.json").write_text("{")
    run_trials(trials(tmp_path, [1], seconds=1e-9), store)
    assert calls(tmp_path) == 3
    content = json.loads((store / "t1.json").read_text())
    assert content["schema"] == "robotid/trial/1"
    assert content["parameters"]["number"] == 1


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
    kept = {path.stem for path in tmp_path.glob("t*.json")}
    assert 2 <= len(kept) < 50
    before = calls(tmp_path)
    run_trials([t for t in trials(tmp_path, range(50), 0.2) if t.name in kept], tmp_path)
    assert calls(tmp_path) == before
