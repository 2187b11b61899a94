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

from robotid_sim.campaign import trials as campaign
from robotid_sim.campaign.trials import Trial, code_fingerprint, run_trials
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
    (store / campaign.FILE_NAME).write_bytes(b"broken" * 1000)
    with pytest.raises(FileFormatError, match=r"trials\.sqlite: file is not a database"):
        run_trials(trials(tmp_path, [1]), store)
    assert (store / campaign.FILE_NAME).read_bytes() == b"broken" * 1000


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


def test_what_only_shows_results_throws_no_trial_away(tmp_path, monkeypatch) -> None:
    def fingerprint(name: str = "", text: str = "") -> str:
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return code_fingerprint.__wrapped__(__name__)

    monkeypatch.setattr(campaign, "PACKAGE_FOLDER", tmp_path / "package")
    monkeypatch.setattr(campaign, "catalog_folder", lambda: tmp_path / "urdf")
    before = fingerprint()
    for name in ("report/page.py", "claims.toml", "__pycache__/deep.pyc"):
        assert fingerprint(f"package/{name}", "shown") == before
    seen = [before, fingerprint("package/deep.py", "GAIN = 1\n")]
    seen += [fingerprint("package/deep.py", "GAIN = 2\n"), fingerprint("urdf/arm.urdf", "<robot/>")]
    assert len(set(seen)) == 4
    assert code_fingerprint.__wrapped__("robotid_sim.nowhere") != seen[-1]  # without this module


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
    with pytest.raises(OptionError, match=r"invalid name .* of a trial"):
        Trial("../t", "a:b")
    with pytest.raises(UnknownNameError, match="trial 't': no function"):
        run_trials([Trial("t", "robotid_sim.nowhere:f")], tmp_path)
    with pytest.raises(FileFormatError, match="trial 't': its result is not valid JSON"):
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
