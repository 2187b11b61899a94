"""A signal is one line and code 128 + n, whenever it comes, and leaves no process behind."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from llvmlite.binding.ffi import ObjectRef
from short_study import SHORT

from robotid_sim import signals
from robotid_sim.engine.drives import SmoothDrive
from robotid_sim.errors import FileFormatError
from robotid_sim.model.catalog import load_robot
from robotid_sim.result_folder import MANIFEST, require_complete
from robotid_sim.signals import Interrupt

AFTER_THE_LOG = ("log.h5", "estimate.json", "parameters.csv", "identified.urdf")
WORDS = ("run", "irb140", "--quick", "--out", "out")


def interrupted(folder, words, delay: float, number: int = signal.SIGINT):
    """Return code, stdout and stderr of a study that is stopped `delay` s after its first imports.

    It runs in a process group of its own, of which no process may run on. A busy machine and the
    end of Python have half a second beside the 2 s that a command has.
    """
    with (folder / "err").open("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "robotid_sim", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        while " typer." not in (folder / "err").read_text():
            assert process.poll() is None
        time.sleep(delay)
        began = time.monotonic()
        os.killpg(process.pid, number)
        out, _ = process.communicate(timeout=60)
        assert time.monotonic() - began < 2.5
    until = time.monotonic() + 5.0  # joblib's tracker of files ends just after its parent
    while running(process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert running(process.pid) == []
    lines = (folder / "err").read_text().splitlines()
    return process.returncode, out, [s for s in lines if not re.match(r"import time:|\w+: \d+%", s)]


def running(group: int) -> list[str]:
    """Return the states of the processes of a group, except those that ended and wait for init."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _parent, its_group = (
                (process / "stat").read_text().rpartition(")")[2].split()[:3]
            )
            found += [state] if int(its_group) == group and state != "Z" else []
    return found


def test_an_interrupt_is_said_while_the_engine_is_loaded_too() -> None:
    code = """
import os, signal
from robotid_sim.signals import end_at_signals
from robotid_sim.engine.client import capture_output

signal.signal(signal.SIGINT, signal.default_int_handler)
end_at_signals()
with capture_output():
    os.kill(os.getpid(), signal.SIGINT)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "robotid: interrupted before any work\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", said)


def test_an_interrupt_within_executed_text_changes_no_exit_code(tmp_path) -> None:
    """A dataclass executes a text; Python remembers an interrupt of it up to the end (3.8 on)."""
    (tmp_path / "program.py").write_text("""
from robotid_sim.cli import app, entry

def main():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 129

app.main = main
entry.entry()
""")
    words = [sys.executable, "-m", "program"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (129, "")


def test_an_interrupt_of_a_compiled_function_is_no_error_of_it() -> None:
    drive, q = SmoothDrive(load_robot("irb140"), 1e-3), np.zeros(6)
    drive(q, q, q)
    before = signal.getsignal(signal.SIGALRM)  # of a timer without a thread

    def stepped(delay: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, delay)
        deque((drive(q, q, q) for _ in range(10**6)), maxlen=0)

    try:
        for k in range(50):
            signal.signal(signal.SIGALRM, Interrupt())
            with pytest.raises(KeyboardInterrupt):
                stepped(1e-3 + 1e-5 * k)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("end", [ObjectRef.close, ObjectRef.__del__])
def test_an_interrupt_of_the_compiler_waits_until_it_has_freed_its_memory(end) -> None:
    class Held(ObjectRef):
        def _dispose(self) -> None:
            signal.raise_signal(signal.SIGALRM)
            freed.append(True)

    freed: list[bool] = []
    interrupts(Interrupt(), lambda: end(Held(1)))
    assert freed == [True]


@pytest.mark.slow
def test_an_interrupt_that_python_drops_comes_again(monkeypatch, capfd, recwarn) -> None:
    class Signalled:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGALRM)

    interrupt = Interrupt()
    monkeypatch.setattr(sys, "unraisablehook", interrupt.again_if_dropped)
    interrupts(interrupt, Signalled)
    warnings.warn("nobody reads this", stacklevel=1)
    assert interrupt.number == signal.SIGALRM
    assert len(recwarn) == 0
    assert capfd.readouterr().err == ""


def test_an_interrupt_that_comes_again_at_once_is_not_lost(monkeypatch) -> None:
    """As on a busy machine: before the hook that sends it again has returned."""

    class Signalled:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGALRM)

    interrupt, later = Interrupt(), signals._send_again

    def send_at_once(number: int) -> None:
        monkeypatch.setattr(signals, "_send_again", later)
        signal.raise_signal(number)

    monkeypatch.setattr(signals, "_send_again", send_at_once)
    monkeypatch.setattr(sys, "unraisablehook", interrupt.again_if_dropped)
    interrupts(interrupt, Signalled)


def interrupts(interrupt: Interrupt, work: Callable[[], object]) -> None:
    """Assert that work that is sent the signal of a timer is interrupted, or what follows it."""

    def waited() -> None:
        work()
        time.sleep(10.0)

    before, began = signal.signal(signal.SIGALRM, interrupt), time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            waited()
        assert time.monotonic() - began < 8.0  # it ends a call that sleeps
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "delay",
    [
        0.3,
        *(pytest.param(s, marks=pytest.mark.slow) for s in (1.0, 3.0, 9.0)),
        *(pytest.param(s, marks=[pytest.mark.slow, pytest.mark.nightly]) for s in (0.0, 6.0)),
    ],
)
def test_a_study_ends_in_one_line_and_leaves_no_process(tmp_path, delay) -> None:
    code, out, said = interrupted(tmp_path, WORDS, delay)
    assert (code, out, said[1:]) == (130, "", [])
    assert said[0].startswith("robotid: interrupted")
    assert [path.name for path in (tmp_path / "out").glob("*")] in ([], ["incomplete"])
    written = {path.name for path in (tmp_path / "out" / "incomplete").glob("*")}
    assert written <= {
        "run.json",
        "run.log",
        "nominal.urdf",
        "meshes",
        "trajectory.json",
        *AFTER_THE_LOG,
    }
    if "before any work" in said[0]:
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "delay", [0.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (2.0, 8.0))]
)
def test_other_signals_end_a_study_so_too(tmp_path, delay, number) -> None:
    code, out, said = interrupted(tmp_path, WORDS, delay, number)
    assert (code, out, said[1:]) == (128 + number, "", [])
    assert said[0].startswith("robotid: interrupted")


def test_a_step_that_takes_no_notice_of_a_signal_is_ended_after_the_grace() -> None:
    code = """
import signal, time
from robotid_sim import signals

signals.end_at_signals()
signals.let_signals_raise()
while True:
    try:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(60.0)
    except KeyboardInterrupt:
        pass
"""
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert time.monotonic() - began < 4.0  # with the start of Python
    assert ended.returncode == 128 + signal.SIGTERM
    assert ended.stderr.startswith("robotid: interrupted in the middle of a step")


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("delay", [12.0, 14.0, 16.0, 18.0])
def test_a_study_of_default_size_ends_so_while_it_simulates(tmp_path, delay) -> None:
    code, out, said = interrupted(tmp_path, ("run", "irb140", "--out", "out"), delay)
    assert (code, out, said[1:]) == (130, "", [])


COMMANDS = {
    "run": "run twolink --quick --config study.toml --workers 2 --out run",
    "reproduce": "reproduce twolink-elpidso --quick --runs 2 --workers 2 --out reproduce",
    "validate": "validate twolink estimate.json --quick --config study.toml --workers 2 -o v.json",
    "identify": "identify twolink log.h5 -o identify.json",
}

KILLS = 16
"""Signals for a command, every second one SIGKILL."""

TIMES = re.compile(r'"(seconds|began|pid|command)": .*|"(timings|files)": \{[^}]*\}')


def begin(words: str, folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "err").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "robotid_sim", *words.split()],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def finish(words: str, folder: Path) -> float:
    """Run a command to its end; return how long that took [s]."""
    began = time.monotonic()
    assert begin(words, folder).wait(300.0) in (0, 1), (folder / "err").read_text()
    return time.monotonic() - began


def results(folder: Path) -> dict[str, bytes]:
    """Return the files of all commands; pages and the log of a run hold times in every line."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        timed = path.suffix in (".html", ".log", ".h5") or path.name in (MANIFEST, "err")
        if path.is_file() and not timed and "/trials/" not in name:
            data = path.read_bytes()
            files[name] = TIMES.sub("", data.decode()).encode() if path.suffix == ".json" else data
    return files


def session(leader: int) -> Iterator[int]:
    """Give the processes that a command began and that still run."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, its_session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == leader and state != "Z":
                yield int(process.name)


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Return a folder with the results of a study, and what the other commands read."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "study.toml").write_text(SHORT)
    finish(COMMANDS["run"], folder)
    for name in ("log.h5", "estimate.json"):
        (folder / name).write_bytes((folder / "run" / name).read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_killed_at_any_moment_leaves_no_process_and_no_mixture(work, name) -> None:
    duration = finish(COMMANDS[name], work)
    before = results(work)
    rng = np.random.default_rng(7)
    for k in range(KILLS):
        number = signal.SIGKILL if k % 2 else signal.SIGTERM
        process = begin(COMMANDS[name], work)
        with suppress(subprocess.TimeoutExpired):
            process.wait(float(rng.uniform(0.0, duration)))
        ended = process.poll() is not None
        process.send_signal(number)
        sent = time.monotonic()
        code = process.wait(30.0)
        if number == signal.SIGTERM and not ended:
            assert time.monotonic() - sent < 2.5  # half a second for a busy machine
            assert code in (128 + number, -number)  # the latter before the first line of robotid
            said = (work / "err").read_text()
            assert code < 0 or "robotid: interrupted" in said
            assert "Traceback" not in said
        until = sent + 5.0
        while any(session(process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(session(process.pid)) == []
        require_old_or_new_or_incomplete(work, name, before)
    finish(COMMANDS[name], work)
    after = results(work)
    assert [n for n in before if after.get(n) != before[n]] == []


def require_old_or_new_or_incomplete(work: Path, name: str, before: dict[str, bytes]) -> None:
    """Raise unless results are what they were: a repetition gives the same."""
    if (work / name).is_dir():
        if not (work / name / MANIFEST).is_file():
            with pytest.raises(FileFormatError, match="is incomplete"):
                require_complete(work / name)
            return
        require_complete(work / name)
    now = results(work)
    assert [n for n in before if now.get(n) != before[n]] == []
