"""Campaigns whose processes are killed or interrupted: no trial is lost or doubled."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from plans import told
from sampling import sampled

from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.run import run_campaign
from robotid_sim.campaign.store import DONE, Store
from robotid_sim.errors import FileFormatError

pytestmark = pytest.mark.slow

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
    assert on.startswith("finished trials are kept; to go on: robotid campaign run ")
    assert end.startswith("robotid: interrupted")
    before = count(folder)
    process = begin(folder, *more.split(), seeds=MANY)
    wait_for_trials(process, folder, before + 1)
    process.kill()
    process.wait(LONGEST)


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
