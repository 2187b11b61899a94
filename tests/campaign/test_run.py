"""Campaigns that run or are killed: the same rows everywhere, nothing twice, nothing lost."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from plans import short_plan, told
from sampling import sampled

from robotid_sim.campaign import backend, group_work
from robotid_sim.campaign import run as campaign_run
from robotid_sim.campaign.backend import TimeLimitError, limit_seconds
from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.run import run_campaign
from robotid_sim.campaign.store import DONE, FAILED, LATE, LOST, Store
from robotid_sim.campaign.trial_list import Effort, trials_of
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.result_folder import lock_folder


def rows_in(folder):
    with Store(folder, write=False) as store:
        return list(store.rows())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a short campaign that has been run by this process."""
    folder = tmp_path_factory.mktemp("campaign")
    done = run_campaign(short_plan(), folder)
    assert (done.new, done.before, dict(done.counts)) == (8, 0, {DONE: 8})
    return folder


@pytest.mark.slow
def test_rows_are_sound(finished) -> None:
    for row in rows_in(finished):
        assert 0.0 < row.metrics["model_error"] < 0.01
        assert 0.0 < row.metrics["parameter_error"] < 0.01
        assert row.metrics["tracking_gap"] is None


@pytest.mark.slow
def test_finished_trials_are_not_run_again(finished, monkeypatch) -> None:
    before = told(rows_in(finished))

    def work(*_args):
        raise AssertionError("a trial was run again")

    monkeypatch.setattr(group_work, "_make_motions", work)
    monkeypatch.setattr(group_work.GroupRunner, "_run_group", work)
    done = run_campaign(short_plan(), finished)
    assert (done.new, done.before) == (0, 8)
    assert told(rows_in(finished)) == before


@pytest.mark.slow
def test_more_seeds_run_only_what_is_new(finished, tmp_path) -> None:
    run_campaign(short_plan(seeds=1), tmp_path)
    done = run_campaign(short_plan(), tmp_path)
    assert (done.new, done.before) == (4, 4)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))
    fewer = run_campaign(short_plan(seeds=1), tmp_path)
    assert (fewer.new, fewer.before, fewer.counts, fewer.others) == (0, 4, {DONE: 4}, 4)


def test_what_trials_took_is_what_further_ones_are_expected_to_take() -> None:
    plan = short_plan()
    trials = trials_of(plan)
    assert Effort.from_trials(trials, plan, [1.0, 4.0]).seconds == 2.5 * len(trials)
    assert Effort.from_trials(trials, plan).seconds > 0.0


@pytest.mark.slow
def test_two_processes_find_the_same(finished, tmp_path) -> None:
    run_campaign(short_plan(), tmp_path, workers=2)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))


@pytest.mark.slow
def test_a_cluster_finds_the_same(finished, tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        run_campaign(short_plan(), tmp_path, workers=2)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))


@pytest.mark.slow
def test_an_estimator_that_raises_costs_its_own_rows_only(finished, tmp_path, monkeypatch) -> None:
    estimated = group_work.GroupRunner._estimate_rows

    def broken(self, trials, *rest):
        if any(trial.factors["estimator"] == "ols" for trial in trials):
            raise ValueError("no fit today")
        return estimated(self, trials, *rest)

    monkeypatch.setattr(group_work.GroupRunner, "_estimate_rows", broken)
    run_campaign(short_plan(), tmp_path)
    good, bad = told(rows_in(finished)), told(rows_in(tmp_path))
    assert {row[4] for row in bad if row[1]["estimator"] == "ols"} == {"ValueError: no fit today"}
    assert [row for row in bad if row[3] == DONE] == [r for r in good if r[1]["estimator"] == "wls"]
    monkeypatch.undo()
    done = run_campaign(short_plan(), tmp_path, again=[FAILED])
    assert done.new == 4
    assert told(rows_in(tmp_path)) == good


def test_a_robot_that_cannot_be_is_a_row_with_its_error(tmp_path) -> None:
    plan = short_plan(robot="nowhere", factors={})
    done = run_campaign(plan, tmp_path)
    assert dict(done.counts) == {FAILED: 2}
    assert "no robot 'nowhere'" in rows_in(tmp_path)[0].error


@pytest.mark.slow
def test_a_trial_past_its_time_is_ended_and_recorded(tmp_path, monkeypatch) -> None:
    def sleep(*_args):
        for _ in range(1000):
            time.sleep(0.01)

    def unlimited(trial, *, needs_loop, **_):
        return group_work.make_motions(trial, needs_loop=needs_loop, limit=None)

    run_campaign(short_plan(seeds=1), tmp_path)
    monkeypatch.setattr(group_work.GroupRunner, "_estimate_rows", sleep)
    monkeypatch.setattr(campaign_run, "make_motions", unlimited)
    began = time.monotonic()
    run_campaign(short_plan(time_limit=0.3), tmp_path)
    assert time.monotonic() - began < 8.0
    with Store(tmp_path, write=False) as store:
        assert store.counts() == {DONE: 4, LATE: 4}


def test_a_limit_of_time_lets_go_of_what_was_in_time() -> None:
    with limit_seconds(10.0):
        pass
    with pytest.raises(TimeLimitError), limit_seconds(0.05):
        forever()


def forever() -> None:
    while True:
        time.sleep(0.001)


@pytest.mark.slow
def test_work_whose_process_dies_is_begun_again_and_given_up(tmp_path, monkeypatch) -> None:
    begun, each_task = [], backend.each_task

    def dying(function, tasks, *rest, apart, batch_size):
        if not isinstance(function, group_work.GroupRunner):
            return each_task(function, tasks, *rest, apart=apart, batch_size=batch_size)
        assert (apart, batch_size) == (True, "auto")
        begun.append(len(tasks))
        raise backend.worker_errors()[0]("a worker was killed")

    run_campaign(short_plan(seeds=1), tmp_path)
    monkeypatch.setattr(backend, "each_task", dying)
    run_campaign(short_plan(), tmp_path)
    last_alone = [*[2] * (backend.MAX_ATTEMPTS - 1), 1]
    assert begun == [*last_alone, *[1] * backend.MAX_ATTEMPTS]
    with Store(tmp_path, write=False) as store:
        assert store.counts() == {DONE: 4, LOST: 4}


@pytest.mark.slow
def test_a_folder_of_another_plan_says_what_differs(finished) -> None:
    other = short_plan()
    study = {**other.study, "design": {**other.study["design"], "period": 5.0}}
    with pytest.raises(OptionError, match=r"study\.design\.period is 4\.0, not 5\.0"):
        run_campaign(short_plan(study=study), finished)


def test_a_folder_that_cannot_be_is_one_line(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError, match="choose another --out"):
        run_campaign(short_plan(), tmp_path / "file")


@pytest.mark.parametrize("folder", ["/proc/campaign", "/sys/campaign"])
def test_a_folder_that_cannot_be_written_is_one_line(folder) -> None:
    with pytest.raises(FileFormatError, match=f"folder {folder}: .*; choose another --out$"):
        run_campaign(short_plan(), Path(folder))


@pytest.mark.slow
def test_a_second_run_into_a_folder_is_refused(finished) -> None:
    with lock_folder(finished), pytest.raises(OptionError, match="another run writes into"):
        run_campaign(short_plan(seeds=3), finished)


@pytest.mark.slow
def test_a_row_is_of_its_trial_alone(finished, tmp_path) -> None:
    """An estimator that draws does not depend on those beside it."""
    swarm = {"estimators": ["wls-pso"], "chosen": "wls-pso"}
    swarm["options"] = {"wls-pso": {"evaluations": 60}}
    drawn = {"fit": [{"name": "pso", "study": {"estimation": swarm}}]}
    ols = {"estimators": ["ols"], "chosen": "ols"}
    beside = {"fit": [{"name": "ols", "study": {"estimation": ols}}, *drawn["fit"]]}
    alone = short_plan(factors=drawn, seeds=1)
    rows = {}
    for name, factors in (("alone", drawn), ("beside", beside)):
        plan = alone.model_copy(update={"factors": factors})
        run_campaign(plan, tmp_path / name)
        rows[name] = [row for row in told(rows_in(tmp_path / name)) if "pso" in str(row[1])]
    assert rows["alone"] == rows["beside"]


@pytest.mark.slow
def test_replacing_a_row_keeps_the_others(finished) -> None:
    first, *rest = rows_in(finished)
    with Store(finished, write=True) as store:
        store.add([replace(first, arrays={})])
        assert told(store.rows()) == told([first, *rest])


PLAN = """
robot = "twolink"
seeds = {seeds}
factors = {{estimator = ["ols", "wls"]}}
[study]
design = {{candidates = 5, starts = 1, iterations = 5, period = 4.0, periods = 2}}
experiment = {{rate = 250.0}}
preprocess = {{name = "rts"}}
"""

SEEDS = 20
MANY = 2000

KILLS = 20

LONGEST = 120.0
"""Time that anything waits for processes [s]."""

WORKERS = (b"popen_loky_posix", b"spawn_main")
"""In the command lines of joblib's processes and of Dask's."""


def begin(folder: Path, *more: str, seeds: int = SEEDS, file_size: int | None = None):
    """Start a campaign into a folder; it writes what it says into a file beside it."""
    plan = folder.with_suffix(f".{seeds}.toml")
    plan.write_text(PLAN.format(seeds=seeds))
    words = f"campaign run {plan} --out {folder} --workers 2 --again".split()

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    with folder.with_suffix(".err").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "robotid_sim", *words, *more],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            preexec_fn=limit,
        )


def count(folder: Path) -> int:
    """Return how many trials the store of a folder holds."""
    with suppress(FileFormatError), Store(folder, write=False) as store:
        return sum(store.counts().values())
    return 0


def session(leader: int) -> Iterator[int]:
    """Give the processes that a campaign began and that still run."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, its_session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == leader and state != "Z":
                yield int(process.name)


def workers(leader: int) -> list[int]:
    """Return the processes that work for a campaign."""
    found = []
    for number in session(leader):
        with suppress(FileNotFoundError, ProcessLookupError):
            command = Path(f"/proc/{number}/cmdline").read_bytes()
            found += [number] if any(word in command for word in WORKERS) else []
    return found


def wait_for_trials(process, folder: Path, wanted: int) -> None:
    until = time.monotonic() + LONGEST
    while process.poll() is None and count(folder) < wanted:
        assert time.monotonic() < until, folder.with_suffix(".err").read_text()
        time.sleep(0.05)


def said(folder: Path) -> list[str]:
    """Return what a campaign said, but for its progress."""
    lines = folder.with_suffix(".err").read_text().splitlines()
    return [line for line in lines if not line.startswith("campaign: ")]


def require_no_process(leader: int) -> None:
    until = time.monotonic() + 5.0
    while any(session(leader)) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(session(leader)) == []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return what a campaign finds that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(seeds=SEEDS))
    run_campaign(load_plan(plan), folder / "out")
    with Store(folder / "out", write=False) as store:
        assert store.counts() == {DONE: 2 * SEEDS}
        return told(store.rows())


def finish(folder: Path, undisturbed, *more: str) -> None:
    """Run a campaign to its end and require that it has found the same as any."""
    assert begin(folder, *more).wait(LONGEST) == 0, folder.with_suffix(".err").read_text()
    require_same(folder, undisturbed)


def require_same(folder: Path, undisturbed) -> None:
    with Store(folder, write=False) as store:
        assert store.is_whole()
        assert told(store.rows()) == undisturbed


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("victim", "more", "kills"),
    [
        ("coordinator", (), KILLS),
        ("worker", (), KILLS),
        ("worker", ("--cluster", "local"), KILLS),
        ("coordinator", ("--cluster", "local"), 5),
    ],
)
def test_a_kill_at_any_moment_loses_no_trial(tmp_path, undisturbed, victim, more, kills) -> None:
    rng = np.random.default_rng(24)
    folders = iter(tmp_path / f"campaign-{k}" for k in range(10 * kills))
    folder, process, done = next(folders), None, 0
    while done < kills:
        process = process or begin(folder, *more)
        wait_for_trials(process, folder, count(folder) + int(rng.integers(0, 8)))
        time.sleep(rng.uniform(0.0, 0.3) if rng.random() < 0.7 else rng.uniform(0.0, 5.0))
        if process.poll() is not None:
            if process.returncode == 0:  # otherwise a trial lost its process too often
                require_same(folder, undisturbed)
                folder = next(folders)
            process = None
            continue
        victims = [process.pid] if victim == "coordinator" else workers(process.pid)
        if victims:
            with suppress(ProcessLookupError):
                os.kill(int(rng.choice(victims)), signal.SIGKILL)
                done += 1
        if victim == "coordinator":
            process.wait(LONGEST)
            require_no_process(process.pid)
            process = None
    if process is not None:
        process.wait(LONGEST)
    finish(folder, undisturbed, *more)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", sampled(("", "--cluster local"), ""))
def test_a_signal_ends_a_campaign_that_says_how_to_go_on(tmp_path, more, number) -> None:
    folder = tmp_path / "campaign"
    process = begin(folder, *more.split(), seeds=MANY)
    wait_for_trials(process, folder, 4)
    began = time.monotonic()
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    assert process.wait(LONGEST) == 128 + number
    assert time.monotonic() - began < 2.5  # half a second for a busy machine
    require_no_process(process.pid)
    on, end = said(folder)
    assert on.startswith("finished trials are kept; to continue: robotid campaign run ")
    assert end.startswith("robotid: interrupted")
    before = count(folder)
    process = begin(folder, *more.split(), seeds=MANY)
    wait_for_trials(process, folder, before + 1)
    process.kill()
    process.wait(LONGEST)


@pytest.mark.slow
@pytest.mark.parametrize("size", sampled((4096, 24_000, 48_000), 4096))
def test_a_full_disk_is_one_line_and_nothing_is_lost(tmp_path, undisturbed, size) -> None:
    folder = tmp_path / "campaign"
    if size == 48_000:  # motions are larger than what rows may take
        process = begin(folder)
        wait_for_trials(process, folder, 1)
        process.kill()
        process.wait(LONGEST)
        require_no_process(process.pid)  # the last of them says what it tidies up
    process = begin(folder, file_size=size)
    assert process.wait(LONGEST) == 2
    (line,) = said(folder)
    assert line.startswith("robotid: ")
    assert str(folder) in line
    finish(folder, undisturbed)
